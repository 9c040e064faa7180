//! The default strategy: every happens-before graph within the bound, exactly once.
//!
//! A 0-1 shortest-path search over (graph, last thread), one bucket per number of preemptions.
//! States are imagined: the continuation of a thread is looked up by its local history, and the
//! program is run only for a history that no execution has had.
//!
//! Paper: [MQ07b], the problem solved by its Algorithm 2
//! Differs from the paper: instead of computing the least number of preemptions backwards over all
//! prefixes of an execution, graphs are reached forwards in order of that number. Nothing beyond
//! the bound is ever run, the next bound continues where the last one ended, and the first failure
//! needs the fewest preemptions.
//!
//! Invariant: when a graph is first reached, the current bucket is the least number of preemptions
//! it needs. Graphs reached by several last threads at that cost keep all of them, because each
//! may continue for free; if one of them cannot continue (or yields), everybody may.
//!
//! Under weak memory stale choices are a second cost, see `forward/levels.rs`. What follows from a stale
//! choice is found by the same search at the next level.
//!
//! Steps at which nothing can branch get no state of their own: in the last bucket a thread runs
//! until it cannot go on, and, when only the first failure is wanted, past operations on objects that
//! no other thread uses. A preemption before such an operation can as well happen after it, unless
//! the thread then ends (which lets others join it, so a switch that was forced would be counted) or
//! panics. If another thread turns out to use the object, the search begins again; the program does
//! not have to be run again for that. With [`explore_with`] workers execute the program.

mod buckets;
mod levels;
mod trail;

#[cfg(test)]
use crate::histories::Histories;
use crate::mutation::{self, Mutation};
use crate::partial_order::Steps;
use crate::recorded::{Recorded, lost};
use crate::{
    Action, Crew, Ending, Finding, Halt, Move, Program, Session, Status, Terminal, ThreadId, World,
};
use levels::Level;
use rustc_hash::{FxHashMap, FxHashSet};
use std::time::{Duration, Instant};

/// How long to wait for a worker before looking at the clock.
const PATIENCE: Duration = Duration::from_millis(50);

/// Explores every graph, bound by bound, up to the bound in the limits.
#[doc(alias = "MQ07b Algorithm 2")]
pub fn explore<P: Program>(session: &mut Session<'_, P>) -> Halt {
    explore_with(session, None)
}

/// As [`explore`], with workers that execute the program.
pub fn explore_with<P: Program>(session: &mut Session<'_, P>, crew: Option<Crew>) -> Halt {
    // A panic ends everything, so how many graphs end in one depends on how far others got.
    let reduce = !session.limits.keep_going;
    Forward { crew, reduce, ..Forward::default() }.explore(session)
}

/// As [`explore`], running past local operations even if all failures are counted.
#[cfg(test)]
pub(crate) fn explore_reduced<P: Program>(session: &mut Session<'_, P>) -> Halt {
    Forward { reduce: true, ..Forward::default() }.explore(session)
}

/// As [`explore_reduced`], with workers.
#[cfg(test)]
pub(crate) fn explore_reduced_with<P: Program>(session: &mut Session<'_, P>, crew: Crew) -> Halt {
    Forward { reduce: true, crew: Some(crew), ..Forward::default() }.explore(session)
}

/// As [`explore`], with a memory of few histories.
#[cfg(test)]
pub(crate) fn explore_forgetful<P: Program>(session: &mut Session<'_, P>) -> Halt {
    let mut forward = Forward::default();
    forward.recorded.segments = Histories::of_generation(12);
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

#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    /// Number of nodes above.
    level: u32,
    /// Number of steps from the beginning.
    depth: u32,
    /// Steps of the same thread after `step` at which nothing could branch.
    more: u32,
    /// How many nodes that are still to be visited have their paths part from the last one here.
    forks: u32,
    step: Move,
}

pub(crate) struct Pending {
    world: World,
    node: u32,
    /// First visit of this graph: it may be a terminal, and its preemptions are to be tried.
    first: bool,
}

/// A state that waits for the program to be run: its thread is between two operations.
struct Suspended {
    world: World,
    node: u32,
}

const ROOT: u32 = 0;

#[derive(Default)]
struct Forward {
    recorded: Recorded,
    /// Number of stale choices of the level that is being explored.
    stale: usize,
    /// That level, whose place in `levels` is empty meanwhile.
    level: Level,
    levels: Vec<Level>,
    nodes: Vec<Node>,
    /// Whether something was left to a bucket beyond the bound, or to a level beyond the limit.
    beyond: bool,
    beyond_stale: bool,
    spare: Vec<World>,
    moves: Vec<Move>,
    moves_beyond: Vec<Move>,
    /// Worlds on the path to the node materialised last, where other paths part from it.
    trail: Vec<(u32, World)>,
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
    crew: Option<Crew>,
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
            match self.search(session) {
                Ok(()) => return Halt::Done,
                // If the rules have changed as well, everything begins again.
                Err(Halt::Restart)
                    if self.recorded.contradicted
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
        let mut world = session.run.imagined_world(imagined(session));
        self.recorded.begin(session, &mut world)?;
        if let Some(steps) = &mut self.steps {
            steps.initial = world.graph();
        }
        self.level.visit(world.graph(), ThreadId::MAIN, 0);
        let step = Move { thread: ThreadId::MAIN, choice: 0 };
        self.nodes.push(Node { parent: ROOT, level: 0, depth: 0, more: 0, forks: 0, step });
        self.trail.push((ROOT, world.clone()));
        self.level.stack.push(Pending { world, node: ROOT, first: true });
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
        // What workers are still about to report is worth knowing, but nobody waits for it.
        self.suspended.clear();
        while self.crew.as_ref().is_some_and(|crew| crew.outstanding > 0) {
            match self.hear(session, PATIENCE, 0) {
                Err(Halt::Restart)
                    if self.recorded.contradicted
                        && session.run.ending != Some(Ending::Restart) => {}
                result => result?,
            }
        }
        self.recorded.contradicted = false;
        self.stale = 0;
        self.level = Level::default();
        self.levels.clear();
        self.nodes.clear();
        self.beyond = false;
        self.beyond_stale = false;
        self.trail.clear();
        self.suspended.clear();
        self.requested.clear();
        session.tally.graphs.clear();
        session.tally.stale.clear();
        let executions = session.tally.executions;
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
        let Some(row) = session.tally.rows.last_mut() else { return };
        if let Some(earlier) = self.earlier.get(row.preemptions as usize) {
            row.executions = earlier + (row.executions - self.began);
        }
    }

    fn drain<P: Program>(&mut self, session: &mut Session<'_, P>, cost: u32) -> Result<(), Halt> {
        loop {
            while let Some(pending) = self.level.stack.pop() {
                self.expand(session, &pending, cost)?;
                self.spare.push(pending.world);
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

    /// Takes in what a worker has found out, and goes on where that was missing.
    fn hear<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        patience: Duration,
        cost: u32,
    ) -> Result<(), Halt> {
        let Some(crew) = &mut self.crew else { return Ok(()) };
        let Ok(report) = crew.report(patience) else { return Err(lost(session)) };
        let Some(report) = report else { return Ok(()) };
        if report.ending == Ending::Restart {
            // The rules are to be extended: this thread has to see it for itself.
            let path = &report.path;
            self.recorded.run(session, &|out: &mut Vec<Move>| out.extend_from_slice(path))?;
        } else {
            session.tally.executions += 1;
            if let Err(mismatch) = self.recorded.absorb(&report) {
                let ending = Ending::Nondeterminism(mismatch);
                return Err(session.check(ending).unwrap_or(Halt::Failure));
            }
        }
        if let Some(finding) = report.finding {
            let fewer = |f: &Finding| f.cost() > finding.cost();
            if session.tally.failure.as_ref().is_none_or(fewer) {
                session.tally.failure = Some(finding);
            }
            if let Some(halt) = session.stops_at(&report.ending) {
                return Err(halt);
            }
        }
        if let Some(halt) = session.limit() {
            return Err(halt);
        }
        if self.recorded.contradicted {
            return Err(Halt::Restart);
        }
        for mut waiting in std::mem::take(&mut self.suspended) {
            let thread = self.nodes[waiting.node as usize].step.thread;
            if !self.recorded.knows(&waiting.world, thread) {
                self.suspended.push(waiting);
                continue;
            }
            self.requested.remove(&waiting.world.thread(thread).history);
            self.settle(session, &mut waiting.world, waiting.node)?;
            self.go_on(session, waiting.world, waiting.node, cost, None)?;
        }
        if self.crew.as_ref().is_some_and(|crew| crew.outstanding == 0)
            && !self.suspended.is_empty()
        {
            return Err(lost(session));
        }
        Ok(())
    }

    /// Takes the processor from the last thread of `node`.
    fn preempt<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        node: u32,
        cost: u32,
    ) -> Result<(), Halt> {
        let world = self.materialise(session, node)?;
        let mut moves = std::mem::take(&mut self.moves);
        world.moves(&mut moves);
        let last = self.nodes[node as usize].step.thread;
        let mut result = Ok(());
        for &step in moves.iter().filter(|m| m.thread != last) {
            result = self.enter(session, &world, node, step, cost);
            if result.is_err() {
                break;
            }
        }
        self.moves = moves;
        self.leave(node, world);
        result
    }

    fn expand<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        pending: &Pending,
        cost: u32,
    ) -> Result<(), Halt> {
        let world = &pending.world;
        let last = self.nodes[pending.node as usize].step.thread;
        let mut moves = std::mem::take(&mut self.moves);
        world.moves(&mut moves);
        let result = if moves.is_empty() {
            if pending.first { self.terminal(session, world, pending.node, cost) } else { Ok(()) }
        } else if world.keeps_running(last, &moves) {
            let skip = mutation::is(Mutation::NoPreemptionBeforeUnlock)
                && world.thread(last).operation.action == Action::Unlock;
            if pending.first && !skip && moves.iter().any(|m| m.thread != last) {
                self.level.edges.push(pending.node);
            }
            self.note_stale(session, pending, cost, Some(last));
            self.enter_all(session, pending, &moves, cost, |m| m.thread == last)
        } else {
            self.level.free(world.graph());
            self.note_stale(session, pending, cost, None);
            self.enter_all(session, pending, &moves, cost, |_| true)
        };
        self.moves = moves;
        result
    }

    fn enter_all<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        pending: &Pending,
        moves: &[Move],
        cost: u32,
        wanted: impl Fn(&Move) -> bool,
    ) -> Result<(), Halt> {
        // Backwards, because the stack turns them around.
        for &step in moves.iter().rev().filter(|m| wanted(m)) {
            self.enter(session, &pending.world, pending.node, step, cost)?;
        }
        Ok(())
    }

    fn enter<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        world: &World,
        parent: u32,
        step: Move,
        cost: u32,
    ) -> Result<(), Halt> {
        let hash = world.graph_after(step);
        if let Some(steps) = &mut self.steps {
            steps.add(world.graph(), hash);
        }
        if self.is_covered(hash, step.thread, cost) {
            return Ok(());
        }
        if self.nodes.len() >= session.limits.states {
            return Err(Halt::States);
        }
        let mut next = self.spare.pop().unwrap_or_else(|| World::new(world.rules));
        next.clone_from(world);
        let node = self.nodes.len() as u32;
        let Node { level, depth, .. } = self.nodes[parent as usize];
        self.nodes.push(Node {
            parent,
            level: level + 1,
            depth: depth + 1,
            more: 0,
            forks: 0,
            step,
        });
        if self.take(session, &mut next, node, step)? {
            self.go_on(session, next, node, cost, Some(hash))
        } else {
            self.suspended.push(Suspended { world: next, node });
            Ok(())
        }
    }

    /// Executes a step on a world. `false` if a worker has to find out what follows.
    fn take<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        world: &mut World,
        node: u32,
        step: Move,
    ) -> Result<bool, Halt> {
        self.ticks += 1;
        if self.ticks % 1024 == 0 && session.is_late() {
            return Err(Halt::Time);
        }
        let nodes = &self.nodes;
        let path = |out: &mut Vec<Move>| path_to(nodes, node, out);
        self.recorded.apply(session, world, step, &path)?;
        let known = self.crew.is_none() || self.recorded.knows(world, step.thread);
        if let Some(crew) = self.crew.as_mut().filter(|_| !known) {
            let history = world.thread(step.thread).history;
            if self.requested.contains(&history) {
                return Ok(false);
            }
            if !crew.is_busy() {
                let mut steps = Vec::new();
                path(&mut steps);
                crew.hand_out(steps);
                self.requested.insert(history);
                return Ok(false);
            }
        }
        self.settle(session, world, node)?;
        Ok(true)
    }

    fn settle<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        world: &mut World,
        node: u32,
    ) -> Result<(), Halt> {
        let nodes = &self.nodes;
        let path = |out: &mut Vec<Move>| path_to(nodes, node, out);
        self.recorded.settle(session, world, nodes[node as usize].step.thread, &path)
    }

    /// Lets the thread of `node` run as long as nothing can branch, then notes the state, unless it is
    /// covered. That the graph `entered` is not covered is known.
    fn go_on<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        mut world: World,
        node: u32,
        cost: u32,
        entered: Option<u128>,
    ) -> Result<(), Halt> {
        let thread = self.nodes[node as usize].step.thread;
        loop {
            if self.nodes[node as usize].depth as usize >= session.limits.steps {
                return self.endless(session, node);
            }
            if !self.is_silent(session, &world, node, cost)? {
                break;
            }
            let entry = &mut self.nodes[node as usize];
            entry.more += 1;
            entry.depth += 1;
            if !self.take(session, &mut world, node, Move { thread, choice: 0 })? {
                self.suspended.push(Suspended { world, node });
                return Ok(());
            }
        }
        let hash = world.graph();
        if entered != Some(hash) && self.is_covered(hash, thread, cost) {
            self.spare.push(world);
            return Ok(());
        }
        let first = self.level.visit(hash, thread, cost);
        if first && !world.can_go_on(thread) {
            // Known now rather than when it is expanded, so that no other last thread is queued.
            self.level.free(hash);
        }
        self.level.stack.push(Pending { world, node, first });
        Ok(())
    }

    /// Whether the thread that moved last goes on in this state whatever the search wants.
    fn is_silent<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        world: &World,
        node: u32,
        cost: u32,
    ) -> Result<bool, Halt> {
        let thread = self.nodes[node as usize].step.thread;
        let operation = world.thread(thread).operation;
        let branches = matches!(operation.action, Action::NotifyOne | Action::Choose);
        if branches || self.steps.is_some() || !world.can_go_on(thread) {
            return Ok(false);
        }
        if world.rules.weak && session.limits.stale != Some(self.stale as u32) {
            if world.may_have_stale_move(thread) {
                return Ok(false);
            }
        } else if world.rules.weak && !self.beyond_stale {
            self.beyond_stale = world.has_stale_move(thread);
        }
        if session.limits.bound == Some(cost) {
            // A preemption here would be for the next bucket; whether there is one must be known.
            if !self.beyond {
                let mut moves = std::mem::take(&mut self.moves_beyond);
                world.moves(&mut moves);
                let others = moves.iter().any(|m| m.thread != thread);
                self.moves_beyond = moves;
                self.beyond = others && !self.is_passed_over(session, world, node)?;
            }
            return Ok(true);
        }
        self.is_passed_over(session, world, node)
    }

    /// Whether the next operation of the thread that moved last is its own business.
    fn is_passed_over<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        world: &World,
        node: u32,
    ) -> Result<bool, Halt> {
        let thread = self.nodes[node as usize].step.thread;
        let operation = world.thread(thread).operation;
        if !self.reduce || operation.urgent || !self.recorded.is_local(thread, &operation) {
            return Ok(false);
        }
        // What follows is a function of the thread's history, because only it uses the object.
        let history = world.thread(thread).history;
        if let Some(&known) = self.goes_on.get(&history) {
            return Ok(known);
        }
        let mut after = self.spare.pop().unwrap_or_else(|| World::new(world.rules));
        after.clone_from(world);
        let nodes = &self.nodes;
        let step = Move { thread, choice: 0 };
        let path = |out: &mut Vec<Move>| {
            path_to(nodes, node, out);
            out.push(step);
        };
        self.recorded.advance(session, &mut after, step, &path)?;
        let next = after.thread(thread);
        let goes_on = next.status == Status::Ready && !next.operation.urgent;
        self.spare.push(after);
        self.goes_on.insert(history, goes_on);
        Ok(goes_on)
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
        world: &World,
        node: u32,
        cost: u32,
    ) -> Result<(), Halt> {
        let terminal = terminal_of(world);
        session.tally.stale_graph(world.graph(), self.stale as u32, cost, terminal);
        if self.stale > 0 {
            self.level.terminals.entry(world.graph()).or_insert(cost);
        }
        #[cfg(test)]
        crate::litmus::collect(world, (self.stale as u32, cost));
        if let Some(steps) = &mut self.steps {
            steps.terminals.insert(world.graph());
        }
        let mut path = Vec::new();
        let fails = terminal != Terminal::Complete;
        if fails && (!session.limits.keep_going || session.tally.failure.is_none()) {
            path_to(&self.nodes, node, &mut path);
            return self.confirm(session, &path);
        }
        if session.run.rules.clocks && !self.recorded.was_executed(world.graph()) {
            path_to(&self.nodes, node, &mut path);
            if self.recorded.races(session, &path)? {
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
        self.recorded.run(session, &|out: &mut Vec<Move>| out.extend_from_slice(path))
    }

    fn endless<P: Program>(&mut self, session: &mut Session<'_, P>, node: u32) -> Result<(), Halt> {
        let mut path = Vec::new();
        path_to(&self.nodes, node, &mut path);
        self.confirm(session, &path)?;
        // The program ended within the limit after all: only the last step was one too many.
        Ok(())
    }
}

/// The rules without what only a real or repeated execution needs.
pub(crate) fn imagined<P>(session: &Session<'_, P>) -> crate::Rules {
    crate::Rules { clocks: false, time: false, ..session.run.rules }
}

/// How a world without moves ended.
pub(crate) fn terminal_of(world: &World) -> Terminal {
    if world.panicked().is_some() {
        Terminal::Panic
    } else if world.is_finished() {
        Terminal::Complete
    } else if world.has_spinning() {
        Terminal::Livelock
    } else {
        Terminal::Deadlock
    }
}

fn path_to(nodes: &[Node], node: u32, out: &mut Vec<Move>) {
    let start = out.len();
    let mut at = node;
    while at != ROOT {
        let Node { step, more, .. } = nodes[at as usize];
        out.extend(std::iter::repeat_n(Move { choice: 0, ..step }, more as usize));
        out.push(step);
        at = nodes[at as usize].parent;
    }
    out[start..].reverse();
}

impl Recorded {
    /// Whether the execution along `path` has a data race.
    pub(crate) fn races<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        path: &[Move],
    ) -> Result<bool, Halt> {
        let mut world = session.run.imagined_world(session.run.rules);
        self.begin(session, &mut world)?;
        for (index, &step) in path.iter().enumerate() {
            let so_far = |out: &mut Vec<Move>| out.extend_from_slice(&path[..=index]);
            self.advance(session, &mut world, step, &so_far)?;
        }
        Ok(world.race().is_some())
    }
}
