//! The search's own memory, shared with forked children.
//!
//! A child that executes the program moves the search on: it fills tables of what threads do, and
//! leaves the result of the execution. All of that lives in one shared mapping, which the parent
//! reads when the child has ended. The program's own memory is never here.
//!
//! Blocks are multiples of 16 bytes in powers of two and their three quarters; a freed block goes to
//! the list of its size. Only one thread of one process runs at a time, so there is no lock.

use crate::raw;
use std::alloc::{GlobalAlloc, Layout};
use std::ptr::{addr_of_mut, null_mut};

/// Address space set aside; memory is used when it is touched.
const RESERVED: usize = 1 << 36;
const CLASSES: usize = 96;

struct Header {
    next: usize,
    end: usize,
    free: [*mut Free; CLASSES],
}

struct Free {
    next: *mut Free,
}

static mut HEADER: *mut Header = null_mut();

/// The allocator of everything that is written in Rust here.
pub(crate) struct SharedHeap;

#[global_allocator]
static HEAP: SharedHeap = SharedHeap;

/// Two classes per power of two: 3/4 of it and all of it, from 16 bytes on.
fn class(size: usize) -> (usize, usize) {
    let size = size.max(16);
    let whole = size.next_power_of_two();
    let most = whole.trailing_zeros() as usize * 2;
    let part = whole / 4 * 3;
    if size <= part && part.is_multiple_of(16) { (most - 1, part) } else { (most, whole) }
}

fn header() -> &'static mut Header {
    // SAFETY: one thread runs at a time, and the first call is made before any other exists.
    unsafe {
        if HEADER.is_null() {
            let at = raw::map(RESERVED, true);
            let header = at.cast::<Header>();
            addr_of_mut!((*header).next)
                .write(at as usize + size_of::<Header>().next_multiple_of(64));
            addr_of_mut!((*header).end).write(at as usize + RESERVED);
            HEADER = header;
        }
        &mut *HEADER
    }
}

// SAFETY: blocks never overlap: each is cut from the end of what was used, or was freed before.
unsafe impl GlobalAlloc for SharedHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let header = header();
        let (class, size) = class(layout.size());
        if layout.align() <= 16 {
            let free = header.free[class];
            if !free.is_null() {
                // SAFETY: a freed block holds the link to the next one.
                header.free[class] = unsafe { (*free).next };
                return free.cast();
            }
        }
        let at = header.next.next_multiple_of(layout.align().max(16));
        if at + size > header.end {
            return null_mut();
        }
        header.next = at + size;
        at as *mut u8
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        let header = header();
        let free = at.cast::<Free>();
        let (class, _) = class(layout.size());
        // SAFETY: the block is ours again, and at least 16 bytes long.
        unsafe { (*free).next = header.free[class] };
        header.free[class] = free;
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if class(layout.size()) == class(size) {
            return at;
        }
        // SAFETY: as the caller's.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                std::ptr::copy_nonoverlapping(at, new, layout.size().min(size));
                self.dealloc(at, layout);
            }
            new
        }
    }
}

/// Makes a copy of the heap for this process and its own children, in place. Nothing may use the
/// original meanwhile, and the caller must not run on a stack in it.
pub(crate) fn separate() {
    let base = header() as *mut Header as usize;
    let used = used();
    let copy = raw::map(used, false);
    // SAFETY: both are mapped, and the header stays where it was, with the same content.
    unsafe {
        std::ptr::copy_nonoverlapping(base as *const u8, copy, used);
        raw::map_over(base, RESERVED);
        std::ptr::copy_nonoverlapping(copy, base as *mut u8, used);
    }
    raw::unmap(copy as usize, used);
}

/// How much memory the search uses.
pub(crate) fn used() -> usize {
    let header = header();
    header.next - (header as *const Header as usize)
}
