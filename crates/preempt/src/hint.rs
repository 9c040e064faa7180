//! Hints, with the shapes of `std::hint`.

use crate::rt;
use std::panic::Location;

pub use std::hint::{assert_unchecked, black_box, unreachable_unchecked};

/// One of two values; to std a hint that it is hard to predict which.
pub fn select_unpredictable<T>(condition: bool, if_true: T, if_false: T) -> T {
    if condition { if_true } else { if_false }
}

/// To std a hint that the path is rarely taken.
pub const fn cold_path() {}

/// Says that the caller spins. Under control this is a yield: the thread continues when something
/// it has read changes.
#[track_caller]
pub fn spin_loop() {
    match rt::current() {
        Some(runtime) => rt::yield_now(runtime, Location::caller()),
        None => std::hint::spin_loop(),
    }
}
