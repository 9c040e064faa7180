//! Calls that move bytes between descriptors and the program's memory.

use super::streams::{Held, hold_name};
use super::{library, reads, writes};
use crate::entry::is_program;
use crate::runtime::runtime;
use std::ffi::{c_int, c_void};

/// Says which memory a list of buffers stands for, up to so many bytes.
unsafe fn each(
    list: *const libc::iovec,
    count: c_int,
    mut most: usize,
    note: impl Fn(*const c_void, usize),
) {
    for number in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: as the caller's: the list has so many entries.
        let libc::iovec { iov_base, iov_len } = unsafe { *list.add(number) };
        let length = iov_len.min(most);
        note(iov_base, length);
        most -= length;
    }
}

/// Names of files by the numbers of their descriptors: addresses that no memory has.
const NAMES: usize = 0x6600_0000_0000;

/// Begins a call that reads a file of the outside where the last one has ended, whichever thread that was.
fn hold(function: &str, descriptor: c_int, pc: usize) -> Option<Held> {
    let is_file = is_program() && runtime().descriptors.is_opened(descriptor);
    if is_file { hold_name(function, NAMES + descriptor as usize * 16, pc) } else { None }
}

library! {
    fn lseek/3 (pc; descriptor: c_int, offset: i64, from: c_int) -> i64 { let _held = hold(NAME, descriptor, pc); }
    fn lseek64/3 (pc; descriptor: c_int, offset: i64, from: c_int) -> i64 { let _held = hold(NAME, descriptor, pc); }
    fn read/3 (pc; descriptor: c_int, to: *mut c_void, room: usize) -> isize { let _held = hold(NAME, descriptor, pc); }
    then length { writes(to, length.max(0) as usize, pc); }
    fn pread/4 (pc; descriptor: c_int, to: *mut c_void, room: usize, offset: i64) -> isize {}
    then length { writes(to, length.max(0) as usize, pc); }
    fn pread64/4 (pc; descriptor: c_int, to: *mut c_void, room: usize, offset: i64) -> isize {}
    then length { writes(to, length.max(0) as usize, pc); }
    fn recv/4 (pc; descriptor: c_int, to: *mut c_void, room: usize, flags: c_int) -> isize {}
    then length { writes(to, length.max(0) as usize, pc); }
    fn readv/3 (pc; descriptor: c_int, list: *const libc::iovec, count: c_int) -> isize { let _held = hold(NAME, descriptor, pc); }
    then length { each(list, count, length.max(0) as usize, |at, size| writes(at, size, pc)); }
    fn write/3 (pc; descriptor: c_int, from: *const c_void, size: usize) -> isize { reads(from, size, pc); }
    fn pwrite/4 (pc; descriptor: c_int, from: *const c_void, size: usize, offset: i64) -> isize {
        reads(from, size, pc);
    }
    fn pwrite64/4 (pc; descriptor: c_int, from: *const c_void, size: usize, offset: i64) -> isize {
        reads(from, size, pc);
    }
    fn send/4 (pc; descriptor: c_int, from: *const c_void, size: usize, flags: c_int) -> isize {
        reads(from, size, pc);
    }
    fn writev/3 (pc; descriptor: c_int, list: *const libc::iovec, count: c_int) -> isize {
        each(list, count, usize::MAX, |at, size| reads(at, size, pc));
    }
}
