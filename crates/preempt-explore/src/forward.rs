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

use crate::mutation::{self, Mutation};
use crate::partial_order::Steps;
use crate::recorded::Recorded;
use crate::{Action, Halt, Move, Program, Session, Terminal, ThreadId, World};
use rustc_hash::FxHashSet;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// Explores every graph, bound by bound, up to the bound in the limits.
#[doc(alias = "MQ07b Algorithm 2")]
pub fn explore<P: Program>(session: &mut Session<'_, P>) -> Halt {
    match Forward::default().search(session) {
        Ok(()) => Halt::Done,
        Err(halt) => halt,
    }
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

#[derive(Clone, Copy, PartialEq, Eq)]
struct Graph(u64, u64);

impl Graph {
    fn of(hash: u128) -> Self {
        Graph(hash as u64, (hash >> 64) as u64)
    }
}

impl Hash for Graph {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0);
    }
}

/// Graph hashes are well mixed already.
#[derive(Default)]
struct Unhashed(u64);

impl Hasher for Unhashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

#[derive(Clone, Copy)]
struct Visit {
    cost: u16,
    first: u16,
    /// More last threads than the first are in `more`.
    several: bool,
    /// Some last thread could not go on, so every step is free.
    all: bool,
}

#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    depth: u32,
    step: Move,
}

struct Pending {
    world: World,
    node: u32,
    /// First visit of this graph: it may be a terminal, and its preemptions are to be tried.
    first: bool,
}

const ROOT: u32 = 0;

#[derive(Default)]
struct Forward {
    recorded: Recorded,
    visited: std::collections::HashMap<Graph, Visit, BuildHasherDefault<Unhashed>>,
    more: FxHashSet<(u128, u32)>,
    nodes: Vec<Node>,
    /// Nodes whose preemptions belong to the next bucket.
    edges: Vec<u32>,
    stack: Vec<Pending>,
    spare: Vec<World>,
    moves: Vec<Move>,
    /// Worlds along the path to the node materialised last.
    trail: Vec<(u32, World)>,
    ticks: u32,
    steps: Option<Steps>,
}

impl Forward {
    fn search<P: Program>(&mut self, session: &mut Session<'_, P>) -> Result<(), Halt> {
        let mut world = World::new(imagined(session));
        self.recorded.begin(session, &mut world)?;
        if let Some(steps) = &mut self.steps {
            steps.initial = world.graph();
        }
        let visit = Visit { cost: 0, first: 0, several: false, all: false };
        self.visited.insert(Graph::of(world.graph()), visit);
        let step = Move { thread: ThreadId::MAIN, choice: 0 };
        self.nodes.push(Node { parent: ROOT, depth: 0, step });
        self.trail.push((ROOT, world.clone()));
        self.stack.push(Pending { world, node: ROOT, first: true });
        let mut bound = 0;
        loop {
            if bound > 0 {
                for node in std::mem::take(&mut self.edges) {
                    self.preempt(session, node, bound)?;
                }
            }
            self.drain(session, bound)?;
            session.tally.states = self.nodes.len() as u64;
            session.tally.row(bound);
            session.tally.exhausted = self.edges.is_empty();
            if session.tally.exhausted || session.limits.bound == Some(bound) {
                return Ok(());
            }
            bound += 1;
        }
    }

    fn drain<P: Program>(&mut self, session: &mut Session<'_, P>, cost: u32) -> Result<(), Halt> {
        while let Some(pending) = self.stack.pop() {
            self.expand(session, &pending, cost)?;
            self.spare.push(pending.world);
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
        self.materialise(session, node)?;
        let Some((_, world)) = self.trail.pop() else { return Ok(()) };
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
        self.trail.push((node, world));
        result?;
        self.drain(session, cost)
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
                self.edges.push(pending.node);
            }
            self.enter_all(session, pending, &moves, cost, |m| m.thread == last)
        } else {
            if let Some(visit) = self.visited.get_mut(&Graph::of(world.graph())) {
                visit.all = true;
            }
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
        let Some(first) = self.visit(hash, step.thread, cost) else { return Ok(()) };
        if self.nodes.len() >= session.limits.states {
            return Err(Halt::States);
        }
        self.ticks += 1;
        if self.ticks.is_multiple_of(1024) && session.is_late() {
            return Err(Halt::Time);
        }
        let mut next = self.spare.pop().unwrap_or_else(|| World::new(world.rules));
        next.clone_from(world);
        let node = self.nodes.len() as u32;
        let depth = self.nodes[parent as usize].depth + 1;
        self.nodes.push(Node { parent, depth, step });
        let nodes = &self.nodes;
        let path = |out: &mut Vec<Move>| path_to(nodes, node, out);
        self.recorded.advance(session, &mut next, step, &path)?;
        debug_assert_eq!(next.graph(), hash);
        if first
            && !next.can_go_on(step.thread)
            && let Some(visit) = self.visited.get_mut(&Graph::of(hash))
        {
            // Known now rather than when it is expanded, so that no other last thread is queued.
            visit.all = true;
        }
        if depth as usize >= session.limits.steps {
            return self.endless(session, node);
        }
        self.stack.push(Pending { world: next, node, first });
        Ok(())
    }

    /// Notes the visit of a graph. `None` if it adds nothing, else whether it is the first.
    fn visit(&mut self, hash: u128, last: ThreadId, cost: u32) -> Option<bool> {
        let cost = cost as u16;
        let visit = self.visited.entry(Graph::of(hash)).or_insert(Visit {
            cost: u16::MAX,
            first: last.0 as u16,
            several: false,
            all: false,
        });
        if visit.cost == u16::MAX {
            visit.cost = cost;
            return Some(true);
        }
        if visit.cost < cost
            || visit.all
            || visit.first == last.0 as u16
            || mutation::is(Mutation::OneLastThread)
        {
            return None;
        }
        if visit.several && self.more.contains(&(hash, last.0)) {
            return None;
        }
        visit.several = true;
        self.more.insert((hash, last.0));
        Some(false)
    }

    fn terminal<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        world: &World,
        node: u32,
        cost: u32,
    ) -> Result<(), Halt> {
        let terminal = terminal_of(world);
        session.tally.graph(world.graph(), cost, terminal);
        if let Some(steps) = &mut self.steps {
            steps.terminals.insert(world.graph());
        }
        let mut path = Vec::new();
        if terminal != Terminal::Complete && !session.limits.keep_going {
            path_to(&self.nodes, node, &mut path);
            return self.confirm(session, &path);
        }
        if session.run.rules.clocks {
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

    /// Leaves the world of `node` on top of the trail.
    fn materialise<P: Program>(
        &mut self,
        session: &mut Session<'_, P>,
        node: u32,
    ) -> Result<(), Halt> {
        let mut ancestors = Vec::new();
        let mut at = node;
        loop {
            let depth = self.nodes[at as usize].depth as usize;
            if self.trail.get(depth).is_some_and(|(n, _)| *n == at) {
                break;
            }
            ancestors.push(at);
            at = self.nodes[at as usize].parent;
        }
        let keep = self.nodes[at as usize].depth as usize + 1;
        self.spare.extend(self.trail.drain(keep..).map(|(_, world)| world));
        for &node in ancestors.iter().rev() {
            let mut world = self.spare.pop().unwrap_or_else(|| World::new(imagined(session)));
            world.clone_from(&self.trail[self.trail.len() - 1].1);
            let nodes = &self.nodes;
            let path = |out: &mut Vec<Move>| path_to(nodes, node, out);
            self.recorded.advance(session, &mut world, nodes[node as usize].step, &path)?;
            self.trail.push((node, world));
        }
        Ok(())
    }
}

/// The rules without what only a real or repeated execution needs.
pub(crate) fn imagined<P>(session: &Session<'_, P>) -> crate::Rules {
    crate::Rules { clocks: false, ..session.run.rules }
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
        out.push(nodes[at as usize].step);
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
        let mut world = World::new(session.run.rules);
        self.begin(session, &mut world)?;
        for (index, &step) in path.iter().enumerate() {
            let so_far = |out: &mut Vec<Move>| out.extend_from_slice(&path[..=index]);
            self.advance(session, &mut world, step, &so_far)?;
        }
        Ok(world.race().is_some())
    }
}
