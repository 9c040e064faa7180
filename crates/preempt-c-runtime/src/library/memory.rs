//! Copying, filling, comparing and searching memory.

use super::{library, reads, up_to, writes};
use crate::entry::entry;
use std::ffi::{c_int, c_void};

library! {
    fn memcpy/3 (pc; to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        reads(from, size, pc);
        writes(to, size, pc);
    }
    fn mempcpy/3 (pc; to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        reads(from, size, pc);
        writes(to, size, pc);
    }
    fn memmove/3 (pc; to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        reads(from, size, pc);
        writes(to, size, pc);
    }
    fn bcopy/3 (pc; from: *const c_void, to: *mut c_void, size: usize) {
        reads(from, size, pc);
        writes(to, size, pc);
    }
    fn swab/3 (pc; from: *const c_void, to: *mut c_void, size: isize) {
        let pairs = size.max(0) as usize & !1;
        reads(from, pairs, pc);
        writes(to, pairs, pc);
    }
    fn memccpy/4 (pc; to: *mut c_void, from: *const c_void, last: c_int, size: usize) -> *mut c_void {
        let found = libc::memchr(from, last, size);
        let copied = up_to(from, found, size);
        reads(from, copied, pc);
        writes(to, copied, pc);
    }
    fn memset/3 (pc; to: *mut c_void, byte: c_int, size: usize) -> *mut c_void {
        writes(to, size, pc);
    }
    fn bzero/2 (pc; to: *mut c_void, size: usize) {
        writes(to, size, pc);
    }
    fn explicit_bzero/2 (pc; to: *mut c_void, size: usize) {
        writes(to, size, pc);
    }
    // All bytes may be read, wherever the two differ.
    fn memcmp/3 (pc; a: *const c_void, b: *const c_void, size: usize) -> c_int {
        reads(a, size, pc);
        reads(b, size, pc);
    }
    fn bcmp/3 (pc; a: *const c_void, b: *const c_void, size: usize) -> c_int {
        reads(a, size, pc);
        reads(b, size, pc);
    }
    // A search ends where it finds something: what lies behind need not be there.
    fn memchr/3 (pc; text: *const c_void, byte: c_int, size: usize) -> *mut c_void {
        let found = libc::memchr(text, byte, size);
        reads(text, up_to(text, found, size), pc);
    }
    fn rawmemchr/2 (pc; text: *const c_void, byte: c_int) -> *mut c_void {}
    then found {
        reads(text, up_to(text, found, 0), pc);
    }
    fn memrchr/3 (pc; text: *const c_void, byte: c_int, size: usize) -> *mut c_void {
        reads(text, size, pc);
    }
    fn memmem/4 (pc; text: *const c_void, size: usize, part: *const c_void, length: usize) -> *mut c_void {
        reads(text, size, pc);
        reads(part, length, pc);
    }
    fn qsort/4 (pc; at: *mut c_void, count: usize, size: usize, compare: usize) {
        writes(at, count.saturating_mul(size), pc);
    }
    fn qsort_r/5 (pc; at: *mut c_void, count: usize, size: usize, compare: usize, argument: usize) {
        writes(at, count.saturating_mul(size), pc);
    }
}

// What clang makes of copies.
entry! {
    __tsan_memcpy / 3 => copy;
    __tsan_memmove / 3 => copy;
    __tsan_memset / 3 => fill;
}

unsafe extern "C" fn copy(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    pc: usize,
) -> *mut c_void {
    reads(from, size, pc);
    writes(to, size, pc);
    // SAFETY: as the caller's; where the two overlap this is right, too.
    unsafe { libc::memmove(to, from, size) }
}

unsafe extern "C" fn fill(to: *mut c_void, byte: c_int, size: usize, pc: usize) -> *mut c_void {
    writes(to, size, pc);
    // SAFETY: as the caller's.
    unsafe { libc::memset(to, byte, size) }
}
