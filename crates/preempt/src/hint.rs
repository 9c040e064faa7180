//! Hints, with the shapes of `std::hint`.

use crate::rt;
use std::panic::Location;

pub use std::hint::{black_box, unreachable_unchecked};

/// Says that the caller spins. Under control this is a yield: the thread continues when something
/// it has read changes.
#[track_caller]
pub fn spin_loop() {
    match rt::current() {
        Some(runtime) => rt::yield_now(runtime, Location::caller()),
        None => std::hint::spin_loop(),
    }
}
