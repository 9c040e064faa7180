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

use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

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
    static KNOWN: Mutex<Option<HashMap<PathBuf, Vec<usize>>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    known.entry(program.to_path_buf()).or_insert_with(|| find(program)).clone()
}

fn find(program: &Path) -> Vec<usize> {
    let bytes = std::fs::read(program).unwrap_or_default();
    let Ok(file) = object::File::parse(&*bytes) else { return Vec::new() };
    let calls = calls(&file);
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

/// The return addresses of all calls of a comparison, in order.
///
/// A call goes through an entry of the table of addresses that the loader fills in, at once (`ff 15`) or by a stub of the
/// linker (`e8`, and `ff 25` there). What looks like one and is none lies in no function with the right name.
fn calls(file: &object::File) -> Vec<u64> {
    let entries = entries(file);
    let sections = || file.sections().filter(|section| section.kind() == SectionKind::Text);
    let target = |at: u64, displacement: &[u8]| {
        let displacement = i32::from_le_bytes(displacement.try_into().unwrap_or_default());
        at.wrapping_add_signed(displacement.into())
    };
    let mut stubs = BTreeSet::new();
    let mut direct = Vec::new();
    let mut found = Vec::new();
    for section in sections() {
        let (start, code) = (section.address(), section.data().unwrap_or_default());
        for (at, bytes) in code.windows(6).enumerate() {
            let address = start + at as u64;
            let is_entry = || entries.contains(&target(address + 6, &bytes[2..6]));
            match bytes {
                [0xFF, 0x15, ..] if is_entry() => found.push(address + 6),
                [0xFF, 0x25, ..] if is_entry() => {
                    // A stub may begin with `endbr64`, or have a prefix.
                    stubs.extend([address, address - 1, address - 4, address - 5]);
                }
                [0xE8, ..] => direct.push((target(address + 5, &bytes[1..5]), address + 5)),
                _ => {}
            }
        }
    }
    found.extend(direct.iter().filter(|(to, _)| stubs.contains(to)).map(|(_, back)| *back));
    found.sort_unstable();
    found
}

/// Where the loader writes the addresses of the comparisons.
fn entries(file: &object::File) -> BTreeSet<u64> {
    let Some(symbols) = file.dynamic_symbol_table() else { return BTreeSet::new() };
    let is_comparison = |target: RelocationTarget| {
        let RelocationTarget::Symbol(index) = target else { return false };
        use object::ObjectSymbolTable;
        let name = symbols.symbol_by_index(index).ok().and_then(|symbol| symbol.name().ok());
        name.is_some_and(|name| COMPARISONS.contains(&name))
    };
    let relocations = file.dynamic_relocations().into_iter().flatten();
    relocations.filter(|(_, r)| is_comparison(r.target())).map(|(address, _)| address).collect()
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
