//! `RwLock`, with std's shape and poisoning. Writers have no priority: which thread gets the lock
//! is explored. But a thread that holds the lock for reading and asks again waits behind writers
//! that wait, as it may with std's, which is a deadlock.

use super::lock::{Lock, Place};
use preempt_explore::Action;
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, Location};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// A lock held for writing out of control.
type Writing<'a> = (std::sync::RwLockWriteGuard<'a, ()>, std::sync::MutexGuard<'a, ()>);

/// `std::sync::RwLock` under control.
pub struct RwLock<T: ?Sized> {
    lock: Lock,
    outside: std::sync::RwLock<()>,
    /// Held by writers out of control, and by those that become readers until they are.
    writers: std::sync::Mutex<()>,
    data: UnsafeCell<T>,
}

// SAFETY: as for std's lock: many readers or one writer reach the data, through guards.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above; readers share the data, hence `Sync`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    const_fn! {
        /// A new lock.
        #[track_caller]
        pub fn new(value: T) -> Self {
            RwLock {
                lock: Lock::new(),
                outside: std::sync::RwLock::new(()),
                writers: std::sync::Mutex::new(()),
                data: UnsafeCell::new(value),
            }
        }
    }

    /// The value, ending the lock.
    pub fn into_inner(self) -> LockResult<T> {
        self.lock.warn(self.data.into_inner())
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Acquires for reading.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.lock.note_recursion();
        self.read_guard(self.lock.enter(Action::ReadLock, || self.outside.read()))
    }

    /// Acquires for writing.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.lock.request_write();
        self.write_guard(self.lock.enter(Action::WriteLock, || {
            let turn = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
            Ok((self.outside.write().unwrap_or_else(PoisonError::into_inner), turn))
        }))
    }

    /// Acquires for reading if no writer holds the lock.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        match self.lock.try_enter(Action::TryReadLock, || self.outside.try_read()) {
            Ok(held) => Ok(self.read_guard(held)?),
            Err(_) => Err(TryLockError::WouldBlock),
        }
    }

    /// Acquires for writing if the lock is free.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        match self.lock.try_enter(Action::TryWriteLock, || self.try_write_outside()) {
            Ok(held) => Ok(self.write_guard(held)?),
            Err(_) => Err(TryLockError::WouldBlock),
        }
    }

    /// Whether a writer panicked.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        self.lock.is_poisoned()
    }

    /// Forgets that a writer panicked.
    #[track_caller]
    pub fn clear_poison(&self) {
        self.lock.clear_poison();
    }

    /// The value, through exclusive access.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.lock.warn(self.data.get_mut())
    }

    fn try_write_outside(&self) -> TryLockResult<Writing<'_>> {
        fn held<G>(tried: TryLockResult<G>) -> Result<G, TryLockError<Writing<'static>>> {
            match tried {
                Ok(guard) => Ok(guard),
                Err(TryLockError::Poisoned(error)) => Ok(error.into_inner()),
                Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
            }
        }
        let turn = held(self.writers.try_lock())?;
        Ok((held(self.outside.try_write())?, turn))
    }

    #[track_caller]
    fn read_guard<'a>(
        &'a self,
        outside: Option<std::sync::RwLockReadGuard<'a, ()>>,
    ) -> LockResult<RwLockReadGuard<'a, T>> {
        let (site, _auto) = (Location::caller(), PhantomData);
        let data = self.lock.data(self.data.get());
        let guard = RwLockReadGuard { lock: self, data, site, outside, _auto };
        self.lock.warn(guard)
    }

    #[track_caller]
    fn write_guard<'a>(
        &'a self,
        outside: Option<Writing<'a>>,
    ) -> LockResult<RwLockWriteGuard<'a, T>> {
        let panicking = std::thread::panicking();
        let site = Location::caller();
        let (mutated, _auto) = (false, PhantomData);
        let data = AssertUnwindSafe(self.lock.data(self.data.get()));
        let guard = RwLockWriteGuard { lock: self, data, site, panicking, mutated, outside, _auto };
        self.lock.warn(guard)
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        RwLock::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLock").field("poisoned", &self.lock.has_poison()).finish_non_exhaustive()
    }
}

/// Shared access to the data of a [`RwLock`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    data: *const T,
    site: Place,
    outside: Option<std::sync::RwLockReadGuard<'a, ()>>,
    _auto: PhantomData<*const T>,
}

// SAFETY: as for std's guard: a shared one gives shared access to the data, and nothing else.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}

/// Exclusive access to the data of a [`RwLock`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    /// Safe to keep across a panic as the lock is.
    data: AssertUnwindSafe<*mut T>,
    site: Place,
    panicking: bool,
    mutated: bool,
    outside: Option<Writing<'a>>,
    _auto: PhantomData<*const ()>,
}

// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Exclusive access becomes shared access, and no writer comes in between.
    #[track_caller]
    pub fn downgrade(this: Self) -> RwLockReadGuard<'a, T> {
        let mut this = ManuallyDrop::new(this);
        let (lock, data) = (this.lock, this.data.cast_const());
        let (site, _auto) = (Location::caller(), PhantomData);
        // Taken, so that nothing of the guard is left to be dropped.
        let outside = this.outside.take().map(|(writing, _turn)| {
            drop(writing);
            lock.outside.read().unwrap_or_else(PoisonError::into_inner)
        });
        if outside.is_none() {
            lock.lock.downgrade(site, this.mutated);
        }
        RwLockReadGuard { lock, data, site, outside, _auto }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard exists only while its thread holds the lock, and writers do not.
        unsafe { &*self.data }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard exists only while its thread alone holds the lock.
        unsafe { &*self.data.0 }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.mutated = true;
        // SAFETY: as above, and the guard is borrowed exclusively.
        unsafe { &mut *self.data.0 }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        let action = self.outside.is_none().then_some(Action::ReadUnlock);
        // A reader poisons nothing.
        self.lock.lock.leave(action, self.site, true, false);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        let action = self.outside.is_none().then_some(Action::WriteUnlock);
        self.lock.lock.leave(action, self.site, self.panicking, self.mutated);
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
