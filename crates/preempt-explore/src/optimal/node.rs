//! A state on the current path of the search, and the event that was executed in it.

use super::wakeup::{Branch, Footprint};
use crate::{Effect, ExecutionState, Move, Next, ThreadId};

/// What a thread did between two operations.
pub(super) type Done = (ThreadId, Box<[Effect]>, Next);

/// An event: a step and those that must follow it at once (of a thread that unwinds).
#[derive(Default)]
pub(super) struct Happened {
    pub(super) steps: Vec<(Move, Vec<Done>)>,
    pub(super) footprint: Footprint,
}

/// A state on the current path, and the event that was executed in it.
pub(super) struct Node {
    pub(super) state: ExecutionState,
    pub(super) asleep: Vec<(ThreadId, Footprint)>,
    /// What is still to be explored; the first branch is the current one.
    pub(super) tree: Vec<Branch>,
    pub(super) event: Happened,
    /// Footprint of the alternatives of the current thread so far.
    pub(super) group: Footprint,
}
