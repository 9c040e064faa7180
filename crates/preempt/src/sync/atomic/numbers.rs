//! Atomic integers and Booleans.

use super::access::*;
use super::methods::shared_methods;
use crate::rt::{self, Initial, Shown, Slot};
use preempt_explore::{Action, Update};
use std::panic::Location;
use std::sync::atomic::Ordering::{self, SeqCst};

macro_rules! integer {
    ($name:ident, $type:ty, $unsigned:ty, $max:ident, $min:ident) => {
        #[doc = concat!("`std::sync::atomic::", stringify!($name), "` under control.")]
        pub struct $name {
            slot: Slot,
            inner: std::sync::atomic::$name,
        }

        impl $name {
            const BITS: u8 = <$type>::BITS as u8;
            const SHOWN: Option<Shown> =
                if <$type>::MIN == 0 { None } else { Some(Shown::Signed(Self::BITS)) };

            const fn pack(value: $type) -> u64 {
                (value as $unsigned) as u64
            }

            fn unpack(value: u64) -> $type {
                (value as $unsigned) as $type
            }

            const fn first(value: $type) -> Initial {
                match Self::BITS {
                    64 => Initial::Wide(Self::pack(value)),
                    _ => Initial::Number(Self::pack(value)),
                }
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
    const SHOWN: Option<Shown> = None;

    fn pack(value: bool) -> u64 {
        value.into()
    }

    fn unpack(value: u64) -> bool {
        value != 0
    }

    const fn first(value: bool) -> Initial {
        Initial::Number(value as u64)
    }

    #[track_caller]
    fn change(&self, update: Update, value: bool, order: Ordering) -> Option<bool> {
        self.operate(Action::Update(update, 1), value.into(), 0, order.into()).map(Self::unpack)
    }

    /// Logical and; returns the value before.
    #[track_caller]
    pub fn fetch_and(&self, value: bool, order: Ordering) -> bool {
        self.change(Update::And, value, order).unwrap_or_else(|| self.inner.fetch_and(value, order))
    }

    /// Logical not-and; returns the value before.
    #[track_caller]
    pub fn fetch_nand(&self, value: bool, order: Ordering) -> bool {
        self.change(Update::Nand, value, order)
            .unwrap_or_else(|| self.inner.fetch_nand(value, order))
    }

    /// Logical or; returns the value before.
    #[track_caller]
    pub fn fetch_or(&self, value: bool, order: Ordering) -> bool {
        self.change(Update::Or, value, order).unwrap_or_else(|| self.inner.fetch_or(value, order))
    }

    /// Logical exclusive or; returns the value before.
    #[track_caller]
    pub fn fetch_xor(&self, value: bool, order: Ordering) -> bool {
        self.change(Update::Xor, value, order).unwrap_or_else(|| self.inner.fetch_xor(value, order))
    }

    /// Negates; returns the value before.
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }
}

shared_methods!(AtomicBool, bool);
