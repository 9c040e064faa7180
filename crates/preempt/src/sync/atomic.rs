//! Atomics. Under control every access is a visible operation, and what its ordering allows beyond
//! sequential consistency is explored as well: see `preempt_explore`'s module `weak`.

use crate::rt::{self, Slot};
use preempt_explore::{Action, Operation, Order, Update};
use std::panic::Location;
pub use std::sync::atomic::Ordering;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release, SeqCst};

/// Executes an operation if the caller runs under control.
#[track_caller]
fn operate(
    slot: &Slot,
    value: impl FnOnce() -> u64,
    action: Action,
    first: u64,
    second: u64,
    orders: Orders,
) -> Option<u64> {
    let runtime = slot.runtime()?;
    let site = Location::caller();
    let Orders { order, failure, may_fail } = orders;
    rt::weaken(runtime, order, false, site);
    if action == Action::CompareExchange {
        let failure = if may_fail { Order::Relaxed } else { failure };
        rt::weaken(runtime, failure, false, site);
    }
    let object = slot.object(runtime, value);
    rt::take_back(runtime, object);
    let operation = Operation::new(action, object, first, second, site).with_order(order, failure);
    Some(rt::perform(runtime, Operation { may_fail, ..operation }))
}

/// The memory orders of an operation.
#[derive(Clone, Copy)]
struct Orders {
    order: Order,
    /// Of a comparison that fails.
    failure: Order,
    /// Whether a comparison may fail for no reason.
    may_fail: bool,
}

impl From<Ordering> for Orders {
    fn from(order: Ordering) -> Self {
        Orders { order: order_of(order), failure: order_of(order), may_fail: false }
    }
}

impl Orders {
    fn comparing(success: Ordering, failure: Ordering, may_fail: bool) -> Self {
        Orders { order: order_of(success), failure: order_of(failure), may_fail }
    }
}

fn order_of(order: Ordering) -> Order {
    match order {
        Ordering::Relaxed => Order::Relaxed,
        Acquire => Order::Acquire,
        Release => Order::Release,
        AcqRel => Order::AcquireRelease,
        _ => Order::SequentiallyConsistent,
    }
}

/// As [`operate`], for numbers that may be addresses.
#[track_caller]
fn operate_wide(
    slot: &Slot,
    value: impl FnOnce() -> u64,
    action: Action,
    first: u64,
    second: u64,
    order: Orders,
) -> Option<u64> {
    let runtime = slot.runtime()?;
    let is_value =
        |a| matches!(a, Action::Store | Action::CompareExchange | Action::Update(Update::Swap, _));
    let (first, second) = match action {
        action if is_value(action) => (rt::inward(runtime, first), rt::inward(runtime, second)),
        _ => (first, second),
    };
    let result = operate(slot, value, action, first, second, order)?;
    Some(rt::outward(rt::current()?, result))
}

/// The name of a new atomic with this value.
#[track_caller]
fn new_slot(value: u64) -> Slot {
    let value = match rt::current() {
        Some(runtime) => rt::inward(runtime, value),
        None => value,
    };
    Slot::new(value)
}

/// The value of an atomic without looking at it in a way that others can notice.
fn peek(slot: &Slot, initial: impl FnOnce() -> u64) -> u64 {
    let Some(runtime) = rt::current() else { return initial() };
    let object = slot.object(runtime, initial);
    rt::take_back(runtime, object);
    let value = runtime.run().state.object(object).value;
    rt::outward(runtime, value)
}

#[track_caller]
fn check_load(order: Ordering) {
    assert!(!matches!(order, Release | AcqRel), "there is no such thing as a release load");
}

#[track_caller]
fn check_store(order: Ordering) {
    assert!(!matches!(order, Acquire | AcqRel), "there is no such thing as an acquire store");
}

/// A fence.
#[track_caller]
pub fn fence(order: Ordering) {
    assert!(order != Ordering::Relaxed, "there is no such thing as a relaxed fence");
    match rt::current() {
        Some(runtime) => {
            rt::weaken(runtime, order_of(order), true, Location::caller());
            rt::fence(runtime, order_of(order));
        }
        None => std::sync::atomic::fence(order),
    }
}

/// A fence for the compiler only: nothing to explore.
pub fn compiler_fence(order: Ordering) {
    std::sync::atomic::compiler_fence(order);
}

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
