//! Why a search ends before its time.

use crate::store::StoreFull;
use preempt_core::Stop;

pub(crate) enum End {
    Limit(Stop),
    /// As many violations were met as were asked for.
    Enough,
    /// The operating system gave fewer threads than the search was set up for: so many.
    Fewer(usize),
}

impl From<StoreFull> for End {
    fn from(_: StoreFull) -> Self {
        End::Limit(Stop::Memory)
    }
}
