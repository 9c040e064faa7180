//! Ends single steps that take longer than the command may.
//!
//! Searches look at the clock between steps. Inside a long `d_step` nobody does; there a thread that
//! mostly sleeps looks, and [asks](preempt_core::Cancellation) the step to give up.

use crate::terminal::INTERRUPTED;
use preempt_core::{Cancellation, Stop};
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::{Duration, Instant};

static CANCELLATION: LazyLock<Arc<Cancellation>> = LazyLock::new(Arc::default);
static DEADLINE: OnceLock<Option<Instant>> = OnceLock::new();
static WATCHED: OnceLock<()> = OnceLock::new();

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Sets the deadline of the command, once.
pub(crate) fn set_deadline(limit: Option<Duration>) {
    DEADLINE.get_or_init(|| limit.and_then(|limit| Instant::now().checked_add(limit)));
}

/// The request that long steps of this command look at, with a thread that makes it.
pub(crate) fn watched() -> Arc<Cancellation> {
    WATCHED.get_or_init(|| {
        // Without a thread long steps run to their end: late, but right.
        let _ = std::thread::Builder::new().name("deadline".into()).spawn(watch);
    });
    CANCELLATION.clone()
}

fn watch() {
    loop {
        if INTERRUPTED.load(Ordering::Relaxed) {
            return CANCELLATION.request(Stop::Interrupted);
        }
        let deadline = DEADLINE.get().copied().flatten();
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return CANCELLATION.request(Stop::Time);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
