//! Why a search ends before its time.

use crate::store::StoreFull;
use preempt_core::Stop;

pub(crate) enum End {
    Limit(Stop),
    /// As many violations were met as were asked for.
    Enough,
}

impl From<StoreFull> for End {
    fn from(_: StoreFull) -> Self {
        End::Limit(Stop::Memory)
    }
}
