//! `Mutex` and `Condvar`, with std's shapes and poisoning.

use super::lock::{Lock, Place};
use crate::rt::{self, Slot};
use preempt_explore::{Action, ObjectId, Operation};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, Location};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::time::Duration;

/// `std::sync::Mutex` under control.
pub struct Mutex<T: ?Sized> {
    lock: Lock,
    outside: std::sync::Mutex<()>,
    data: UnsafeCell<T>,
}

// SAFETY: as for std's mutex: the data is reached by one thread at a time, through a guard.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    const_fn! {
        /// A new mutex.
        #[track_caller]
        pub fn new(value: T) -> Self {
            Mutex {
                lock: Lock::new(),
                outside: std::sync::Mutex::new(()),
                data: UnsafeCell::new(value),
            }
        }
    }

    /// The value, ending the mutex.
    pub fn into_inner(self) -> LockResult<T> {
        self.lock.warn(self.data.into_inner())
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Acquires, waiting if need be.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.guard(self.lock.enter(Action::Lock, || self.outside.lock()))
    }

    /// Acquires if free.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.lock.try_enter(Action::TryLock, || self.outside.try_lock()) {
            Ok(held) => Ok(self.guard(held)?),
            Err(_) => Err(TryLockError::WouldBlock),
        }
    }

    /// Whether a thread panicked while it held the mutex.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        self.lock.is_poisoned()
    }

    /// Forgets that a thread panicked.
    #[track_caller]
    pub fn clear_poison(&self) {
        self.lock.clear_poison();
    }

    /// The value, through exclusive access.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.lock.warn(self.data.get_mut())
    }

    #[track_caller]
    fn guard<'a>(
        &'a self,
        outside: Option<std::sync::MutexGuard<'a, ()>>,
    ) -> LockResult<MutexGuard<'a, T>> {
        let guard = MutexGuard {
            mutex: self,
            data: AssertUnwindSafe(self.lock.data(self.data.get())),
            outside,
            panicking: std::thread::panicking(),
            site: Location::caller(),
            controlled: rt::is_controlled(),
            mutated: false,
            _auto: PhantomData,
        };
        self.lock.warn(guard)
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Mutex::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").field("poisoned", &self.lock.has_poison()).finish_non_exhaustive()
    }
}

/// Access to the data of a held [`Mutex`].
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// Safe to keep across a panic as the lock is.
    data: AssertUnwindSafe<*mut T>,
    outside: Option<std::sync::MutexGuard<'a, ()>>,
    panicking: bool,
    site: Place,
    controlled: bool,
    /// Whether the data was reached for writing. (Interior mutability goes unnoticed; then threads
    /// that poll the mutex are woken only when nothing else can move.)
    mutated: bool,
    _auto: PhantomData<*const ()>,
}

// SAFETY: as for std's guard: a shared one gives shared access to the data, and nothing else.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard exists only while its thread holds the mutex.
        unsafe { &*self.data.0 }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.mutated = true;
        // SAFETY: as above, and the guard is borrowed exclusively.
        unsafe { &mut *self.data.0 }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        let action = self.controlled.then_some(Action::Unlock);
        self.mutex.lock.leave(action, self.site, self.panicking, self.mutated);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Whether a wait ended because time was up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether time was up.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// `std::sync::Condvar` under control. Which waiter `notify_one` wakes is a choice that is
/// explored; spurious wake-ups are on request ([`Check::spurious`](crate::Check::spurious)).
pub struct Condvar {
    slot: Slot,
    outside: std::sync::Condvar,
}

impl Condvar {
    const_fn! {
        /// A new condition variable.
        #[track_caller]
        pub fn new() -> Self {
            Condvar { slot: Slot::new(0), outside: std::sync::Condvar::new() }
        }
    }

    /// Releases the mutex, waits to be notified, acquires the mutex again.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        match self.wait_for(guard, None) {
            Ok((guard, _)) => Ok(guard),
            Err(error) => Err(PoisonError::new(error.into_inner().0)),
        }
    }

    /// Waits as long as `condition` holds.
    #[track_caller]
    pub fn wait_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits for a limited time. Both outcomes are explored.
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        self.wait_for(guard, Some(limit))
    }

    /// Waits for a limited time as long as `condition` holds.
    #[track_caller]
    pub fn wait_timeout_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        limit: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        loop {
            if !condition(&mut guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let (again, result) = self.wait_timeout(guard, limit)?;
            guard = again;
            if result.timed_out() {
                let still = condition(&mut guard);
                return Ok((guard, WaitTimeoutResult(still)));
            }
        }
    }

    /// Wakes one waiter.
    #[track_caller]
    pub fn notify_one(&self) {
        self.notify(Action::NotifyOne);
    }

    /// Wakes all waiters.
    #[track_caller]
    pub fn notify_all(&self) {
        self.notify(Action::NotifyAll);
    }

    #[track_caller]
    fn notify(&self, action: Action) {
        match rt::current() {
            Some(runtime) => {
                let object = self.slot.object(runtime, || 0);
                rt::operation(runtime, action, object, 0, 0, Location::caller());
            }
            None if action == Action::NotifyOne => self.outside.notify_one(),
            None => self.outside.notify_all(),
        }
    }

    #[track_caller]
    fn wait_for<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        limit: Option<Duration>,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let mutex = guard.mutex;
        let site = Location::caller();
        let Some(runtime) = rt::current() else {
            return self.wait_outside(guard, limit);
        };
        // The operation below releases the mutex; the guard must not do it again.
        guard.controlled = false;
        drop(guard);
        let lock = mutex.lock.object(runtime);
        let condition: ObjectId = self.slot.object(runtime, || 0);
        let condition = u64::from(condition.0);
        rt::operation(runtime, Action::Wait, lock, condition, 0, site);
        let timed = if limit.is_some() { 1 } else { Operation::SPURIOUS };
        let Some(runtime) = rt::current() else {
            unreachable!("a coroutine is only resumed under control")
        };
        let out = rt::operation(runtime, Action::Reacquire, lock, condition, timed, site) == 1;
        if let (true, Some(limit)) = (out, limit) {
            rt::pass(limit);
        }
        if let Some(runtime) = rt::current().filter(|_| out) {
            // As any other thread that wants the mutex: others may be faster.
            rt::operation(runtime, Action::Lock, lock, 0, 0, site);
        }
        // Without a limit it woke for no reason, which is no timeout.
        let out = out && limit.is_some();
        match mutex.guard(None) {
            Ok(guard) => Ok((guard, WaitTimeoutResult(out))),
            Err(error) => Err(PoisonError::new((error.into_inner(), WaitTimeoutResult(out)))),
        }
    }

    fn wait_outside<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        limit: Option<Duration>,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let mutex = guard.mutex;
        let Some(held) = guard.outside.take() else {
            return Ok((guard, WaitTimeoutResult(false)));
        };
        drop(guard);
        let (held, out) = match limit {
            None => (self.outside.wait(held).unwrap_or_else(PoisonError::into_inner), false),
            Some(limit) => {
                let (held, result) =
                    self.outside.wait_timeout(held, limit).unwrap_or_else(PoisonError::into_inner);
                (held, result.timed_out())
            }
        };
        match mutex.guard(Some(held)) {
            Ok(guard) => Ok((guard, WaitTimeoutResult(out))),
            Err(error) => Err(PoisonError::new((error.into_inner(), WaitTimeoutResult(out)))),
        }
    }
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Self {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Condvar { .. }")
    }
}
