//! Ends single steps that take longer than the caller allows.
//!
//! Searches look at the clock between steps. Inside a long `d_step` none does; there a thread that
//! mostly sleeps looks, and [asks](preempt_core::Cancellation) the step to give up. The search then ends
//! as it does at any limit, with what it has.

use crate::Control;
use preempt_core::{Cancellation, Stop};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A request that long steps look at, with a thread that makes it when it is time.
pub(crate) fn watched(control: &Control<'_>) -> Arc<Cancellation> {
    let (deadline, interrupt) = (control.end(), control.flag().clone());
    let cancellation = Arc::new(Cancellation::new());
    let watched = Arc::downgrade(&cancellation);
    // Without a thread long steps run to their end.
    let _ = std::thread::Builder::new().spawn(move || watch(&watched, deadline, &interrupt));
    cancellation
}

/// Polls until no request is left.
fn watch(watched: &Weak<Cancellation>, deadline: Option<Instant>, interrupt: &AtomicBool) {
    while let Some(cancellation) = watched.upgrade() {
        if interrupt.load(Ordering::Relaxed) {
            return cancellation.request(Stop::Interrupted);
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return cancellation.request(Stop::Time);
        }
        drop(cancellation);
        std::thread::sleep(LOOK_EVERY);
    }
}
