//! Atomic integers and Booleans.

use super::access::*;
use crate::rt::{self, Slot};
use preempt_explore::{Action, Update};
use std::panic::Location;
use std::sync::atomic::Ordering::{self, SeqCst};

macro_rules! shared_methods {
    ($name:ident, $type:ty) => {
        impl $name {
            /// A new atomic. Not `const` under control: see `preempt::statics!`.
            #[track_caller]
            pub fn new(value: $type) -> Self {
                Self {
                    slot: new_slot(Self::pack(value)),
                    inner: std::sync::atomic::$name::new(value),
                }
            }

            fn initial(&self) -> u64 {
                Self::pack(self.inner.load(SeqCst))
            }

            #[track_caller]
            fn operate(
                &self,
                action: Action,
                first: u64,
                second: u64,
                order: Orders,
            ) -> Option<u64> {
                if Self::BITS == 64 {
                    operate_wide(&self.slot, || self.initial(), action, first, second, order)
                } else {
                    operate(&self.slot, || self.initial(), action, first, second, order)
                }
            }

            /// Reads.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $type {
                check_load(order);
                match self.operate(Action::Load, 0, 0, order.into()) {
                    Some(value) => Self::unpack(value),
                    None => self.inner.load(order),
                }
            }

            /// Writes.
            #[track_caller]
            pub fn store(&self, value: $type, order: Ordering) {
                check_store(order);
                if self.operate(Action::Store, Self::pack(value), 0, order.into()).is_none() {
                    self.inner.store(value, order);
                }
            }

            /// Writes and returns the value before.
            #[track_caller]
            pub fn swap(&self, value: $type, order: Ordering) -> $type {
                let action = Action::Update(Update::Swap, Self::BITS);
                match self.operate(action, Self::pack(value), 0, order.into()) {
                    Some(before) => Self::unpack(before),
                    None => self.inner.swap(value, order),
                }
            }

            /// Writes `new` if the value is `expected`.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                expected: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                self.compare(expected, new, success, failure, false)
            }

            #[track_caller]
            fn compare(
                &self,
                expected: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
                may_fail: bool,
            ) -> Result<$type, $type> {
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
                expected: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                self.compare(expected, new, success, failure, true)
            }

            /// Reads and updates until no other thread interferes. A failure for no reason would only
            /// repeat it, so there is none.
            #[track_caller]
            pub fn fetch_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut update: impl FnMut($type) -> Option<$type>,
            ) -> Result<$type, $type> {
                let mut before = self.load(fetch_order);
                while let Some(next) = update(before) {
                    match self.compare_exchange(before, next, set_order, fetch_order) {
                        Ok(value) => return Ok(value),
                        Err(value) => before = value,
                    }
                }
                Err(before)
            }

            /// The value, through exclusive access: no other thread can look.
            pub fn get_mut(&mut self) -> &mut $type {
                let Some(runtime) = rt::current() else { return self.inner.get_mut() };
                let initial = self.initial();
                let object = self.slot.object(runtime, || initial);
                rt::take_back(runtime, object);
                match rt::lend(object) {
                    // SAFETY: the low bytes of the number are a valid value of the type, and
                    // only valid values can be written through the reference.
                    Some(value) => unsafe { &mut *std::ptr::from_mut(value).cast::<$type>() },
                    None => self.inner.get_mut(),
                }
            }

            /// The value, ending the atomic.
            pub fn into_inner(mut self) -> $type {
                *self.get_mut()
            }

            /// The value, read as plain memory: no operation, and a data race with atomic writes that are
            /// not ordered before or after it.
            ///
            /// # Safety
            /// No thread may write at the same time.
            #[doc(hidden)]
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $type {
                let value = peek(&self.slot, || self.initial());
                if let Some(runtime) = rt::current() {
                    rt::touch_atomic(runtime, &self.slot, Location::caller());
                }
                Self::unpack(value)
            }
        }

        impl Default for $name {
            #[track_caller]
            fn default() -> Self {
                Self::from(Self::unpack(0))
            }
        }

        impl From<$type> for $name {
            #[track_caller]
            fn from(value: $type) -> Self {
                Self::new(value)
            }
        }
    };
}

macro_rules! integer {
    ($name:ident, $type:ty, $unsigned:ty, $max:ident, $min:ident) => {
        #[doc = concat!("`std::sync::atomic::", stringify!($name), "` under control.")]
        pub struct $name {
            slot: Slot,
            inner: std::sync::atomic::$name,
        }

        impl $name {
            const BITS: u8 = <$type>::BITS as u8;

            fn pack(value: $type) -> u64 {
                (value as $unsigned) as u64
            }

            fn unpack(value: u64) -> $type {
                (value as $unsigned) as $type
            }
        }

        shared_methods!($name, $type);
        integer!(@update $name, $type, fetch_add, Add, "Adds, wrapping around");
        integer!(@update $name, $type, fetch_sub, Sub, "Subtracts, wrapping around");
        integer!(@update $name, $type, fetch_and, And, "Bitwise and");
        integer!(@update $name, $type, fetch_nand, Nand, "Bitwise not-and");
        integer!(@update $name, $type, fetch_or, Or, "Bitwise or");
        integer!(@update $name, $type, fetch_xor, Xor, "Bitwise exclusive or");
        integer!(@update $name, $type, fetch_max, $max, "Maximum");
        integer!(@update $name, $type, fetch_min, $min, "Minimum");

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                Self::unpack(peek(&self.slot, || self.initial())).fmt(f)
            }
        }
    };
    (@update $name:ident, $type:ty, $method:ident, $update:ident, $doc:literal) => {
        impl $name {
            #[doc = concat!($doc, "; returns the value before.")]
            #[track_caller]
            pub fn $method(&self, value: $type, order: Ordering) -> $type {
                let action = Action::Update(Update::$update, Self::BITS);
                match self.operate(action, Self::pack(value), 0, order.into()) {
                    Some(before) => Self::unpack(before),
                    None => self.inner.$method(value, order),
                }
            }
        }
    };
}

integer!(AtomicU8, u8, u8, Max, Min);
integer!(AtomicU16, u16, u16, Max, Min);
integer!(AtomicU32, u32, u32, Max, Min);
integer!(AtomicU64, u64, u64, Max, Min);
integer!(AtomicUsize, usize, usize, Max, Min);
integer!(AtomicI8, i8, u8, SignedMax, SignedMin);
integer!(AtomicI16, i16, u16, SignedMax, SignedMin);
integer!(AtomicI32, i32, u32, SignedMax, SignedMin);
integer!(AtomicI64, i64, u64, SignedMax, SignedMin);
integer!(AtomicIsize, isize, usize, SignedMax, SignedMin);

/// `std::sync::atomic::AtomicBool` under control.
pub struct AtomicBool {
    slot: Slot,
    inner: std::sync::atomic::AtomicBool,
}

impl AtomicBool {
    const BITS: u8 = 1;

    fn pack(value: bool) -> u64 {
        value.into()
    }

    fn unpack(value: u64) -> bool {
        value != 0
    }

    #[track_caller]
    fn update(&self, update: Update, value: bool, order: Ordering) -> Option<bool> {
        self.operate(Action::Update(update, 1), value.into(), 0, order.into()).map(Self::unpack)
    }

    /// Logical and; returns the value before.
    #[track_caller]
    pub fn fetch_and(&self, value: bool, order: Ordering) -> bool {
        self.update(Update::And, value, order).unwrap_or_else(|| self.inner.fetch_and(value, order))
    }

    /// Logical not-and; returns the value before.
    #[track_caller]
    pub fn fetch_nand(&self, value: bool, order: Ordering) -> bool {
        self.update(Update::Nand, value, order)
            .unwrap_or_else(|| self.inner.fetch_nand(value, order))
    }

    /// Logical or; returns the value before.
    #[track_caller]
    pub fn fetch_or(&self, value: bool, order: Ordering) -> bool {
        self.update(Update::Or, value, order).unwrap_or_else(|| self.inner.fetch_or(value, order))
    }

    /// Logical exclusive or; returns the value before.
    #[track_caller]
    pub fn fetch_xor(&self, value: bool, order: Ordering) -> bool {
        self.update(Update::Xor, value, order).unwrap_or_else(|| self.inner.fetch_xor(value, order))
    }

    /// Negates; returns the value before.
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }
}

shared_methods!(AtomicBool, bool);

impl std::fmt::Debug for AtomicBool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Self::unpack(peek(&self.slot, || self.initial())).fmt(f)
    }
}
