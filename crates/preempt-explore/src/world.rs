//! The shared state of one execution: threads, objects, and the happens-before graph so far.
//!
//! The same `World` drives a running program and a search that only imagines one: who is enabled,
//! what an operation does and which graph results depend on nothing else. A state is identified
//! by the hash of its happens-before graph, the XOR of one term per action. An action is named by
//! (thread, n-th action of the thread); its term also holds the last write of the object, and for
//! a write the reads since, which is what fixes the order among dependent actions.
//!
//! Each thread has a *local history*: a hash chain over its actions and what each one read from.
//! Two executions in which a thread has the same history cannot be told apart by that thread.

use crate::identity::Loops;
use crate::mix::{mix, mix3};
use crate::objects::Objects;
use crate::polling::{Rounds, Watch};
use crate::race::{Clocks, Race};
use crate::virtual_time::Times;
use crate::weak::Weak;
use crate::{Action, Effect, Move, Next, ObjectId, Operation, ThreadId};
use std::sync::Arc;

/// What a thread is up to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Not spawned in this execution.
    Absent,
    /// Before its first operation.
    Starting,
    /// Its next operation is known.
    Ready,
    /// Ended.
    Done,
}

/// One thread.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// What it is up to.
    pub status: Status,
    /// The next operation, when ready.
    pub operation: Operation,
    /// Number of actions so far.
    pub steps: u32,
    /// Hash of everything the thread has observed.
    pub history: u64,
    /// Condition variable it waits on and was not woken from.
    pub waiting: ObjectId,
    /// Its park token.
    pub token: ObjectId,
    pub(crate) key: u64,
    pub(crate) rounds: Rounds,
}

/// One object.
#[derive(Clone, Copy, Debug, Default)]
pub struct Object {
    /// A number, the holder of a lock, the length of a channel, …
    pub value: u64,
    /// Hash of the history of the last release or write.
    pub(crate) version: u64,
    /// Hash of the histories of readers since (read-write locks), or a snapshot (barriers).
    pub(crate) readers: u64,
    pub(crate) last_write: u64,
    pub(crate) reads: u64,
    pub(crate) changes: u32,
    pub(crate) releases: u32,
}

/// What every execution of an exploration has in common.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Follow what each thread has read, for loops that yield. Costs time; switched on when a
    /// thread yields for the first time.
    pub watch: bool,
    /// Keep vector clocks. Costs time; switched on when a plain cell is touched.
    pub clocks: bool,
    /// Some number is read as plain memory, so that atomic writes may race. Needs clocks.
    pub mixed: bool,
    /// How many timeouts may fire in an execution while some thread could move otherwise.
    pub timeouts: u32,
    /// Some thread takes a lock for reading that it holds for reading: writers that wait matter.
    pub recursive: bool,
    /// Keep virtual time. Switched on when it is looked at.
    pub time: bool,
    /// Executions end with the main thread, whatever others do.
    pub daemons: bool,
    /// How often a wait may end for no reason.
    pub spurious: u32,
    /// How many rounds of loops that yield make a livelock, where nothing else can move.
    pub patience: u32,
    /// Explore what weak memory orders allow, if the program uses them.
    pub rc11: bool,
    /// The program uses them: keep all writes. Switched on by [`Run::weaken`](crate::Run::weaken).
    pub weak: bool,
    /// It also uses sequentially consistent accesses or fences.
    pub strong: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            watch: false,
            clocks: false,
            mixed: false,
            timeouts: 1,
            recursive: false,
            time: false,
            daemons: false,
            spurious: 0,
            patience: 1000,
            rc11: false,
            weak: false,
            strong: false,
        }
    }
}

/// The shared state of one execution.
#[derive(Debug)]
pub struct World {
    pub(crate) threads: Vec<Thread>,
    pub(crate) objects: Objects,
    pub(crate) watches: Vec<Watch>,
    /// Who holds which lock for reading.
    pub(crate) reading: Vec<(ThreadId, ObjectId)>,
    pub(crate) hash: u128,
    pub(crate) fired: u32,
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
    /// Outcome of the next comparison of pointers, when values are not at hand.
    pub(crate) hint: Option<bool>,
}

impl Clone for World {
    fn clone(&self) -> Self {
        let mut copy = World::new(self.rules);
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
        self.hint = source.hint;
    }
}

const MAIN_KEY: u64 = 0x6D61_696E;
/// Keeps the histories of children apart from those of their parents.
const SPAWN: u64 = 0x7370_6177_6E00_0000;

impl World {
    /// A world with the main thread about to start.
    pub fn new(rules: Rules) -> Self {
        let mut world = World {
            threads: Vec::new(),
            objects: Objects::default(),
            watches: Vec::new(),
            reading: Vec::new(),
            hash: 0,
            fired: 0,
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
            hint: None,
        };
        world.reset(rules);
        world
    }

    /// Back to the beginning, keeping allocations.
    pub fn reset(&mut self, rules: Rules) {
        self.threads.clear();
        self.objects.clear();
        self.watches.clear();
        self.reading.clear();
        self.hash = 0;
        self.fired = 0;
        self.last_timeout = 0;
        self.rules = rules;
        self.panicked = None;
        self.exited = false;
        self.urgent = None;
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
        self.hash
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

    /// The thread that panicked.
    pub fn panicked(&self) -> Option<ThreadId> {
        self.panicked
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

    /// All moves that are possible now, in order of thread, then choice.
    pub fn moves(&self, out: &mut Vec<Move>) {
        out.clear();
        if self.panicked.is_some() || self.is_over() {
            return;
        }
        if let Some(thread) = self.urgent {
            self.moves_of(thread, out);
            if !out.is_empty() {
                return;
            }
        }
        for index in 0..self.threads.len() {
            self.moves_of(ThreadId(index as u32), out);
        }
        let late = out.is_empty() || self.fired < self.rules.timeouts;
        if late || self.woken < self.rules.spurious {
            self.timeouts(late, out);
        }
        if out.is_empty() {
            self.forced_moves(out);
        }
    }

    /// Whether `thread` can go on by itself, so that taking the processor from it is a preemption.
    pub fn keeps_running(&self, thread: ThreadId, moves: &[Move]) -> bool {
        !self.threads[thread.index()].operation.action.is_voluntary()
            && moves.iter().any(|m| m.thread == thread && m.choice != Move::TIMEOUT)
    }

    /// As [`World::keeps_running`], without the list of moves.
    pub(crate) fn can_go_on(&self, id: ThreadId) -> bool {
        let thread = &self.threads[id.index()];
        thread.status == Status::Ready
            && !thread.operation.action.is_voluntary()
            && self.panicked.is_none()
            && !self.exited
            && self.urgent.is_none_or(|urgent| urgent == id)
            && self.is_enabled(id, thread)
    }

    fn moves_of(&self, id: ThreadId, out: &mut Vec<Move>) {
        let thread = &self.threads[id.index()];
        if thread.status != Status::Ready {
            return;
        }
        let operation = &thread.operation;
        let choices = match operation.action {
            Action::NotifyOne => self.waiters(operation.object).max(1),
            Action::Choose => operation.first as u32,
            _ => u32::from(self.is_enabled(id, thread)),
        };
        out.extend((0..choices).map(|choice| Move { thread: id, choice }));
    }

    /// Waits that may end because time is up, if it is `late`, or for no reason.
    fn timeouts(&self, late: bool, out: &mut Vec<Move>) {
        let spurious = self.woken < self.rules.spurious;
        for (index, thread) in self.threads.iter().enumerate() {
            let operation = &thread.operation;
            let id = ThreadId(index as u32);
            let allowed = match operation.second {
                1 => late,
                Operation::SPURIOUS => spurious,
                _ => false,
            };
            if thread.status != Status::Ready || !allowed {
                continue;
            }
            let possible = match operation.action {
                Action::Reacquire => {
                    thread.waiting != ObjectId::NONE && self.object(operation.object).value == 0
                }
                Action::TakeToken
                | Action::Receive
                | Action::Lock
                | Action::ReadLock
                | Action::WriteLock => !self.is_enabled(id, thread),
                _ => false,
            };
            if possible {
                out.push(Move { thread: id, choice: Move::TIMEOUT });
            }
        }
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

    pub(crate) fn is_enabled(&self, id: ThreadId, thread: &Thread) -> bool {
        let operation = &thread.operation;
        let value = || self.objects[operation.object.index()].value;
        match operation.action {
            Action::Lock => value() == 0,
            Action::Reacquire => thread.waiting == ObjectId::NONE && value() == 0,
            Action::ReadLock => {
                let waits = self.rules.recursive
                    && value() & WAITING != 0
                    && self.is_reading(id, operation.object);
                value() & WRITER == 0 && !waits
            }
            Action::WriteLock => value() & !WAITING == 0,
            Action::Join => self.threads[operation.target().index()].status == Status::Done,
            Action::Yield => self.may_leave_yield(id, thread),
            Action::TakeToken => value() == 1,
            Action::Send => {
                let channel = Channel::from_value(value());
                operation.first == 0
                    || !channel.receiver
                    || u64::from(channel.length) < (operation.first - 1).max(1)
            }
            Action::AwaitTaken => {
                let object = self.object(operation.object);
                object.readers >= operation.first || !Channel::from_value(object.value).receiver
            }
            Action::Receive => {
                let channel = Channel::from_value(value());
                channel.length > 0 || channel.senders == 0
            }
            Action::Leave => value() >> 32 > operation.first,
            Action::OnceEnter => value() != ONCE_RUNNING,
            _ => true,
        }
    }

    /// Whether a thread holds a lock for reading.
    pub fn is_reading(&self, thread: ThreadId, lock: ObjectId) -> bool {
        self.reading.contains(&(thread, lock))
    }

    pub(crate) fn waiters(&self, condition: ObjectId) -> u32 {
        self.threads.iter().filter(|t| t.waiting == condition && t.is_waiting()).count() as u32
    }

    /// The `choice`-th waiter in the order of the threads' keys, which no interning can change.
    pub(crate) fn waiter(&self, condition: ObjectId, choice: u32) -> Option<ThreadId> {
        let waits = |t: &&Thread| t.waiting == condition && t.is_waiting();
        self.threads
            .iter()
            .enumerate()
            .filter(|(_, t)| waits(t))
            .find(|(_, t)| {
                let before = self.threads.iter().filter(waits).filter(|u| u.key < t.key).count();
                before as u32 == choice
            })
            .map(|(index, _)| ThreadId(index as u32))
    }

    /// The thread that holds what a disabled thread waits for, if there is exactly one.
    pub fn holder(&self, id: ThreadId) -> Option<ThreadId> {
        let thread = self.thread(id);
        let operation = &thread.operation;
        let held = || self.object(operation.object).value;
        match operation.action {
            Action::Join => Some(operation.target()),
            Action::Reacquire if thread.waiting != ObjectId::NONE => None,
            Action::Lock | Action::Reacquire => (held() as u32).checked_sub(1).map(ThreadId),
            Action::WriteLock if self.is_reading(id, operation.object) => Some(id),
            Action::ReadLock | Action::WriteLock if held() & WRITER != 0 => {
                (held() as u32).checked_sub(1).map(ThreadId)
            }
            _ => None,
        }
    }

    /// Adds what a segment does to the state, and how it ends.
    pub fn perform(&mut self, thread: ThreadId, effects: &[Effect], next: Next) {
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

    pub(crate) fn arrive(&mut self, thread: ThreadId, next: Next) {
        let state = &mut self.threads[thread.index()];
        match next {
            Next::Operation(operation) => {
                state.status = Status::Ready;
                state.operation = operation;
                if operation.urgent {
                    self.urgent = Some(thread);
                }
                self.meet(&operation);
            }
            Next::End => state.status = Status::Done,
            Next::Exit => {
                state.status = Status::Done;
                self.exited = true;
            }
            Next::Panic => {
                state.status = Status::Done;
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
            waiting: ObjectId::NONE,
            token,
            key,
            rounds: Rounds::default(),
        };
        if self.threads.len() <= id.index() {
            self.threads.resize(id.index() + 1, blank);
        }
        self.threads[id.index()] = Thread { status: Status::Starting, ..blank };
    }
}

impl Thread {
    fn is_waiting(&self) -> bool {
        self.status == Status::Ready && self.operation.action == Action::Reacquire
    }
}

/// Set in the value of a read-write lock that is held for writing.
pub(crate) const WRITER: u64 = 1 << 63;
/// Counts threads that wait to write, in the value of a read-write lock.
pub(crate) const WAITS: u64 = 1 << 40;
pub(crate) const WAITING: u64 = 0xFFFF << 40;
/// State of a one-time initialisation that is being run.
pub(crate) const ONCE_RUNNING: u64 = 1;
const SENDER: u64 = 1 << 32;

/// The value of a channel, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channel {
    /// Messages waiting.
    pub length: u32,
    /// Senders left.
    pub senders: u32,
    /// Whether the receiver is left.
    pub receiver: bool,
}

impl Channel {
    /// From the value of the object.
    pub fn from_value(value: u64) -> Self {
        Channel {
            length: value as u32,
            senders: (value >> 32) as u32 & 0x7FFF_FFFF,
            receiver: value & WRITER != 0,
        }
    }

    /// To the value of the object.
    pub fn value(self) -> u64 {
        u64::from(self.length)
            | u64::from(self.senders) << 32
            | if self.receiver { WRITER } else { 0 }
    }
}
