//! What reports need of a system: names, places in the source, values.

use crate::{
    Change, Enabled, Fault, FaultKind, ProcessId, Step, Switch, Unreached, Value, classify,
};

/// How the states and steps of a system are shown to people.
pub trait Describe {
    /// The fault behind an [`Outcome`](crate::Outcome)'s number.
    fn fault(&self, number: u32) -> Fault {
        Fault {
            kind: FaultKind::Assertion,
            message: format!("assertion {number} violated"),
            file: String::new(),
            line: 0,
        }
    }

    /// The name of a process.
    fn process_name(&self, _state: &[u8], process: ProcessId) -> String {
        format!("process {process}")
    }

    /// The source position of a step, and its text.
    fn describe(&self, _state: &[u8], step: Step) -> (String, u32, String) {
        (String::new(), 0, format!("transition {}", step.transition))
    }

    /// How a step relates to the one before it, taken where `enabled` holds after a step by `last`. Reports, replays and
    /// the explorer count by this; it agrees with [`classify`] about preemptions. A system differs where a process runs
    /// before all others, so that leaving it is no switch, or where the answer was recorded.
    fn switch(&self, last: Option<ProcessId>, enabled: &Enabled, step: &Step) -> Switch {
        classify(last, enabled, step)
    }

    /// What a step prints when it is taken in a state.
    fn output(&self, _state: &[u8], _step: Step) -> String {
        String::new()
    }

    /// The position of a process: source file, line, and the statement it would take next; `None` when
    /// unknown.
    fn position(&self, _state: &[u8], _process: ProcessId) -> Option<(String, u32, String)> {
        None
    }

    /// The variables of a state, by name, in a fixed order.
    fn variables(&self, _state: &[u8]) -> Vec<(String, Value)> {
        Vec::new()
    }

    /// The variables whose values differ between two states, in the order of [`Describe::variables`].
    /// `None` if the variables are not the same ones, or if comparing all of them is the only way.
    fn changed_variables(&self, _before: &[u8], _after: &[u8]) -> Option<Vec<Change>> {
        None
    }

    /// The code that was not reached, given for each transition whether it was taken.
    fn unreached(&self, _taken: &[bool]) -> Vec<Unreached> {
        Vec::new()
    }
}
