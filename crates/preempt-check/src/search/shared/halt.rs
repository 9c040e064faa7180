//! Why a search ends before it has seen everything.

use crate::store::StoreFull;
use preempt_core::Stop;

/// Why a search, or one of its threads, does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Halt {
    /// A limit was reached.
    Stop(Stop),
    /// As many violations were met as were asked for, or another thread has ended the search.
    Enough,
    /// Reduction leaves nothing out.
    ReductionUseless,
    /// The operating system gave fewer threads than the search was set up for: so many.
    Fewer(usize),
    /// Something is met that this search does not know how to handle.
    Unsuited,
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Self {
        Halt::Stop(stop)
    }
}

impl From<StoreFull> for Halt {
    fn from(_: StoreFull) -> Self {
        Halt::Stop(Stop::Memory)
    }
}
