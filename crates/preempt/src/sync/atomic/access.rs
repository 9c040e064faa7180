//! One access to an atomic, with its memory orders.

use crate::rt::{self, Frame, Shown, Slot};
use preempt_explore::{Action, Operation, Order, Update};
use std::panic::Location;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Release};

/// An atomic, with the value that it has when it is first used, and what its number is shown as.
pub(super) struct Atomic<'a, F> {
    pub(super) slot: &'a Slot,
    pub(super) initial: F,
    pub(super) shown: Option<Shown>,
}

/// Executes an operation if the caller runs under control.
#[track_caller]
pub(super) fn operate(
    atomic: Atomic<'_, impl FnOnce() -> u64>,
    action: Action,
    (first, second): (u64, u64),
    orders: Orders,
) -> Option<u64> {
    let Atomic { slot, initial, shown } = atomic;
    let runtime = slot.runtime()?;
    let site = Location::caller();
    let Orders { order, failure, may_fail } = orders;
    rt::weaken(runtime, order, false, site);
    if action == Action::CompareExchange {
        let failure = if may_fail { Order::Relaxed } else { failure };
        rt::weaken(runtime, failure, false, site);
    }
    let object = slot.object(runtime, initial);
    rt::take_back(runtime, object);
    runtime.show(object, shown);
    if may_fail {
        rt::note_failures(runtime, object, &Frame::here());
    }
    let operation = Operation::new(action, object, first, second, site).with_order(order, failure);
    Some(rt::perform(runtime, Operation { may_fail, ..operation }))
}

/// The memory orders of an operation.
#[derive(Clone, Copy)]
pub(super) struct Orders {
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
    pub(super) fn comparing(success: Ordering, failure: Ordering, may_fail: bool) -> Self {
        Orders { order: order_of(success), failure: order_of(failure), may_fail }
    }
}

pub(super) fn order_of(order: Ordering) -> Order {
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
pub(super) fn operate_wide(
    atomic: Atomic<'_, impl FnOnce() -> u64>,
    action: Action,
    (first, second): (u64, u64),
    orders: Orders,
) -> Option<u64> {
    let runtime = atomic.slot.runtime()?;
    let is_value =
        |a| matches!(a, Action::Store | Action::CompareExchange | Action::Update(Update::Swap, _));
    let operands = match action {
        action if is_value(action) => (rt::inward(runtime, first), rt::inward(runtime, second)),
        _ => (first, second),
    };
    let result = operate(atomic, action, operands, orders)?;
    Some(rt::outward(rt::current()?, result))
}

/// The value of an atomic without looking at it in a way that others can notice.
#[track_caller]
pub(super) fn peek(slot: &Slot, initial: impl FnOnce() -> u64) -> u64 {
    let Some(runtime) = rt::current() else { return initial() };
    let object = slot.object(runtime, initial);
    rt::take_back(runtime, object);
    let value = runtime.run().state.object(object).value;
    rt::outward(runtime, value)
}

#[track_caller]
pub(super) fn check_load(order: Ordering) {
    assert!(!matches!(order, Release | AcqRel), "there is no such thing as a release load");
}

#[track_caller]
pub(super) fn check_store(order: Ordering) {
    assert!(!matches!(order, Acquire | AcqRel), "there is no such thing as an acquire store");
}
