//! What can go wrong inside a single step.

use crate::Stop;
use std::fmt;

/// What kind of mistake a step ran into.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FaultKind {
    /// An assertion evaluated to false.
    Assertion,
    /// The program did something its language forbids: index out of bounds, division by zero, …
    Runtime,
    /// A never claim was matched to its end.
    Claim,
    /// A promise that a reduction relies on (`xr`, `xs`) was broken.
    Exclusivity,
    /// A limit of the system was reached: too many processes, too large a state.
    Limit,
    /// No mistake: a limit of the system, such as the length of a stack, ends this execution here. Others are
    /// explored; without a violation the search is inconclusive for this reason.
    Cut(Stop),
    /// Not an error: the step was abandoned because the search has to end for this reason, see
    /// [`Cancellation`](crate::Cancellation).
    Stopped(Stop),
}

/// A mistake made by a step, with where it happened.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// One sentence for people, such as `assertion violated: (x == 1)`.
    pub message: String,
    /// Source file.
    pub file: String,
    /// Source line, counted from 1; 0 when unknown.
    pub line: u32,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// How applying a step went. Small, so that the hot path returns it in a register; a system
/// turns the number into a [`Fault`] on request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The state is the successor.
    Done,
    /// A property was violated (an assertion), and the state is the successor all the same:
    /// the search may go on behind it.
    Violated(u32),
    /// The step could not be completed; the state's content is meaningless.
    Broken(u32),
}
