//! The default strategy: every happens-before graph within the bound, exactly once.
//!
//! A 0-1 shortest-path search over (graph, last thread), one bucket per number of preemptions.
//! States are imagined: the continuation of a thread is looked up by its local history, and the
//! program is run only for a history that no execution has had.
//!
//! Paper: \[MQ07b\], the problem solved by its Algorithm 2
//! Differs from the paper: instead of computing the least number of preemptions backwards over all
//! prefixes of an execution, graphs are reached forwards in order of that number. Nothing beyond
//! the bound is ever run, the next bound continues where the last one ended, and the first failure
//! needs the fewest preemptions.
//!
//! Invariant: when a graph is first reached, the current bucket is the least number of preemptions
//! it needs. Graphs reached by several last threads at that cost keep all of them, because each
//! may continue for free; if one of them cannot continue (or yields), every thread may.
//!
//! Under weak memory stale choices are a second cost, see `forward/levels.rs`: what follows is the next level's.
//!
//! Steps at which nothing can branch get no state of their own, see `forward/silent.rs`. With
//! [`explore_with`] workers execute the program, see `forward/workers.rs`.

mod buckets;
mod levels;
mod node;
mod silent;
mod trail;
mod workers;

#[cfg(test)]
use crate::histories::Histories;
use crate::mutation::{self, Mutation};
use crate::partial_order::Steps;
use crate::segment_table::SegmentTable;
use crate::{
    Action, Ending, ExecutionState, Halt, Move, Program, Rules, Session, Terminal, ThreadId,
    WorkerPool,
};
use levels::Level;
use node::{Node, Pending, ROOT, Successor, Suspended, path_to};
use rustc_hash::{FxHashMap, FxHashSet};
use std::time::{Duration, Instant};

/// How long to wait for a worker before looking at the clock.
const PATIENCE: Duration = Duration::from_millis(50);

/// Explores every graph, bound by bound, up to the bound in the limits.
#[doc(alias = "MQ07b Algorithm 2")]
pub fn explore<P: Program>(session: &mut Session<'_, P>) -> Halt {
    explore_with(session, None)
}

/// As [`explore`], but a failure with stale choices may be found before it is its turn, see `ahead.rs`.
pub fn explore_ahead<P: Program>(session: &mut Session<'_, P>) -> Halt {
    let mut forward = Forward { reduce: !session.limits.keep_going, ..Forward::default() };
    forward.segments.ahead.looks = true;
    let halt = forward.explore(session);
    forward.segments.ahead.settle(session, halt)
}

/// As [`explore`], with workers that execute the program.
pub fn explore_with<P: Program>(session: &mut Session<'_, P>, pool: Option<WorkerPool>) -> Halt {
    // Workers learn about loops when they begin.
    session.repeats_after_loops &= pool.is_none();
    // A panic ends everything, so how many graphs end in one depends on how far others got.
    let reduce = !session.limits.keep_going;
    Forward { pool, reduce, ..Forward::default() }.explore(session)
}

/// As [`explore`], running past local operations even if all failures are counted.
#[cfg(test)]
pub(crate) fn explore_reduced<P: Program>(session: &mut Session<'_, P>) -> Halt {
    Forward { reduce: true, ..Forward::default() }.explore(session)
}

/// As [`explore_reduced`], with workers.
#[cfg(test)]
pub(crate) fn explore_reduced_with<P: Program>(
    session: &mut Session<'_, P>,
    pool: WorkerPool,
) -> Halt {
    Forward { reduce: true, pool: Some(pool), ..Forward::default() }.explore(session)
}

/// As [`explore`], with a memory of few histories.
#[cfg(test)]
pub(crate) fn explore_forgetful<P: Program>(session: &mut Session<'_, P>) -> Halt {
    let mut forward = Forward::default();
    forward.segments.by_history = Histories::of_generation(12);
    forward.explore(session)
}

/// As [`explore`], but levels of stale choices take turns of this many states.
#[cfg(test)]
pub(crate) fn explore_in_turns<P: Program>(session: &mut Session<'_, P>, turn: u32) -> Halt {
    Forward { turn: Some(turn), ..Forward::default() }.explore(session)
}

/// As [`explore`], and keeps every step within the bound, for the algorithms as printed.
pub fn explore_steps<P: Program>(session: &mut Session<'_, P>) -> (Halt, Steps) {
    let mut forward = Forward { steps: Some(Steps::default()), ..Forward::default() };
    let halt = match forward.search(session) {
        Ok(()) => Halt::Done,
        Err(halt) => halt,
    };
    (halt, forward.steps.unwrap_or_default())
}

#[derive(Default)]
struct Forward {
    segments: SegmentTable,
    /// Number of stale choices of the level that is being explored.
    stale: usize,
    /// That level; its entry in `levels` is empty meanwhile.
    level: Level,
    levels: Vec<Level>,
    nodes: Vec<Node>,
    /// Whether something was left to a bucket beyond the bound, or to a level beyond the limit.
    beyond: bool,
    beyond_stale: bool,
    spare: Vec<ExecutionState>,
    moves: Vec<Move>,
    moves_beyond: Vec<Move>,
    /// States on the path to the node materialised last, where other paths part from it.
    trail: Vec<(u32, ExecutionState)>,
    ancestors: Vec<u32>,
    ticks: u32,
    pops: u32,
    steps: Option<Steps>,
    /// Executions up to each bound before the search began again, and all until then.
    earlier: Vec<u64>,
    began: u64,
    /// Run past operations on objects of one thread.
    reduce: bool,
    /// By history before a local operation: whether the thread goes on after it.
    goes_on: FxHashMap<u64, bool>,
    pool: Option<WorkerPool>,
    suspended: Vec<Suspended>,
    /// Histories that a worker is about to find out.
    requested: FxHashSet<u64>,
    /// Levels hand over after so many states, whatever the time.
    #[cfg(test)]
    turn: Option<u32>,
}

impl Forward {
    fn explore<P: Program>(&mut self, session: &mut Session<'_, P>) -> Halt {
        loop {
            let result = self.search(session);
            match self.simplest(session, result) {
                Ok(()) => return Halt::Done,
                // If the rules have changed as well, everything begins again.
                Err(Halt::Restart)
                    if self.segments.contradicted
                        && session.run.ending != Some(Ending::Restart) =>
                {
                    if let Err(halt) = self.begin_again(session) {
                        return halt;
                    }
                }
                Err(halt) => return halt,
            }
        }
    }

    fn search<P: Program>(&mut self, session: &mut Session<'_, P>) -> Result<(), Halt> {
        let mut state = session.run.imagined_state(imagined(session));
        self.segments.weak = session.run.rules.weak;
        self.segments.begin(session, &mut state)?;
        if let Some(steps) = &mut self.steps {
            steps.initial = state.graph();
        }
        self.level.visit(state.graph(), ThreadId::MAIN, 0);
        let step = Move { thread: ThreadId::MAIN, choice: 0 };
        self.nodes.push(Node { parent: ROOT, level: 0, depth: 0, more: 0, forks: 0, step });
        self.trail.push((ROOT, state.clone()));
        self.level.stack.push(Pending { state, node: ROOT, first: true });
        self.level.is_open = true;
        self.levels.push(Level::default());
        while let Some(stale) = self.next_level(session) {
            self.turn_to(stale);
            self.explore_bucket(session)?;
        }
        Ok(())
    }

    /// Forgets the search but not what is known about the program.
    fn begin_again<P: Program>(&mut self, session: &mut Session<'_, P>) -> Result<(), Halt> {
        // What workers are still about to report is worth knowing, but no state waits for it any more.
        self.suspended.clear();
        while self.pool.as_ref().is_some_and(|pool| pool.outstanding > 0) {
            match self.hear(session, PATIENCE, 0) {
                Err(Halt::Restart)
                    if self.segments.contradicted
                        && session.run.ending != Some(Ending::Restart) => {}
                result => result?,
            }
        }
        self.segments.contradicted = false;
        self.stale = 0;
        self.level = Level::default();
        self.levels.clear();
        self.nodes.clear();
        self.beyond = false;
        self.beyond_stale = false;
        self.trail.clear();
        self.suspended.clear();
        self.requested.clear();
        session.statistics.graphs.clear();
        session.statistics.stale.clear();
        let executions = session.statistics.executions;
        for earlier in &mut self.earlier {
            *earlier += executions - self.began;
        }
        for (bound, row) in session.forget_rows().into_iter().enumerate() {
            match self.earlier.get_mut(bound) {
                Some(earlier) => *earlier = row.executions,
                None => self.earlier.push(row.executions),
            }
        }
        self.began = executions;
        Ok(())
    }

    /// After a new beginning: executions that an earlier attempt made for higher bounds do not
    /// belong to this one.
    fn correct_row<P>(&self, session: &mut Session<'_, P>) {
        let Some(row) = session.statistics.rows.last_mut() else { return };
        if let Some(earlier) = self.earlier.get(row.preemptions as usize) {
            row.executions = earlier + (row.executions - self.began);
        }
    }

    fn drain<P: Program>(&mut self, session: &mut Session<'_, P>, cost: u32) -> Result<(), Halt> {
        loop {
            while let Some(mut pending) = self.level.stack.pop() {
                pending.state.take_loops(&session.run.state);
                self.expand(session, pending, cost)?;
                if self.hands_over() {
                    return Ok(());
                }
                if !self.suspended.is_empty() {
                    self.hear(session, Duration::ZERO, cost)?;
                }
            }
            if self.suspended.is_empty() {
                return Ok(());
            }
            self.hear(session, PATIENCE, cost)?;
            if session.is_late() {
                return Err(Halt::Time);
            }
        }
    }

    /// Whether it is another level's turn.
    fn hands_over(&mut self) -> bool {
        #[cfg(test)]
        if let Some(turn) = self.turn {
            self.pops += 1;
            self.level.is_paused = self.pops % turn == 0;
            return self.level.is_paused;
        }
        let Some(share) = self.level.share else { return false };
        self.pops += 1;
        if self.pops % 256 == 0 && self.suspended.is_empty() {
            self.level.is_paused = Instant::now() >= share;
        }
        self.level.is_paused
    }

    /// Takes the processor from the last thread of `node`.
    fn preempt<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        node: u32,
        cost: u32,
    ) -> Result<(), Halt> {
        let state = self.materialise(session, node)?;
        let mut moves = std::mem::take(&mut self.moves);
        state.moves(&mut moves);
        let last = self.nodes[node as usize].step.thread;
        moves.retain(|m| m.thread != last);
        self.enter_again(session, (node, state), moves, cost, |_, _, _| true)
    }

    /// Takes the wanted moves of a node that was expanded before. Its state was made again.
    fn enter_again<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        (node, state): (u32, ExecutionState),
        moves: Vec<Move>,
        cost: u32,
        wanted: impl Fn(&Self, &ExecutionState, Move) -> bool,
    ) -> Result<(), Halt> {
        let mut steps = moves.iter().copied().peekable();
        let mut result = Ok(());
        while let (Some(step), Ok(())) = (steps.next(), result) {
            if !wanted(self, &state, step) {
                continue;
            }
            if steps.peek().is_none() && !self.is_needed_again(node) {
                result = self.enter_last(session, state, Successor { parent: node, step, cost });
                self.moves = moves;
                return result;
            }
            result = self.enter(session, &state, Successor { parent: node, step, cost });
        }
        self.moves = moves;
        self.leave(node, state);
        result
    }

    fn expand<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        pending: Pending,
        cost: u32,
    ) -> Result<(), Halt> {
        let state = &pending.state;
        let last = self.nodes[pending.node as usize].step.thread;
        let mut moves = std::mem::take(&mut self.moves);
        state.moves(&mut moves);
        let result = if moves.is_empty() {
            let ended = match pending.first {
                true => self.terminal(session, state, pending.node, cost),
                false => Ok(()),
            };
            self.spare.push(pending.state);
            ended
        } else if state.keeps_running(last, &moves) {
            let skip = mutation::is(Mutation::NoPreemptionBeforeUnlock)
                && state.thread(last).operation.action == Action::Unlock;
            if pending.first && !skip && moves.iter().any(|m| m.thread != last) {
                self.level.edges.push(pending.node);
            }
            self.note_stale(session, &pending, &moves, cost, Some(last));
            self.enter_all(session, pending, &moves, cost, |m| m.thread == last)
        } else {
            self.level.free(state.graph());
            self.note_stale(session, &pending, &moves, cost, None);
            self.enter_all(session, pending, &moves, cost, |_| true)
        };
        self.moves = moves;
        result
    }

    fn enter_all<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        Pending { state, node, .. }: Pending,
        moves: &[Move],
        cost: u32,
        wanted: impl Fn(&Move) -> bool,
    ) -> Result<(), Halt> {
        // Backwards, because the stack turns them around.
        let mut steps = moves.iter().rev().filter(|m| wanted(m)).copied().peekable();
        while let Some(step) = steps.next() {
            if steps.peek().is_none() {
                return self.enter_last(session, state, Successor { parent: node, step, cost });
            }
            self.enter(session, &state, Successor { parent: node, step, cost })?;
        }
        self.spare.push(state);
        Ok(())
    }

    /// Visits the successor of a state by a step, unless that would add nothing.
    fn enter<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        state: &ExecutionState,
        successor: Successor,
    ) -> Result<(), Halt> {
        let Some(hash) = self.admit(session, state, successor)? else { return Ok(()) };
        let mut next = self.spare.pop().unwrap_or_else(|| ExecutionState::new(state.rules));
        next.clone_from(state);
        self.visit(session, next, successor, hash)
    }

    /// The same for the last successor of a state that is not needed any more: nothing is copied, also
    /// not the writes of atomics, which copies share until one of them writes.
    fn enter_last<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        state: ExecutionState,
        successor: Successor,
    ) -> Result<(), Halt> {
        match self.admit(session, &state, successor)? {
            Some(hash) => self.visit(session, state, successor, hash),
            None => {
                self.spare.push(state);
                Ok(())
            }
        }
    }

    /// The graph after a step, if a visit would add something.
    fn admit<P: Program>(
        &mut self,
        session: &Session<'_, P>,
        state: &ExecutionState,
        Successor { step, cost, .. }: Successor,
    ) -> Result<Option<u128>, Halt> {
        let hash = state.graph_after(step);
        if let Some(steps) = &mut self.steps {
            steps.add(state.graph(), hash);
        }
        if self.is_covered(hash, step.thread, cost) {
            return Ok(None);
        }
        if self.nodes.len() >= session.limits.states {
            return Err(Halt::States);
        }
        Ok(Some(hash))
    }

    /// Takes a step of a state; `hash` is the graph afterwards.
    fn visit<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        mut state: ExecutionState,
        Successor { parent, step, cost }: Successor,
        hash: u128,
    ) -> Result<(), Halt> {
        let node = self.nodes.len() as u32;
        let Node { level, depth, .. } = self.nodes[parent as usize];
        let (level, depth) = (level + 1, depth + 1);
        self.nodes.push(Node { parent, level, depth, more: 0, forks: 0, step });
        if self.take(session, &mut state, node, step)? {
            self.go_on(session, state, node, cost, Some(hash))
        } else {
            self.suspended.push(Suspended { state, node });
            Ok(())
        }
    }

    /// Executes a step on a state. `false` if a worker has to find out what follows.
    fn take<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        state: &mut ExecutionState,
        node: u32,
        step: Move,
    ) -> Result<bool, Halt> {
        self.ticks += 1;
        if self.ticks % 1024 == 0 && session.is_late() {
            return Err(Halt::Time);
        }
        let nodes = &self.nodes;
        let path = |out: &mut Vec<Move>| path_to(nodes, node, out);
        self.segments.apply(session, state, step, &path)?;
        let known = self.pool.is_none() || self.segments.knows(state, step.thread);
        if let Some(pool) = self.pool.as_mut().filter(|_| !known) {
            let history = state.thread(step.thread).history;
            if self.requested.contains(&history) {
                return Ok(false);
            }
            if !pool.is_busy() {
                let mut steps = Vec::new();
                path(&mut steps);
                pool.hand_out(steps);
                self.requested.insert(history);
                return Ok(false);
            }
        }
        self.reach_next_operation(session, state, node)?;
        Ok(true)
    }

    fn reach_next_operation<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        state: &mut ExecutionState,
        node: u32,
    ) -> Result<(), Halt> {
        let nodes = &self.nodes;
        let path = |out: &mut Vec<Move>| path_to(nodes, node, out);
        self.segments.reach_next_operation(session, state, nodes[node as usize].step.thread, &path)
    }

    /// Lets the thread of `node` run as long as nothing can branch, then notes the state, unless it is
    /// covered. That the graph `entered` is not covered is known.
    fn go_on<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        mut state: ExecutionState,
        node: u32,
        cost: u32,
        entered: Option<u128>,
    ) -> Result<(), Halt> {
        let thread = self.nodes[node as usize].step.thread;
        loop {
            if self.nodes[node as usize].depth as usize >= session.limits.steps {
                return self.endless(session, node);
            }
            if !self.is_silent(session, &state, node, cost)? {
                break;
            }
            let entry = &mut self.nodes[node as usize];
            entry.more += 1;
            entry.depth += 1;
            if !self.take(session, &mut state, node, Move { thread, choice: 0 })? {
                self.suspended.push(Suspended { state, node });
                return Ok(());
            }
        }
        let hash = state.graph();
        if entered != Some(hash) && self.is_covered(hash, thread, cost) {
            self.spare.push(state);
            return Ok(());
        }
        let first = self.level.visit(hash, thread, cost);
        if first && !state.can_go_on(thread) {
            // Known now rather than when it is expanded, so that no other last thread is queued.
            self.level.free(hash);
        }
        self.level.stack.push(Pending { state, node, first });
        Ok(())
    }

    /// Whether a visit of this graph would add nothing.
    fn is_covered(&self, hash: u128, last: ThreadId, cost: u32) -> bool {
        let below = &self.levels[..self.stale];
        self.level.covers(hash, last, cost)
            || match self.level.is_lexicographic {
                true => below.iter().any(|level| level.knows(hash)),
                false => below.iter().any(|level| level.covers(hash, last, cost)),
            }
    }

    fn terminal<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        state: &ExecutionState,
        node: u32,
        cost: u32,
    ) -> Result<(), Halt> {
        let terminal = terminal_of(state);
        session.statistics.stale_graph(state.graph(), self.stale as u32, cost, terminal);
        if self.stale > 0 {
            self.level.terminals.entry(state.graph()).or_insert(cost);
        }
        #[cfg(test)]
        if let Some(collect) = session.on_terminal {
            collect(state, (self.stale as u32, cost));
        }
        if let Some(steps) = &mut self.steps {
            steps.terminals.insert(state.graph());
        }
        let mut path = Vec::new();
        let fails = terminal != Terminal::Complete;
        if fails && (!session.limits.keep_going || session.statistics.failure.is_none()) {
            path_to(&self.nodes, node, &mut path);
            return self.confirm(session, &path);
        }
        let Rules { clocks, frees, .. } = session.run.rules;
        if (clocks || frees) && !self.segments.was_executed(state.graph()) {
            path_to(&self.nodes, node, &mut path);
            if frees && !fails || clocks && self.segments.races(session, &path)? {
                return self.confirm(session, &path);
            }
        }
        Ok(())
    }

    /// Runs the program to a failure that was only imagined so far.
    fn confirm<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        path: &[Move],
    ) -> Result<(), Halt> {
        self.segments.run(session, &|out: &mut Vec<Move>| out.extend_from_slice(path))
    }

    fn endless<P: Program>(&mut self, session: &mut Session<'_, P>, node: u32) -> Result<(), Halt> {
        let mut path = Vec::new();
        path_to(&self.nodes, node, &mut path);
        // If the program ends within the limit after all, only the last step was one too many.
        self.confirm(session, &path)
    }
}

/// The rules without what only a real or repeated execution needs.
pub(crate) fn imagined<P>(session: &Session<'_, P>) -> Rules {
    Rules { clocks: false, time: false, ..session.run.rules }
}

/// How a state without moves ended.
pub(crate) fn terminal_of(state: &ExecutionState) -> Terminal {
    if state.failed_by().is_some() {
        Terminal::Panic
    } else if state.is_finished() {
        Terminal::Complete
    } else if state.has_spinning() {
        Terminal::Livelock
    } else {
        Terminal::Deadlock
    }
}
