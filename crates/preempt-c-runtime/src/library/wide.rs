//! Strings of wide characters.

use super::{library, reads, writes};
use std::ffi::c_int;

const WIDTH: usize = size_of::<libc::wchar_t>();
type Wide = libc::wchar_t;

/// Reads a string, and says how many characters it has.
unsafe fn reads_wide(text: *const Wide, pc: usize) -> usize {
    // SAFETY: as the caller's.
    let length = unsafe { libc::wcslen(text) };
    reads(text, (length + 1) * WIDTH, pc);
    length
}

/// Reads at most so many characters of the string at this address.
pub(super) unsafe fn reads_at_most(address: usize, most: usize, pc: usize) {
    let text = address as *const Wide;
    if !text.is_null() {
        // SAFETY: as the caller's.
        let length = (0..most).find(|&at| unsafe { *text.add(at) } == 0);
        reads(text, length.map_or(most, |length| length + 1) * WIDTH, pc);
    }
}

library! {
    fn wcslen/1 (pc; text: *const Wide) -> usize { reads_wide(text, pc); }
    fn wcscpy/2 (pc; to: *mut Wide, from: *const Wide) -> *mut Wide {
        let length = reads_wide(from, pc);
        writes(to, (length + 1) * WIDTH, pc);
    }
    fn wcscat/2 (pc; to: *mut Wide, from: *const Wide) -> *mut Wide {
        let length = reads_wide(from, pc);
        let end = reads_wide(to, pc);
        writes(to.add(end), (length + 1) * WIDTH, pc);
    }
    fn wcscmp/2 (pc; a: *const Wide, b: *const Wide) -> c_int {
        reads_wide(a, pc);
        reads_wide(b, pc);
    }
    fn wcschr/2 (pc; text: *const Wide, wanted: Wide) -> *mut Wide { reads_wide(text, pc); }
    fn wmemcpy/3 (pc; to: *mut Wide, from: *const Wide, count: usize) -> *mut Wide {
        reads(from, count * WIDTH, pc);
        writes(to, count * WIDTH, pc);
    }
    fn wmemmove/3 (pc; to: *mut Wide, from: *const Wide, count: usize) -> *mut Wide {
        reads(from, count * WIDTH, pc);
        writes(to, count * WIDTH, pc);
    }
    fn wmemset/3 (pc; to: *mut Wide, value: Wide, count: usize) -> *mut Wide { writes(to, count * WIDTH, pc); }
    fn wmemcmp/3 (pc; a: *const Wide, b: *const Wide, count: usize) -> c_int {
        reads(a, count * WIDTH, pc);
        reads(b, count * WIDTH, pc);
    }
}
