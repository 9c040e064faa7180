//! Atomics with loom's additions to std: `with_mut`, `unsync_load`, `compare_and_swap`.

use preempt::sync::atomic as checked;

pub use preempt::sync::atomic::{Ordering, compiler_fence, fence};

/// Says that the caller spins.
#[track_caller]
pub fn spin_loop_hint() {
    preempt::hint::spin_loop();
}

/// The ordering of the failing case that `compare_and_swap` implies.
fn failure_of(order: Ordering) -> Ordering {
    match order {
        Ordering::Relaxed | Ordering::Release => Ordering::Relaxed,
        Ordering::Acquire | Ordering::AcqRel => Ordering::Acquire,
        _ => Ordering::SeqCst,
    }
}

/// Methods that return what was there before.
macro_rules! updates {
    ($type:ty: $($method:ident)*) => {
        $(
            #[doc = concat!("`", stringify!($method), "`, as in std.")]
            #[track_caller]
            pub fn $method(&self, value: $type, order: Ordering) -> $type {
                self.0.$method(value, order)
            }
        )*
    };
}

macro_rules! atomic {
    ($name:ident $(<$parameter:ident>)?, $type:ty: $($update:ident)*) => {
        #[doc = concat!("`std::sync::atomic::", stringify!($name), "` with loom's additions.")]
        pub struct $name $(<$parameter>)? (checked::$name $(<$parameter>)?);

        impl $(<$parameter>)? $name $(<$parameter>)? {
            /// A new atomic.
            #[track_caller]
            pub fn new(value: $type) -> Self {
                Self(checked::$name::new(value))
            }

            /// Calls a closure with the value: no other thread can look.
            #[track_caller]
            pub fn with_mut<R>(&mut self, function: impl FnOnce(&mut $type) -> R) -> R {
                function(self.0.get_mut())
            }

            /// The value, through exclusive access: no other thread can look.
            #[track_caller]
            pub fn get_mut(&mut self) -> &mut $type {
                self.0.get_mut()
            }

            /// The value, read as plain memory.
            ///
            /// # Safety
            /// No thread may write at the same time.
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $type {
                // SAFETY: the caller's promise.
                unsafe { self.0.unsync_load() }
            }

            /// The value, ending the atomic.
            #[track_caller]
            pub fn into_inner(self) -> $type {
                self.0.into_inner()
            }

            /// Reads.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $type {
                self.0.load(order)
            }

            /// Writes.
            #[track_caller]
            pub fn store(&self, value: $type, order: Ordering) {
                self.0.store(value, order);
            }

            /// Writes `new` if the value is `current`; returns the value before.
            #[track_caller]
            pub fn compare_and_swap(&self, current: $type, new: $type, order: Ordering) -> $type {
                match self.compare_exchange(current, new, order, failure_of(order)) {
                    Ok(before) | Err(before) => before,
                }
            }

            /// Writes `new` if the value is `current`.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                self.0.compare_exchange(current, new, success, failure)
            }

            /// As `compare_exchange`. As in loom it never fails for no reason.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                self.0.compare_exchange(current, new, success, failure)
            }

            /// Reads and updates until no other thread interferes.
            #[track_caller]
            pub fn fetch_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                update: F,
            ) -> Result<$type, $type>
            where
                F: FnMut($type) -> Option<$type>,
            {
                self.0.fetch_update(set_order, fetch_order, update)
            }

            updates!($type: swap $($update)*);
        }

        impl $(<$parameter>)? Default for $name $(<$parameter>)? {
            #[track_caller]
            fn default() -> Self {
                Self(Default::default())
            }
        }

        impl $(<$parameter>)? From<$type> for $name $(<$parameter>)? {
            #[track_caller]
            fn from(value: $type) -> Self {
                Self::new(value)
            }
        }

        impl $(<$parameter>)? std::fmt::Debug for $name $(<$parameter>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

macro_rules! integer {
    ($($name:ident $type:ty;)*) => {
        $(
            atomic!($name, $type: fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor
                fetch_max fetch_min);
        )*
    };
}

integer! {
    AtomicU8 u8;
    AtomicU16 u16;
    AtomicU32 u32;
    AtomicU64 u64;
    AtomicUsize usize;
    AtomicI8 i8;
    AtomicI16 i16;
    AtomicI32 i32;
    AtomicI64 i64;
    AtomicIsize isize;
}

atomic!(AtomicBool, bool: fetch_and fetch_nand fetch_or fetch_xor);
atomic!(AtomicPtr<T>, *mut T:);
