//! Why a search over shared system states ends before it has seen everything.

use crate::store::StoreFull;
use preempt_core::Stop;

/// Why the search cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Halt {
    /// A limit was reached, or a violation found.
    Stop(Stop),
    /// Something is met that this search does not know how to handle.
    Unsuited,
}

impl From<StoreFull> for Halt {
    fn from(_: StoreFull) -> Self {
        Halt::Stop(Stop::Memory)
    }
}
