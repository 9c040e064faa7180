//! When the operating system refuses memory: an answer instead of an abort.
//!
//! Searches stop before they reach their memory limit. A limit on the address space (`ulimit -v`), or
//! a system that gives less than it announced, can still make an allocation fail, and Rust's answer to
//! that is to abort the process. Here the thread that asked waits instead, and the
//! [last resort](crate::deadline) reports what was covered. Memory that was set aside at the start is
//! given back first, so that there is enough for the report.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::time::Duration;

/// The system's allocator, except that it never refuses.
pub(crate) struct Answering;

#[global_allocator]
static ALLOCATOR: Answering = Answering;

/// Whether memory was refused.
static REFUSED: AtomicBool = AtomicBool::new(false);
/// Set aside for the report.
static RESERVE: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
const RESERVE_LAYOUT: Layout = match Layout::from_size_align(16 << 20, 4096) {
    Ok(layout) => layout,
    Err(_) => panic!("a power of two"),
};
/// After a refusal, whoever asks for more than this waits as well: the rest is for the report.
const SMALL: usize = 1 << 16;
/// How long the last resort may take to report.
const GRACE: Duration = Duration::from_secs(2);

/// Sets memory aside for the report.
pub(crate) fn reserve() {
    // SAFETY: the layout is not empty.
    let reserve = unsafe { System.alloc(RESERVE_LAYOUT) };
    let before = RESERVE.swap(reserve, Ordering::SeqCst);
    free(before);
}

/// Whether memory was refused.
pub(crate) fn refused() -> bool {
    REFUSED.load(Ordering::SeqCst)
}

fn free(reserve: *mut u8) {
    if !reserve.is_null() {
        // SAFETY: it was allocated with this layout, and whoever takes it out of `RESERVE` owns it.
        unsafe { System.dealloc(reserve, RESERVE_LAYOUT) };
    }
}

/// What was asked for, or nothing at all: the process ends while the thread waits here.
#[inline(always)]
fn or_wait(size: usize, ask: impl Fn() -> *mut u8) -> *mut u8 {
    let memory = ask();
    if memory.is_null() { wait(size, &ask) } else { memory }
}

#[cold]
#[inline(never)]
fn wait(size: usize, ask: &dyn Fn() -> *mut u8) -> *mut u8 {
    REFUSED.store(true, Ordering::SeqCst);
    free(RESERVE.swap(std::ptr::null_mut(), Ordering::SeqCst));
    if size <= SMALL {
        let memory = ask();
        if !memory.is_null() {
            return memory;
        }
    }
    std::thread::sleep(GRACE);
    give_up()
}

/// Ends the process without a report, for no thread was left to write one.
fn give_up() -> ! {
    let message = b"preempt: inconclusive: the operating system gives no more memory\n";
    // SAFETY: the buffer is valid for its length. Nothing else is safe to call here, since any lock may
    // be held by a thread that waits for memory.
    unsafe {
        libc::write(2, message.as_ptr().cast(), message.len());
        libc::_exit(3)
    }
}

// SAFETY: every call is passed on to the system's allocator; what differs is that a refusal never
// returns.
unsafe impl GlobalAlloc for Answering {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        or_wait(layout.size(), || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        or_wait(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise; a refusal leaves the old memory as it is.
        or_wait(size, || unsafe { System.realloc(memory, layout, size) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}
