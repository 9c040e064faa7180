//! What happens during expansions that may be made in any order: counted, with the place of the first error.

use super::expansion::Watch;
use super::statistics::Counters;
use crate::platform::sync::atomic::{AtomicU64, Ordering};
use crate::{Counterexample, Options};
use preempt_core::{Step, System};

/// Counts what happens during expansions and remembers where the first error was. `P` says where a state is.
pub struct Events<'a, S: ?Sized, P> {
    pub(crate) system: &'a S,
    /// What was counted so far.
    pub counters: Counters,
    /// The state that is being expanded.
    pub at: P,
    pub(crate) first: Option<(P, Vec<Step>)>,
    /// The errors of all threads, where each searches by itself.
    pub(crate) all_errors: Option<&'a AtomicU64>,
}

impl<'a, S: System + ?Sized, P: Copy + Default> Events<'a, S, P> {
    /// Nothing has happened yet.
    pub fn new(system: &'a S, options: &Options) -> Self {
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

    /// Where the first error was met, the steps from there, and the fault unless it is an invalid end.
    pub fn first_error(&self) -> Option<(P, &[Step], Option<u32>)> {
        let (at, path) = self.first.as_ref()?;
        let fault = self.counters.first.as_ref().and_then(|first| first.fault);
        Some((*at, path, fault))
    }

    /// Reports a state without steps, if it is no valid end.
    pub fn check_end(&mut self, state: &[u8]) {
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
