//! What happens during the expansions of a breadth-first search.

use crate::Counterexample;
use crate::search::shared::expansion::Watch;
use crate::search::shared::statistics::Counters;
use preempt_core::{Step, System};

/// Counts what happens during expansions and remembers where the first error was.
pub(super) struct Events<'a, S: ?Sized> {
    pub(super) system: &'a S,
    pub(super) counters: Counters,
    /// The state that is being expanded.
    pub(super) at: usize,
    pub(super) first: Option<(usize, Vec<Step>)>,
}

impl<S: System + ?Sized> Events<'_, S> {
    pub(super) fn error(&mut self, path: &[Step], example: impl FnOnce() -> Counterexample) {
        if self.counters.is_enough() {
            return;
        }
        if self.first.is_none() {
            self.first = Some((self.at, path.to_vec()));
        }
        self.counters.error(example);
    }

    /// Reports a state without steps, if it is no valid end.
    pub(super) fn check_end(&mut self, state: &[u8]) {
        if self.counters.reports_deadlocks() && !self.system.is_valid_end(state) {
            self.error(&[], || Counterexample::invalid_end(Vec::new()));
        }
    }
}

impl<S: System + ?Sized> Watch for Events<'_, S> {
    #[inline(always)]
    fn step(&mut self, step: Step, transient: bool) {
        self.counters.take(self.system, step);
        self.counters.atomic_steps += u64::from(transient);
    }

    fn fault(&mut self, path: &[Step], fault: u32) {
        if self.counters.reports(self.system, fault) {
            let system = self.system;
            self.error(path, || Counterexample::from_fault(system, Vec::new(), fault));
        }
    }
}
