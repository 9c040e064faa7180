//! The shared state of one execution: threads, objects, and the happens-before graph so far.
//!
//! The same `ExecutionState` drives a running program and a search that only imagines one: which threads are
//! enabled, what an operation does and which graph results depend on nothing else. A state is identified
//! by the hash of its happens-before graph, the XOR of one term per action. An action is named by
//! (thread, n-th action of the thread); its term also holds the last write of the object, and for
//! a write the reads since, which is what fixes the order among dependent actions.
//!
//! Each thread has a *local history*: a hash chain over its actions and what each one read from.
//! Two executions in which a thread has the same history cannot be told apart by that thread.

mod apply;
mod channels;
mod done;
mod enabled;
mod number;
mod objects;
mod polling;
mod rules;
mod thread;
mod values;

pub use objects::Object;
pub(crate) use polling::{ALONE, COUNTED, GIVES_UP, shape_of};
pub use rules::Rules;
pub use thread::{Status, Thread};
pub use values::Channel;

use crate::loops::Loops;
use crate::mix::{mix, mix3};
use crate::race::{Clocks, Race};
use crate::virtual_time::Times;
use crate::weak::Weak;
use crate::{Action, Effect, Next, ObjectId, Operation, ThreadId};
pub(crate) use objects::Objects;
use std::sync::Arc;
pub(crate) use thread::{LONGEST_CYCLE, Rounds};
use thread::{Solo, Watch};
use values::SENDER;

/// The shared state of one execution.
#[derive(Debug)]
pub struct ExecutionState {
    pub(crate) threads: Vec<Thread>,
    pub(crate) objects: Objects,
    pub(crate) watches: Vec<Watch>,
    /// Which threads hold which locks for reading.
    pub(crate) reading: Vec<(ThreadId, ObjectId)>,
    pub(crate) hash: u128,
    pub(crate) fired: u32,
    /// Whether some thread has come to a wait that may end without what it waits for.
    pub(crate) has_timed_waits: bool,
    /// The latest deadline that has come.
    pub(crate) due: u64,
    /// Name of the last timeout: they use up a common budget, so their order matters.
    pub(crate) last_timeout: u64,
    pub(crate) rules: Rules,
    pub(crate) panicked: Option<ThreadId>,
    /// Whether some thread has ended the whole program.
    pub(crate) exited: bool,
    pub(crate) urgent: Option<ThreadId>,
    pub(crate) clocks: Option<Box<Clocks>>,
    pub(crate) weak: Option<Box<Weak>>,
    pub(crate) times: Option<Box<Times>>,
    /// Waits that have ended for no reason.
    pub(crate) woken: u32,
    /// What is known about loops that yield.
    pub(crate) loops: Arc<Loops>,
    /// A thread that leaves a loop, alone.
    pub(crate) solo: Option<Solo>,
    /// Some thread has gone on so often with nothing new to see that others come first.
    pub(crate) is_restless: bool,
    /// Outcome of the next comparison of pointers, when values are not at hand.
    pub(crate) hint: Option<bool>,
}

impl Clone for ExecutionState {
    fn clone(&self) -> Self {
        let mut copy = ExecutionState::new(self.rules);
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, source: &Self) {
        self.threads.clone_from(&source.threads);
        self.objects.copy_from(&source.objects);
        self.watches.clone_from(&source.watches);
        self.reading.clone_from(&source.reading);
        self.hash = source.hash;
        self.fired = source.fired;
        self.has_timed_waits = source.has_timed_waits;
        self.due = source.due;
        self.last_timeout = source.last_timeout;
        self.rules = source.rules;
        self.panicked = source.panicked;
        self.exited = source.exited;
        self.urgent = source.urgent;
        self.clocks.clone_from(&source.clocks);
        self.weak.clone_from(&source.weak);
        self.times.clone_from(&source.times);
        self.woken = source.woken;
        if !Arc::ptr_eq(&self.loops, &source.loops) {
            self.loops = source.loops.clone();
        }
        self.solo.clone_from(&source.solo);
        self.is_restless = source.is_restless;
        self.hint = source.hint;
    }
}

const MAIN_KEY: u64 = 0x6D61_696E;
/// Keeps the histories of children apart from those of their parents.
const SPAWN: u64 = 0x7370_6177_6E00_0000;

impl ExecutionState {
    /// A state with the main thread about to start.
    pub fn new(rules: Rules) -> Self {
        let mut state = ExecutionState {
            threads: Vec::new(),
            objects: Objects::default(),
            watches: Vec::new(),
            reading: Vec::new(),
            hash: 0,
            fired: 0,
            has_timed_waits: false,
            due: 0,
            last_timeout: 0,
            rules,
            panicked: None,
            exited: false,
            urgent: None,
            clocks: None,
            weak: None,
            times: None,
            woken: 0,
            loops: Arc::default(),
            solo: None,
            is_restless: false,
            hint: None,
        };
        state.reset(rules);
        state
    }

    /// Back to the beginning, keeping allocations.
    pub fn reset(&mut self, rules: Rules) {
        self.threads.clear();
        self.objects.clear();
        self.watches.clear();
        self.reading.clear();
        self.hash = 0;
        self.fired = 0;
        self.has_timed_waits = false;
        self.due = 0;
        self.last_timeout = 0;
        self.rules = rules;
        self.panicked = None;
        self.exited = false;
        self.urgent = None;
        self.solo = None;
        self.is_restless = false;
        self.hint = None;
        match &mut self.clocks {
            Some(clocks) if rules.clocks || rules.weak => clocks.reset(),
            clocks => *clocks = (rules.clocks || rules.weak).then(Box::default),
        }
        self.weak = rules.weak.then(Box::default);
        self.times = rules.time.then(Box::default);
        self.woken = 0;
        self.add_thread(ThreadId::MAIN, MAIN_KEY, mix(MAIN_KEY, 1), ObjectId::NONE);
    }

    /// The happens-before graph so far, as a hash.
    pub fn graph(&self) -> u128 {
        self.hash ^ self.restlessness(None)
    }

    /// A thread.
    pub fn thread(&self, thread: ThreadId) -> &Thread {
        &self.threads[thread.index()]
    }

    /// An object.
    pub fn object(&self, object: ObjectId) -> &Object {
        &self.objects[object.index()]
    }

    /// The threads of this execution.
    pub fn thread_ids(&self) -> impl Iterator<Item = ThreadId> + '_ {
        (0..self.threads.len() as u32)
            .map(ThreadId)
            .filter(|&t| self.thread(t).status != Status::Absent)
    }

    /// How many messages were sent to a channel so far.
    pub fn messages(&self, channel: ObjectId) -> u64 {
        let object = self.object(channel);
        object.readers + u64::from(Channel::from_value(object.value).length)
    }

    /// Whether every thread has ended, or one of them has ended the program, or the main thread if
    /// that is enough.
    pub fn is_finished(&self) -> bool {
        self.is_over() || self.all_ended()
    }

    /// Whether nothing moves any more although there may be threads that could.
    fn is_over(&self) -> bool {
        self.exited || self.rules.daemons && self.threads[0].status == Status::Done
    }

    /// Whether every thread has ended.
    pub fn all_ended(&self) -> bool {
        self.threads.iter().all(|t| matches!(t.status, Status::Done | Status::Absent))
    }

    /// The thread that has ended the execution by a panic.
    pub fn panicked(&self) -> Option<ThreadId> {
        self.panicked
    }

    /// The thread that has failed by a panic, where nothing moves any more.
    pub(crate) fn failed_by(&self) -> Option<ThreadId> {
        self.panicked.or_else(|| self.thread_ids().find(|&t| self.thread(t).panicked))
    }

    /// The first data race so far, if clocks are kept.
    pub fn race(&self) -> Option<Race> {
        self.clocks.as_ref().and_then(|c| c.race())
    }

    /// Whether some thread waits at a yield for a change that never comes.
    pub fn has_spinning(&self) -> bool {
        self.threads
            .iter()
            .any(|t| t.status == Status::Ready && t.operation.action == Action::Yield)
    }

    /// The virtual time of a thread.
    pub fn now(&self, thread: ThreadId) -> std::time::Duration {
        self.times.as_ref().map_or(std::time::Duration::ZERO, |times| times.now(thread))
    }

    /// Lets virtual time pass for a thread, at least to `to`.
    pub fn pass(&mut self, thread: ThreadId, to: std::time::Duration) {
        if let Some(times) = &mut self.times {
            times.pass(thread, to);
        }
    }

    /// Adds what a segment does to the state, and how it ends.
    pub fn perform(&mut self, thread: ThreadId, effects: &[Effect], next: &Next) {
        for effect in effects {
            self.effect(thread, *effect);
        }
        self.arrive(thread, next);
    }

    pub(crate) fn effect(&mut self, thread: ThreadId, effect: Effect) {
        match effect {
            Effect::Create(object, value) => {
                self.objects.grow(object.index() + 1);
                let version = mix(self.threads[thread.index()].history, u64::from(object.0));
                self.objects[object.index()] = Object { value, version, ..Object::default() };
            }
            Effect::Spawn(child, token, index) => {
                let parent = &self.threads[thread.index()];
                let key = mix(parent.key, u64::from(index));
                let history = mix3(parent.history ^ SPAWN, u64::from(index), 2);
                self.log_now(thread, None);
                if let Some(clocks) = &mut self.clocks {
                    clocks.spawn(thread, child);
                }
                self.log_now(child, None);
                if let Some(times) = &mut self.times {
                    times.follows(child, thread);
                }
                self.effect(thread, Effect::Create(token, 0));
                self.add_thread(child, key, history, token);
            }
            Effect::Assign(object, value) => {
                self.objects[object.index()].value = value;
                if let Some(weak) = &mut self.weak {
                    weak.assign(object, value);
                }
            }
            Effect::AddSender(object) => self.objects[object.index()].value += SENDER,
            Effect::AddReference(object) => self.objects[object.index()].value += 1,
            Effect::Made(object, site) => {
                if let Some(clocks) = self.clocks.as_mut().filter(|_| self.rules.clocks) {
                    clocks.made(thread, object, site);
                }
            }
            Effect::Access(cell, write, site) => {
                if let Some(clocks) = self.clocks.as_mut().filter(|_| self.rules.clocks) {
                    clocks.access(thread, cell, write, site);
                }
                self.log_now(thread, None);
            }
            Effect::AccessEnd(cell, write, site) => {
                if let Some(clocks) = self.clocks.as_mut().filter(|_| self.rules.clocks) {
                    clocks.access_until(thread, cell, write, site, 1);
                }
            }
            Effect::Fence(order) => {
                if let Some(clocks) = &mut self.clocks {
                    clocks.fence(thread, order);
                    self.log_now(thread, Some(order));
                    if let Some(clocks) = &mut self.clocks {
                        clocks.tick(thread);
                    }
                }
            }
        }
    }

    #[inline]
    pub(crate) fn arrive(&mut self, thread: ThreadId, next: &Next) {
        if self.solo.is_some() {
            self.meet_solo(thread, next);
        }
        let thread_state = &mut self.threads[thread.index()];
        match next {
            Next::Operation(operation) => {
                thread_state.status = Status::Ready;
                thread_state.operation = *operation;
                self.has_timed_waits |= operation.may_time_out();
                if operation.urgent {
                    self.urgent = Some(thread);
                }
                self.meet(operation);
            }
            Next::End => thread_state.status = Status::Done,
            Next::Exit => {
                thread_state.status = Status::Done;
                self.exited = true;
            }
            Next::Panic if self.rules.outlives_panics && thread != ThreadId::MAIN => {
                thread_state.status = Status::Done;
                thread_state.panicked = true;
            }
            Next::Panic => {
                thread_state.status = Status::Done;
                self.panicked = Some(thread);
            }
        }
    }

    fn add_thread(&mut self, id: ThreadId, key: u64, history: u64, token: ObjectId) {
        let operation =
            Operation::new(Action::Yield, ObjectId::NONE, 0, 0, std::panic::Location::caller());
        let blank = Thread {
            status: Status::Absent,
            operation,
            steps: 0,
            history,
            panicked: false,
            waiting: ObjectId::NONE,
            token,
            key,
            timeouts: 0,
            rounds: Rounds::default(),
        };
        if self.threads.len() <= id.index() {
            self.threads.resize(id.index() + 1, blank);
        }
        self.threads[id.index()] = Thread { status: Status::Starting, ..blank };
    }
}
