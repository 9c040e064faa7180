//! Choices that are explored, in place of random numbers.

use crate::rt;
use preempt_explore::{Action, ObjectId};
use std::panic::Location;

/// One of `0..alternatives`; every one is explored. Outside a check it is always 0.
///
/// # Panics
/// If there is no alternative.
#[track_caller]
pub fn choose(alternatives: usize) -> usize {
    assert!(alternatives > 0, "there must be something to choose from");
    match rt::current() {
        Some(runtime) => {
            let many = u64::from(u32::try_from(alternatives).unwrap_or(u32::MAX - 1));
            let site = Location::caller();
            rt::operation(runtime, Action::Choose, ObjectId::NONE, many, 0, site) as usize
        }
        None => 0,
    }
}

/// `true` or `false`; both are explored.
#[track_caller]
pub fn choose_bool() -> bool {
    choose(2) == 1
}
