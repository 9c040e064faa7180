//! The edges out of one state of the system: those of an ample set, or all.
//!
//! **Passing.** With reduction, a state in which the process that has just moved has exactly one step,
//! strictly local and invisible, is not stored: the step is taken at once, and so on. Such a step is an
//! ample set by itself; a cycle of them is cut where it closes or gets long, and the state there is
//! stored and expanded like any other, so every cycle of the reduced graph still has a state that is
//! expanded in full. The letter does not change on the way, and the automaton reads it once: what it
//! would read otherwise differs in repetitions only, which a property in SI normal form does not count.
//!
//! Invariant: the edges of a state are a function of the state alone, in this order: a graph of them is the same whichever
//! thread finds them.

use super::unnoticed::Walk;
use crate::property::Stutter;
use crate::search::shared::expansion::{Expander, Watch};
use crate::search::shared::halt::Halt;
use crate::search::shared::taken::mark_taken;
use crate::store::Pending;
use preempt_core::engine::{Request, Sink, Successors};
use preempt_core::{Locality, Outcome, ProcessId, Step, System};
use std::ops::Range;

/// Finds the edges out of states.
pub(crate) struct Outgoing<'a, S: ?Sized> {
    system: &'a S,
    stutter: Stutter,
    /// What an ample step must be; `None` without reduction.
    least: Option<Locality>,
    /// The state whose edges are asked for.
    pub(crate) state: Vec<u8>,
    expander: Expander,
    /// The steps to the expander's arrivals, with reduction.
    edge_steps: Vec<EdgeSteps>,
    /// The successors of one process, then those that passages from them led to.
    alone: Successors,
    passage: Walk,
    arrivals: Vec<Pending>,
    pub(crate) atomic_steps: u64,
    /// States that were expanded, and those of them that have an ample set or lead past other states.
    pub(crate) expanded: u64,
    pub(crate) narrowed: u64,
    /// The length of the longest state whose edges were asked for.
    pub(crate) longest: usize,
    pub(crate) taken: Vec<bool>,
}

/// Edges out of a state.
pub(crate) struct Edges<'e> {
    /// The states they lead to, and where each of them is among these bytes.
    pub(crate) bytes: &'e [u8],
    pub(crate) arrivals: &'e mut [Pending],
    /// They are those of an ample set.
    pub(crate) is_ample: bool,
    /// There is one more, before all others, to the state itself: nothing can move, which it repeats for ever.
    pub(crate) stutters: bool,
}

impl<'a, S: System + ?Sized> Outgoing<'a, S> {
    pub(crate) fn new(system: &'a S, stutter: Stutter, least: Option<Locality>) -> Self {
        Outgoing {
            system,
            stutter,
            least,
            state: Vec::new(),
            expander: Expander::default(),
            edge_steps: Vec::new(),
            alone: Successors::default(),
            passage: Walk::default(),
            arrivals: Vec::new(),
            atomic_steps: 0,
            expanded: 0,
            narrowed: 0,
            longest: 0,
            taken: vec![false; system.transition_count()],
        }
    }

    /// Makes the initial state the one whose edges are asked for.
    pub(crate) fn initial(&mut self) -> Result<(), Halt> {
        self.state.clear();
        let outcome = self.system.initial(&mut self.state);
        self.longest = self.state.len();
        self.expander.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.expander.enabled);
        match outcome == Outcome::Done && !self.system.is_transient(&self.state) {
            true => Ok(()),
            false => Err(Halt::Unsuited),
        }
    }

    /// Makes this state the one whose edges are asked for.
    #[inline]
    pub(crate) fn load(&mut self, state: &[u8]) {
        self.state.clear();
        self.state.extend_from_slice(state);
        self.longest = self.longest.max(state.len());
    }

    /// The edges of an ample set, or all where there is none.
    pub(crate) fn first(&mut self) -> Result<Edges<'_>, Halt> {
        self.expanded += 1;
        match self.candidate() {
            Some(_) => Ok(self.ample()),
            None => self.everything(None),
        }
    }

    /// All edges but those of the ample set.
    pub(crate) fn rest(&mut self) -> Result<Edges<'_>, Halt> {
        let known = self.candidate();
        self.narrowed = self.narrowed.saturating_sub(1);
        self.everything(known)
    }

    /// The first process whose steps may be explored alone; they lie in `alone`.
    fn candidate(&mut self) -> Option<ProcessId> {
        let least = self.least?;
        let count = self.system.process_count(&self.state);
        if count < 2 {
            return None;
        }
        (0..count as u16).rev().map(ProcessId).find(|&process| {
            let system = self.system;
            if system.locality(&self.state, process) < least
                || system.is_visible(&self.state, process)
            {
                return false;
            }
            self.alone.clear();
            let sink = Sink::Copies(&mut self.state, &mut self.alone);
            system.successors(Request::Process(process), sink);
            let headers = &self.alone.headers;
            !headers.is_empty() && headers.iter().all(|header| header.result == 0)
        })
    }

    /// The edges that lie in `alone`.
    fn ample(&mut self) -> Edges<'_> {
        self.narrowed += 1;
        self.arrivals.clear();
        let mut bytes = std::mem::take(&mut self.alone.data);
        for at in 0..self.alone.len() {
            let step = self.alone.step(at).0;
            mark_taken(self.system, &mut self.taken, step);
            let place = self.pass(step, &mut bytes, self.alone.headers[at].range());
            self.arrivals.push(Pending::new(0, place.start, place.end));
        }
        self.alone.data = bytes;
        let (bytes, arrivals) = (&self.alone.data, &mut self.arrivals);
        Edges { bytes, arrivals, is_ample: true, stutters: false }
    }

    /// All edges but those of the process `known`.
    #[inline]
    fn everything(&mut self, known: Option<ProcessId>) -> Result<Edges<'_>, Halt> {
        self.expander.clear();
        self.edge_steps.clear();
        let count = self.expand_everything()?;
        if self.least.is_some() {
            self.pass_everywhere(known);
        }
        let (bytes, arrivals) = (&self.expander.successors.data, &mut self.expander.arrivals);
        let stutters = count == 0 && self.stutter == Stutter::Extend;
        Ok(Edges { bytes, arrivals, is_ample: false, stutters })
    }

    /// Adds the successors of `state` to the expander's; says how many steps there are.
    #[inline]
    fn expand_everything(&mut self) -> Result<usize, Halt> {
        let mut all = All {
            system: self.system,
            taken: &mut self.taken,
            edge_steps: self.least.is_some().then_some(&mut self.edge_steps),
            atomic_steps: 0,
            is_faulty: false,
        };
        let count = self.expander.expand(self.system, &mut self.state, &mut all)?;
        if all.is_faulty {
            return Err(Halt::Unsuited);
        }
        self.atomic_steps += all.atomic_steps;
        Ok(count)
    }

    /// Passes on from all arrivals, but drops those of the process `known`.
    fn pass_everywhere(&mut self, known: Option<ProcessId>) {
        let mut arrivals = std::mem::take(&mut self.expander.arrivals);
        let mut bytes = std::mem::take(&mut self.expander.successors.data);
        let mut kept = 0;
        let mut has_passed = false;
        for at in 0..arrivals.len() {
            let EdgeSteps { first, last } = self.edge_steps[at];
            if Some(first.process) != known {
                let arrived = arrivals[at].start;
                let place = self.pass(last, &mut bytes, arrived..arrivals[at].end);
                has_passed |= place.start != arrived;
                arrivals[kept] = Pending::new(0, place.start, place.end);
                kept += 1;
            }
        }
        arrivals.truncate(kept);
        self.narrowed += u64::from(has_passed);
        (self.expander.arrivals, self.expander.successors.data) = (arrivals, bytes);
    }

    /// Passes on from the state at `place`, where `step` has led, and says where that ends.
    #[inline]
    fn pass(&mut self, step: Step, bytes: &mut Vec<u8>, place: Range<usize>) -> Range<usize> {
        let (system, taken) = (self.system, &mut self.taken);
        let report = |step| mark_taken(system, taken, step);
        if !self.passage.pass(system, step, &bytes[place.clone()], report) {
            return place;
        }
        let start = bytes.len();
        bytes.extend_from_slice(&self.passage.here);
        start..bytes.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.expander.bytes()
    }

    /// Steps of the program to the stored state `to`, and those that were passed behind them;
    /// `None` where there are none because nothing can move.
    pub(crate) fn steps_to(&mut self, to: &[u8]) -> Result<Option<Passage>, Halt> {
        self.expander.clear();
        let mut found = Paths::default();
        let count = self.expander.expand(self.system, &mut self.state, &mut found)?;
        if count == 0 {
            return Ok(None);
        }
        for (path, arrived) in found.0 {
            let mut passed = Vec::new();
            let last = path[path.len() - 1];
            let report = |step| passed.push(step);
            let is_passed =
                self.least.is_some() && self.passage.pass(self.system, last, &arrived, report);
            let end = if is_passed { &self.passage.here } else { &arrived };
            if end == to {
                return Ok(Some(Passage { path, passed }));
            }
        }
        Err(Halt::Unsuited)
    }
}

/// The way from one stored state to another.
pub(crate) struct Passage {
    /// To the first state where any process may move.
    pub(crate) path: Vec<Step>,
    /// On from there.
    pub(crate) passed: Vec<Step>,
}

/// A way to a next stored state: its first and its last step.
#[derive(Clone, Copy)]
struct EdgeSteps {
    first: Step,
    last: Step,
}

/// What the expansion of one state says.
struct All<'a, S: ?Sized> {
    system: &'a S,
    taken: &'a mut [bool],
    /// If they are asked for.
    edge_steps: Option<&'a mut Vec<EdgeSteps>>,
    /// Steps into sequences.
    atomic_steps: u64,
    is_faulty: bool,
}

impl<S: System + ?Sized> Watch for All<'_, S> {
    #[inline(always)]
    fn step(&mut self, step: Step, transient: bool) {
        mark_taken(self.system, self.taken, step);
        self.atomic_steps += u64::from(transient);
    }

    fn fault(&mut self, _path: &[Step], _fault: u32) {
        self.is_faulty = true;
    }

    #[inline(always)]
    fn arrive(&mut self, path: &[Step], _state: &[u8]) {
        if let Some(edge_steps) = &mut self.edge_steps {
            edge_steps.push(EdgeSteps { first: path[0], last: path[path.len() - 1] });
        }
    }
}

/// All ways out of a state.
#[derive(Default)]
struct Paths(Vec<(Vec<Step>, Vec<u8>)>);

impl Watch for Paths {
    fn step(&mut self, _step: Step, _transient: bool) {}

    fn fault(&mut self, _path: &[Step], _fault: u32) {}

    fn arrive(&mut self, path: &[Step], state: &[u8]) {
        self.0.push((path.to_vec(), state.to_vec()));
    }
}
