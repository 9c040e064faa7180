//! What a bucketed search knows of the ways out of a state.
//!
//! Expanding a state gives [`Ways`]: per step, or per end of an indivisible sequence, where it leads
//! and who moved. What cannot be run at once, because it costs a preemption more, is kept as
//! [`Edges`] between stored states, eight bytes each, until the next bucket is done with it.

use super::chain::last_mover;
use super::expansion::Watch;
use super::tally::Tally;
use crate::Options;
use crate::store::{StateId, pages};
use preempt_core::{ProcessId, Step, System};

/// A way out of a stored state: where it leads, whose step it is, who moved last on it. One number, so
/// that it is read as it was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge(u64);

/// In place of a mover: the way ends in a fault.
const FAULT: ProcessId = ProcessId(u16::MAX - 1);
/// In place of a mover: there is a step, but it leads nowhere.
const DEAD_END: ProcessId = ProcessId(u16::MAX - 2);

impl Edge {
    #[inline]
    fn new(to: u32, process: ProcessId, mover: ProcessId) -> Self {
        Edge(u64::from(to) << 32 | u64::from(process.0) << 16 | u64::from(mover.0))
    }

    /// The state it leads to, or the number of a fault.
    #[inline]
    pub(super) fn to(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Whose step it is.
    #[inline]
    pub(super) fn process(self) -> ProcessId {
        ProcessId((self.0 >> 16) as u16)
    }

    /// Who moved last on it; the property where only the property did, [`FAULT`], or [`DEAD_END`].
    #[inline]
    pub(super) fn mover(self) -> ProcessId {
        ProcessId(self.0 as u16)
    }

    /// Whether it leads to a state.
    #[inline]
    pub(super) fn arrives(self) -> bool {
        self.mover() != FAULT && self.mover() != DEAD_END
    }
}

/// A way out of a state that is being expanded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// The number of the arrival, or of a fault.
    pub(super) to: u32,
    pub(super) process: ProcessId,
    mover: ProcessId,
    /// Where the arrival is among the states that wait to be stored.
    pub(super) pending: Option<u32>,
    /// Whether nobody else can notice the step.
    pub(super) transparent: bool,
}

impl Way {
    /// The number of its arrival, unless it has none.
    #[inline]
    pub(super) fn arrival(self) -> Option<usize> {
        let arrives = self.mover != FAULT && self.mover != DEAD_END;
        arrives.then_some(self.to as usize)
    }

    /// The edge for later.
    #[inline]
    pub(super) fn edge(self, to: u32) -> Edge {
        Edge::new(to, self.process, self.mover)
    }
}

/// Collects the ways out of the states that are expanded.
pub(super) struct Ways<'a, S: ?Sized> {
    system: &'a S,
    pub(super) tally: Tally,
    pub(super) list: Vec<Way>,
    arrivals: u32,
    /// Whose steps the state that is being expanded has.
    pub(super) processes: Vec<ProcessId>,
    /// Whether a property moves, too.
    pub(super) has_property: bool,
    /// The faults on ways, with their steps.
    faults: Vec<(u32, Vec<Step>)>,
    /// Those of the state that is being expanded begin here.
    own_faults: usize,
}

impl<'a, S: System + ?Sized> Ways<'a, S> {
    pub(super) fn new(system: &'a S, options: &Options) -> Self {
        let tally = Tally::new(system, options);
        Ways {
            system,
            tally,
            list: Vec::new(),
            arrivals: 0,
            processes: Vec::new(),
            has_property: false,
            faults: Vec::new(),
            own_faults: 0,
        }
    }

    /// Another state is going to be expanded.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.processes.clear();
        self.own_faults = self.faults.len();
    }

    /// Forgets the ways, not the faults that edges speak of.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.arrivals = 0;
    }

    /// A process with steps but without a way from `first` on can move, but gets nowhere.
    pub(super) fn add_dead_ends(&mut self, first: usize) {
        for at in 0..self.processes.len() {
            let process = self.processes[at];
            if !self.list[first..].iter().any(|way| way.process == process) {
                self.add(u32::MAX, process, DEAD_END);
            }
        }
    }

    /// The fault that an edge stands for, and the steps to it.
    pub(super) fn fault(&self, edge: Edge) -> Option<(u32, Vec<Step>)> {
        (edge.mover() == FAULT).then(|| self.faults[edge.to() as usize].clone())
    }

    #[inline]
    fn add(&mut self, to: u32, process: ProcessId, mover: ProcessId) {
        self.list.push(Way { to, process, mover, pending: None, transparent: false });
    }
}

impl<S: System + ?Sized> Watch for Ways<'_, S> {
    #[inline(always)]
    fn begin_step(&mut self, step: Step) {
        if self.processes.last() != Some(&step.process) {
            self.processes.push(step.process);
            self.has_property |= step.process == ProcessId::PROPERTY;
        }
    }

    #[inline(always)]
    fn step(&mut self, step: Step, _transient: bool) {
        self.tally.take(self.system, step);
    }

    fn fault(&mut self, path: &[Step], fault: u32) {
        if self.tally.reports(self.system, fault) {
            // A long sequence may fail again and again: one way to each fault is enough to show.
            let process = path[0].process;
            let is_known =
                |(known, steps): &(u32, Vec<Step>)| *known == fault && steps[0].process == process;
            let known = self.faults[self.own_faults..].iter().position(is_known);
            let number = self.own_faults + known.unwrap_or(self.faults.len() - self.own_faults);
            if known.is_none() {
                self.faults.push((fault, path.to_vec()));
            }
            self.add(number as u32, process, FAULT);
        }
    }

    #[inline(always)]
    fn arrive(&mut self, path: &[Step], _state: &[u8]) {
        let mover = last_mover(path, None).unwrap_or(ProcessId::PROPERTY);
        let number = self.arrivals;
        self.arrivals += 1;
        self.add(number, path[0].process, mover);
    }
}

/// The edges of states first visited in one bucket.
#[derive(Default, Debug)]
pub(super) struct Edges {
    list: Vec<Edge>,
    /// Where the edges of a state are; empty for those without.
    places: Vec<(u32, u32)>,
}

impl Edges {
    /// Forgets everything, keeps the memory.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.places.clear();
    }

    /// Asks the processor to fetch where the edges of a state are.
    #[inline(always)]
    pub(super) fn prefetch(&self, state: StateId) {
        pages::prefetch(&self.places, state.index());
    }

    /// Asks for the edges themselves.
    #[inline(always)]
    pub(super) fn prefetch_list(&self, state: StateId) {
        if let Some((start, _)) = self.places.get(state.index()) {
            pages::prefetch(&self.list, *start as usize);
        }
    }

    /// Whether edges of the state are kept.
    #[inline]
    pub(super) fn knows(&self, state: StateId) -> bool {
        self.places.get(state.index()).is_some_and(|(start, end)| start < end)
    }

    /// What is kept for the state.
    #[inline]
    pub(super) fn of(&self, state: StateId) -> &[Edge] {
        let (start, end) = self.places.get(state.index()).copied().unwrap_or_default();
        &self.list[start as usize..end as usize]
    }

    /// The edges pushed from now on are this state's, until [`Edges::end`].
    #[inline]
    pub(super) fn begin(&mut self, state: StateId) {
        if self.places.len() <= state.index() {
            self.places.resize(state.index() + 1, (0, 0));
        }
        self.places[state.index()] = (self.list.len() as u32, self.list.len() as u32);
    }

    #[inline]
    pub(super) fn push(&mut self, edge: Edge) {
        self.list.push(edge);
    }

    #[inline]
    pub(super) fn end(&mut self, state: StateId) {
        self.places[state.index()].1 = self.list.len() as u32;
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<Edge>() + self.places.capacity() * 8
    }
}
