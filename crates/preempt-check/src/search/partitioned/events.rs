//! What is counted while states are expanded, and where the first error was.

use super::PartitionResult;
use crate::search::shared::expansion::Watch;
use crate::search::shared::statistics::Counters;
use crate::{Counterexample, Options};
use preempt_core::{Step, System};

/// Counts what happens during expansions and remembers where the first error was.
pub(super) struct Events<'a> {
    system: &'a dyn System,
    pub(super) counters: Counters,
    /// The state that is being expanded.
    pub(super) at: usize,
    /// The first error: behind which state, by which steps, and the fault.
    pub(super) first: Option<(usize, Vec<Step>, Option<u32>)>,
}

impl<'a> Events<'a> {
    pub(super) fn new(system: &'a dyn System, options: &Options) -> Self {
        Events { system, counters: Counters::new(system, options), at: 0, first: None }
    }

    /// The initial state is a violation.
    pub(super) fn initial_fault(&mut self, fault: u32) {
        self.fault(&[], fault);
    }

    /// A state without steps may be an invalid end.
    pub(super) fn check_end(&mut self, state: &[u8]) {
        if self.counters.reports_deadlocks() && !self.system.is_valid_end(state) {
            self.error(&[], None);
        }
    }

    /// The steps to the first error from where it was met, and the fault.
    pub(super) fn first(&self) -> Option<(Vec<Step>, Option<u32>)> {
        self.first.as_ref().map(|(_, path, fault)| (path.clone(), *fault))
    }

    /// What was counted.
    pub(super) fn share(&self) -> PartitionResult {
        let counters = &self.counters;
        PartitionResult {
            matched: counters.matched,
            atomic_steps: counters.atomic_steps,
            depth: counters.depth,
            errors: counters.errors,
            state_bytes: counters.state_bytes as u64,
            stop: counters.stop,
            taken: counters.taken().to_vec(),
            ..PartitionResult::default()
        }
    }

    fn error(&mut self, path: &[Step], fault: Option<u32>) {
        if self.counters.is_enough() {
            return;
        }
        if self.first.is_none() {
            self.first = Some((self.at, path.to_vec(), fault));
        }
        self.counters.error(|| Counterexample::invalid_end(Vec::new()));
    }
}

impl Watch for Events<'_> {
    #[inline(always)]
    fn step(&mut self, step: Step, transient: bool) {
        self.counters.take(self.system, step);
        self.counters.atomic_steps += u64::from(transient);
    }

    fn fault(&mut self, path: &[Step], fault: u32) {
        if self.counters.reports(self.system, fault) {
            self.error(path, Some(fault));
        }
    }
}
