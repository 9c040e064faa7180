//! What a bucketed search knows of the edges out of a state: per step, or per end of an indivisible
//! sequence, where it leads and which process moved.

use crate::Options;
use crate::search::bounded::least_preemptions::{MOVERS, fits_record};
use crate::search::shared::atomic_sequence::last_mover;
use crate::search::shared::expansion::Watch;
use crate::search::shared::statistics::Counters;
use preempt_core::{ProcessId, Step, System};

/// In place of a mover: the edge ends in a fault.
const FAULT: ProcessId = ProcessId(u16::MAX - 1);
const NOT_PENDING: u32 = u32::MAX;
/// The largest set of processes, as bits, that all fit into records.
const LARGEST_SMALL: u64 = (1 << MOVERS) - 1;

/// An edge out of a state that is being expanded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// The number of the arrival, or of a fault.
    to: u32,
    /// The visit from which it leads.
    pub(crate) visit: u32,
    /// Whose step it is.
    pub(crate) process: ProcessId,
    mover: ProcessId,
    pending: u32,
    /// Whether no other process can notice the step.
    pub(crate) transparent: bool,
    pub(crate) when: When,
}

/// When an edge is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Now,
    /// Now, although it was put off before.
    PulledForward,
    /// With one preemption more.
    Later,
}

impl Edge {
    /// The number of its arrival, unless it ends in a fault.
    #[inline(always)]
    pub(crate) fn arrival(self) -> Option<usize> {
        (self.mover != FAULT).then_some(self.to as usize)
    }

    /// The process that moved last on it; none where only the property did.
    #[inline(always)]
    pub(crate) fn mover(self) -> Option<ProcessId> {
        (self.mover != ProcessId::PROPERTY).then_some(self.mover)
    }

    /// Where its arrival is among the states that wait to be stored.
    #[inline]
    pub(crate) fn pending(self) -> Option<usize> {
        (self.pending != NOT_PENDING).then_some(self.pending as usize)
    }

    pub(crate) fn set_pending(&mut self, at: usize) {
        self.pending = at as u32;
    }
}

/// Collects the edges out of the states that are expanded.
pub(crate) struct Outgoing<'a, S: ?Sized> {
    system: &'a S,
    pub(crate) counters: Counters,
    pub(crate) list: Vec<Edge>,
    arrivals: u32,
    /// The visit whose state is being expanded.
    visit: u32,
    /// The processes with steps in the state that is being expanded: a bit for each below 64.
    moving: u64,
    /// The other processes with steps there.
    also_moving: Vec<ProcessId>,
    /// The faults on edges, with their steps.
    faults: Vec<(u32, Vec<Step>)>,
    /// Those of the state that is being expanded begin here.
    own_faults: usize,
}

impl<'a, S: System + ?Sized> Outgoing<'a, S> {
    pub(crate) fn new(system: &'a S, options: &Options) -> Self {
        let counters = Counters::new(system, options);
        Outgoing {
            system,
            counters,
            list: Vec::new(),
            arrivals: 0,
            visit: 0,
            moving: 0,
            also_moving: Vec::new(),
            faults: Vec::new(),
            own_faults: 0,
        }
    }

    /// The state of a visit is going to be expanded.
    #[inline]
    pub(crate) fn begin(&mut self, visit: u32) {
        self.visit = visit;
        self.moving = 0;
        self.also_moving.clear();
        self.own_faults = self.faults.len();
    }

    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.faults.clear();
        self.arrivals = 0;
    }

    /// Forgets the edges of the state that is being expanded: its first edge and arrival had these numbers.
    #[cold]
    pub(crate) fn retreat(&mut self, edges: usize, arrivals: usize) {
        self.list.truncate(edges);
        self.faults.truncate(self.own_faults);
        self.arrivals = arrivals as u32;
        self.begin(self.visit);
    }

    /// The fault that an edge ends in, and the steps to it.
    pub(crate) fn fault(&self, edge: Edge) -> Option<(u32, Vec<Step>)> {
        (edge.mover == FAULT).then(|| self.faults[edge.to as usize].clone())
    }

    #[cold]
    fn also_moves(&mut self, process: ProcessId) {
        if self.also_moving.last() != Some(&process) {
            self.also_moving.push(process);
        }
    }

    /// Whether the state that is being expanded has steps of this process.
    #[inline(always)]
    pub(crate) fn moves(&self, process: ProcessId) -> bool {
        match process.0 {
            small @ 0..64 => self.moving >> small & 1 != 0,
            _ => self.also_moving.contains(&process),
        }
    }

    /// Whether it has steps of a process that does not fit into a record.
    #[inline(always)]
    pub(crate) fn moves_wide(&self) -> bool {
        !self.also_moving.is_empty() || self.moving > LARGEST_SMALL
    }

    /// The same of some of the edges that were found.
    pub(crate) fn has_wide_edges(&self, (first, end): (u32, u32)) -> bool {
        self.list[first as usize..end as usize].iter().any(|edge| !fits_record(edge.process))
    }

    /// Whether it has steps of all these, given as bits.
    #[inline(always)]
    pub(crate) fn all_move(&self, processes: u64) -> bool {
        processes & !self.moving == 0
    }

    /// Whether it has steps of another process, which may not be the property.
    #[inline(always)]
    pub(crate) fn others_move(&self, process: ProcessId) -> bool {
        let own = 1_u64.checked_shl(process.0.into()).unwrap_or(0);
        let is_other = |other: &ProcessId| *other != process && *other != ProcessId::PROPERTY;
        self.moving & !own != 0 || self.also_moving.iter().any(is_other)
    }

    /// Of the edges from `first` on, says when those of each process are taken, and forgets those that are
    /// not.
    #[inline(always)]
    pub(crate) fn decide(&mut self, first: usize, when: impl Fn(ProcessId) -> Option<When>) {
        let mut end = first;
        for at in first..self.list.len() {
            let edge = self.list[at];
            if let Some(when) = when(edge.process) {
                self.list[end] = Edge { when, ..edge };
                end += 1;
            }
        }
        self.list.truncate(end);
    }

    /// A move of a property does not change the last mover: where visits are dealt with together that
    /// differ in that, it is a way for each of them. Adds those for `movers`.
    #[cold]
    pub(crate) fn repeat_property(&mut self, first: usize, movers: impl Fn(ProcessId) -> bool) {
        for at in first..self.list.len() {
            let edge = self.list[at];
            if edge.process == ProcessId::PROPERTY {
                let mover = |one| if edge.mover == ProcessId::PROPERTY { one } else { edge.mover };
                let others = (0..64).map(ProcessId).filter(|one| movers(*one));
                self.list.extend(others.map(|one| Edge { mover: mover(one), ..edge }));
            }
        }
    }

    #[inline(always)]
    fn add(&mut self, to: u32, process: ProcessId, mover: ProcessId) {
        let (visit, pending) = (self.visit, NOT_PENDING);
        self.list.push(Edge {
            to,
            visit,
            process,
            mover,
            pending,
            transparent: false,
            when: When::Now,
        });
    }
}

impl<S: System + ?Sized> Watch for Outgoing<'_, S> {
    #[inline(always)]
    fn begin_step(&mut self, step: Step) {
        match step.process.0 {
            small @ 0..64 => self.moving |= 1 << small,
            _ => self.also_moves(step.process),
        }
    }

    #[inline(always)]
    fn step(&mut self, step: Step, _transient: bool) {
        self.counters.take(self.system, step);
    }

    fn fault(&mut self, path: &[Step], fault: u32) {
        if self.counters.reports(self.system, fault) {
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
