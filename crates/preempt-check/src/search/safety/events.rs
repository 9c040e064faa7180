//! What happens during expansions that may be made in any order: counted, with the place of the first error.

use crate::platform::sync::atomic::{AtomicU64, Ordering};
use crate::search::shared::expansion::Watch;
use crate::search::shared::statistics::Counters;
use crate::{Counterexample, Options};
use preempt_core::{Step, System};

/// Counts what happens during expansions and remembers where the first error was. `P` says where a state is.
pub(super) struct Events<'a, S: ?Sized, P> {
    pub(super) system: &'a S,
    pub(super) counters: Counters,
    /// The state that is being expanded.
    pub(super) at: P,
    pub(super) first: Option<(P, Vec<Step>)>,
    /// The errors of all threads, where each searches by itself.
    pub(super) all_errors: Option<&'a AtomicU64>,
}

impl<'a, S: System + ?Sized, P: Copy + Default> Events<'a, S, P> {
    pub(super) fn new(system: &'a S, options: &Options) -> Self {
        let counters = Counters::new(system, options);
        Events { system, counters, at: P::default(), first: None, all_errors: None }
    }

    fn error(&mut self, path: &[Step], example: impl FnOnce() -> Counterexample) {
        if self.counters.is_enough() {
            return;
        }
        if self.first.is_none() {
            self.first = Some((self.at, path.to_vec()));
        }
        self.counters.error(example);
        if let Some(all) = self.all_errors {
            all.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Reports a state without steps, if it is no valid end.
    pub(super) fn check_end(&mut self, state: &[u8]) {
        if self.counters.reports_deadlocks() && !self.system.is_valid_end(state) {
            self.error(&[], || Counterexample::invalid_end(Vec::new()));
        }
    }
}

impl<S: System + ?Sized, P: Copy + Default> Watch for Events<'_, S, P> {
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
