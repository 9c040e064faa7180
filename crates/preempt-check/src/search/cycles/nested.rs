//! Cycles through accepting states, by nested depth-first search.
//!
//! Paper: \[S19\] sections 4 and 5: ample sets chosen at the source product state (scheme V1).
//!
//! The loop is that of `nested_search.rs`, over any system and any store.
//!
//! **Reduction.** The choice between an ample set and all steps is made once, when the first search
//! enters a state, and stored in one bit that the second search obeys. It is refused as soon as *any*
//! ample successor is on the path (the state itself included): every cycle of the reduced graph has an
//! edge back to the path, so one of its states is expanded in full. That is C3' of the paper.
//!
//! A state is expanded once by the first search, and once more by the second if that comes by; its
//! successors wait on the path (`path.rs`).
//!
//! Differs from the paper: the product is any [`System`]; [`Scheme::IntermediateState`] is V0, which
//! loses violations and exists to show that Spin does.

use super::colours::{ACCEPTING, COLOUR, CYAN, FREE, WHITE};
use super::nested_search::{Both, Edge, OnPath, ProductGraph, Which, explore};
use super::path::{Path, UNHASHED};
use crate::search::shared::halt::Halt;
use crate::search::shared::taken::mark_taken;
use crate::store::{StateId, Store};
use crate::{Budget, Counterexample, Covered, Finding, Progress};
use preempt_core::engine::{Request, Sink, Successors};
use preempt_core::{
    Enabled, Label, Locality, Outcome, ProcessId, Step, Stop, System, ViolationKind,
};

/// Where ample sets are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    /// Every step is explored.
    Full,
    /// V1: at the source product state; with the least locality that an ample step must have.
    SourceState(Locality),
    /// V0: after the automaton has moved, as Spin does. **Unsound**, for study.
    IntermediateState,
}

/// What to look for, and how.
#[derive(Clone, Copy, Debug)]
pub struct NestedOptions {
    /// Reduction.
    pub scheme: Scheme,
    /// What a cycle found is called.
    pub kind: ViolationKind,
    /// Report violated assertions on the way.
    pub assertions: bool,
    /// Report states without steps that are no valid ends.
    pub deadlocks: bool,
    /// Stop after this many violations; 0 counts all.
    pub max_errors: u64,
    /// Cut executions at this depth.
    pub depth: Option<u64>,
}

impl NestedOptions {
    /// Up to the first accepting cycle or violated assertion.
    pub fn to_the_first(scheme: Scheme) -> Self {
        NestedOptions {
            scheme,
            kind: ViolationKind::AcceptanceCycle,
            assertions: true,
            deadlocks: false,
            max_errors: 1,
            depth: None,
        }
    }

    /// How local a step must be to be explored alone, `None` without reduction; nothing at all where only [`nested`] does
    /// what is asked for.
    pub(super) fn least_locality(&self) -> Option<Option<Locality>> {
        let least = match self.scheme {
            Scheme::Full => None,
            Scheme::SourceState(least) => Some(least),
            Scheme::IntermediateState => return None,
        };
        let is_usual = self.max_errors == 1 && self.depth.is_none() && !self.deadlocks;
        is_usual.then_some(least)
    }
}

/// From this bit on: which automaton moves keep their ample set. V1 decides for all alike.
const AMPLE_SHIFT: u32 = FREE;
const AMPLE_BITS: u32 = 5;
const ALL_AMPLE: u8 = (1 << AMPLE_BITS) - 1;

/// Searches for an accepting cycle. `target` says automaton moves apart (for V0 only).
#[doc(alias = "S19 scheme V1")]
pub fn nested<S: System + ?Sized, T: Store>(
    system: &S,
    store: &mut T,
    budget: &mut Budget,
    options: NestedOptions,
    target: fn(Step) -> u32,
) -> Finding {
    let mut search = Nested {
        system,
        store,
        budget,
        options,
        target,
        colours: Vec::new(),
        paths: Both::default(),
        // What keeps the search from it is entered where it happens.
        finding: Finding::new(Covered::Everything),
        enabled: Enabled::new(),
        successors: Successors::default(),
        state: Vec::new(),
        scratch: Vec::new(),
        taken: vec![false; system.transition_count()],
    };
    if let Err(Halt::Stop(stop)) = search.run() {
        search.finding.stop = Some(stop);
    }
    search.finish()
}

struct Nested<'a, 'b, S: System + ?Sized, T: Store> {
    system: &'a S,
    store: &'a mut T,
    budget: &'a mut Budget<'b>,
    options: NestedOptions,
    target: fn(Step) -> u32,
    colours: Vec<u8>,
    paths: Both<Path>,
    finding: Finding,
    enabled: Enabled,
    /// Those of the state that is being expanded.
    successors: Successors,
    state: Vec<u8>,
    scratch: Vec<u8>,
    taken: Vec<bool>,
}

/// Where a step leads.
enum Arrival {
    /// Into an indivisible sequence; the state is at hand.
    Inside,
    /// To a state that is stored.
    Known(StateId),
    /// To a state that is not, with this hash; it is at hand.
    Unknown(u64),
}

impl<S: System + ?Sized, T: Store> Nested<'_, '_, S, T> {
    fn run(&mut self) -> Result<(), Halt> {
        self.state.clear();
        let outcome = self.system.initial(&mut self.state);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            self.report(|system, steps| Counterexample::from_fault(system, steps, fault), &[])?;
            if let Outcome::Broken(_) = outcome {
                return Ok(());
            }
        }
        self.normalize();
        let hash = self.store.hash(&self.state);
        self.enter(0, hash)?;
        explore(self)
    }

    /// Brings `self.state` into its final form, which also ends an interrupted sequence.
    fn normalize(&mut self) {
        if !self.system.is_normalized(&self.state) {
            self.enabled.clear();
            self.system.enabled(&mut self.state, &mut self.enabled);
        }
    }

    /// Looks at a successor of the last state of a path.
    fn arrive(&mut self, which: Which, at: usize) -> Arrival {
        let path = &self.paths[which];
        let (bytes, hash) = (path.target(at), path.hashes[at]);
        if hash != UNHASHED {
            if let Some(id) = self.store.lookup_hashed(hash, bytes) {
                return Arrival::Known(id);
            }
            self.state.clear();
            self.state.extend_from_slice(bytes);
            return Arrival::Unknown(hash);
        }
        self.state.clear();
        self.state.extend_from_slice(bytes);
        self.normalize();
        if self.system.is_transient(&self.state) {
            return Arrival::Inside;
        }
        let hash = self.store.hash(&self.state);
        let known = self.store.lookup_hashed(hash, &self.state);
        known.map_or(Arrival::Unknown(hash), Arrival::Known)
    }

    /// Takes a step of the first search.
    fn follow(&mut self, at: usize) -> Result<Edge<StateId, (u64, u64)>, Halt> {
        let below = self.paths[Which::First].frames.last().map_or(0, |frame| frame.depth);
        let (step, outcome) = self.paths[Which::First].step(at);
        self.mark_taken(step);
        match outcome {
            Outcome::Done => {}
            Outcome::Violated(fault) => self.report_fault(fault)?,
            Outcome::Broken(fault) => {
                self.report_fault(fault)?;
                return Ok(Edge::Passed);
            }
        }
        let depth = below + u64::from(self.system.depth_of(step));
        Ok(match self.arrive(Which::First, at) {
            Arrival::Unknown(hash) => Edge::Unvisited((depth, hash)),
            Arrival::Inside => {
                self.finding.statistics.atomic_steps += 1;
                if !self.paths[Which::First].repeats(&self.state) {
                    self.enter(depth, UNHASHED)?;
                }
                Edge::Passed
            }
            Arrival::Known(known) => {
                self.finding.statistics.matched += 1;
                Edge::Visited(known, self.colours[known.index()])
            }
        })
    }

    /// Takes a step of the second search.
    fn follow_again(&mut self, at: usize) -> Result<Edge<StateId, (u64, u64)>, Halt> {
        if let Outcome::Broken(_) = self.paths[Which::Second].step(at).1 {
            return Ok(Edge::Passed);
        }
        Ok(match self.arrive(Which::Second, at) {
            Arrival::Known(id) => Edge::Visited(id, self.colours[id.index()]),
            Arrival::Inside => {
                if !self.paths[Which::Second].repeats(&self.state) {
                    self.push_red(None);
                    self.poll(0)?;
                }
                Edge::Passed
            }
            Arrival::Unknown(_) => Edge::Passed,
        })
    }

    /// Puts `self.state`, which has this hash if it is to be stored, on the path.
    fn enter(&mut self, depth: u64, hash: u64) -> Result<(), Halt> {
        if self.options.depth.is_some_and(|limit| depth > limit) {
            self.finding.stop = Some(Stop::Depth);
            return Ok(());
        }
        let numbers = &mut self.finding.statistics;
        numbers.depth = numbers.depth.max(depth);
        if self.system.is_transient(&self.state) {
            self.paths[Which::First].push(None, false, &self.state, depth);
            self.expand(Which::First);
            return self.poll(depth);
        }
        let id = self.store.insert_hashed(hash, &self.state)?.id;
        numbers.state_bytes = numbers.state_bytes.max(self.state.len() as u64);
        if self.colours.len() <= id.index() {
            self.colours.resize(id.index() + 1, WHITE);
        }
        let accepting = self.system.has_label(&self.state, Label::Accept);
        self.paths[Which::First].push(Some(id), accepting, &self.state, depth);
        self.expand(Which::First);
        if self.options.deadlocks
            && self.paths[Which::First].last_successors().is_empty()
            && !self.system.is_valid_end(&self.state)
        {
            self.report(|_, steps| Counterexample::invalid_end(steps), &[])?;
        }
        self.colours[id.index()] = CYAN | if accepting { ACCEPTING } else { 0 };
        if self.options.scheme != Scheme::Full {
            let ample = self.choose();
            self.colours[id.index()] |= ample << AMPLE_SHIFT;
            self.keep(Which::First, ample);
        }
        self.poll(depth)
    }

    /// Looks at the limits; also inside indivisible sequences, which may be long.
    fn poll(&mut self, depth: u64) -> Result<(), Halt> {
        let (states, queue) =
            (self.store.len() as u64, self.paths[Which::First].frames.len() as u64);
        let transitions = states + self.finding.statistics.matched;
        let (store, path, colours) = (&self.store, &self.paths[Which::First], &self.colours);
        self.budget.spend(|| Progress {
            states,
            transitions,
            depth,
            queue,
            memory: store.bytes() + path.bytes() + colours.capacity(),
            ..Progress::default()
        })?;
        Ok(())
    }

    /// Adds the successors of `self.state`, the last state of the path.
    fn expand(&mut self, which: Which) {
        let path = &mut self.paths[which];
        let first = path.last_successors().end;
        let sink = Sink::Copies(&mut self.state, &mut self.successors);
        self.system.successors(Request::All, sink);
        path.push_successors(&self.successors);
        self.successors.clear();
        // Most of the time goes into waiting for the store: let all successors wait together.
        for at in first..path.last_successors().end {
            let bytes = path.target(at);
            let is_final = self.system.is_normalized(bytes) && !self.system.is_transient(bytes);
            let hash = if is_final { self.store.hash(bytes) } else { UNHASHED };
            self.store.prefetch(hash);
            path.hashes.push(hash);
        }
        for &hash in &path.hashes[first..] {
            self.store.prefetch_state(hash);
        }
    }

    /// The first process whose present steps may be explored alone, and the places of these steps.
    fn candidate(&self, which: Which) -> Option<(ProcessId, std::ops::Range<usize>)> {
        let least = match self.options.scheme {
            Scheme::Full => return None,
            Scheme::SourceState(least) => least,
            Scheme::IntermediateState => Locality::Safe,
        };
        let path = &self.paths[which];
        let all = path.last_successors();
        let mut at = all.start;
        while at < all.end {
            let process = path.step(at).0.process;
            let same = |other: &usize| path.step(*other).0.process == process;
            let end = at + (at..all.end).take_while(same).count();
            if (at, end) == (all.start, all.end) {
                return None;
            }
            if self.system.locality(&self.state, process) >= least
                && !self.system.is_visible(&self.state, process)
            {
                return Some((process, at..end));
            }
            at = end;
        }
        None
    }

    /// Which automaton moves keep the ample set of the candidate: a bit each, in order.
    fn choose(&mut self) -> u8 {
        let Some((_, steps)) = self.candidate(Which::First) else { return 0 };
        let mut refused: u8 = 0;
        let mut number = 0;
        for at in steps.clone() {
            let target = |at: usize| (self.target)(self.paths[Which::First].step(at).0);
            number += u32::from(at > steps.start && target(at) != target(at - 1));
            if !self.leads_to_path(at) {
                continue;
            }
            match self.options.scheme {
                Scheme::IntermediateState => refused |= target_bit(number),
                _ => return 0,
            }
        }
        ALL_AMPLE & !refused
    }

    /// Whether a step ends on the path of the first search (or inside an indivisible sequence, whose
    /// end is not known yet).
    fn leads_to_path(&mut self, at: usize) -> bool {
        if let Outcome::Broken(_) = self.paths[Which::First].step(at).1 {
            return true;
        }
        let (bytes, hash) =
            (self.paths[Which::First].target(at), self.paths[Which::First].hashes[at]);
        let known = if hash != UNHASHED {
            self.store.lookup_hashed(hash, bytes)
        } else if self.system.is_normalized(bytes) {
            return true;
        } else {
            self.scratch.clear();
            self.scratch.extend_from_slice(bytes);
            self.enabled.clear();
            self.system.enabled(&mut self.scratch, &mut self.enabled);
            if self.system.is_transient(&self.scratch) {
                return true;
            }
            self.store.lookup(&self.scratch)
        };
        known.is_some_and(|id| self.colours[id.index()] & COLOUR == CYAN)
    }

    /// Drops the successors of the last state that its choice leaves out: per automaton move those
    /// of all processes but the candidate.
    fn keep(&mut self, which: Which, ample: u8) {
        if ample == 0 {
            return;
        }
        let Some((process, steps)) = self.candidate(which) else { return };
        let target = self.target;
        let path = &mut self.paths[which];
        if ample == ALL_AMPLE {
            path.retain_last(|step| step.process == process || step.process == ProcessId::PROPERTY);
            return;
        }
        let mut number = 0;
        let mut reduced = Vec::new();
        for at in steps.clone() {
            let to = target(path.step(at).0);
            number += u32::from(at > steps.start && to != target(path.step(at - 1).0));
            if ample & target_bit(number) != 0 {
                reduced.push(to);
            }
        }
        path.retain_last(|step| {
            step.process == process
                || step.process == ProcessId::PROPERTY
                || !reduced.contains(&target(step))
        });
    }

    /// Puts `self.state` on the path of the second search.
    fn push_red(&mut self, id: Option<StateId>) {
        self.paths[Which::Second].push(id, false, &self.state, 0);
        self.expand(Which::Second);
        if let Some(id) = id {
            let ample = self.colours[id.index()] >> AMPLE_SHIFT;
            self.keep(Which::Second, ample);
        }
    }

    fn mark_taken(&mut self, step: Step) {
        mark_taken(self.system, &mut self.taken, step);
    }

    fn report_fault(&mut self, fault: u32) -> Result<(), Halt> {
        let found = Counterexample::from_fault(self.system, Vec::new(), fault);
        if found.kind == ViolationKind::Assertion && !self.options.assertions {
            return Ok(());
        }
        self.report(|_, steps| Counterexample { steps, ..found }, &[])
    }

    fn report(
        &mut self,
        make: impl FnOnce(&S, Vec<Step>) -> Counterexample,
        rest: &[Step],
    ) -> Result<(), Halt> {
        self.finding.statistics.errors += 1;
        if self.finding.counterexample.is_none() {
            let mut steps: Vec<Step> = self.paths[Which::First].taken().collect();
            steps.extend_from_slice(rest);
            self.finding.counterexample = Some(make(self.system, steps));
        }
        let enough = self.options.max_errors;
        if enough != 0 && self.finding.statistics.errors >= enough {
            return Err(Halt::Stop(Stop::Fault));
        }
        Ok(())
    }

    fn finish(mut self) -> Finding {
        let numbers = &mut self.finding.statistics;
        numbers.states = self.store.len() as u64;
        numbers.transitions = numbers.states + numbers.matched;
        let arrays = self.colours.capacity()
            + self.paths[Which::First].bytes()
            + self.paths[Which::Second].bytes();
        let memory = self.store.bytes() + arrays;
        numbers.memory_bytes = memory.max(self.budget.peak_memory()) as u64;
        numbers.bytes_per_state = self.store.bytes() as f64 / (numbers.states.max(1) as f64);
        numbers.seconds = self.budget.elapsed().as_secs_f64();
        if self.finding.counterexample.is_some() {
            self.finding.stop = None;
        } else if self.finding.stop.is_none() && !self.store.is_exact() {
            self.finding.stop = Some(Stop::LossyStore);
        }
        self.finding.unreached = self.system.unreached(&self.taken);
        self.finding
    }
}

impl<S: System + ?Sized, T: Store> ProductGraph for Nested<'_, '_, S, T> {
    type Node = StateId;
    /// The state at hand: its depth, and its hash.
    type Unvisited = (u64, u64);

    fn advance(&mut self, which: Which) -> Result<Edge<StateId, (u64, u64)>, Halt> {
        match (which, self.paths[which].advance()) {
            (_, None) => Ok(Edge::Done),
            (Which::First, Some(at)) => self.follow(at),
            (Which::Second, Some(at)) => self.follow_again(at),
        }
    }

    fn visit(&mut self, (depth, hash): (u64, u64)) -> Result<(), Halt> {
        self.enter(depth, hash)
    }

    fn begin_second(&mut self) -> Result<(), Halt> {
        self.paths[Which::First].rewind_last();
        self.paths[Which::Second].clear();
        self.state.clear();
        self.state.extend_from_slice(self.paths[Which::First].last_state());
        let id = self.paths[Which::First].last_stored().map(|last| last.node);
        self.push_red(id);
        Ok(())
    }

    fn visit_again(&mut self, id: StateId) -> Result<(), Halt> {
        self.state.clear();
        self.state.extend_from_slice(self.paths[Which::Second].last_target());
        self.normalize();
        self.push_red(Some(id));
        let (store, path) = (&self.store, &self.paths[Which::Second]);
        let memory = || store.bytes() + path.bytes();
        Ok(self.budget.spend(|| Progress { memory: memory(), ..Progress::default() })?)
    }

    fn pop(&mut self, which: Which) -> bool {
        let path = &mut self.paths[which];
        path.pop();
        !path.frames.is_empty()
    }

    fn is_inside(&self) -> bool {
        self.paths[Which::First].frames.last().is_some_and(|frame| frame.stored.is_none())
    }

    fn source(&mut self) -> Option<&mut OnPath<StateId>> {
        self.paths[Which::First].last_stored()
    }

    fn paint(&mut self, id: StateId, _from: u8, to: u8) {
        let marks = &mut self.colours[id.index()];
        *marks = *marks & !COLOUR | to;
    }

    fn close(&mut self, at: StateId) -> Result<(), Halt> {
        let is_it = |known: &OnPath<StateId>| known.node == at;
        let frames = &self.paths[Which::First].frames;
        let start = frames.iter().position(|frame| frame.stored.as_ref().is_some_and(is_it));
        let rest: Vec<Step> = self.paths[Which::Second].taken().collect();
        self.paths[Which::Second].clear();
        let kind = self.options.kind;
        let cycle = |_: &S, steps| Counterexample {
            cycle_start: start,
            ..Counterexample::cycle(steps, kind, 0)
        };
        self.report(cycle, &rest)
    }
}

/// The bit of the `number`th automaton move; moves beyond the last bit share it.
fn target_bit(number: u32) -> u8 {
    1 << number.min(AMPLE_BITS - 1)
}
