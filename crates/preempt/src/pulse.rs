//! Noticing a test that is stuck in code preempt does not see.
//!
//! A `std::sync::Mutex` held across an operation, or a blocking system call, stops the one operating
//! system thread that all threads of the test share. If that thread sleeps in the operating system
//! it is called back and the test fails; if it computes, a message is printed.

use crate::rt::Callee;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Counts operations, so that another thread can see whether there is progress.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    inside: AtomicBool,
    operations: AtomicU64,
    thread: Mutex<Option<Callee>>,
}

impl Pulse {
    /// The calling thread is the one that runs the test.
    pub(crate) fn adopt(&self) {
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(Callee::here());
    }

    fn sleeper(&self) -> Option<Callee> {
        let thread = *self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        thread.filter(Callee::sleeps)
    }

    /// Code of the test begins or ceases to run.
    pub(crate) fn set_inside(&self, inside: bool) {
        self.inside.store(inside, Ordering::Relaxed);
    }

    /// The test has come to an operation. Only one thread calls this.
    #[inline]
    pub(crate) fn beat(&self) {
        let count = self.operations.load(Ordering::Relaxed);
        self.operations.store(count + 1, Ordering::Relaxed);
    }

    /// Operations so far, while code of the test runs.
    fn reading(&self) -> Option<u64> {
        self.inside.load(Ordering::Relaxed).then(|| self.operations.load(Ordering::Relaxed))
    }

    /// Waits until the sender of `done` is gone. If the test came to no operation for as long as
    /// `patience`, its thread is called back if it sleeps; if it does not, `stuck` is called, once.
    pub(crate) fn watch(&self, done: &Receiver<()>, patience: Duration, stuck: impl FnOnce()) {
        let mut stuck = Some(stuck);
        let mut before = None;
        // Twice the same reading, so half the time between two.
        while done.recv_timeout(patience / 2) == Err(RecvTimeoutError::Timeout) {
            let now = self.reading();
            if now.is_some() && now == before {
                match (self.sleeper(), stuck.take()) {
                    (Some(thread), unused) => {
                        thread.call_back();
                        stuck = unused;
                    }
                    (None, Some(stuck)) => stuck(),
                    (None, None) => {}
                }
            }
            before = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn is_stuck(beats: bool) -> bool {
        let pulse = Pulse::default();
        let (sender, receiver) = channel::<()>();
        let mut noticed = false;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let sender = sender;
                pulse.set_inside(true);
                for _ in 0..400 {
                    std::thread::sleep(Duration::from_millis(1));
                    if beats {
                        pulse.beat();
                    }
                }
                drop(sender);
            });
            let patience = Duration::from_millis(if beats { 10_000 } else { 50 });
            pulse.watch(&receiver, patience, || noticed = true);
        });
        noticed
    }

    #[test]
    fn silence_is_noticed_and_progress_is_not() {
        assert!(is_stuck(false));
        assert!(!is_stuck(true));
    }
}
