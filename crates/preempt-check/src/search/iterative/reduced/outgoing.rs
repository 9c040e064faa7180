//! The edges out of a state: per step, or per end of an indivisible sequence, where it leads and which process took
//! part.
//!
//! Processes are looked at one by one or all together; the edges of one lie together. Processes are gone
//! through in the order in which a system lists their steps: by falling numbers where they were looked at one
//! by one.

use crate::search::shared::atomic_sequence::last_mover;
use crate::search::shared::expansion::Watch;
use crate::search::shared::statistics::Counters;
use preempt_core::{ProcessId, Step, System};
use std::ops::Range;

/// An edge out of the state that is being expanded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// Whose step it begins with.
    pub(super) process: ProcessId,
    /// The process that moved last on it; none where only a property did.
    pub(super) mover: Option<ProcessId>,
    /// The processes that moved on it.
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

/// The steps and edges of one process.
#[derive(Clone, Copy, Debug)]
struct Group {
    process: ProcessId,
    steps: (u32, u32),
    edges: (u32, u32),
}

/// Collects the edges out of a state.
pub(super) struct Outgoing<'a, S: ?Sized> {
    system: &'a S,
    pub(super) counters: Counters,
    edges: Vec<Edge>,
    /// The steps that the state has, as far as it was looked at.
    steps: Vec<Step>,
    /// The processes that were found to have steps.
    groups: Vec<Group>,
    /// Those that were looked at one by one, as bits.
    looked_at: u64,
    /// Whether all were looked at.
    whole: bool,
    /// Then: which processes have steps; moves of a property aside.
    movers: Vec<ProcessId>,
    /// The faults on edges, with their steps.
    faults: Vec<(u32, Vec<Step>)>,
    arrivals: usize,
}

/// Processes with higher numbers are looked at together with all others.
const MOST_LOOKED_AT: u16 = 64;

impl<'a, S: System + ?Sized> Outgoing<'a, S> {
    pub(super) fn new(system: &'a S, counters: Counters) -> Self {
        Outgoing {
            system,
            counters,
            edges: Vec::new(),
            steps: Vec::new(),
            groups: Vec::new(),
            looked_at: 0,
            whole: false,
            movers: Vec::new(),
            faults: Vec::new(),
            arrivals: 0,
        }
    }

    /// Turns to another state, of which nothing was looked at.
    pub(super) fn clear(&mut self) {
        self.edges.clear();
        self.steps.clear();
        self.groups.clear();
        self.movers.clear();
        self.faults.clear();
        (self.looked_at, self.whole, self.arrivals) = (0, false, 0);
    }

    /// Whether a process was looked at.
    #[inline]
    pub(super) fn knows(&self, process: ProcessId) -> bool {
        self.whole || process.0 < MOST_LOOKED_AT && self.looked_at >> process.0 & 1 != 0
    }

    /// Notes that a process was looked at; `false` if that cannot be.
    pub(super) fn looks_at(&mut self, process: ProcessId) -> bool {
        let fits = process.0 < MOST_LOOKED_AT;
        self.looked_at |= if fits { 1 << process.0 } else { 0 };
        fits
    }

    /// The processes that were looked at one by one, as bits.
    pub(super) fn looked_at(&self) -> u64 {
        self.looked_at
    }

    /// Notes that all processes were looked at.
    pub(super) fn set_whole(&mut self) {
        self.whole = true;
        if self.looked_at != 0 {
            self.groups.sort_unstable_by_key(|group| std::cmp::Reverse(group.process));
        }
        self.movers.clear();
        let movers = self.groups.iter().map(|group| group.process);
        self.movers.extend(movers.filter(|process| *process != ProcessId::PROPERTY));
    }

    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Whether no process that was looked at has a step.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The processes that have steps, where all were looked at.
    pub(super) fn movers(&self) -> &[ProcessId] {
        &self.movers
    }

    /// How many processes were found to have steps.
    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// One of them, and its edges.
    pub(super) fn nth(&self, number: usize) -> (ProcessId, Range<usize>) {
        let Group { process, edges, .. } = self.groups[number];
        (process, edges.0 as usize..edges.1 as usize)
    }

    pub(super) fn edge(&self, number: usize) -> Edge {
        self.edges[number]
    }

    fn group(&self, process: ProcessId) -> Option<&Group> {
        self.groups.iter().find(|group| group.process == process)
    }

    /// Whether a process that was looked at has steps.
    pub(super) fn moves(&self, process: ProcessId) -> bool {
        self.group(process).is_some()
    }

    /// The edges of one process.
    pub(super) fn edges_of(&self, process: ProcessId) -> Range<usize> {
        let edges = self.group(process).map_or((0, 0), |group| group.edges);
        edges.0 as usize..edges.1 as usize
    }

    /// The steps of one process.
    pub(super) fn steps_of(&self, process: ProcessId) -> impl Iterator<Item = Step> + '_ {
        let steps = self.group(process).map_or((0, 0), |group| group.steps);
        self.steps[steps.0 as usize..steps.1 as usize].iter().copied()
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
        if let Some(group) = self.groups.last_mut() {
            group.edges.1 = self.edges.len() as u32;
        }
    }
}

impl<S: System + ?Sized> Watch for Outgoing<'_, S> {
    #[inline(always)]
    fn begin_step(&mut self, step: Step) {
        let (steps, edges) = (self.steps.len() as u32, self.edges.len() as u32);
        match self.groups.last_mut().filter(|group| group.process == step.process) {
            Some(group) => group.steps.1 = steps + 1,
            None => self.groups.push(Group {
                process: step.process,
                steps: (steps, steps + 1),
                edges: (edges, edges),
            }),
        }
        self.steps.push(step);
    }

    #[inline(always)]
    fn step(&mut self, step: Step, _transient: bool) {
        self.counters.take(self.system, step);
    }

    fn fault(&mut self, path: &[Step], fault: u32) {
        if self.counters.reports(self.system, fault) {
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

    #[inline(always)]
    fn arrive(&mut self, path: &[Step], _state: &[u8]) {
        self.add(path, Target::Arrival(self.arrivals));
        self.arrivals += 1;
    }
}
