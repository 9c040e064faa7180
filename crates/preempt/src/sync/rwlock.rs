//! `RwLock`, with std's shape and poisoning. Writers have no priority: who gets the lock is
//! explored.

use crate::rt::{self, Slot};
use preempt_explore::{Action, Update};
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// `std::sync::RwLock` under control.
pub struct RwLock<T: ?Sized> {
    slot: Slot,
    poisoned: AtomicBool,
    outside: std::sync::RwLock<()>,
    data: UnsafeCell<T>,
}

// SAFETY: as for std's lock: many readers or one writer reach the data, through guards.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above; readers share the data, hence `Sync`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    /// A new lock. Not `const` under control: see `preempt::statics!`.
    pub fn new(value: T) -> Self {
        RwLock {
            slot: Slot::new(0),
            poisoned: AtomicBool::new(false),
            outside: std::sync::RwLock::new(()),
            data: UnsafeCell::new(value),
        }
    }

    /// The value, ending the lock.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.poisoned.load(SeqCst);
        let value = self.data.into_inner();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Acquires for reading.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let outside = match rt::current() {
            Some(runtime) => {
                let object = self.slot.object(runtime, || 0);
                rt::operation(runtime, Action::ReadLock, object, 0, 0, Location::caller());
                None
            }
            None => Some(self.outside.read().unwrap_or_else(PoisonError::into_inner)),
        };
        self.read_guard(outside)
    }

    /// Acquires for writing.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let outside = match rt::current() {
            Some(runtime) => {
                let object = self.slot.object(runtime, || 0);
                rt::operation(runtime, Action::WriteLock, object, 0, 0, Location::caller());
                None
            }
            None => Some(self.outside.write().unwrap_or_else(PoisonError::into_inner)),
        };
        self.write_guard(outside)
    }

    /// Acquires for reading if no writer holds the lock.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let outside = match rt::current() {
            Some(runtime) => {
                let object = self.slot.object(runtime, || 0);
                let site = Location::caller();
                if rt::operation(runtime, Action::TryReadLock, object, 0, 0, site) == 0 {
                    return Err(TryLockError::WouldBlock);
                }
                None
            }
            None => match self.outside.try_read() {
                Ok(held) => Some(held),
                Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
                Err(TryLockError::WouldBlock) => return Err(TryLockError::WouldBlock),
            },
        };
        Ok(self.read_guard(outside)?)
    }

    /// Acquires for writing if the lock is free.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let outside = match rt::current() {
            Some(runtime) => {
                let object = self.slot.object(runtime, || 0);
                let site = Location::caller();
                if rt::operation(runtime, Action::TryWriteLock, object, 0, 0, site) == 0 {
                    return Err(TryLockError::WouldBlock);
                }
                None
            }
            None => match self.outside.try_write() {
                Ok(held) => Some(held),
                Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
                Err(TryLockError::WouldBlock) => return Err(TryLockError::WouldBlock),
            },
        };
        Ok(self.write_guard(outside)?)
    }

    /// Whether a writer panicked.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        self.look(Action::Load);
        self.poisoned.load(SeqCst)
    }

    /// Forgets that a writer panicked.
    #[track_caller]
    pub fn clear_poison(&self) {
        // A write that leaves the lock as it is.
        self.look(Action::Update(Update::Or, 64));
        self.poisoned.store(false, SeqCst);
    }

    /// Makes looking at the poison a visible operation: it races with whoever panics.
    #[track_caller]
    fn look(&self, action: Action) {
        if let Some(runtime) = rt::current() {
            let object = self.slot.object(runtime, || 0);
            rt::operation(runtime, action, object, 0, 0, Location::caller());
        }
    }

    /// The value, through exclusive access.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.poisoned.load(SeqCst);
        let value = self.data.get_mut();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }

    #[track_caller]
    fn read_guard<'a>(
        &'a self,
        outside: Option<std::sync::RwLockReadGuard<'a, ()>>,
    ) -> LockResult<RwLockReadGuard<'a, T>> {
        let guard = RwLockReadGuard { lock: self, site: Location::caller(), outside };
        if self.poisoned.load(SeqCst) { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    #[track_caller]
    fn write_guard<'a>(
        &'a self,
        outside: Option<std::sync::RwLockWriteGuard<'a, ()>>,
    ) -> LockResult<RwLockWriteGuard<'a, T>> {
        let panicking = std::thread::panicking();
        let guard = RwLockWriteGuard { lock: self, site: Location::caller(), panicking, outside };
        if self.poisoned.load(SeqCst) { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    fn release(&self, action: Action, site: &'static Location<'static>, outside: bool) {
        if !outside && let Some(runtime) = rt::current() {
            let object = self.slot.object(runtime, || 0);
            rt::operation(runtime, action, object, 0, 0, site);
        }
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        RwLock::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLock")
            .field("poisoned", &self.poisoned.load(SeqCst))
            .finish_non_exhaustive()
    }
}

/// Shared access to the data of a [`RwLock`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    site: &'static Location<'static>,
    outside: Option<std::sync::RwLockReadGuard<'a, ()>>,
}

/// Exclusive access to the data of a [`RwLock`].
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    site: &'static Location<'static>,
    panicking: bool,
    outside: Option<std::sync::RwLockWriteGuard<'a, ()>>,
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard exists only while its thread holds the lock, and writers do not.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard exists only while its thread alone holds the lock.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed exclusively.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.release(Action::ReadUnlock, self.site, self.outside.is_some());
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        let poisons = !self.panicking && std::thread::panicking();
        self.lock.release(Action::WriteUnlock, self.site, self.outside.is_some());
        // Together with the operation above: nobody runs in between.
        if poisons {
            self.lock.poisoned.store(true, SeqCst);
        }
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
