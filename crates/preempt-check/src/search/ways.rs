//! What a bucketed search knows of the ways out of a state: per step, or per end of an indivisible
//! sequence, where it leads and who moved.

use super::chain::last_mover;
use super::expansion::Watch;
use super::tally::Tally;
use crate::Options;
use preempt_core::{ProcessId, Step, System};

/// In place of a mover: the way ends in a fault.
const FAULT: ProcessId = ProcessId(u16::MAX - 1);
const NOT_PENDING: u32 = u32::MAX;

/// A way out of a state that is being expanded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// The number of the arrival, or of a fault.
    to: u32,
    /// The visit from which it leads.
    pub(super) visit: u32,
    /// Whose step it is.
    pub(super) process: ProcessId,
    mover: ProcessId,
    pending: u32,
    /// Whether nobody else can notice the step.
    pub(super) transparent: bool,
}

impl Way {
    /// The number of its arrival, unless it ends in a fault.
    #[inline(always)]
    pub(super) fn arrival(self) -> Option<usize> {
        (self.mover != FAULT).then_some(self.to as usize)
    }

    /// Who moved last on it; nobody where only the property did.
    #[inline(always)]
    pub(super) fn mover(self) -> Option<ProcessId> {
        (self.mover != ProcessId::PROPERTY).then_some(self.mover)
    }

    /// Where its arrival is among the states that wait to be stored.
    #[inline]
    pub(super) fn pending(self) -> Option<usize> {
        (self.pending != NOT_PENDING).then_some(self.pending as usize)
    }

    pub(super) fn set_pending(&mut self, at: usize) {
        self.pending = at as u32;
    }
}

/// Collects the ways out of the states that are expanded.
pub(super) struct Ways<'a, S: ?Sized> {
    system: &'a S,
    pub(super) tally: Tally,
    pub(super) list: Vec<Way>,
    arrivals: u32,
    /// The visit whose state is being expanded.
    visit: u32,
    /// Whose steps the state that is being expanded has.
    pub(super) processes: Vec<ProcessId>,
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
            visit: 0,
            processes: Vec::new(),
            faults: Vec::new(),
            own_faults: 0,
        }
    }

    /// The state of a visit is going to be expanded.
    #[inline]
    pub(super) fn begin(&mut self, visit: u32) {
        self.visit = visit;
        self.processes.clear();
        self.own_faults = self.faults.len();
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.faults.clear();
        self.arrivals = 0;
    }

    /// The fault that a way ends in, and the steps to it.
    pub(super) fn fault(&self, way: Way) -> Option<(u32, Vec<Step>)> {
        (way.mover == FAULT).then(|| self.faults[way.to as usize].clone())
    }

    /// Forgets the ways from `first` on, and that anybody arrived more than so many times.
    pub(super) fn truncate(&mut self, first: usize, arrivals: usize) {
        self.list.truncate(first);
        self.arrivals = arrivals as u32;
    }

    /// Of the ways from `first` on, forgets those by steps of some processes.
    pub(super) fn keep(&mut self, first: usize, is_kept: impl Fn(ProcessId) -> bool) {
        let mut end = first;
        for at in first..self.list.len() {
            if is_kept(self.list[at].process) {
                self.list[end] = self.list[at];
                end += 1;
            }
        }
        self.list.truncate(end);
    }

    #[inline(always)]
    fn add(&mut self, to: u32, process: ProcessId, mover: ProcessId) {
        let (visit, pending) = (self.visit, NOT_PENDING);
        self.list.push(Way { to, visit, process, mover, pending, transparent: false });
    }
}

impl<S: System + ?Sized> Watch for Ways<'_, S> {
    #[inline(always)]
    fn begin_step(&mut self, step: Step) {
        if self.processes.last() != Some(&step.process) {
            self.processes.push(step.process);
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
