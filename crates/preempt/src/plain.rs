//! Without the feature `check`: the standard library, and nothing else.

/// Synchronisation: `std::sync`.
pub mod sync {
    pub use std::sync::*;
}

/// Threads: `std::thread`.
pub mod thread {
    pub use std::thread::*;
}

/// Hints: `std::hint`.
pub mod hint {
    pub use std::hint::*;
}

/// Time: `std::time`.
pub mod time {
    pub use std::time::*;
}

/// Tasks: `std::task`.
pub mod task {
    pub use std::task::*;
}

/// Futures: `std::future`.
pub mod future {
    pub use std::future::*;
}

/// An `Arc` as one of a trait object or a slice: `unsize::<_, dyn Trait>(arc, |arc| arc)`.
pub fn unsize<T: ?Sized, U: ?Sized>(
    arc: std::sync::Arc<T>,
    convert: impl FnOnce(std::sync::Arc<T>) -> std::sync::Arc<U>,
) -> std::sync::Arc<U> {
    convert(arc)
}

/// Cells: `std::cell`, with `with` and `with_mut` for `UnsafeCell`.
pub mod cell {
    pub use std::cell::{
        BorrowError, BorrowMutError, Cell, LazyCell, OnceCell, Ref, RefCell, RefMut,
    };

    /// `std::cell::UnsafeCell` with the two methods that checks can tell apart.
    #[derive(Debug, Default)]
    #[repr(transparent)]
    pub struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// A new cell.
        pub const fn new(value: T) -> Self {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }

        /// The value, ending the cell.
        pub fn into_inner(self) -> T {
            self.0.into_inner()
        }
    }

    impl<T: ?Sized> UnsafeCell<T> {
        /// A pointer to the value.
        pub const fn get(&self) -> *mut T {
            self.0.get()
        }

        /// The value, through exclusive access.
        pub fn get_mut(&mut self) -> &mut T {
            self.0.get_mut()
        }

        /// Calls a closure with a pointer for reading.
        pub fn with<R>(&self, function: impl FnOnce(*const T) -> R) -> R {
            function(self.0.get())
        }

        /// Calls a closure with a pointer for writing.
        pub fn with_mut<R>(&self, function: impl FnOnce(*mut T) -> R) -> R {
            function(self.0.get())
        }
    }
}

pub use std::thread_local;

/// One of several alternatives: outside a check always the first.
pub fn choose(alternatives: usize) -> usize {
    assert!(alternatives > 0, "there must be something to choose from");
    0
}
