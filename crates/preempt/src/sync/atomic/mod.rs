//! Atomics. Under control every access is a visible operation, and what its ordering allows beyond
//! sequential consistency is explored as well: see `preempt_explore`'s module `weak`.

mod access;
mod methods;
mod numbers;
mod pointer;

pub use numbers::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize,
};
pub use pointer::AtomicPtr;
pub use std::sync::atomic::Ordering;

use crate::rt;
use access::order_of;
use std::panic::Location;

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
