//! Addresses kept in atomics: canonical inside, real outside (see `heap`).

use super::heap::{END, Heap, LOWEST, Paused, STACKS};
use super::runtime::Runtime;
use preempt_explore::Ending;
use std::sync::atomic::Ordering;

/// What an atomic keeps for this value: the canonical address if it is one.
#[inline]
pub(crate) fn inward(runtime: &mut Runtime, value: u64) -> u64 {
    if looks_like_an_address(value) { follow(runtime, value) } else { value }
}

/// What the test sees of a value kept in an atomic.
#[inline]
pub(crate) fn outward(runtime: &mut Runtime, value: u64) -> u64 {
    if !(STACKS..END).contains(&(value as usize)) {
        return value;
    }
    let _paused = Paused::new();
    if runtime.heap().enabled { runtime.heap().real(value as usize) as u64 } else { value }
}

/// Numbers below or above are never addresses of blocks or stacks.
fn looks_like_an_address(value: u64) -> bool {
    (LOWEST.load(Ordering::Relaxed)..1 << 48).contains(&value)
}

#[cold]
fn follow(runtime: &mut Runtime, value: u64) -> u64 {
    let _paused = Paused::new();
    if runtime.heap().enabled {
        return runtime.heap().canonical(value as usize) as u64;
    }
    if Heap::is_installed() && !runtime.registry.knowledge.addresses {
        runtime.registry.knowledge.addresses = true;
        runtime.stop(Ending::Restart);
    }
    value
}

/// Whether allocations can be followed.
pub(crate) fn follows_addresses() -> bool {
    Heap::is_installed()
}
