//! One real execution of the program under test, as the runtime reports it.
//!
//! The runtime calls [`Run::create`], [`Run::spawn`] and [`Run::touch`] while a thread runs, and
//! [`Run::reach`] when it stands before a visible operation (or has ended). Then
//! [`Run::schedule`] asks the strategy which thread goes next, executes its operation on the state
//! and tells the runtime which thread to resume with which result.

mod creation;
mod cycle;
mod epilogue;
mod orders;
mod stopped;
mod trail;

use crate::loops::Conduct;
use crate::patience::Patience;
use crate::race::{Access, Race};
use crate::state::Objects;
use crate::{
    Action, Cut, Effect, ExecutionState, Move, Names, Next, ObjectId, Operation, Order, Rules,
    Site, Source, Status, Thread, ThreadId,
};
use creation::Creations;
use stopped::{Epilogue, Suspect};
use trail::Trail;

/// Decides which thread moves, and learns what threads do.
pub trait Driver {
    /// Picks one of the moves; the list is never empty. `None` abandons the execution.
    fn choose(&mut self, run: &Run, moves: &[Move]) -> Option<Move>;

    /// A thread with the history `history` did `effects` and then reached `next`.
    fn segment(
        &mut self,
        thread: ThreadId,
        history: u64,
        effects: &[Effect],
        next: &Next,
    ) -> Result<(), Mismatch> {
        let _ = (thread, history, effects, next);
        Ok(())
    }

    /// The outcome of a comparison of pointers whose history afterwards would be `history`.
    fn compared(&mut self, history: u64, equal: bool) {
        let _ = (history, equal);
    }
}

/// A program under test: something that can be executed again and again under control.
pub trait Program {
    /// Executes the program once, from its beginning; `run` was reset. Every visible operation
    /// goes through `run`, every decision comes from `driver`.
    fn execute(&mut self, run: &mut Run, driver: &mut dyn Driver);
}

/// The test itself behaved differently although everything it could see was the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What the thread did in an earlier execution, and where.
    pub expected: String,
    /// What it does now, and where.
    pub found: String,
    /// Numbers to which plain writes have given other values, if nothing else is different.
    pub assigned: Vec<ObjectId>,
}

impl Mismatch {
    /// A thread was expected to be able to move and is not.
    pub(crate) fn cannot_move(run: &Run, step: Move) -> Self {
        let known = run.state.threads.get(step.thread.index());
        let found = match known.filter(|thread| thread.status == Status::Ready) {
            Some(Thread { operation, .. }) => {
                format!("it stands before {} at {}", operation.action.name(), operation.site)
            }
            None => "there is no such thread now".into(),
        };
        let expected = format!("thread {} can move", run.ordinal(step.thread));
        Mismatch { expected, found, assigned: Vec::new() }
    }
}

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every thread ended.
    Complete,
    /// No thread can move.
    Deadlock,
    /// No thread can move, and some wait in a loop that yields.
    Livelock,
    /// The same steps, this many, are repeated for ever, although every thread that can move does.
    Cycle(usize),
    /// A thread panicked.
    Panic,
    /// Two accesses to a plain cell race.
    Race(Race),
    /// Too many steps.
    StepLimit,
    /// The strategy had enough.
    Abandoned,
    /// The test is not deterministic.
    Nondeterminism(Mismatch),
    /// The rules changed; the exploration must begin again.
    Restart,
    /// The runtime found something itself, such as a leak, and keeps the details.
    Reported,
}

/// One step of a real execution, for reports.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Which thread and which alternative.
    pub step: Move,
    /// What.
    pub operation: Operation,
    /// What the thread saw.
    pub result: u64,
    /// The value of the object before.
    pub before: u64,
    /// The value of the object afterwards.
    pub after: u64,
    /// Whether the last thread could have gone on.
    pub preemption: bool,
    /// Which write an access read, if all writes are kept.
    pub source: Option<Source>,
}

/// One real execution.
pub struct Run {
    /// The state.
    pub state: ExecutionState,
    /// The decisions so far.
    pub path: Vec<Move>,
    /// How it ended, once it has.
    pub ending: Option<Ending>,
    /// Preemptions so far.
    pub preemptions: u32,
    /// Stale choices so far.
    pub stale: u32,
    /// The thread that moved last.
    pub last: ThreadId,
    /// The thread that runs now.
    pub current: ThreadId,
    /// Threads in the order in which they were spawned.
    pub order: Vec<ThreadId>,
    /// Steps, if they are recorded.
    pub events: Option<Vec<Event>>,
    /// Accesses to plain cells, with the number of steps before each, if steps are recorded.
    pub accesses: Vec<(usize, ObjectId, Access)>,
    /// The same for creations of objects in memory, if they may race.
    pub creations: Vec<(usize, ObjectId, Access)>,
    /// The rules in force; a runtime may extend them and ask for a restart.
    pub rules: Rules,
    /// Memory orders that accesses at these places are to have instead of their own.
    pub stronger: Vec<(Site, Order)>,
    /// Longest execution allowed, in steps.
    pub step_limit: usize,
    pub(crate) patience: Patience,
    /// Whether the exploration goes on after a failure.
    pub keep_going: bool,
    /// Whether a thread has operated on an object, in this execution or an earlier one.
    pub has_operated: bool,
    /// What the running thread remembers at the yield that it has come to, as a number, if the runtime can tell: all
    /// that lies on its stack and in its registers. Needed while a loop is tried out.
    pub memory: Option<u64>,
    /// For a runtime that can look at threads when they yield while [`Run::is_suspect`]: what all of them remembered then, as a
    /// number.
    pub remembered: Option<fn() -> u64>,
    suspect: Option<Suspect>,
    /// Threads go round and round, but remember something else each time.
    counts_rounds: bool,
    /// Steps until something changed for the last time; the rest only polls.
    last_change: usize,
    pub(crate) epilogue: Option<Box<Epilogue>>,
    /// Atomics that were accessed without order.
    pub(crate) raced: Vec<ObjectId>,
    /// The execution was stopped to try out a loop, and for no other reason.
    pub tried_loop: bool,
    /// A loop to be tried out: its thread, and what kind of loop it is.
    pub(crate) probe: Option<(ThreadId, u64)>,
    pub(crate) names: Names,
    makers: Creations,
    open: Vec<OpenSegment>,
    trail: Trail,
    pub(crate) moves: Vec<Move>,
    /// Whether `moves` are those of the next state, too, if the thread that moved last comes to an access to a number.
    has_same_moves: bool,
}

#[derive(Clone, Default)]
struct OpenSegment {
    effects: Vec<Effect>,
    created: u32,
    spawned: u32,
    /// Yields without effect since the last one.
    yields: u32,
}

/// What the runtime has to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Resume this thread and hand it this result.
    Resume(ThreadId, u64),
    /// The execution is over; see [`Run::ending`].
    Stop,
}

impl Run {
    /// An execution that uses these names.
    pub fn new(names: Names, rules: Rules, step_limit: usize) -> Self {
        let mut state = ExecutionState::new(rules);
        state.loops = names.loops();
        state.objects = Objects::unshared();
        Run {
            state,
            path: Vec::new(),
            ending: None,
            preemptions: 0,
            stale: 0,
            last: ThreadId::MAIN,
            current: ThreadId::MAIN,
            order: Vec::new(),
            events: None,
            accesses: Vec::new(),
            creations: Vec::new(),
            rules,
            stronger: Vec::new(),
            step_limit,
            patience: Patience::default(),
            keep_going: false,
            has_operated: false,
            memory: None,
            remembered: None,
            suspect: None,
            counts_rounds: false,
            last_change: 0,
            epilogue: None,
            raced: Vec::new(),
            tried_loop: false,
            probe: None,
            names,
            makers: Creations::default(),
            open: Vec::new(),
            trail: Trail::default(),
            moves: Vec::new(),
            has_same_moves: false,
        }
    }

    /// A state for a search that imagines executions, under these rules.
    pub(crate) fn imagined_state(&self, rules: Rules) -> ExecutionState {
        let mut state = ExecutionState::new(rules);
        state.loops = self.state.loops.clone();
        state
    }

    /// A loop that was to be tried out, by a program whose threads do not run on after the end, is
    /// taken for one that waits.
    pub fn finish_probe(&mut self) {
        if let Some((_, key)) = self.probe.take() {
            // It was not tried out.
            self.names.set_loop(key, Vec::new(), Conduct::Waits);
        }
    }

    /// Back to the beginning, keeping allocations.
    pub fn reset(&mut self) {
        self.state.reset(self.rules);
        self.path.clear();
        self.trail.clear();
        self.has_same_moves = false;
        self.last_change = 0;
        (self.suspect, self.counts_rounds) = (None, false);
        self.ending = None;
        self.epilogue = None;
        self.raced.clear();
        self.tried_loop = false;
        self.finish_probe();
        self.preemptions = 0;
        self.stale = 0;
        self.last = ThreadId::MAIN;
        self.current = ThreadId::MAIN;
        self.order.clear();
        self.order.push(ThreadId::MAIN);
        if let Some(events) = &mut self.events {
            events.clear();
        }
        self.accesses.clear();
        self.creations.clear();
        self.makers.clear();
        for open in &mut self.open {
            open.effects.clear();
            open.created = 0;
            open.spawned = 0;
            open.yields = 0;
        }
        let token = self.create(0);
        self.state.threads[0].token = token;
    }

    /// The running thread creates an object that lies in the memory of the program: nothing may use it before it knows of
    /// that.
    pub fn create_in_memory(&mut self, value: u64, site: Site) -> ObjectId {
        let thread = self.current;
        let before = self.open(thread).created;
        let object = self.create(value);
        if self.rules.clocks {
            if self.events.is_some() {
                let access = Access { thread, write: true, site };
                self.creations.push((self.path.len(), object, access));
            }
            self.note(Effect::Made(object, site));
        } else if self.rules.weak {
            self.makers.made(object, (thread, before));
        }
        object
    }

    /// The running thread creates an object.
    pub fn create(&mut self, value: u64) -> ObjectId {
        let thread = self.current;
        let open = self.open(thread);
        let index = open.created;
        open.created += 1;
        let object = self.names.object(thread, index);
        self.note(Effect::Create(object, value));
        object
    }

    /// The running thread spawns another. The child runs next, up to its first operation.
    pub fn spawn(&mut self) -> ThreadId {
        let parent = self.current;
        self.has_same_moves = false;
        let open = self.open(parent);
        let index = open.spawned;
        open.spawned += 1;
        let child = self.names.thread(parent, index);
        let created = self.open(parent).created;
        if self.rules.weak {
            self.makers.born(child, (parent, created));
        }
        let open = self.open(child);
        open.created = 1;
        let token = self.names.object(child, 0);
        self.note(Effect::Spawn(child, token, index));
        self.order.push(child);
        child
    }

    /// The running thread, which has exclusive access, changes a number.
    pub fn assign(&mut self, object: ObjectId, value: u64) {
        if self.value_of(object) != value {
            self.has_same_moves = false;
            self.note(Effect::Assign(object, value));
        }
    }

    /// The running thread adds a sender to a channel.
    pub fn add_sender(&mut self, channel: ObjectId) {
        self.has_same_moves = false;
        self.note(Effect::AddSender(channel));
    }

    /// The running thread adds to a count of references (see [`Action::DropReference`]).
    ///
    /// [`Action::DropReference`]: crate::Action::DropReference
    pub fn add_reference(&mut self, count: ObjectId) {
        self.note(Effect::AddReference(count));
    }

    /// The running thread touches a plain cell.
    pub fn touch(&mut self, cell: ObjectId, write: bool, site: Site) {
        if self.events.is_some() {
            let access = Access { thread: self.current, write, site };
            self.accesses.push((self.path.len(), cell, access));
        }
        self.has_operated = true;
        self.note(Effect::Access(cell, write, site));
        self.note_race();
    }

    /// An access to a plain cell that has begun before the last operation of the running thread
    /// ends.
    pub fn touch_end(&mut self, cell: ObjectId, write: bool, site: Site) {
        self.note(Effect::AccessEnd(cell, write, site));
        self.note_race();
    }

    fn note_race(&mut self) {
        if self.ending.is_none() {
            let race = self.state.clocks.as_ref().and_then(|c| c.race());
            self.ending = race.map(Ending::Race);
        }
    }

    /// Sees to it that clocks are kept where the running thread may use an object without knowing of its creation.
    fn watch_creations(&mut self, next: &Next) {
        if !self.rules.weak || self.rules.clocks || self.ending.is_some() {
            return;
        }
        let Next::Operation(operation) = next else { return };
        if !self.makers.is_known_from_birth(self.current, operation.object) {
            self.rules.clocks = true;
            self.ending = Some(Ending::Restart);
        }
    }

    /// Whether the running thread, which is about to yield, has done nothing since it last did. Then it
    /// does not have to, unless it goes on like that for too long.
    pub fn has_just_yielded(&mut self) -> bool {
        /// A loop of nothing but yields ends at the limit on steps.
        const MOST: u32 = 1 << 12;
        let thread = self.current;
        let fresh = self.state.thread(thread).rounds.fresh;
        let open = self.open(thread);
        open.yields = if fresh && open.effects.is_empty() { open.yields + 1 } else { 0 };
        (1..=MOST).contains(&open.yields)
    }

    /// The running thread has come to the end of a segment.
    pub fn reach(&mut self, next: Next, driver: &mut dyn Driver) {
        let mut next = next;
        if let (Next::Operation(operation), false) = (&mut next, self.stronger.is_empty()) {
            *operation = self.strengthened(*operation);
        }
        self.watch_creations(&next);
        let thread = self.current;
        let history = self.state.thread(thread).history;
        self.open(thread);
        let effects = &mut self.open[thread.index()].effects;
        // What is done after the end, or to find out that the rules must change, teaches nothing.
        if self.epilogue.is_none() && self.ending != Some(Ending::Restart) {
            if let Err(mismatch) = driver.segment(thread, history, effects, &next) {
                self.ending.get_or_insert(Ending::Nondeterminism(mismatch));
            }
        }
        effects.clear();
        self.state.arrive(thread, &next);
        if self.rules.watch && self.ending.is_none() && self.state.is_unknown_loop(thread) {
            self.probe = Some((thread, self.state.loop_of(thread)));
            self.tried_loop = true;
            self.ending = Some(Ending::Restart);
        }
    }

    /// Asks which thread goes next and executes its operation.
    pub fn schedule(&mut self, driver: &mut dyn Driver) -> Command {
        if self.epilogue.is_some() {
            return self.schedule_epilogue();
        }
        if self.ending.is_some() {
            return Command::Stop;
        }
        let mut moves = std::mem::take(&mut self.moves);
        if !(self.has_same_moves && self.state.is_before_number(self.last)) {
            self.state.moves(&mut moves);
            self.has_same_moves = self.state.has_plain_moves();
        }
        #[cfg(test)]
        self.check_moves(&moves);
        let command = self.pick(&moves, driver);
        self.moves = moves;
        command
    }

    /// The position of a thread in the order of spawning, which a schedule string uses.
    pub fn ordinal(&self, thread: ThreadId) -> usize {
        self.order.iter().position(|&t| t == thread).unwrap_or(usize::MAX)
    }

    #[cfg(test)]
    fn check_moves(&self, moves: &[Move]) {
        let mut all = Vec::new();
        self.state.moves(&mut all);
        assert_eq!(moves, all);
    }

    fn pick(&mut self, moves: &[Move], driver: &mut dyn Driver) -> Command {
        if moves.is_empty() {
            self.ending = Some(self.stuck());
            if self.ending == Some(Ending::Livelock) {
                // Rounds in which nothing changes follow by themselves.
                self.path.truncate(self.last_change);
                self.events.iter_mut().for_each(|events| events.truncate(self.last_change));
            }
            return Command::Stop;
        }
        if let Some(period) = self.cycle(moves) {
            self.ending = Some(Ending::Cycle(period));
            self.show_one_round(period);
            return Command::Stop;
        }
        if self.path.len() >= self.step_limit {
            self.ending = Some(Ending::StepLimit);
            return Command::Stop;
        }
        if self.patience.is_over_after(self.path.len()) {
            self.ending = Some(Ending::Abandoned);
            return Command::Stop;
        }
        let Some(step) = driver.choose(self, moves) else {
            self.ending.get_or_insert(Ending::Abandoned);
            return Command::Stop;
        };
        if self.state.has_timed_waits {
            self.note_timeouts(moves, &self.state);
        }
        let preemption = step.thread != self.last && self.state.keeps_running(self.last, moves);
        self.preemptions += u32::from(preemption);
        self.path.push(step);
        let operation = self.state.thread(step.thread).operation;
        self.has_same_moves &= operation.action.is_number();
        self.has_operated |=
            operation.object != ObjectId::NONE || operation.action == Action::Choose;
        let is_recorded = self.events.is_some();
        let compares = operation.action == Action::ComparePointer;
        let before = if is_recorded || compares { self.value_of(operation.object) } else { 0 };
        let result = self.state.apply(step);
        if self.rules.clocks {
            // With a plain read, or with the creation of the object.
            self.note_race();
        }
        if compares {
            let history = self.state.thread(step.thread).history;
            driver.compared(history, before == operation.first);
        }
        self.trail.push(self.path.len() - 1, step, &operation, result);
        let mut source = None;
        if self.rules.weak {
            self.raced.extend(self.state.take_raced());
            source = self.state.source().filter(|_| operation.action.is_access());
            self.stale += u32::from(source.is_some_and(|source| source.stale));
        }
        if is_recorded {
            let after = self.value_of(operation.object);
            let event = Event { step, operation, result, before, after, preemption, source };
            self.events.iter_mut().for_each(|events| events.push(event));
        }
        if !self.state.is_idle(step.thread) {
            self.last_change = self.path.len();
        }
        self.last = step.thread;
        self.current = step.thread;
        Command::Resume(step.thread, result)
    }

    /// Notes if some wait could end in this state because time is up, but so many have that others come first.
    pub(crate) fn note_timeouts(&self, moves: &[Move], state: &ExecutionState) {
        if state.withholds_timeouts(moves) {
            self.names.note_cut(Cut::Timeouts);
        }
        if state.withholds_deadlines(moves) {
            self.names.note_cut(Cut::Deadlines);
        }
    }

    /// Notes that a comparison could fail once more for no reason, which is not explored.
    pub fn note_failure(&self) {
        self.names.note_cut(Cut::Failures);
    }

    fn stuck(&self) -> Ending {
        if self.state.failed_by().is_some() {
            Ending::Panic
        } else if self.state.is_finished() {
            Ending::Complete
        } else if self.state.has_spinning() {
            Ending::Livelock
        } else {
            Ending::Deadlock
        }
    }

    /// The newest value of an object.
    pub fn value_of(&self, object: ObjectId) -> u64 {
        self.state.objects.get(object.index()).map_or(0, |o| o.value)
    }

    fn note(&mut self, effect: Effect) {
        let thread = self.current;
        debug_assert!(self.state.thread(thread).status != Status::Done || thread == ThreadId::MAIN);
        self.state.effect(thread, effect);
        self.open(thread).effects.push(effect);
    }

    fn open(&mut self, thread: ThreadId) -> &mut OpenSegment {
        if self.open.len() <= thread.index() {
            self.open.resize_with(thread.index() + 1, OpenSegment::default);
        }
        &mut self.open[thread.index()]
    }
}
