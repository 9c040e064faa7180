//! A shorter way into a cycle, and a shorter cycle.
//!
//! A nested search finds cycles that are as long and as wild as its path was. Here the whole product is
//! explored once more, its strongly connected components tell which states lie on an accepting cycle,
//! Dijkstra's algorithm over (state, last mover) finds the way to one of them with the fewest
//! preemptions, then the fewest steps, and a breadth-first search the shortest cycle from there through
//! an accepting state. Where the product is too large for the budget, only the states of the cycle that
//! is known already are tried as ends of the way.
//!
//! Invariant: what is returned is an execution of the same system with an accepting cycle.

use super::components::Graph;
use crate::search::shared::atomic_sequence::{AtomicSequence, Event};
use crate::store::{Exact, StateId, Store};
use crate::{Budget, Counterexample, Progress};
use preempt_core::{Enabled, Label, ProcessId, Step, Stop, Switch, System, classify};
use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// Shortens a counterexample with a cycle; `None` when the budget does not suffice, or it has none.
pub fn shorten_cycle<S: System + ?Sized>(
    system: &S,
    found: &Counterexample,
    budget: &mut Budget,
) -> Option<Counterexample> {
    let start = found.cycle_start?;
    let mut search = Lasso::new(system, budget);
    let goals = match search.cyclic_states(budget) {
        Ok(goals) => goals,
        Err(Stop::Interrupted) => return None,
        Err(_) => search.states_of(&found.steps, start)?,
    };
    let (mut steps, entry) = search.way_to(&goals, &mut 0, budget).ok()??;
    let cycle = search.cycle_at(entry, budget).ok()??;
    let cycle_start = Some(steps.len());
    steps.extend(cycle);
    Some(Counterexample { steps, cycle_start, ..found.clone() })
}

/// How many preemptions the way to any state with any last mover takes at most: a violation that is not
/// found within this bound preempts for ever. `None` when the budget does not suffice.
pub fn preemptions_to_everywhere<S: System + ?Sized>(
    system: &S,
    budget: &mut Budget,
) -> Option<u32> {
    let mut search = Lasso::new(system, budget);
    let mut most = 0;
    search.way_to(&[], &mut most, budget).ok().map(|_| most)
}

/// The most states of a product that is explored in full.
const MOST_STATES: usize = 1 << 21;

struct Lasso<'a, S: ?Sized> {
    system: &'a S,
    store: Exact,
    sequence: AtomicSequence,
    enabled: Enabled,
    state: Vec<u8>,
}

impl<'a, S: System + ?Sized> Lasso<'a, S> {
    fn new(system: &'a S, budget: &Budget) -> Self {
        Lasso {
            system,
            store: Exact::new(budget.memory_limit() / 2),
            sequence: AtomicSequence::default(),
            enabled: Enabled::new(),
            state: Vec::new(),
        }
    }

    fn insert_initial(&mut self) -> Result<StateId, Stop> {
        self.state.clear();
        self.system.initial(&mut self.state);
        self.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.enabled);
        Ok(self.store.insert(&self.state).map_err(|_| Stop::Memory)?.id)
    }

    /// Calls `report` with every way to a next state: the steps, whether the first preempts `mover`, and
    /// the state.
    fn successors(
        &mut self,
        id: StateId,
        mover: Option<ProcessId>,
        report: &mut dyn FnMut(&[Step], bool, StateId),
    ) -> Result<(), Stop> {
        self.store.load(id, &mut self.state);
        self.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.enabled);
        let mut result = Ok(());
        let mut after = Enabled::new();
        for step in self.enabled.steps() {
            let preempts = classify(mover, &self.enabled, step) == Switch::Preemption;
            self.sequence.run(self.system, &self.state, *step, &mut |path, event| {
                if let Event::Arrived(state) = event {
                    if !self.system.is_normalized(state) {
                        after.clear();
                        self.system.enabled(state, &mut after);
                    }
                    match self.store.insert(state) {
                        Ok(inserted) => report(path, preempts, inserted.id),
                        Err(_) => result = Err(Stop::Memory),
                    }
                }
                result.is_ok()
            });
        }
        result
    }

    fn is_accepting(&self, id: StateId) -> bool {
        self.system.has_label(self.store.get(id), Label::Accept)
    }

    /// For each state whether it lies on an accepting cycle.
    fn cyclic_states(&mut self, budget: &mut Budget) -> Result<Vec<bool>, Stop> {
        self.insert_initial()?;
        let mut graph = Graph::default();
        let mut at = 0;
        while at < self.store.len() {
            self.successors(StateId(at as u32), None, &mut |_, _, to| graph.add_edge(to.0))?;
            graph.end_state(self.is_accepting(StateId(at as u32)));
            at += 1;
            let memory = self.store.bytes() + graph.bytes();
            budget.spend(|| Progress { memory, ..Progress::default() })?;
            if at > MOST_STATES {
                return Err(Stop::Memory);
            }
        }
        Ok(graph.cyclic())
    }

    /// The states of a known cycle.
    fn states_of(&mut self, steps: &[Step], start: usize) -> Option<Vec<bool>> {
        let mut state = Vec::new();
        self.system.initial(&mut state);
        let mut goals = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            self.enabled.clear();
            self.system.enabled(&mut state, &mut self.enabled);
            if at >= start && !self.system.is_transient(&state) {
                let id = self.store.insert(&state).ok()?.id.index();
                goals.resize(goals.len().max(id + 1), false);
                goals[id] = true;
            }
            self.system.apply(&mut state, *step);
        }
        Some(goals)
    }

    /// The way with the fewest preemptions, then steps, to one of the goals; `most` becomes the
    /// preemptions of the last way looked at.
    fn way_to(
        &mut self,
        goals: &[bool],
        most: &mut u32,
        budget: &mut Budget,
    ) -> Result<Option<(Vec<Step>, StateId)>, Stop> {
        type Node = (u32, Option<ProcessId>);
        type Cost = (u32, u32);
        let start = (self.insert_initial()?.0, None);
        let mut best: HashMap<Node, (Cost, Node, Vec<Step>)> = HashMap::new();
        best.insert(start, ((0, 0), start, Vec::new()));
        let mut queue = BinaryHeap::from([Reverse(((0, 0), start))]);
        while let Some(Reverse((cost, node))) = queue.pop() {
            if best.get(&node).is_none_or(|known| known.0 < cost) {
                continue;
            }
            *most = cost.0;
            if goals.get(node.0 as usize) == Some(&true) {
                let mut parts = Vec::new();
                let mut at = node;
                while let Some((_, before, steps)) = best.get(&at).filter(|_| at != start) {
                    parts.push(steps.clone());
                    at = *before;
                }
                parts.reverse();
                return Ok(Some((parts.concat(), StateId(node.0))));
            }
            self.successors(StateId(node.0), node.1, &mut |path, preempts, to| {
                let cost = (cost.0 + u32::from(preempts), cost.1 + path.len() as u32);
                let last = path.last().filter(|step| step.process != ProcessId::PROPERTY);
                let next = (to.0, last.map_or(node.1, |step| Some(step.mover())));
                let better = match best.entry(next) {
                    Entry::Vacant(_) => true,
                    Entry::Occupied(known) => cost < known.get().0,
                };
                if better {
                    best.insert(next, (cost, node, path.to_vec()));
                    queue.push(Reverse((cost, next)));
                }
            })?;
            let memory = self.store.bytes() + best.len() * 160;
            budget.spend(|| Progress { memory, ..Progress::default() })?;
        }
        Ok(None)
    }

    /// The shortest cycle from a state through an accepting one.
    fn cycle_at(&mut self, entry: StateId, budget: &mut Budget) -> Result<Option<Vec<Step>>, Stop> {
        // Nodes are states, with whether an accepting one was passed.
        type Node = (u32, bool);
        let start = (entry.0, false);
        let goal = (entry.0, true);
        let mut before: HashMap<Node, (Node, Vec<Step>)> = HashMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            let passed = node.1 || self.is_accepting(StateId(node.0));
            self.successors(StateId(node.0), None, &mut |path, _, to| {
                let next = (to.0, passed);
                if next == start {
                    return;
                }
                if let Entry::Vacant(free) = before.entry(next) {
                    free.insert((node, path.to_vec()));
                    queue.push_back(next);
                }
            })?;
            if before.contains_key(&goal) {
                let mut parts = Vec::new();
                let mut at = goal;
                while let Some((earlier, steps)) = before.get(&at) {
                    parts.push(steps.clone());
                    at = *earlier;
                    if at == start {
                        break;
                    }
                }
                parts.reverse();
                return Ok(Some(parts.concat()));
            }
            let memory = self.store.bytes() + before.len() * 160;
            budget.spend(|| Progress { memory, ..Progress::default() })?;
        }
        Ok(None)
    }
}
