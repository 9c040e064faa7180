//! The edges out of a state: per step, or per end of an indivisible sequence, where it leads and who took
//! part.

use crate::search::chain::last_mover;
use crate::search::expansion::Watch;
use crate::search::tally::Tally;
use preempt_core::{ProcessId, Step, System};

/// An edge out of the state that is being expanded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// Whose step it begins with.
    pub(super) process: ProcessId,
    /// Who moved last on it; nobody where only a property did.
    pub(super) mover: Option<ProcessId>,
    /// Who moved on it.
    pub(super) movers: Processes,
    /// Whether a rendezvous is on it.
    pub(super) meets: bool,
    pub(super) to: Target,
}

/// Where an edge leads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    /// To a state: the number of the arrival.
    Arrival(usize),
    /// Into a fault, by number.
    Fault(usize),
}

/// A set of processes: a bit for each, the last one for all from 63 on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Processes(pub(super) u64);

impl Processes {
    fn bit(process: ProcessId) -> u64 {
        1 << process.0.min(63)
    }

    pub(super) fn contains(self, process: ProcessId) -> bool {
        self.0 & Self::bit(process) != 0
    }

    fn add(&mut self, step: &Step) {
        self.0 |= Self::bit(step.process) | step.partner.map_or(0, Self::bit);
    }
}

/// Collects the edges out of a state.
pub(super) struct Outgoing<'a, S: ?Sized> {
    system: &'a S,
    pub(super) tally: Tally,
    pub(super) edges: Vec<Edge>,
    /// The steps that the state has.
    pub(super) steps: Vec<Step>,
    /// Whose they are; the moves of a property aside.
    pub(super) movers: Vec<ProcessId>,
    /// The faults on edges, with their steps.
    faults: Vec<(u32, Vec<Step>)>,
    arrivals: usize,
}

impl<'a, S: System + ?Sized> Outgoing<'a, S> {
    pub(super) fn new(system: &'a S, tally: Tally) -> Self {
        Outgoing {
            system,
            tally,
            edges: Vec::new(),
            steps: Vec::new(),
            movers: Vec::new(),
            faults: Vec::new(),
            arrivals: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        self.edges.clear();
        self.steps.clear();
        self.movers.clear();
        self.faults.clear();
        self.arrivals = 0;
    }

    /// The steps of one process.
    pub(super) fn steps_of(&self, process: ProcessId) -> impl Iterator<Item = Step> + '_ {
        self.steps.iter().copied().filter(move |step| step.process == process)
    }

    /// A fault, and the steps to it.
    pub(super) fn fault(&self, number: usize) -> (u32, &[Step]) {
        let (fault, path) = &self.faults[number];
        (*fault, path)
    }

    fn add(&mut self, path: &[Step], to: Target) {
        let mut movers = Processes::default();
        path.iter().for_each(|step| movers.add(step));
        let meets = path.iter().any(|step| step.partner.is_some());
        let process = path[0].process;
        self.edges.push(Edge { process, mover: last_mover(path, None), movers, meets, to });
    }
}

impl<S: System + ?Sized> Watch for Outgoing<'_, S> {
    fn begin_step(&mut self, step: Step) {
        self.steps.push(step);
        if step.process != ProcessId::PROPERTY && self.movers.last() != Some(&step.process) {
            self.movers.push(step.process);
        }
    }

    fn step(&mut self, step: Step, _transient: bool) {
        self.tally.take(self.system, step);
    }

    fn fault(&mut self, path: &[Step], fault: u32) {
        if self.tally.reports(self.system, fault) {
            // A long sequence may fail again and again: one way to each fault is enough to show.
            let is_known = |(known, steps): &(u32, Vec<Step>)| {
                *known == fault && steps[0].process == path[0].process
            };
            let known = self.faults.iter().position(is_known);
            let number = known.unwrap_or(self.faults.len());
            if known.is_none() {
                self.faults.push((fault, path.to_vec()));
            }
            self.add(path, Target::Fault(number));
        }
    }

    fn arrive(&mut self, path: &[Step], _state: &[u8]) {
        self.add(path, Target::Arrival(self.arrivals));
        self.arrivals += 1;
    }
}
