//! Atomic pointers.

use super::access::*;
use crate::rt::{self, Slot};
use preempt_explore::{Action, Update};
use std::panic::Location;
use std::sync::atomic::Ordering::{self, SeqCst};

/// `std::sync::atomic::AtomicPtr` under control.
pub struct AtomicPtr<T> {
    slot: Slot,
    inner: std::sync::atomic::AtomicPtr<T>,
}

impl<T> AtomicPtr<T> {
    /// A new pointer.
    #[track_caller]
    pub fn new(value: *mut T) -> Self {
        let slot = new_slot(Self::pack(value));
        AtomicPtr { slot, inner: std::sync::atomic::AtomicPtr::new(value) }
    }

    fn initial(&self) -> u64 {
        Self::pack(self.inner.load(SeqCst))
    }

    #[track_caller]
    fn operate(&self, action: Action, first: u64, second: u64, order: Orders) -> Option<u64> {
        operate_wide(&self.slot, || self.initial(), action, first, second, order)
    }

    fn pack(value: *mut T) -> u64 {
        value.expose_provenance() as u64
    }

    fn unpack(value: u64) -> *mut T {
        std::ptr::with_exposed_provenance_mut(value as usize)
    }

    /// Reads.
    #[track_caller]
    pub fn load(&self, order: Ordering) -> *mut T {
        check_load(order);
        match self.operate(Action::Load, 0, 0, order.into()) {
            Some(value) => Self::unpack(value),
            None => self.inner.load(order),
        }
    }

    /// Writes.
    #[track_caller]
    pub fn store(&self, value: *mut T, order: Ordering) {
        check_store(order);
        if self.operate(Action::Store, Self::pack(value), 0, order.into()).is_none() {
            self.inner.store(value, order);
        }
    }

    /// Writes and returns the value before.
    #[track_caller]
    pub fn swap(&self, value: *mut T, order: Ordering) -> *mut T {
        match self.operate(Action::Update(Update::Swap, 64), Self::pack(value), 0, order.into()) {
            Some(before) => Self::unpack(before),
            None => self.inner.swap(value, order),
        }
    }

    /// Writes `new` if the value is `expected`.
    #[track_caller]
    pub fn compare_exchange(
        &self,
        expected: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        self.compare(expected, new, success, failure, false)
    }

    #[track_caller]
    fn compare(
        &self,
        expected: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
        may_fail: bool,
    ) -> Result<*mut T, *mut T> {
        check_load(failure);
        let (a, b) = (Self::pack(expected), Self::pack(new));
        let orders = Orders::comparing(success, failure, may_fail);
        match self.operate(Action::CompareExchange, a, b, orders) {
            Some(before) if before == a && !(may_fail && rt::has_failed()) => {
                Ok(Self::unpack(before))
            }
            Some(before) => Err(Self::unpack(before)),
            None => self.inner.compare_exchange(expected, new, success, failure),
        }
    }

    /// As [`Self::compare_exchange`], but it may fail although the value is `expected`, which counts as
    /// a stale choice.
    #[track_caller]
    pub fn compare_exchange_weak(
        &self,
        expected: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        self.compare(expected, new, success, failure, true)
    }

    /// Reads and updates until no other thread interferes.
    #[track_caller]
    pub fn fetch_update(
        &self,
        set_order: Ordering,
        fetch_order: Ordering,
        mut update: impl FnMut(*mut T) -> Option<*mut T>,
    ) -> Result<*mut T, *mut T> {
        let mut before = self.load(fetch_order);
        while let Some(next) = update(before) {
            match self.compare_exchange(before, next, set_order, fetch_order) {
                Ok(value) => return Ok(value),
                Err(value) => before = value,
            }
        }
        Err(before)
    }

    /// The pointer, through exclusive access: no other thread can look.
    pub fn get_mut(&mut self) -> &mut *mut T {
        let Some(runtime) = rt::current() else { return self.inner.get_mut() };
        let initial = self.initial();
        let object = self.slot.object(runtime, || initial);
        rt::take_back(runtime, object);
        match rt::lend(object) {
            // SAFETY: an exposed address and a pointer have the same size and any bits are valid;
            // the lifetime is that of the exclusive borrow.
            Some(value) if size_of::<*mut T>() == size_of::<u64>() => unsafe {
                &mut *std::ptr::from_mut(value).cast::<*mut T>()
            },
            _ => self.inner.get_mut(),
        }
    }

    /// The pointer, ending the atomic.
    pub fn into_inner(mut self) -> *mut T {
        *self.get_mut()
    }

    /// The pointer, read as plain memory: no operation.
    ///
    /// # Safety
    /// No thread may write at the same time.
    #[doc(hidden)]
    pub unsafe fn unsync_load(&self) -> *mut T {
        let value = peek(&self.slot, || self.initial());
        if let Some(runtime) = rt::current() {
            rt::touch_atomic(runtime, &self.slot, Location::caller());
        }
        Self::unpack(value)
    }
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

impl<T> From<*mut T> for AtomicPtr<T> {
    fn from(value: *mut T) -> Self {
        Self::new(value)
    }
}

impl<T> std::fmt::Debug for AtomicPtr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Self::unpack(peek(&self.slot, || self.initial())).fmt(f)
    }
}
