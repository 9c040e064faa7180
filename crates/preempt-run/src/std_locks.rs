//! Where a program takes a lock of Rust's `Mutex`: calls that can be searched as one step.
//!
//! std takes such a lock by a comparison that succeeds if no thread holds it. If it fails, the thread looks again, writes that it
//! waits, and sleeps until it is woken; then it tries again. No thread but those that take the lock can tell all this from
//! waiting until it is free, and a lock that is free has one value only, 0. So the comparison alone can stand for
//! `Mutex::lock`, if it waits until it succeeds: what std does meanwhile is most of what there is to search in a program with
//! locks. `RwLock` is not so simple: readers that come later wait for a writer that waits, which can be a deadlock.
//!
//! The comparison is inlined where the lock is taken. Its place is found in the machine code, as a call of the instrumentation's
//! function, and told from others by the debug information: it lies in `Mutex::lock` of std.
//!
//! Invariant: what is not found is searched step by step, which is slower and finds the same.

use crate::calls::{Known, calls};
use std::path::Path;

/// The instrumentation's functions that compare a number of 32 bits.
const COMPARISONS: [&str; 3] = [
    "__tsan_atomic32_compare_exchange_val",
    "__tsan_atomic32_compare_exchange_strong",
    "__tsan_atomic32_compare_exchange_weak",
];

/// The most locks that fit into an environment variable.
const MOST: usize = 10_000;

/// The return addresses of the calls that take a lock, relative to where the program is loaded, in order.
pub(crate) fn locks(program: &Path) -> Vec<usize> {
    static KNOWN: Known<Vec<usize>> = Known::new();
    KNOWN.of(program, find)
}

fn find(program: &Path) -> Vec<usize> {
    let bytes = std::fs::read(program).unwrap_or_default();
    let Ok(file) = object::File::parse(&*bytes) else { return Vec::new() };
    let calls = calls(&file, &COMPARISONS);
    if calls.is_empty() {
        return Vec::new();
    }
    let Ok(lines) = addr2line::Loader::new(program) else { return Vec::new() };
    let locks = calls.into_iter().filter(|&call| takes_a_lock(&lines, call));
    locks.filter_map(|call| call.try_into().ok()).take(MOST).collect()
}

/// Whether the call that returns to this address lies in `Mutex::lock` of std.
fn takes_a_lock(lines: &addr2line::Loader, call: u64) -> bool {
    let Ok(mut frames) = lines.find_frames(call - 1) else { return false };
    while let Ok(Some(frame)) = frames.next() {
        if frame.function.is_some_and(|f| f.demangle().is_ok_and(|name| is_lock(&name))) {
            return true;
        }
    }
    false
}

/// Whether this is the function of std that takes a lock made of a futex, by its name in either way to mangle it.
fn is_lock(function: &str) -> bool {
    let path = function.replace(['<', '>'], "");
    let inside = ["std::sys::sync::mutex::futex::", "std::sys::locks::futex_mutex::"];
    let rest = inside.iter().find_map(|module| path.strip_prefix(module));
    rest == Some("Mutex::lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lock_of_std_is_one() {
        for name in [
            "<std::sys::sync::mutex::futex::Mutex>::lock",
            "std::sys::sync::mutex::futex::Mutex::lock",
        ] {
            assert!(is_lock(name), "{name}");
        }
        for name in [
            "std::sys::sync::mutex::futex::Mutex::try_lock",
            "<std::sys::sync::mutex::futex::Mutex>::lock_contended",
            "<std::sync::poison::mutex::Mutex<i32>>::lock",
            "<std::sys::sync::rwlock::futex::RwLock>::write",
            "mine::std::sys::sync::mutex::futex::Mutex::lock",
            "<mine::Mutex>::lock",
            "",
        ] {
            assert!(!is_lock(name), "{name}");
        }
    }
}
