//! What a reader of an execution wants to know beyond its steps: which values a step looked at, why the
//! last one fails, which parts of a property hold where, and which process waits for which at the end.
//!
//! An execution can be read without any of it, so all of it may be missing: a front end that knows its
//! language fills in what it can after the execution was found and confirmed. **Invariant:** nothing here
//! takes part in a verdict.

use crate::Value;

/// Remarks about one execution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Observations {
    /// Per step, the variables that it read, or wrote without changing them, with their values. Empty when
    /// unknown, otherwise as long as the list of steps.
    pub seen: Vec<Vec<(String, Value)>>,
    /// Why the last step fails, in sentences such as `counter == 2 is false: counter is 1`.
    pub reasons: Vec<String>,
    /// The state expressions of the property.
    pub propositions: Vec<PropositionRow>,
    /// The number of steps after which every continuation violates the property; what the execution does
    /// afterwards does not matter.
    pub bad_prefix: Option<usize>,
    /// The processes that cannot move at the end, and why.
    pub waiting: Vec<Waiting>,
}

/// A state expression along an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PropositionRow {
    /// As the property has it.
    pub name: String,
    /// Whether it is true at the start and after each step; `None` where it has no value, or where the
    /// property does not look: inside an indivisible sequence.
    pub holds: Vec<Option<bool>>,
}

/// A process that cannot move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// Its id.
    pub pid: usize,
    /// What keeps it, one sentence for each way on that it has.
    pub reasons: Vec<String>,
    /// The processes whose remaining code could change that.
    pub waits_for: Vec<usize>,
}
