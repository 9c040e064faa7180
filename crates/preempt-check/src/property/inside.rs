//! The inside of an indivisible sequence: can it go on for ever, and past which labels?
//!
//! A sequence without branches is followed by Brent's algorithm, which keeps two states. One with branches
//! is explored in full, and its strongly connected components tell.
//!
//! **Invariant:** what is reported are circles of states that are all inside the sequence, so the execution that
//! runs along one never lets another process move.

use crate::search::cycles::components::Graph;
use preempt_core::engine::{Request, Sink, Successors};
use preempt_core::{Label, Outcome, Step, System};
use std::collections::{HashMap, VecDeque};

/// Which circles there are inside a sequence, a bit each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Circles(pub(super) u8);

impl Circles {
    /// A circle.
    pub(super) const SOME: u8 = 1;
    /// One that passes an `accept` label.
    pub(super) const ACCEPTING: u8 = 2;
    /// One that passes no `progress` label.
    pub(super) const QUIET: u8 = 4;

    pub(super) fn has(self, kind: u8) -> bool {
        self.0 & kind != 0
    }
}

/// Whether it was not found out in time how a sequence goes on.
#[derive(Debug)]
pub(super) struct GaveUp;

/// A sequence with branches is given up when so many states were met inside.
const MOST_STATES: usize = 1 << 20;
/// Whether to give up is asked once in so many steps.
const STEPS_PER_QUESTION: usize = 256;

/// Reusable buffers.
#[derive(Default)]
pub(super) struct Inside {
    state: Vec<u8>,
    marked: Vec<u8>,
    successors: Successors,
}

/// How a sequence without branches ends.
enum Straight {
    Ends,
    Circles(Circles),
    Branches,
}

impl Inside {
    /// The circles inside the sequences that some steps of one process begin in a state.
    pub(super) fn circles(
        &mut self,
        system: &dyn System,
        state: &[u8],
        steps: &[Step],
        give_up: &dyn Fn() -> bool,
    ) -> Result<Circles, GaveUp> {
        // The system may be another one than the last time.
        self.successors.notes.clear();
        let mut all = Circles::default();
        for &step in steps {
            if !self.begin(system, state, step) {
                continue;
            }
            let found = match self.straight(system, give_up)? {
                Straight::Ends => Circles::default(),
                Straight::Circles(found) => found,
                Straight::Branches => {
                    Sequences::explore(system, state, &[step], give_up, self)?.circles()
                }
            };
            all.0 |= found.0;
        }
        Ok(all)
    }

    /// Takes the first step; says whether it leads into a sequence.
    fn begin(&mut self, system: &dyn System, state: &[u8], step: Step) -> bool {
        self.state.clear();
        self.state.extend_from_slice(state);
        let outcome = system.apply(&mut self.state, step);
        !matches!(outcome, Outcome::Broken(_)) && system.is_transient(&self.state)
    }

    /// Adds the successors of `self.state`; says whether it is inside a sequence indeed.
    fn expand(&mut self, system: &dyn System) -> bool {
        self.successors.clear();
        system.successors(Request::All, Sink::Copies(&mut self.state, &mut self.successors));
        system.is_transient(&self.state)
    }

    /// Takes the only step; says whether there is exactly one.
    fn advance(&mut self) -> bool {
        if self.successors.len() != 1 {
            return false;
        }
        self.state.clear();
        self.state.extend_from_slice(self.successors.get(0));
        !matches!(self.successors.step(0).1, Outcome::Broken(_))
    }

    /// Follows the sequence from `self.state` while it has no branches.
    fn straight(
        &mut self,
        system: &dyn System,
        give_up: &dyn Fn() -> bool,
    ) -> Result<Straight, GaveUp> {
        self.marked.clone_from(&self.state);
        let (mut steps, mut until) = (0usize, 1);
        loop {
            if !self.expand(system) {
                return Ok(Straight::Ends);
            }
            if self.successors.len() > 1 {
                return Ok(Straight::Branches);
            }
            if !self.advance() || !system.is_transient(&self.state) {
                return Ok(Straight::Ends);
            }
            if self.state == self.marked {
                return Ok(Straight::Circles(self.labels(system)));
            }
            steps += 1;
            if steps == until {
                until *= 2;
                self.marked.clone_from(&self.state);
            }
            if steps.is_multiple_of(STEPS_PER_QUESTION) && give_up() {
                return Err(GaveUp);
            }
        }
    }

    /// The labels along the circle that begins and ends at `self.marked`.
    fn labels(&mut self, system: &dyn System) -> Circles {
        let (mut accepting, mut quiet) = (false, true);
        loop {
            accepting |= system.has_label(&self.state, Label::Accept);
            quiet &= !system.has_label(&self.state, Label::Progress);
            self.expand(system);
            if !self.advance() || self.state == self.marked {
                return circles(true, accepting, quiet);
            }
        }
    }
}

fn circles(some: bool, accepting: bool, quiet: bool) -> Circles {
    let bit = |is: bool, kind| if is { kind } else { 0 };
    Circles(
        bit(some, Circles::SOME) | bit(accepting, Circles::ACCEPTING) | bit(quiet, Circles::QUIET),
    )
}

/// The sequences that some steps begin: every state inside, and the steps between them.
pub(super) struct Sequences {
    entries: Vec<(Step, u32)>,
    nodes: Vec<Node>,
}

#[derive(Default)]
struct Node {
    edges: Vec<(Step, u32)>,
    accepting: bool,
    progress: bool,
}

impl Sequences {
    pub(super) fn explore(
        system: &dyn System,
        state: &[u8],
        steps: &[Step],
        give_up: &dyn Fn() -> bool,
        inside: &mut Inside,
    ) -> Result<Self, GaveUp> {
        let mut found = Sequences { entries: Vec::new(), nodes: Vec::new() };
        let mut states: Vec<Vec<u8>> = Vec::new();
        let mut numbers: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut number = |state: &[u8], states: &mut Vec<Vec<u8>>| {
            if let Some(known) = numbers.get(state) {
                return *known;
            }
            let next = states.len() as u32;
            numbers.insert(state.to_vec(), next);
            states.push(state.to_vec());
            next
        };
        for &step in steps {
            if inside.begin(system, state, step) {
                let entry = number(&inside.state, &mut states);
                found.entries.push((step, entry));
            }
        }
        let mut at = 0;
        while at < states.len() {
            inside.state.clone_from(&states[at]);
            at += 1;
            let mut node = Node::default();
            if inside.expand(system) {
                node.accepting = system.has_label(&inside.state, Label::Accept);
                node.progress = system.has_label(&inside.state, Label::Progress);
                for at in 0..inside.successors.len() {
                    if inside.successors.headers[at].is_transient() {
                        let (step, next) =
                            (inside.successors.step(at).0, inside.successors.get(at));
                        node.edges.push((step, number(next, &mut states)));
                    }
                }
            }
            found.nodes.push(node);
            let is_long = at.is_multiple_of(STEPS_PER_QUESTION) && give_up();
            if is_long || states.len() > MOST_STATES {
                return Err(GaveUp);
            }
        }
        Ok(found)
    }

    fn circles(&self) -> Circles {
        let any = |kind| self.on_circle(kind).contains(&true);
        circles(any(Circles::SOME), any(Circles::ACCEPTING), any(Circles::QUIET))
    }

    /// Whether a circle of this kind may pass a state.
    fn is_allowed(&self, kind: u8, node: u32) -> bool {
        kind != Circles::QUIET || !self.nodes[node as usize].progress
    }

    /// For each state whether it lies on a circle of this kind; of an accepting circle, its labels only.
    fn on_circle(&self, kind: u8) -> Vec<bool> {
        let mut graph = Graph::default();
        for (at, node) in self.nodes.iter().enumerate() {
            let edges = node.edges.iter().filter(|(_, to)| self.is_allowed(kind, *to));
            if self.is_allowed(kind, at as u32) {
                edges.for_each(|(_, to)| graph.add_edge(*to));
            }
            graph.end_state(true);
        }
        let mut result = graph.cyclic();
        for (on, node) in result.iter_mut().zip(&self.nodes) {
            *on &= kind != Circles::ACCEPTING || node.accepting;
        }
        result
    }

    /// A shortest way into a circle of this kind, and a shortest circle there.
    pub(super) fn way(&self, kind: u8) -> Option<(Vec<Step>, Vec<Step>)> {
        let goals = self.on_circle(kind);
        let (entry, start) = self.shortest(&self.entries, |_| true, |node| goals[node as usize])?;
        let edges: Vec<(Step, u32)> = self.nodes[start as usize].edges.clone();
        let (circle, _) =
            self.shortest(&edges, |node| self.is_allowed(kind, node), |node| node == start)?;
        Some((entry, circle))
    }

    /// The shortest path that begins with one of these edges and ends at a goal.
    fn shortest(
        &self,
        first: &[(Step, u32)],
        may_pass: impl Fn(u32) -> bool,
        is_goal: impl Fn(u32) -> bool,
    ) -> Option<(Vec<Step>, u32)> {
        let mut before: HashMap<u32, (Step, Option<u32>)> = HashMap::new();
        let mut queue = VecDeque::new();
        let mut meet = |edges: &[(Step, u32)], from, queue: &mut VecDeque<u32>| {
            for &(step, to) in edges.iter().filter(|(_, to)| may_pass(*to)) {
                before.entry(to).or_insert_with(|| {
                    queue.push_back(to);
                    (step, from)
                });
            }
        };
        meet(first, None, &mut queue);
        let mut goal = None;
        while let Some(node) = queue.pop_front() {
            if is_goal(node) {
                goal = Some(node);
                break;
            }
            meet(&self.nodes[node as usize].edges, Some(node), &mut queue);
        }
        let mut steps = Vec::new();
        let mut at = goal;
        while let Some(node) = at {
            let (step, from) = before[&node];
            steps.push(step);
            at = from;
        }
        steps.reverse();
        Some((steps, goal?))
    }
}
