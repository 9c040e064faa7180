//! A counting semaphore from which several permits can be taken at once.

use preempt::facade::Token;
use preempt::sync::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Which waiter gets permits that become free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fairness {
    /// The one that has waited longest; it is served whole before the next.
    StrictlyFair,
    /// Any task that comes.
    Unfair,
}

/// Why permits were not given at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// There are not enough.
    NoPermits,
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryAcquireError::Closed => "semaphore closed",
            TryAcquireError::NoPermits => "no permits available",
        })
    }
}

impl std::error::Error for TryAcquireError {}

/// The semaphore is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AcquireError(());

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("semaphore closed")
    }
}

impl std::error::Error for AcquireError {}

/// See the module.
#[derive(Debug)]
pub struct BatchSemaphore {
    fairness: Fairness,
    state: Mutex<State>,
}

struct State {
    permits: usize,
    closed: bool,
    next: u64,
    waiters: VecDeque<Waiter>,
}

struct Waiter {
    number: u64,
    wanted: usize,
    /// Others may take permits that are too few for this one.
    bypassable: bool,
    granted: bool,
    waker: Waker,
}

impl State {
    /// Whether another task may take `wanted` permits now.
    fn admits(&self, fairness: Fairness, wanted: usize) -> bool {
        let queue = self.waiters.iter().filter(|waiter| !waiter.granted);
        let blocked = fairness == Fairness::StrictlyFair && queue.clone().any(|w| !w.bypassable);
        !blocked && self.permits >= wanted
    }

    /// Hands free permits to those that wait; returns the tasks to wake.
    fn grant(&mut self, fairness: Fairness) -> Vec<Waker> {
        let mut wake = Vec::new();
        for waiter in self.waiters.iter_mut().filter(|waiter| !waiter.granted) {
            if self.permits >= waiter.wanted {
                // Which task takes permits from an unfair semaphore is open: all that could are woken.
                if fairness == Fairness::StrictlyFair {
                    self.permits -= waiter.wanted;
                    waiter.granted = true;
                }
                wake.push(waiter.waker.clone());
            } else if fairness == Fairness::StrictlyFair && !waiter.bypassable {
                break;
            }
        }
        wake
    }
}

impl BatchSemaphore {
    /// With so many permits.
    #[track_caller]
    pub fn new(permits: usize, fairness: Fairness) -> Self {
        let state = State { permits, closed: false, next: 0, waiters: VecDeque::new() };
        BatchSemaphore { fairness, state: Mutex::new(state) }
    }

    #[track_caller]
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Permits that are free.
    #[track_caller]
    pub fn available_permits(&self) -> usize {
        self.state().permits
    }

    /// Closes it: tasks that wait or come later get an error.
    #[track_caller]
    pub fn close(&self) {
        let wakers: Vec<Waker> = {
            let mut state = self.state();
            state.closed = true;
            state.waiters.iter().map(|waiter| waiter.waker.clone()).collect()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Whether it is closed.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Takes permits if they are free.
    #[track_caller]
    pub fn try_acquire(&self, permits: usize) -> Result<(), TryAcquireError> {
        let mut state = self.state();
        if state.closed {
            return Err(TryAcquireError::Closed);
        }
        if !state.admits(self.fairness, permits) {
            return Err(TryAcquireError::NoPermits);
        }
        state.permits -= permits;
        Ok(())
    }

    /// Takes permits when they are free.
    pub fn acquire(&self, permits: usize) -> Acquire<'_> {
        Acquire { semaphore: self, permits, bypassable: false, number: None, done: false }
    }

    /// Takes permits when they are free; others may take fewer meanwhile.
    pub fn acquire_bypassable(&self, permits: usize) -> Acquire<'_> {
        Acquire { semaphore: self, permits, bypassable: true, number: None, done: false }
    }

    /// Takes permits, waiting if need be.
    #[track_caller]
    pub fn acquire_blocking(&self, permits: usize) -> Result<(), AcquireError> {
        struct Parked(Token);
        impl Parked {
            fn new() -> Arc<Self> {
                Arc::new(Parked(Token::new()))
            }
        }
        impl Wake for Parked {
            fn wake(self: Arc<Self>) {
                self.0.give();
            }
        }
        let parked = Parked::new();
        let waker = Waker::from(parked.clone());
        let mut acquire = pin!(self.acquire(permits));
        loop {
            match acquire.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(result) => return result,
                Poll::Pending => parked.0.wait(),
            }
        }
    }

    /// Gives permits back.
    #[track_caller]
    pub fn release(&self, permits: usize) {
        if permits == 0 {
            return;
        }
        let wakers = {
            let mut state = self.state();
            state.permits += permits;
            state.grant(self.fairness)
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("permits", &self.permits)
            .field("closed", &self.closed)
            .field("waiters", &self.waiters.len())
            .finish()
    }
}

/// Permits to come.
#[derive(Debug)]
#[must_use = "nothing is acquired unless it is awaited"]
pub struct Acquire<'a> {
    semaphore: &'a BatchSemaphore,
    permits: usize,
    bypassable: bool,
    /// In the queue.
    number: Option<u64>,
    done: bool,
}

impl Future for Acquire<'_> {
    type Output = Result<(), AcquireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        assert!(!this.done, "polled after it was ready");
        let fairness = this.semaphore.fairness;
        let mut state = this.semaphore.state();
        let position = this.number.and_then(|n| state.waiters.iter().position(|w| w.number == n));
        if let Some(position) = position {
            let granted = state.waiters[position].granted;
            let takes = fairness == Fairness::Unfair && state.permits >= this.permits;
            if !granted && !takes && !state.closed {
                state.waiters[position].waker = context.waker().clone();
                return Poll::Pending;
            }
            state.waiters.remove(position);
            this.done = true;
            if granted {
                return Poll::Ready(Ok(()));
            }
            if state.closed {
                return Poll::Ready(Err(AcquireError(())));
            }
            state.permits -= this.permits;
            return Poll::Ready(Ok(()));
        }
        if state.closed {
            this.done = true;
            return Poll::Ready(Err(AcquireError(())));
        }
        if state.admits(fairness, this.permits) {
            state.permits -= this.permits;
            this.done = true;
            return Poll::Ready(Ok(()));
        }
        let number = state.next;
        state.next += 1;
        this.number = Some(number);
        state.waiters.push_back(Waiter {
            number,
            wanted: this.permits,
            bypassable: this.bypassable,
            granted: false,
            waker: context.waker().clone(),
        });
        Poll::Pending
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number.filter(|_| !self.done) else { return };
        let wakers = {
            let mut state = self.semaphore.state();
            let position = state.waiters.iter().position(|waiter| waiter.number == number);
            let Some(waiter) = position.and_then(|position| state.waiters.remove(position)) else {
                return;
            };
            if waiter.granted {
                state.permits += waiter.wanted;
            }
            state.grant(self.semaphore.fairness)
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}
