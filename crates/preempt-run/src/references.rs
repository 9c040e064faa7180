//! Where a program changes a count of references of Rust's `Arc` or `Weak`: the order of these calls need not be searched.
//!
//! Cloning adds 1 to a count, dropping takes 1 from it and asks whether it was the last one. The operations are inlined into the functions
//! that clone and drop. Their places are found in the machine code, as calls of the instrumentation's functions, and
//! told from others by the debug information. `references.rs` of the library in programs says why, and when, they commute.
//!
//! Invariant: what is not found is searched step by step, which is slower and finds the same.

use crate::calls::{Known, calls};
use preempt_exchange::References;
use std::path::Path;

/// The instrumentation's functions that add to a number of 64 bits, and that subtract from it.
const CHANGES: [&str; 2] = ["__tsan_atomic64_fetch_add", "__tsan_atomic64_fetch_sub"];

/// What a function of std does with a count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    Clone,
    Drop,
    DropWeak,
}

/// The return addresses of these calls.
pub(crate) fn references(program: &Path) -> References {
    static KNOWN: Known<References> = Known::new();
    KNOWN.of(program, find)
}

fn find(program: &Path) -> References {
    let mut found = References::default();
    let bytes = std::fs::read(program).unwrap_or_default();
    let Ok(file) = object::File::parse(&*bytes) else { return found };
    let calls = calls(&file, &CHANGES);
    if calls.is_empty() {
        return found;
    }
    let Ok(lines) = addr2line::Loader::new(program) else { return found };
    for call in calls {
        let Ok(at) = usize::try_from(call) else { continue };
        match change_at(&lines, call) {
            Some(Change::Clone) => found.clones.push(at),
            Some(Change::Drop) => found.drops.push(at),
            Some(Change::DropWeak) => found.weak_drops.push(at),
            None => {}
        }
    }
    found
}

/// What the call that returns to this address does: it is in the function that std writes it in, but for those of the atomic
/// type.
fn change_at(lines: &addr2line::Loader, call: u64) -> Option<Change> {
    let mut frames = lines.find_frames(call - 1).ok()?;
    while let Ok(Some(frame)) = frames.next() {
        let name = frame.function?.demangle().ok()?.into_owned();
        if !name.trim_start_matches('<').starts_with("core::sync::atomic::") {
            return change_of(&name);
        }
    }
    None
}

/// What this function of std does, by its name.
fn change_of(function: &str) -> Option<Change> {
    let clones = function.ends_with("> as core::clone::Clone>::clone");
    let drops = function.ends_with("> as core::ops::drop::Drop>::drop");
    let is_weak = function.starts_with("<alloc::sync::Weak<");
    let is_strong = function.starts_with("<alloc::sync::Arc<");
    match () {
        () if clones && (is_weak || is_strong) => Some(Change::Clone),
        () if drops && is_strong => Some(Change::Drop),
        () if drops && is_weak => Some(Change::DropWeak),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_functions_of_std_are_meant() {
        let cases = [
            ("<alloc::sync::Arc<T,A> as core::clone::Clone>::clone", Some(Change::Clone)),
            ("<alloc::sync::Weak<i32> as core::clone::Clone>::clone", Some(Change::Clone)),
            ("<alloc::sync::Arc<T,A> as core::ops::drop::Drop>::drop", Some(Change::Drop)),
            ("<alloc::sync::Weak<T,A> as core::ops::drop::Drop>::drop", Some(Change::DropWeak)),
            ("<alloc::rc::Rc<T,A> as core::clone::Clone>::clone", None),
            ("<mine::alloc::sync::Arc<T> as core::clone::Clone>::clone", None),
            ("alloc::sync::Arc<T,A>::get_mut", None),
            ("alloc::sync::Weak<T,A>::upgrade", None),
        ];
        for (name, change) in cases {
            assert_eq!(change_of(name), change, "{name}");
        }
    }
}
