//! Stacks of coroutines that an exploration leaves to the next one.
//!
//! Mapping a stack, touching its first pages and unmapping it again takes longer than a short exploration, and
//! a test suite makes thousands of those.

use corosensei::stack::{DefaultStack, Stack};
use std::sync::{Mutex, PoisonError};

/// At most so many stacks are kept.
const MOST: usize = 32;
/// Larger ones are not.
const LARGEST: usize = 1 << 20;

static LEFT: Mutex<Vec<DefaultStack>> = Mutex::new(Vec::new());

/// Bytes that fit on a stack.
pub(super) fn size_of(stack: &DefaultStack) -> usize {
    stack.base().get() - stack.limit().get()
}

/// A stack with at least `size` bytes.
pub(super) fn take(size: usize) -> std::io::Result<DefaultStack> {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    let large = |stack: &DefaultStack| size_of(stack) >= size;
    match left.iter().rposition(large) {
        Some(index) => Ok(left.swap_remove(index)),
        None => DefaultStack::new(size),
    }
}

/// Leaves stacks, on which nothing runs, to others.
pub(super) fn leave(stacks: &mut Vec<DefaultStack>) {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    let room = MOST.saturating_sub(left.len());
    left.extend(stacks.drain(..).filter(|stack| size_of(stack) <= LARGEST).take(room));
}
