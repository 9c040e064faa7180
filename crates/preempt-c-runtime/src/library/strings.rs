//! Functions on strings, and numbers written as such.

use super::{library, reads, reads_string, up_to, writes};
use std::ffi::{
    c_char, c_double, c_float, c_int, c_long, c_longlong, c_ulong, c_ulonglong, c_void,
};

const ALL: usize = usize::MAX;
const NOWHERE: *mut *mut c_char = std::ptr::null_mut();

/// `strcat` reads where the first string ends and writes from there.
unsafe fn appends(to: *mut c_char, from: *const c_char, most: usize, pc: usize) {
    // SAFETY: as the caller's.
    unsafe {
        let length = reads_string(from, most, pc);
        let end = reads_string(to, ALL, pc);
        writes(to.add(end), length + 1, pc);
    }
}

/// A search for a character ends where it is.
unsafe fn searches(text: *const c_char, wanted: c_int, pc: usize) {
    // SAFETY: as the caller's.
    unsafe {
        let found = libc::strchr(text, wanted);
        match found.is_null() {
            true => drop(reads_string(text, ALL, pc)),
            false => reads(text, up_to(text.cast(), found.cast(), 0), pc),
        }
    }
}

library! {
    fn strlen/1 (pc; text: *const c_char) -> usize { reads_string(text, ALL, pc); }
    fn strnlen/2 (pc; text: *const c_char, most: usize) -> usize { reads_string(text, most, pc); }
    fn strcpy/2 (pc; to: *mut c_char, from: *const c_char) -> *mut c_char {
        let length = reads_string(from, ALL, pc);
        writes(to, length + 1, pc);
    }
    fn stpcpy/2 (pc; to: *mut c_char, from: *const c_char) -> *mut c_char {
        let length = reads_string(from, ALL, pc);
        writes(to, length + 1, pc);
    }
    // What is not filled by the string is filled with zeros.
    fn strncpy/3 (pc; to: *mut c_char, from: *const c_char, most: usize) -> *mut c_char {
        reads_string(from, most, pc);
        writes(to, most, pc);
    }
    fn stpncpy/3 (pc; to: *mut c_char, from: *const c_char, most: usize) -> *mut c_char {
        reads_string(from, most, pc);
        writes(to, most, pc);
    }
    fn strcat/2 (pc; to: *mut c_char, from: *const c_char) -> *mut c_char { appends(to, from, ALL, pc); }
    fn strncat/3 (pc; to: *mut c_char, from: *const c_char, most: usize) -> *mut c_char {
        appends(to, from, most, pc);
    }
    fn strdup/1 (pc; text: *const c_char) -> *mut c_char { reads_string(text, ALL, pc); }
    fn strndup/2 (pc; text: *const c_char, most: usize) -> *mut c_char { reads_string(text, most, pc); }
    fn __strdup/1 (pc; text: *const c_char) -> *mut c_char { reads_string(text, ALL, pc); }

    fn strcmp/2 (pc; a: *const c_char, b: *const c_char) -> c_int { compares(a, b, ALL, same, pc); }
    fn strncmp/3 (pc; a: *const c_char, b: *const c_char, most: usize) -> c_int { compares(a, b, most, same, pc); }
    fn strcasecmp/2 (pc; a: *const c_char, b: *const c_char) -> c_int { compares(a, b, ALL, lower, pc); }
    fn strncasecmp/3 (pc; a: *const c_char, b: *const c_char, most: usize) -> c_int {
        compares(a, b, most, lower, pc);
    }
    fn strcoll/2 (pc; a: *const c_char, b: *const c_char) -> c_int {
        reads_string(a, ALL, pc);
        reads_string(b, ALL, pc);
    }
    fn strxfrm/3 (pc; to: *mut c_char, from: *const c_char, room: usize) -> usize { reads_string(from, ALL, pc); }
    then length { writes(to, (length + 1).min(room), pc); }

    fn strchr/2 (pc; text: *const c_char, wanted: c_int) -> *mut c_char { searches(text, wanted, pc); }
    fn strchrnul/2 (pc; text: *const c_char, wanted: c_int) -> *mut c_char { searches(text, wanted, pc); }
    fn index/2 (pc; text: *const c_char, wanted: c_int) -> *mut c_char { searches(text, wanted, pc); }
    fn strrchr/2 (pc; text: *const c_char, wanted: c_int) -> *mut c_char { reads_string(text, ALL, pc); }
    fn rindex/2 (pc; text: *const c_char, wanted: c_int) -> *mut c_char { reads_string(text, ALL, pc); }
    fn strstr/2 (pc; text: *const c_char, part: *const c_char) -> *mut c_char {}
    then found { finds(text, part, found, pc); }
    fn strcasestr/2 (pc; text: *const c_char, part: *const c_char) -> *mut c_char {}
    then found { finds(text, part, found, pc); }
    fn strspn/2 (pc; text: *const c_char, set: *const c_char) -> usize { reads_string(set, ALL, pc); }
    then length { reads(text, length + 1, pc); }
    fn strcspn/2 (pc; text: *const c_char, set: *const c_char) -> usize { reads_string(set, ALL, pc); }
    then length { reads(text, length + 1, pc); }
    fn strpbrk/2 (pc; text: *const c_char, set: *const c_char) -> *mut c_char {
        reads_string(set, ALL, pc);
        reads(text, libc::strcspn(text, set) + 1, pc);
    }
    // The first separator is overwritten, and the place behind it kept.
    fn strsep/2 (pc; at: *mut *mut c_char, set: *const c_char) -> *mut c_char {
        writes(at, size_of::<usize>(), pc);
        reads_string(set, ALL, pc);
        if !(*at).is_null() {
            let length = libc::strcspn(*at, set);
            reads(*at, length + 1, pc);
            if *(*at).add(length) != 0 {
                writes((*at).add(length), 1, pc);
            }
        }
    }

    fn atoi/1 (pc; text: *const c_char) -> c_int { whole(text, NOWHERE, 10, pc); }
    fn atol/1 (pc; text: *const c_char) -> c_long { whole(text, NOWHERE, 10, pc); }
    fn atoll/1 (pc; text: *const c_char) -> c_longlong { whole(text, NOWHERE, 10, pc); }
    fn atof/1 (pc; text: *const c_char) -> c_double { fraction(text, NOWHERE, pc); }
    fn strtol/3 (pc; text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_long { whole(text, end, base, pc); }
    fn strtoul/3 (pc; text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_ulong { whole(text, end, base, pc); }
    fn strtoll/3 (pc; text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_longlong {
        whole(text, end, base, pc);
    }
    fn strtoull/3 (pc; text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_ulonglong {
        whole(text, end, base, pc);
    }
    fn strtod/2 (pc; text: *const c_char, end: *mut *mut c_char) -> c_double { fraction(text, end, pc); }
    fn strtof/2 (pc; text: *const c_char, end: *mut *mut c_char) -> c_float { fraction(text, end, pc); }
}

/// Two strings are read up to where they differ.
unsafe fn compares(
    a: *const c_char,
    b: *const c_char,
    most: usize,
    fold: impl Fn(c_char) -> c_int,
    pc: usize,
) {
    let mut length = 0;
    // SAFETY: as the caller's; nothing is read behind the end of either.
    unsafe {
        while length < most {
            let (x, y) = (*a.add(length), *b.add(length));
            length += 1;
            if x == 0 || fold(x) != fold(y) {
                break;
            }
        }
    }
    reads(a, length, pc);
    reads(b, length, pc);
}

fn same(byte: c_char) -> c_int {
    byte.into()
}

fn lower(byte: c_char) -> c_int {
    // SAFETY: any byte has a lower case, perhaps itself.
    unsafe { libc::tolower((byte as u8).into()) }
}

/// A string is searched for another one, up to the end of what is found.
unsafe fn finds(text: *const c_char, part: *const c_char, found: *const c_char, pc: usize) {
    // SAFETY: as the caller's.
    unsafe {
        let length = reads_string(part, ALL, pc);
        match found.is_null() {
            true => drop(reads_string(text, ALL, pc)),
            false => reads(text, found as usize - text as usize + length, pc),
        }
    }
}

/// A whole number is read with the character behind it, and where it ends is written.
unsafe fn whole(text: *const c_char, end: *mut *mut c_char, base: c_int, pc: usize) {
    let mut behind = std::ptr::null_mut();
    // SAFETY: as the caller's. However large the number is, it ends in the same place.
    unsafe { libc::strtoull(text, &mut behind, base) };
    number(text, behind, end, pc);
}

/// The same for a fraction.
unsafe fn fraction(text: *const c_char, end: *mut *mut c_char, pc: usize) {
    let mut behind = std::ptr::null_mut();
    // SAFETY: as the caller's.
    unsafe { libc::strtod(text, &mut behind) };
    number(text, behind, end, pc);
}

fn number(text: *const c_char, behind: *const c_char, end: *mut *mut c_char, pc: usize) {
    reads(text, up_to(text.cast(), behind.cast(), 1), pc);
    if !end.is_null() {
        writes(end, size_of::<*mut c_void>(), pc);
    }
}
