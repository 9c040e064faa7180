//! Thread-locals: one value per thread of the program under test, dropped when that thread ends.

use crate::rt::{self, Local};
use std::cell::{Cell, RefCell};
use std::fmt;

/// A thread-local, declared with [`thread_local!`](crate::thread_local).
pub struct LocalKey<T: 'static> {
    init: fn() -> T,
    outside: &'static std::thread::LocalKey<T>,
}

/// The value of a thread-local is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessError;

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already destroyed")
    }
}

impl std::error::Error for AccessError {}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(init: fn() -> T, outside: &'static std::thread::LocalKey<T>) -> Self {
        LocalKey { init, outside }
    }

    /// Calls a closure with the value of this thread.
    ///
    /// # Panics
    /// If the value is gone: its destructor has begun.
    #[track_caller]
    pub fn with<R>(&'static self, function: impl FnOnce(&T) -> R) -> R {
        match rt::local((&raw const *self).addr(), self.init) {
            Local::Value(value) => function(value),
            Local::Outside => self.outside.with(function),
            Local::Gone => panic!(
                "cannot access a Thread Local Storage value during or after destruction: AccessError"
            ),
        }
    }

    /// Calls a closure with the value of this thread, unless it is gone.
    pub fn try_with<R>(&'static self, function: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        match rt::local((&raw const *self).addr(), self.init) {
            Local::Value(value) => Ok(function(value)),
            Local::Outside => self.outside.try_with(function).map_err(|_| AccessError),
            Local::Gone => Err(AccessError),
        }
    }
}

/// The same for both kinds of cells, std's and the one that is checked for races.
macro_rules! of_cells {
    ($($cell:ty),*) => {$(
        impl<T: 'static> LocalKey<$cell> {
            /// Sets the value.
            pub fn set(&'static self, value: T) {
                self.with(|cell| cell.set(value));
            }

            /// A copy of the value.
            pub fn get(&'static self) -> T
            where
                T: Copy,
            {
                self.with(<$cell>::get)
            }

            /// Takes the value, leaving the default.
            pub fn take(&'static self) -> T
            where
                T: Default,
            {
                self.with(<$cell>::take)
            }

            /// Replaces the value.
            pub fn replace(&'static self, value: T) -> T {
                self.with(|cell| cell.replace(value))
            }
        }
    )*};
}

of_cells!(Cell<T>, crate::cell::Cell<T>);

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Borrows the value.
    pub fn with_borrow<R>(&'static self, function: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| function(&cell.borrow()))
    }

    /// Borrows the value exclusively.
    pub fn with_borrow_mut<R>(&'static self, function: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| function(&mut cell.borrow_mut()))
    }

    /// Sets the value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| *cell.borrow_mut() = value);
    }

    /// Takes the value, leaving the default.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Replaces the value.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

/// Declares thread-locals, as `std::thread_local!` does.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attribute:meta])* $vis:vis static $name:ident : $type:ty = const { $init:expr } $(; $($rest:tt)*)?) => {
        $crate::thread_local!($(#[$attribute])* $vis static $name: $type = $init);
        $($crate::thread_local!($($rest)*);)?
    };
    ($(#[$attribute:meta])* $vis:vis static $name:ident : $type:ty = $init:expr $(; $($rest:tt)*)?) => {
        $(#[$attribute])*
        $vis static $name: $crate::thread::LocalKey<$type> = {
            fn init() -> $type {
                $init
            }
            ::std::thread_local!(static OUTSIDE: $type = init());
            $crate::thread::LocalKey::new(init, &OUTSIDE)
        };
        $($crate::thread_local!($($rest)*);)?
    };
}
