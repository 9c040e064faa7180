//! What counts as a violation, and where the first ones are kept.

use crate::{Counterexample, Options};
use preempt_core::{Enabled, FaultKind, Step, System};

/// The violations that a search looks for, and those it met.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    assertions: bool,
    deadlocks: bool,
    max_errors: u64,
    /// How many violations were met.
    pub(crate) errors: u64,
    /// The first one.
    pub(crate) first: Option<Counterexample>,
}

impl Watch {
    /// Looks for what the options ask for.
    pub(crate) fn new(options: &Options) -> Self {
        Watch {
            assertions: options.assertions,
            deadlocks: options.deadlocks,
            max_errors: options.max_errors,
            ..Watch::default()
        }
    }

    /// Whether as many violations were met as were asked for.
    pub(crate) fn is_done(&self) -> bool {
        self.max_errors != 0 && self.errors >= self.max_errors
    }

    /// Whether a fault with this number is a violation.
    pub(crate) fn minds<S: System + ?Sized>(&self, system: &S, fault: u32) -> bool {
        self.assertions || system.fault(fault).kind != FaultKind::Assertion
    }

    /// Whether a state without steps is a violation.
    pub(crate) fn is_invalid_end<S: System + ?Sized>(
        &self,
        system: &S,
        state: &[u8],
        enabled: &Enabled,
    ) -> bool {
        self.deadlocks && enabled.is_empty() && !system.is_valid_end(state)
    }

    /// Takes note of a fault at the end of `steps`, if it is a violation.
    pub(crate) fn fault<S: System + ?Sized>(
        &mut self,
        system: &S,
        fault: u32,
        steps: impl FnOnce() -> Vec<Step>,
    ) {
        if self.minds(system, fault) {
            self.errors += 1;
            if self.first.is_none() {
                self.first = Some(Counterexample::from_fault(system, steps(), fault));
            }
        }
    }

    /// Takes note of an invalid end behind `steps`.
    pub(crate) fn invalid_end(&mut self, steps: impl FnOnce() -> Vec<Step>) {
        self.errors += 1;
        if self.first.is_none() {
            self.first = Some(Counterexample::invalid_end(steps()));
        }
    }
}
