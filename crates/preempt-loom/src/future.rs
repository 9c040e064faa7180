//! Running futures inside a model.

pub use preempt::future::block_on;

use preempt::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use preempt::thread;
use std::fmt;
use std::task::Waker;

/// A place for the waker of one task, which others wake.
#[derive(Default)]
pub struct AtomicWaker {
    waker: Mutex<Option<Waker>>,
}

impl AtomicWaker {
    /// Without a waker.
    #[track_caller]
    pub fn new() -> AtomicWaker {
        AtomicWaker { waker: Mutex::new(None) }
    }

    /// Keeps the waker. If another thread is waking at this moment, the waker is woken instead.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        let replaced = match self.waker.try_lock() {
            Ok(mut guard) => guard.replace(waker),
            Err(TryLockError::Poisoned(error)) => error.into_inner().replace(waker),
            Err(TryLockError::WouldBlock) => {
                waker.wake();
                thread::yield_now();
                return;
            }
        };
        drop(replaced);
    }

    /// As [`AtomicWaker::register`], by reference.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        self.register(waker.clone());
    }

    /// Wakes the task, if one is registered.
    #[track_caller]
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Takes the waker away.
    #[track_caller]
    pub fn take_waker(&self) -> Option<Waker> {
        let mut guard: MutexGuard<'_, _> =
            self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        guard.take()
    }
}

impl fmt::Debug for AtomicWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AtomicWaker { .. }")
    }
}
