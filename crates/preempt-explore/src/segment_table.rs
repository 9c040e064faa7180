//! What is known about the program: one segment per local history.
//!
//! A search that stands in some state asks for the continuation of a thread by its history. Only
//! if no execution has had that history is the program run: along the path to the state, then
//! without preemption to its end, which records every history on the way. So the graph of such a
//! run differs from that of every earlier run, and there are never more runs than graphs, unless
//! there are so many histories that old ones are forgotten.

use crate::ahead::Ahead;
use crate::histories::Histories;
use crate::mutation::{self, Mutation};
use crate::run_along::{Observer, run_along};
use crate::worker_pool::RunReport;
use crate::{
    Action, Effect, Ending, ExecutionState, Halt, Mismatch, Move, Next, ObjectId, Operation,
    POINTER, Program, Segment, Session, ThreadId,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Segments by history.
#[derive(Default)]
pub(crate) struct SegmentTable {
    pub(crate) by_history: Histories,
    compared: FxHashMap<u64, bool>,
    path: Vec<Move>,
    /// Graphs of executions that were run to their ends with clocks: they have no data race. Also if the
    /// program frees memory.
    executed: FxHashSet<u128>,
    /// The only thread known to operate on each object; `None` if there are several.
    users: FxHashMap<ObjectId, Option<ThreadId>>,
    /// Whether all writes to atomics are kept, so that accesses without order are noticed.
    pub(crate) weak: bool,
    /// Atomics that are accessed without order in some execution, see `forward/silent.rs`.
    raced: FxHashSet<ObjectId>,
    /// Objects that a search took to belong to one thread, or to be accessed in order.
    relied_on: FxHashSet<ObjectId>,
    /// Whether a search has relied on something that turned out to be wrong.
    pub(crate) contradicted: bool,
    /// What executions with stale choices that the search had not come to yet have shown.
    pub(crate) ahead: Ahead,
}

impl SegmentTable {
    /// Brings a new state to the first state: every thread before its first operation.
    pub(crate) fn begin<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        state: &mut ExecutionState,
    ) -> Result<(), Halt> {
        self.reach_next_operation(session, state, ThreadId::MAIN, &|_| {})
    }

    /// Executes `step` on a state and brings it to the next state. `path` writes the steps from
    /// the beginning up to and including `step`.
    pub(crate) fn advance<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        state: &mut ExecutionState,
        step: Move,
        path: &dyn Fn(&mut Vec<Move>),
    ) -> Result<(), Halt> {
        self.apply(session, state, step, path)?;
        self.reach_next_operation(session, state, step.thread, path)
    }

    /// Executes `step` on a state; the thread of the step is then between two operations.
    pub(crate) fn apply<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        state: &mut ExecutionState,
        step: Move,
        path: &dyn Fn(&mut Vec<Move>),
    ) -> Result<(), Halt> {
        if state.thread(step.thread).operation.action == Action::ComparePointer {
            let history = state.history_after_compare(step.thread);
            while !self.compared.contains_key(&history) && !self.run_once(session, path)? {}
            state.hint = self.compared.get(&history).copied();
        }
        state.apply(step);
        if let Some(object) = state.take_raced() {
            self.note_race(object);
            if self.contradicted {
                return Err(Halt::Restart);
            }
        }
        Ok(())
    }

    /// Whether it is known what the thread does next.
    pub(crate) fn knows(&self, state: &ExecutionState, thread: ThreadId) -> bool {
        self.by_history.get(state.thread(thread).history).is_some()
    }

    /// Brings a thread that is between two operations to the next one.
    pub(crate) fn reach_next_operation<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        state: &mut ExecutionState,
        thread: ThreadId,
        path: &dyn Fn(&mut Vec<Move>),
    ) -> Result<(), Halt> {
        let history = state.thread(thread).history;
        let mut spawns = self.perform(state, thread);
        let mut has_run = false;
        while spawns.is_none() && !has_run {
            has_run = self.run_once(session, path)?;
            spawns = self.perform(state, thread);
        }
        let Some(spawns) = spawns else { return Err(lost(session)) };
        state.take_loops(&session.run.state);
        if session.repeats_after_loops && state.rules.watch && state.is_unknown_loop(thread) {
            // Before the search goes on there, so that no state is expanded on a wrong assumption.
            self.run_once(session, path)?;
            state.take_loops(&session.run.state);
        }
        if spawns {
            let effects =
                self.by_history.get(history).map(|s| s.effects.clone()).unwrap_or_default();
            for effect in effects {
                if let Effect::Spawn(child, ..) = effect {
                    self.reach_next_operation(session, state, child, path)?;
                }
            }
        }
        Ok(())
    }

    /// Brings a thread to its next operation, if it is known. Returns whether it spawns threads.
    fn perform(&self, state: &mut ExecutionState, thread: ThreadId) -> Option<bool> {
        let segment = self.by_history.get(state.thread(thread).history)?;
        state.perform(thread, &segment.effects, &segment.next);
        Some(segment.effects.iter().any(|e| matches!(e, Effect::Spawn(..))))
    }

    /// Whether the program itself has made this complete execution, with clocks and without a race.
    pub(crate) fn was_executed(&self, graph: u128) -> bool {
        self.executed.contains(&graph)
    }

    /// Whether the execution along `path` has a data race.
    pub(crate) fn races<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        path: &[Move],
    ) -> Result<bool, Halt> {
        let mut state = session.run.imagined_state(session.run.rules);
        self.begin(session, &mut state)?;
        for (index, &step) in path.iter().enumerate() {
            let so_far = |out: &mut Vec<Move>| out.extend_from_slice(&path[..=index]);
            self.advance(session, &mut state, step, &so_far)?;
        }
        Ok(state.race().is_some())
    }

    /// Runs the program along a path and then without preemption to its end.
    pub(crate) fn run<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        path: &dyn Fn(&mut Vec<Move>),
    ) -> Result<(), Halt> {
        while !self.run_once(session, path)? {}
        Ok(())
    }

    /// The same, but `false` if the execution was stopped to try out a loop, which is known from now on.
    fn run_once<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        path: &dyn Fn(&mut Vec<Move>),
    ) -> Result<bool, Halt> {
        self.by_history.forget_old();
        let mut steps = std::mem::take(&mut self.path);
        steps.clear();
        path(&mut steps);
        let tail = self.ahead.tail(session, steps.len());
        let ending = run_along(session, &steps, tail, self);
        let ending = self.ahead.keep(session, tail, &steps, ending);
        self.path = steps;
        for object in std::mem::take(&mut session.run.raced) {
            self.note_race(object);
        }
        if session.knows_loop_now(&ending) {
            return Ok(false);
        }
        self.conclude(session, ending)?;
        Ok(true)
    }

    fn conclude<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        ending: Ending,
    ) -> Result<(), Halt> {
        let rules = session.run.rules;
        if ending == Ending::Complete && (rules.clocks || rules.frees) {
            self.executed.insert(session.run.state.graph());
        }
        match session.check(ending).or_else(|| session.limit()) {
            Some(halt) => Err(halt),
            None if self.contradicted => Err(Halt::Restart),
            None => Ok(()),
        }
    }

    /// Whether no other thread is known to operate on what this operation touches, or all writes to atomics are
    /// kept and it is an access to one that is ordered with all others in every execution so far.
    /// A caller that relies on it must look at `contradicted`, which is set if that turns out to be wrong.
    pub(crate) fn is_local(&mut self, thread: ThreadId, operation: &Operation) -> bool {
        let [first, second] = objects(operation);
        let ordered = self.weak && operation.action.is_access() && !self.raced.contains(&first);
        for object in [first, second] {
            if object != ObjectId::NONE
                && self.users.get(&object) != Some(&Some(thread))
                && !(ordered && object == first)
            {
                return false;
            }
        }
        self.relied_on.extend([first, second]);
        true
    }

    /// An atomic is accessed without order.
    fn note_race(&mut self, object: ObjectId) {
        if self.raced.insert(object) {
            self.contradicted |=
                self.relied_on.contains(&object) && !mutation::is(Mutation::NeverContradicted);
        }
    }

    /// Learns from an execution made elsewhere.
    pub(crate) fn absorb(&mut self, report: &RunReport) -> Result<(), Mismatch> {
        self.by_history.forget_old();
        for (thread, history, effects, next) in &report.observations.segments {
            self.observe(*thread, *history, effects, *next)?;
        }
        self.compared.extend(report.observations.compared.iter().copied());
        Ok(())
    }

    /// `ordered`: accesses to it that have no order are noticed, so several users are no contradiction.
    fn note_use(&mut self, thread: ThreadId, object: ObjectId, ordered: bool) {
        if object == ObjectId::NONE {
            return;
        }
        let user = self.users.entry(object).or_insert(Some(thread));
        if user.is_some_and(|known| known != thread) {
            *user = None;
            self.contradicted |= !ordered
                && self.relied_on.contains(&object)
                && !mutation::is(Mutation::NeverContradicted);
        }
    }
}

impl Observer for SegmentTable {
    fn observe(
        &mut self,
        thread: ThreadId,
        history: u64,
        effects: &[Effect],
        next: Next,
    ) -> Result<(), Mismatch> {
        match self.by_history.pass(history) {
            None => {
                if let Next::Operation(operation) = &next {
                    let is_raced = self.raced.contains(&operation.object);
                    let ordered = self.weak && operation.action.is_access() && !is_raced;
                    objects(operation).into_iter().for_each(|o| self.note_use(thread, o, ordered));
                    if operation.awaits {
                        // One that waits in vain has no place in the order of accesses, which it would have changed.
                        self.note_race(operation.object);
                    }
                }
                for effect in effects {
                    if let Effect::Assign(object, _) | Effect::AddSender(object) = effect {
                        self.note_use(thread, *object, false);
                    }
                }
                self.by_history.insert(history, Segment { effects: effects.into(), next });
                Ok(())
            }
            Some(known) if *known.effects == *effects && same_next(&known.next, &next) => Ok(()),
            Some(known) => Err(Mismatch {
                expected: describe(&known.effects, &known.next),
                found: describe(effects, &next)
                    + &difference(&known.next, &next)
                    + &difference_before(&known.effects, effects),
                assigned: match same_next(&known.next, &next) {
                    true => assigned_otherwise(&known.effects, effects),
                    false => Vec::new(),
                },
            }),
        }
    }

    fn observe_comparison(&mut self, history: u64, equal: bool) {
        self.compared.insert(history, equal);
    }
}

/// The objects an operation touches.
fn objects(operation: &Operation) -> [ObjectId; 2] {
    let second = match operation.action {
        Action::Wait | Action::Reacquire => operation.condition(),
        _ => ObjectId::NONE,
    };
    [operation.object, second]
}

/// The number an operation on pointers stores differs between executions.
fn same_next(known: &Next, next: &Next) -> bool {
    match (known, next) {
        (Next::Operation(a), Next::Operation(b)) if a.action == Action::ComparePointer => {
            a.action == b.action && a.object == b.object
        }
        (Next::Operation(a), Next::Operation(b)) if a.second == POINTER => {
            a.action == b.action && a.object == b.object && b.second == POINTER
        }
        _ => known == next,
    }
}

/// The numbers to which plain writes give other values, if that is all that is different.
fn assigned_otherwise(known: &[Effect], effects: &[Effect]) -> Vec<ObjectId> {
    let others = |effects: &[Effect]| -> Vec<Effect> {
        effects.iter().filter(|effect| !matches!(effect, Effect::Assign(..))).copied().collect()
    };
    if others(known) != others(effects) {
        return Vec::new();
    }
    let missing = |from: &[Effect], within: &[Effect]| -> Vec<ObjectId> {
        let missing = from.iter().filter(|effect| !within.contains(effect));
        let object = |effect: &Effect| match effect {
            Effect::Assign(object, _) => Some(*object),
            _ => None,
        };
        missing.filter_map(object).collect()
    };
    let mut objects = missing(known, effects);
    objects.extend(missing(effects, known));
    objects
}

/// What is different about two operations of the same kind.
fn difference(known: &Next, next: &Next) -> String {
    let (Next::Operation(a), Next::Operation(b)) = (known, next) else { return String::new() };
    match () {
        () if a.action != b.action => String::new(),
        () if a.object != b.object => " of another object".into(),
        () if a.first != b.first => format!(" with {} instead of {}", b.first, a.first),
        () if a.second != b.second => format!(" with {} instead of {}", b.second, a.second),
        () if a.deadline != b.deadline => " until another time".into(),
        () if (a.order, a.failure) != (b.order, b.failure) => " with another memory order".into(),
        () => String::new(),
    }
}

/// What is different about what was done before.
fn difference_before(known: &[Effect], effects: &[Effect]) -> String {
    let same = known.iter().zip(effects).take_while(|(a, b)| a == b).count();
    match (known.get(same), effects.get(same)) {
        (None, None) => String::new(),
        (Some(Effect::Assign(a, v)), Some(Effect::Assign(b, w))) if a == b => {
            format!(", after a plain write of {w} instead of {v}")
        }
        (_, Some(Effect::Assign(_, value))) => format!(", after a plain write of {value}"),
        (Some(Effect::Assign(_, value)), _) => format!(", without a plain write of {value}"),
        (_, Some(Effect::Access(..) | Effect::AccessEnd(..))) => {
            ", after other reads or writes of plain memory".into()
        }
        (Some(Effect::Access(..) | Effect::AccessEnd(..)), _) => {
            ", without some reads or writes of plain memory".into()
        }
        _ => ", after something else".into(),
    }
}

fn describe(effects: &[Effect], next: &Next) -> String {
    let end = match next {
        Next::Operation(o) => format!("{} at {}", o.action.name(), o.site),
        Next::End => "the end of the thread".into(),
        Next::Panic => "a panic".into(),
        Next::Exit => "the end of the program".into(),
    };
    let spawns = effects.iter().filter(|e| matches!(e, Effect::Spawn(..))).count();
    let creates = effects.iter().filter(|e| matches!(e, Effect::Create(..))).count();
    match (creates, spawns) {
        (0, 0) => end,
        _ => format!("{end}, after creating {creates} objects and {spawns} threads"),
    }
}

/// The run did not go where the recorded segments said it would.
pub(crate) fn lost<P: Program>(session: &mut Session<'_, P>) -> Halt {
    let mismatch = Mismatch {
        expected: "the same steps as in an earlier execution".into(),
        found: "other steps after the same decisions".into(),
        assigned: Vec::new(),
    };
    session.check(Ending::Nondeterminism(mismatch)).unwrap_or(Halt::Failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_otherwise_before_the_same_operation_is_said() {
        let (x, y) = (ObjectId(1), ObjectId(2));
        let (five, seven) = (Effect::Assign(x, 5), Effect::Assign(x, 7));
        let begin = Effect::Create(y, 0);
        for (known, now, words) in [
            (vec![begin], vec![begin], ""),
            (vec![begin, five], vec![begin, seven], ", after a plain write of 7 instead of 5"),
            (vec![begin], vec![begin, five], ", after a plain write of 5"),
            (vec![begin, five], vec![begin], ", without a plain write of 5"),
            (vec![begin], vec![Effect::AddSender(y)], ", after something else"),
        ] {
            assert_eq!(difference_before(&known, &now), words, "{known:?} {now:?}");
        }
    }
}
