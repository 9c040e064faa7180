//! Running futures inside a model.

use preempt::facade::Token;
use preempt::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use preempt::thread;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// Wakes the thread that runs a future.
struct Woken(Token);

impl Woken {
    /// Made here, and not at a line of the test: no binding there has its name.
    fn new() -> Arc<Self> {
        Arc::new(Woken(Token::new()))
    }
}

impl Wake for Woken {
    #[track_caller]
    fn wake(self: Arc<Self>) {
        self.0.give();
    }

    #[track_caller]
    fn wake_by_ref(self: &Arc<Self>) {
        self.0.give();
    }
}

/// Runs a future to its end on this thread. As in loom, both is explored: that the future is polled
/// once without having been woken, and that it is not.
#[track_caller]
pub fn block_on<F>(future: F) -> F::Output
where
    F: Future,
{
    let woken = Woken::new();
    let waker = Waker::from(woken.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let mut may_be_spurious = true;
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        if may_be_spurious && preempt::choose_bool() {
            may_be_spurious = false;
        } else {
            woken.0.wait();
        }
    }
}

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
