//! A system without steps, for tests of what is concluded where nothing was searched.

use preempt_core::{Describe, Enabled, Independence, Outcome, Step, System};

/// See the module's text.
pub(crate) struct NoSteps;

impl System for NoSteps {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.clear();
        Outcome::Done
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        0
    }

    fn enabled(&self, _state: &mut Vec<u8>, _enabled: &mut Enabled) {}

    fn apply(&self, _state: &mut Vec<u8>, _step: Step) -> Outcome {
        Outcome::Done
    }
}

impl Independence for NoSteps {}
impl Describe for NoSteps {}
