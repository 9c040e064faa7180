//! How long an execution may take: a limit ends it wherever it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// When an execution is given up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patience {
    /// At this time.
    pub(crate) deadline: Option<Instant>,
    /// When this is set.
    pub(crate) stop: Option<Arc<AtomicBool>>,
}

impl Patience {
    /// How often an execution asks, in steps.
    const TICKS: usize = 64;

    pub(crate) fn is_over(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Whether it is over, looked at now and then.
    pub(crate) fn is_over_after(&self, steps: usize) -> bool {
        steps % Self::TICKS == Self::TICKS - 1 && self.is_over()
    }
}
