//! Processes, and the steps they take.

use std::fmt;
use std::ops::Range;

/// A scheduled entity of a state: an index into its live processes, in creation order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub u16);

impl ProcessId {
    /// The property automaton that watches a system. It is never alive, and its moves are never
    /// context switches.
    pub const PROPERTY: ProcessId = ProcessId(u16::MAX);

    /// The index of the process in creation order.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Debug for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One indivisible move of one process, or of a sender joined by its receiver.
///
/// A step names a transition of the *program*, not a state: the same step can be enabled in many
/// states. The meaning of `transition`, `partner_transition` and `choice` belongs to the system.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Step {
    /// The process that moves (of a rendezvous: the sender).
    pub process: ProcessId,
    /// The process that joins, if this is a rendezvous (the receiver).
    pub partner: Option<ProcessId>,
    /// Which transition of the process.
    pub transition: u32,
    /// Which transition of the partner; 0 without one.
    pub partner_transition: u32,
    /// Which outcome, where one transition has several.
    pub choice: u32,
}

impl Step {
    /// A step of one process, with nothing to choose.
    #[inline]
    pub fn new(process: ProcessId, transition: u32) -> Self {
        Step { process, partner: None, transition, partner_transition: 0, choice: 0 }
    }

    /// The process that counts as the last mover afterwards: after a rendezvous the receiver.
    pub fn mover(&self) -> ProcessId {
        self.partner.unwrap_or(self.process)
    }

    /// The last mover after this step, where `before` was it: a property's moves leave it as it is.
    pub fn last_mover(&self, before: Option<ProcessId>) -> Option<ProcessId> {
        match self.process {
            ProcessId::PROPERTY => before,
            _ => Some(self.mover()),
        }
    }
}

/// The enabled steps of one state, grouped by process in the order of exploration.
///
/// Reused from state to state, so that a search allocates nothing per step.
#[derive(Default, Debug, Clone)]
pub struct Enabled {
    steps: Vec<Step>,
    groups: Vec<(ProcessId, Range<usize>)>,
}

impl Enabled {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all steps, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.steps.clear();
        self.groups.clear();
    }

    /// Adds a step. All steps of one process must be added in a row.
    #[inline]
    pub fn push(&mut self, step: Step) {
        let at = self.steps.len();
        self.steps.push(step);
        match self.groups.last_mut() {
            Some((process, range)) if *process == step.process => range.end = at + 1,
            _ => {
                debug_assert!(self.groups.iter().all(|(p, _)| *p != step.process));
                self.groups.push((step.process, at..at + 1));
            }
        }
    }

    /// Drops the steps of all processes but this one, and the moves of a property.
    pub fn keep_only(&mut self, process: ProcessId) {
        self.steps.retain(|s| s.process == process || s.process == ProcessId::PROPERTY);
        self.groups.clear();
        for (at, step) in self.steps.iter().enumerate() {
            match self.groups.last_mut() {
                Some((last, range)) if *last == step.process => range.end = at + 1,
                _ => self.groups.push((step.process, at..at + 1)),
            }
        }
    }

    /// All steps, process by process.
    #[inline]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// No process can move.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The processes that can move, each with its steps.
    pub fn by_process(&self) -> impl Iterator<Item = (ProcessId, &[Step])> {
        self.groups.iter().map(|(p, r)| (*p, &self.steps[r.clone()]))
    }

    /// The steps that `process` starts; empty when it is disabled.
    pub fn of(&self, process: ProcessId) -> &[Step] {
        match self.groups.iter().find(|(p, _)| *p == process) {
            Some((_, range)) => &self.steps[range.clone()],
            None => &[],
        }
    }

    /// Whether `process` can move, by itself or as the receiver of a rendezvous.
    pub fn can_move(&self, process: ProcessId) -> bool {
        self.groups.iter().any(|(p, _)| *p == process)
            || self.steps.iter().any(|s| s.partner == Some(process))
    }
}
