//! The simplest counterexample, exactly: fewest preemptions, then fewest steps.
//!
//! Dijkstra's algorithm over (state, last mover) with the lexicographic weight (preemptions,
//! steps). One bucket per count of preemptions, inside a bucket one level per number of steps. A
//! node is expanded in two parts: the steps that are no preemption in its own bucket, the others in
//! the next one, at the depth it has. So nothing beyond the bucket of the answer is ever stored.
//!
//! Nodes are told apart by identity only. That a visit with fewer preemptions covers one with more
//! keeps verdicts and least counts (`least_preemptions.rs`), but can lose the shortest execution: one more
//! switch makes up for the count, and comes at another depth.
//!
//! Invariant: when a level is expanded, no node with a smaller (count, depth) is left, so the first
//! target whose weight is not above that of the level is the least of all.

use crate::search::shared::atomic_sequence::{AtomicSequence, Event, last_mover};
use crate::search::shared::statistics::Counters;
use crate::search::shared::trace::first_way;
use crate::store::{Exact, StateId, Store};
use crate::{Budget, Counterexample, Finding, Options, Progress};
use preempt_core::{Enabled, Outcome, ProcessId, Step, Stop, Switch, System, classify};

/// What the search for the simplest counterexample came to.
#[derive(Clone, Debug, Default)]
pub struct Simplest {
    /// The best counterexample found.
    pub counterexample: Option<Counterexample>,
    /// How many preemptions it has.
    pub preemptions: u32,
    /// Whether the search came to its end: the counterexample is proven to be the simplest, or
    /// without one, no execution within the bound violates the property.
    pub proven: bool,
    /// What stopped it otherwise.
    pub stop: Option<Stop>,
    /// Distinct states seen.
    pub states: u64,
}

/// Looks for the simplest violation of what `options` watch, with at most `bound` preemptions.
pub fn simplest<S: System + ?Sized>(
    system: &S,
    options: &Options,
    bound: Option<u32>,
    budget: &mut Budget,
) -> Simplest {
    let mut search = Search {
        system,
        counters: Counters::new(system, options),
        limit: bound.unwrap_or(u32::MAX),
        store: Exact::new(budget.memory_limit()),
        first_node: Vec::new(),
        nodes: Vec::new(),
        count: 0,
        here: Levels::default(),
        next: Levels::default(),
        best: None,
        sequence: AtomicSequence::default(),
        state: Vec::new(),
        enabled: Enabled::new(),
    };
    let stop = search.run(budget).err();
    let counterexample = search.best.take().map(|best| {
        let mut steps = search.steps_to(best.node);
        steps.extend(best.path);
        (Counterexample::from_end(system, steps, best.fault), best.weight.0)
    });
    Simplest {
        preemptions: counterexample.as_ref().map_or(0, |(_, preemptions)| *preemptions),
        counterexample: counterexample.map(|(found, _)| found),
        proven: stop.is_none(),
        stop,
        states: search.store.len() as u64,
    }
}

/// Replaces the counterexample of a finding by the simplest one, as far as the budget goes.
pub(crate) fn simplify<S: System + ?Sized>(
    system: &S,
    options: &Options,
    finding: &mut Finding,
    budget: &mut Budget,
) {
    let Some(found) = finding.counterexample.as_ref().filter(|_| !finding.simplest) else { return };
    if found.cycle_start.is_some() {
        return;
    }
    let cost = |steps: &[Step]| {
        let cost = preempt_core::cost(system, steps);
        cost.map_or((u32::MAX, u32::MAX), |cost| (cost.preemptions, cost.steps))
    };
    let (preemptions, steps) = cost(&found.steps);
    let best = simplest(system, options, Some(preemptions), budget);
    if let Some(simpler) = best.counterexample {
        if cost(&simpler.steps) < (preemptions, steps) {
            finding.counterexample = Some(simpler);
        }
        finding.simplest = best.proven;
    }
}

/// A state with its last mover, and the best way to it so far.
#[derive(Clone, Copy)]
struct Node {
    state: StateId,
    /// The node before it.
    parent: u32,
    /// The next node with the same state.
    sibling: u32,
    count: u32,
    depth: u32,
    mover: Option<ProcessId>,
}

const NONE: u32 = u32::MAX;

/// Nodes to expand, by depth.
#[derive(Default)]
struct Levels {
    levels: Vec<Vec<(u32, Part)>>,
}

/// What is left to expand of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The steps that are no preemption.
    Continue,
    /// The steps that are.
    Preempt,
}

impl Levels {
    fn push(&mut self, depth: u32, node: u32, part: Part) {
        let depth = depth as usize;
        if depth >= self.levels.len() {
            self.levels.resize_with(depth + 1, Vec::new);
        }
        self.levels[depth].push((node, part));
    }
}

/// A violation behind a node: the steps from there, and the weight of the whole execution.
struct Best {
    weight: (u32, u32),
    node: u32,
    path: Vec<Step>,
    fault: Option<u32>,
}

struct Search<'a, S: ?Sized> {
    system: &'a S,
    counters: Counters,
    limit: u32,
    store: Exact,
    /// Per state, the first of its nodes.
    first_node: Vec<u32>,
    nodes: Vec<Node>,
    /// The preemptions of the present bucket.
    count: u32,
    here: Levels,
    next: Levels,
    best: Option<Best>,
    sequence: AtomicSequence,
    state: Vec<u8>,
    enabled: Enabled,
}

impl<S: System + ?Sized> Search<'_, S> {
    fn run(&mut self, budget: &mut Budget) -> Result<(), Stop> {
        let mut initial = Vec::new();
        let outcome = self.system.initial(&mut initial);
        let mut before = Best { weight: (0, 0), node: NONE, path: Vec::new(), fault: None };
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome
            && self.counters.reports(self.system, fault)
        {
            before.fault = Some(fault);
            self.best = Some(before);
            return Ok(());
        }
        if let Outcome::Broken(_) = outcome {
            return Ok(());
        }
        self.relax(NONE, (0, 0), &initial, None)?;
        loop {
            let mut depth = 0;
            while depth < self.here.levels.len() {
                let level = std::mem::take(&mut self.here.levels[depth]);
                let done = |best: &Best| best.weight <= (self.count, depth as u32);
                if self.best.as_ref().is_some_and(done) {
                    return Ok(());
                }
                for (node, part) in level {
                    self.expand(node, depth as u32, part)?;
                    budget.spend(|| Progress {
                        states: self.store.len() as u64,
                        depth: depth as u64,
                        memory: self.bytes(),
                        ..Progress::default()
                    })?;
                }
                depth += 1;
            }
            // Whatever comes from here on has one more preemption.
            if self.best.is_some() || self.next.levels.is_empty() || self.count >= self.limit {
                return Ok(());
            }
            self.count += 1;
            self.here = std::mem::take(&mut self.next);
        }
    }

    fn bytes(&self) -> usize {
        let waiting = self.nodes.len() * 8;
        self.store.bytes()
            + self.nodes.capacity() * size_of::<Node>()
            + self.first_node.capacity() * 4
            + waiting
    }

    /// Takes note of a way to a state.
    fn relax(
        &mut self,
        parent: u32,
        (count, depth): (u32, u32),
        state: &[u8],
        mover: Option<ProcessId>,
    ) -> Result<(), Stop> {
        let inserted = self.store.insert(state).map_err(|_| Stop::Memory)?;
        if inserted.new {
            self.first_node.push(NONE);
        }
        let mut at = self.first_node[inserted.id.index()];
        while at != NONE && self.nodes[at as usize].mover != mover {
            at = self.nodes[at as usize].sibling;
        }
        if at == NONE {
            at = u32::try_from(self.nodes.len()).map_err(|_| Stop::Memory)?;
            let sibling = std::mem::replace(&mut self.first_node[inserted.id.index()], at);
            let state = inserted.id;
            self.nodes.push(Node { state, parent, sibling, count, depth, mover });
        } else {
            let node = &mut self.nodes[at as usize];
            if (node.count, node.depth) <= (count, depth) {
                return Ok(());
            }
            (node.parent, node.count, node.depth) = (parent, count, depth);
        }
        self.here.push(depth, at, Part::Continue);
        Ok(())
    }

    fn expand(&mut self, at: u32, depth: u32, part: Part) -> Result<(), Stop> {
        let node = self.nodes[at as usize];
        // A shorter way was found after this was queued.
        let expected = match part {
            Part::Continue => self.count,
            Part::Preempt => self.count - 1,
        };
        if (node.count, node.depth) != (expected, depth) {
            return Ok(());
        }
        let mut state = std::mem::take(&mut self.state);
        let mut enabled = std::mem::take(&mut self.enabled);
        self.store.load(node.state, &mut state);
        enabled.clear();
        self.system.enabled(&mut state, &mut enabled);
        if self.counters.is_invalid_end(self.system, &state, &enabled) {
            self.offer((self.count, depth), at, &[], None);
        }
        let mut preemptions = false;
        for &step in enabled.steps() {
            let is_preemption = classify(node.mover, &enabled, &step) == Switch::Preemption;
            preemptions |= is_preemption;
            if is_preemption == (part == Part::Preempt) {
                self.take(at, depth, &state, step)?;
            }
        }
        if part == Part::Continue && preemptions && self.count < self.limit {
            self.next.push(depth, at, Part::Preempt);
        }
        (self.state, self.enabled) = (state, enabled);
        Ok(())
    }

    fn take(&mut self, at: u32, depth: u32, state: &[u8], step: Step) -> Result<(), Stop> {
        let mut sequence = std::mem::take(&mut self.sequence);
        let mut result = Ok(());
        let before = self.nodes[at as usize].mover;
        sequence.run(self.system, state, step, &mut |path, event| {
            let weight = (self.count, depth + path.len() as u32);
            match event {
                Event::Violated(fault) | Event::Broken(fault) => {
                    if self.counters.reports(self.system, fault) {
                        self.offer(weight, at, path, Some(fault));
                    }
                }
                Event::Arrived(arrived) => {
                    result = self.relax(at, weight, arrived, last_mover(path, before));
                }
            }
            result.is_ok()
        });
        self.sequence = sequence;
        result
    }

    /// Keeps a violation if it is the best so far.
    fn offer(&mut self, weight: (u32, u32), node: u32, path: &[Step], fault: Option<u32>) {
        if self.best.as_ref().is_none_or(|best| weight < best.weight) {
            self.best = Some(Best { weight, node, path: path.to_vec(), fault });
        }
    }

    /// The steps to a node, found again from the states on the way.
    fn steps_to(&self, node: u32) -> Vec<Step> {
        let mut way = Vec::new();
        let mut at = node;
        while at != NONE {
            way.push(self.nodes[at as usize]);
            at = self.nodes[at as usize].parent;
        }
        way.reverse();
        let mut steps = Vec::new();
        for pair in way.windows(2) {
            let (mut state, mut target) = (Vec::new(), Vec::new());
            self.store.load(pair[0].state, &mut state);
            self.store.load(pair[1].state, &mut target);
            let length = (pair[1].depth - pair[0].depth) as usize;
            let takes = |preempts| pair[0].count + u32::from(preempts) == pair[1].count;
            let found = first_way(self.system, &state, pair[0].mover, takes, |path, arrived| {
                path.len() == length
                    && last_mover(path, pair[0].mover) == pair[1].mover
                    && *arrived == target
            });
            steps.extend(found.unwrap_or_default());
        }
        steps
    }
}
