//! Cells whose accesses are checked for data races.

use preempt::cell::Access;
use std::fmt;

pub use preempt::cell::Cell;

/// `std::cell::UnsafeCell` with loom's accessors.
#[derive(Default)]
pub struct UnsafeCell<T: ?Sized>(preempt::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// A new cell.
    #[track_caller]
    pub fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(preempt::cell::UnsafeCell::new(value))
    }

    /// The value, ending the cell.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Calls a closure with a pointer for reading.
    #[track_caller]
    pub fn with<F, R>(&self, function: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        self.0.with(function)
    }

    /// Calls a closure with a pointer for writing.
    #[track_caller]
    pub fn with_mut<F, R>(&self, function: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        self.0.with_mut(function)
    }

    /// A pointer for reading. As long as it lives, the cell is being read.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        let access = self.0.begin_access(false);
        ConstPtr { pointer: self.0.get_untracked(), _access: access }
    }

    /// A pointer for writing. As long as it lives, the cell is being written.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        let access = self.0.begin_access(true);
        MutPtr { pointer: self.0.get_untracked(), _access: access }
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnsafeCell { .. }")
    }
}

/// A pointer for reading, from [`UnsafeCell::get`].
#[derive(Debug)]
pub struct ConstPtr<T: ?Sized> {
    pointer: *const T,
    _access: Access,
}

/// A pointer for writing, from [`UnsafeCell::get_mut`].
#[derive(Debug)]
pub struct MutPtr<T: ?Sized> {
    pointer: *mut T,
    _access: Access,
}

impl<T: ?Sized> ConstPtr<T> {
    /// The value.
    ///
    /// # Safety
    /// As for a raw pointer.
    #[allow(clippy::should_implement_trait)]
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: the caller's promise.
        unsafe { &*self.pointer }
    }

    /// Calls a closure with the raw pointer.
    pub fn with<F, R>(&self, function: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        function(self.pointer)
    }
}

impl<T: ?Sized> MutPtr<T> {
    /// The value.
    ///
    /// # Safety
    /// As for a raw pointer.
    #[allow(clippy::mut_from_ref, clippy::should_implement_trait)]
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.pointer }
    }

    /// Calls a closure with the raw pointer.
    pub fn with<F, R>(&self, function: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        function(self.pointer)
    }
}
