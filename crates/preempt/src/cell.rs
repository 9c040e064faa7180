//! Plain cells whose accesses are checked for data races.
//!
//! Accesses are not scheduling points: as long as no execution has a race, switching at
//! synchronisation only loses nothing. An access by [`UnsafeCell::with`] or [`UnsafeCell::with_mut`] lasts
//! until the last operation in its closure. `UnsafeCell::get` hands out a pointer and cannot know what
//! it is for, so it counts as a write; use [`UnsafeCell::with`] for a read that may run in parallel
//! with others.

use crate::rt::{self, Slot};
use std::fmt;
use std::panic::Location;

pub use std::cell::{BorrowError, BorrowMutError, LazyCell, OnceCell, Ref, RefCell, RefMut};

#[track_caller]
fn touch(slot: &Slot, write: bool) {
    if let Some(runtime) = rt::current() {
        rt::touch(runtime, slot, write, Location::caller());
    }
}

/// An access to an [`UnsafeCell`] that lasts as long as this value. Made by
/// [`UnsafeCell::begin_access`].
pub struct Access(Option<rt::Access>);

impl Drop for Access {
    fn drop(&mut self) {
        if let Some(access) = &self.0 {
            rt::touch_end(access);
        }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let write = self.0.as_ref().map(|access| access.write);
        f.debug_struct("Access").field("write", &write).finish_non_exhaustive()
    }
}

/// `std::cell::UnsafeCell` with a check for data races.
#[repr(C)]
pub struct UnsafeCell<T: ?Sized> {
    slot: Slot,
    inner: std::cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    const_fn! {
        /// A new cell.
        #[track_caller]
        pub fn new(value: T) -> Self {
            UnsafeCell { slot: Slot::new(0), inner: std::cell::UnsafeCell::new(value) }
        }
    }

    /// The value, ending the cell.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }

    /// A pointer to the value of a cell that need not be there yet; what is done with it goes unnoticed.
    pub const fn raw_get(this: *const Self) -> *mut T {
        let offset = std::mem::offset_of!(UnsafeCell<T>, inner);
        this.cast::<u8>().wrapping_add(offset).cast::<T>().cast_mut()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// A pointer to the value. Counts as a write.
    #[track_caller]
    pub fn get(&self) -> *mut T {
        touch(&self.slot, true);
        self.get_untracked()
    }

    /// The value, through exclusive access.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }

    /// Calls a closure with a pointer for reading.
    #[track_caller]
    pub fn with<R>(&self, function: impl FnOnce(*const T) -> R) -> R {
        let _access = self.begin_access(false);
        function(self.get_untracked())
    }

    /// Calls a closure with a pointer for writing.
    #[track_caller]
    pub fn with_mut<R>(&self, function: impl FnOnce(*mut T) -> R) -> R {
        let _access = self.begin_access(true);
        function(self.get_untracked())
    }

    /// An access that lasts as long as the value returned, to be used with [`Self::get_untracked`].
    #[track_caller]
    pub fn begin_access(&self, write: bool) -> Access {
        Access(rt::Access::begin(&self.slot, write, Location::caller()))
    }

    /// A pointer to the value; what is done with it goes unnoticed.
    pub fn get_untracked(&self) -> *mut T {
        rt::data(&self.slot, self.inner.get())
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    #[track_caller]
    fn default() -> Self {
        UnsafeCell::new(T::default())
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

/// `std::cell::Cell` with a check for data races, for types that share one with `unsafe impl Sync`.
pub struct Cell<T> {
    slot: Slot,
    inner: std::cell::Cell<T>,
}

impl<T> Cell<T> {
    const_fn! {
        /// A new cell.
        #[track_caller]
        pub fn new(value: T) -> Self {
            Cell { slot: Slot::new(0), inner: std::cell::Cell::new(value) }
        }
    }

    /// The value of this execution.
    fn inner(&self) -> &std::cell::Cell<T> {
        // SAFETY: there is one, for as long as the cell or the execution.
        unsafe { &*rt::data(&self.slot, (&raw const self.inner).cast_mut()) }
    }

    /// Sets the value.
    #[track_caller]
    pub fn set(&self, value: T) {
        touch(&self.slot, true);
        self.inner().set(value);
    }

    /// Sets the value and returns the one before.
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        touch(&self.slot, true);
        self.inner().replace(value)
    }

    /// Takes the value, leaving the default.
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }

    /// A copy of the value.
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        touch(&self.slot, false);
        self.inner().get()
    }

    /// Changes the value by a function of it.
    #[track_caller]
    pub fn update(&self, function: impl FnOnce(T) -> T)
    where
        T: Copy,
    {
        self.set(function(self.get()));
    }

    /// A pointer to the value. Counts as a write.
    #[track_caller]
    pub fn as_ptr(&self) -> *mut T {
        touch(&self.slot, true);
        self.inner().as_ptr()
    }

    /// Exchanges the values of two cells.
    #[track_caller]
    pub fn swap(&self, other: &Self) {
        touch(&self.slot, true);
        touch(&other.slot, true);
        self.inner().swap(other.inner());
    }

    /// The value, through exclusive access.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }

    /// The value, ending the cell.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: Default> Default for Cell<T> {
    #[track_caller]
    fn default() -> Self {
        Cell::new(T::default())
    }
}

impl<T> From<T> for Cell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Cell::new(value)
    }
}

impl<T: Copy> Clone for Cell<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Cell::new(self.get())
    }
}

impl<T: PartialEq + Copy> PartialEq for Cell<T> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq + Copy> Eq for Cell<T> {}

impl<T: PartialOrd + Copy> PartialOrd for Cell<T> {
    #[track_caller]
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

impl<T: Ord + Copy> Ord for Cell<T> {
    #[track_caller]
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.get().cmp(&other.get())
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Cell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("value", &self.get()).finish()
    }
}
