//! A store that one thread changes, and at other times all threads read.
//!
//! Invariant: the thread of the search has the store for itself, but between [`PhasedStore::share`] and [`PhasedStore::take_back`].

use crate::platform::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::ops::{Deref, DerefMut};

/// What threads share of a search: the store.
pub(super) type Lock<'b, T> = RwLock<&'b mut T>;

/// The store, as the thread of the search has it.
pub(super) struct PhasedStore<'a, 'b, T> {
    lock: &'a Lock<'b, T>,
    own: Option<RwLockWriteGuard<'a, &'b mut T>>,
}

impl<'a, 'b, T> PhasedStore<'a, 'b, T> {
    pub(super) fn new(lock: &'a Lock<'b, T>) -> Self {
        let own = lock.write().unwrap_or_else(PoisonError::into_inner);
        PhasedStore { lock, own: Some(own) }
    }

    /// What other threads read by.
    pub(super) fn lock(&self) -> &'a Lock<'b, T> {
        self.lock
    }

    /// Lets all threads read.
    pub(super) fn share(&mut self) {
        self.own = None;
    }

    /// Waits until no thread reads.
    pub(super) fn take_back(&mut self) {
        if self.own.is_none() {
            self.own = Some(self.lock.write().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// The store for a thread that reads it.
pub(super) fn read<'a, 'b, T>(lock: &'a Lock<'b, T>) -> RwLockReadGuard<'a, &'b mut T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Deref for PhasedStore<'_, '_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        match &self.own {
            Some(own) => own,
            None => unreachable!("while all threads read, none uses the store otherwise"),
        }
    }
}

impl<T> DerefMut for PhasedStore<'_, '_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.own {
            Some(own) => own,
            None => unreachable!("while all threads read, none uses the store otherwise"),
        }
    }
}
