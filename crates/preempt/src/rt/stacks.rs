//! Stacks of coroutines that an exploration leaves to the next one.
//!
//! Mapping a stack, touching its first pages and unmapping it again takes longer than a short exploration, and
//! a test suite makes thousands of those.

use corosensei::stack::Stack;
use std::sync::{Mutex, PoisonError};

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(super) use super::arena::ArenaStack as ThreadStack;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub(super) use corosensei::stack::DefaultStack as ThreadStack;

/// At most so many stacks are kept.
const MOST: usize = 32;
/// Larger ones are not.
const LARGEST: usize = 1 << 20;

static LEFT: Mutex<Vec<ThreadStack>> = Mutex::new(Vec::new());

/// Bytes that fit on a stack.
pub(super) fn size_of(stack: &ThreadStack) -> usize {
    stack.base().get() - stack.limit().get()
}

/// A stack with at least `size` bytes.
pub(super) fn take(size: usize) -> std::io::Result<ThreadStack> {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    let large = |stack: &ThreadStack| size_of(stack) >= size;
    match left.iter().rposition(large) {
        Some(index) => Ok(left.swap_remove(index)),
        None => ThreadStack::new(size),
    }
}

/// Leaves stacks, on which nothing runs, to others.
pub(super) fn leave(stacks: &mut Vec<ThreadStack>) {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    let room = MOST.saturating_sub(left.len());
    left.extend(stacks.drain(..).filter(|stack| size_of(stack) <= LARGEST).take(room));
}

/// Objects that are made on this stack are noted there from now on, in a `CreationLog`, if `new` is a `const fn`.
#[allow(unused_variables, reason = "depends on the platform")]
pub(super) fn note_in(stack: &mut ThreadStack, log: *mut ()) {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    stack.note_in(log);
}
