//! Ends single steps that take longer than the command may.
//!
//! Searches look at the clock between steps. Inside a long `d_step` nobody does; there a thread that
//! mostly sleeps looks, and [asks](preempt_core::Cancellation) the step to give up. The search then ends
//! as it does at any limit, with what it has; [`deadline`](crate::deadline) is only the last resort.

use crate::terminal::INTERRUPTED;
use preempt_core::{Cancellation, Stop};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The deadline of the present command.
static DEADLINE: Mutex<Option<Instant>> = Mutex::new(None);

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Sets the deadline of the command.
pub(crate) fn set_deadline(deadline: Option<Instant>) {
    *DEADLINE.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
}

/// A request that long steps look at, with a thread that makes it when it is time.
pub(crate) fn watched() -> Arc<Cancellation> {
    let deadline = *DEADLINE.lock().unwrap_or_else(PoisonError::into_inner);
    let cancellation = Arc::new(Cancellation::new());
    let watched = Arc::downgrade(&cancellation);
    // Without a thread long steps run to their end, or to the last resort.
    let _ = std::thread::Builder::new().spawn(move || watch(&watched, deadline));
    cancellation
}

/// Looks until there is nobody left who could be asked.
fn watch(watched: &Weak<Cancellation>, deadline: Option<Instant>) {
    while let Some(cancellation) = watched.upgrade() {
        if INTERRUPTED.load(Ordering::Relaxed) {
            return cancellation.request(Stop::Interrupted);
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return cancellation.request(Stop::Time);
        }
        drop(cancellation);
        std::thread::sleep(LOOK_EVERY);
    }
}
