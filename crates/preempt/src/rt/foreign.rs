//! Threads of the operating system that a test spawns by mistake, with `std::thread`.
//!
//! On Linux a new thread has the name of the one that made it. While code of the test runs, the thread that runs it has a
//! name that no other thread has, so a thread that finds itself with such a name was spawned by the test. It looks when it uses
//! the allocator for the first time, which every thread of std does before its closure runs. Elsewhere, and without
//! [`Allocator`](super::Allocator), nothing is noticed.
//!
//! Invariant: a name is in `NAMES` as long as a thread that runs tests may have it.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// What the names of threads that run code of a test begin with. Names have at most 15 bytes.
const PREFIX: &str = "preempt-";
/// The name of a thread that runs tests while it runs no code of a test.
const NEUTRAL: &str = "preempt";

static NEXT: AtomicU32 = AtomicU32::new(1);
/// Numbers in names, 0 where there is none, and whether a thread was found with that name.
static NAMES: [(AtomicU32, AtomicBool); 64] =
    [const { (AtomicU32::new(0), AtomicBool::new(false)) }; 64];

thread_local! {
    /// The place in `NAMES` of this thread, if it runs tests.
    static OWN: Cell<Option<usize>> = const { Cell::new(None) };
    static IS_MARKED: Cell<bool> = const { Cell::new(false) };
}

/// While it lives the current thread runs tests.
pub(crate) struct Marks;

impl Marks {
    pub(crate) fn new() -> Self {
        let number = NEXT.fetch_add(1, Relaxed) & 0x0FFF_FFFF;
        let free = |(name, _): &(AtomicU32, AtomicBool)| {
            name.compare_exchange(0, number.max(1), Relaxed, Relaxed).is_ok()
        };
        let place = NAMES.iter().position(free);
        if let Some(place) = place {
            NAMES[place].1.store(false, Relaxed);
        }
        OWN.set(place);
        Marks
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        if let Some(place) = OWN.take() {
            NAMES[place].0.store(0, Relaxed);
        }
    }
}

/// Code of a test begins or ceases to run on the current thread. Returns whether it ran before.
pub(crate) fn mark(marked: bool) -> bool {
    if let Some(place) = OWN.get() {
        match marked {
            true => rename(&format!("{PREFIX}{:x}", NAMES[place].0.load(Relaxed))),
            false => rename(NEUTRAL),
        }
    }
    IS_MARKED.replace(marked)
}

/// Calls a closure that may spawn threads of our own.
pub(crate) fn unmarked<R>(work: impl FnOnce() -> R) -> R {
    if !IS_MARKED.get() {
        return work();
    }
    mark(false);
    let result = work();
    mark(true);
    result
}

/// Whether the test that the current thread runs has spawned a thread of the operating system since this was last asked.
pub(super) fn has_spawned() -> bool {
    OWN.get().is_some_and(|place| NAMES[place].1.swap(false, Relaxed))
}

/// The current thread is new: notes if it was spawned by a test.
#[cold]
pub(super) fn look() {
    let mut name = [0_u8; 16];
    read_name(&mut name);
    let text = name.split(|&byte| byte == 0).next().and_then(|name| std::str::from_utf8(name).ok());
    let number = text.and_then(|text| text.strip_prefix(PREFIX));
    let Some(number) = number.and_then(|hex| u32::from_str_radix(hex, 16).ok()) else { return };
    let known = NAMES.iter().find(|(name, _)| name.load(Relaxed) == number);
    if let Some((_, found)) = known {
        found.store(true, Relaxed);
    }
}

#[cfg(target_os = "linux")]
fn rename(name: &str) {
    let mut bytes = [0_u8; 16];
    bytes[..name.len().min(15)].copy_from_slice(&name.as_bytes()[..name.len().min(15)]);
    // SAFETY: a string of at most 15 bytes that ends with 0, which is only read.
    unsafe { libc::prctl(libc::PR_SET_NAME, bytes.as_ptr()) };
}

#[cfg(target_os = "linux")]
fn read_name(name: &mut [u8; 16]) {
    // SAFETY: at most 16 bytes are written, the last of which is 0.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
}

#[cfg(not(target_os = "linux"))]
fn rename(_: &str) {}

#[cfg(not(target_os = "linux"))]
fn read_name(_: &mut [u8; 16]) {}
