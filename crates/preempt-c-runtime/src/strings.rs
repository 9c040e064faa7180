//! Copying and filling memory, and functions on strings, that the program calls by name.
//!
//! The linker hands the program's own calls to us (`--wrap`), clang calls us directly. Calls from
//! within the C library are not seen: what they do counts as done by nobody.

use crate::access::access;
use crate::entry::entry;
use std::ffi::{c_char, c_int, c_void};

entry! {
    __wrap_memcpy / 3 => copy;
    __wrap_memmove / 3 => shift;
    __wrap_memset / 3 => fill;
    __wrap_memcmp / 3 => compare;
    __wrap_strlen / 1 => length;
    __wrap_strcpy / 2 => copy_string;
    __wrap_strncpy / 3 => copy_string_at_most;
    __wrap_strcmp / 2 => compare_strings;
    __wrap_strncmp / 3 => compare_strings_at_most;
    __wrap_strchr / 2 => find_character;
    __tsan_memcpy / 3 => copy;
    __tsan_memmove / 3 => shift;
    __tsan_memset / 3 => fill;
}

unsafe extern "C" fn copy(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    pc: usize,
) -> *mut c_void {
    access(from as usize, size, false, pc);
    access(to as usize, size, true, pc);
    // SAFETY: as the caller's.
    unsafe { libc::memcpy(to, from, size) }
}

unsafe extern "C" fn shift(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    pc: usize,
) -> *mut c_void {
    access(from as usize, size, false, pc);
    access(to as usize, size, true, pc);
    // SAFETY: as the caller's.
    unsafe { libc::memmove(to, from, size) }
}

unsafe extern "C" fn fill(to: *mut c_void, byte: c_int, size: usize, pc: usize) -> *mut c_void {
    access(to as usize, size, true, pc);
    // SAFETY: as the caller's.
    unsafe { libc::memset(to, byte, size) }
}

unsafe extern "C" fn compare(a: *const c_void, b: *const c_void, size: usize, pc: usize) -> c_int {
    access(a as usize, size, false, pc);
    access(b as usize, size, false, pc);
    // SAFETY: as the caller's.
    unsafe { libc::memcmp(a, b, size) }
}

/// Reads a string, and says how long it is.
unsafe fn read(text: *const c_char, most: usize, pc: usize) -> usize {
    // SAFETY: as the caller's.
    let length = unsafe { libc::strnlen(text, most) };
    access(text as usize, (length + 1).min(most), false, pc);
    length
}

unsafe extern "C" fn length(text: *const c_char, pc: usize) -> usize {
    // SAFETY: as the caller's.
    unsafe { read(text, usize::MAX, pc) }
}

unsafe extern "C" fn copy_string(to: *mut c_char, from: *const c_char, pc: usize) -> *mut c_char {
    // SAFETY: as the caller's.
    unsafe {
        let length = read(from, usize::MAX, pc);
        access(to as usize, length + 1, true, pc);
        libc::strcpy(to, from)
    }
}

unsafe extern "C" fn copy_string_at_most(
    to: *mut c_char,
    from: *const c_char,
    most: usize,
    pc: usize,
) -> *mut c_char {
    // SAFETY: as the caller's.
    unsafe {
        read(from, most, pc);
        access(to as usize, most, true, pc);
        libc::strncpy(to, from, most)
    }
}

unsafe extern "C" fn compare_strings(a: *const c_char, b: *const c_char, pc: usize) -> c_int {
    // SAFETY: as the caller's.
    unsafe {
        read(a, usize::MAX, pc);
        read(b, usize::MAX, pc);
        libc::strcmp(a, b)
    }
}

unsafe extern "C" fn compare_strings_at_most(
    a: *const c_char,
    b: *const c_char,
    most: usize,
    pc: usize,
) -> c_int {
    // SAFETY: as the caller's.
    unsafe {
        read(a, most, pc);
        read(b, most, pc);
        libc::strncmp(a, b, most)
    }
}

unsafe extern "C" fn find_character(text: *const c_char, wanted: c_int, pc: usize) -> *mut c_char {
    // SAFETY: as the caller's.
    unsafe {
        read(text, usize::MAX, pc);
        libc::strchr(text, wanted)
    }
}
