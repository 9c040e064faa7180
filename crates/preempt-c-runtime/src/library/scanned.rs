//! Input by a format: what was converted is written.

use super::streams::{hold, stdin};
use super::variadic::{Arguments, variadic};
use super::{library, reads_string, writes};
use libc::FILE;
use std::ffi::{c_char, c_int};

type List = *mut Arguments;

/// Follows a format through its first `done` conversions, which were made.
unsafe fn follow(format: *const c_char, mut list: Arguments, mut done: c_int, pc: usize) {
    let mut at = format;
    // SAFETY: as the caller's: the arguments are those that the format asks for.
    unsafe {
        reads_string(format, usize::MAX, pc);
        while done > 0 && *at != 0 {
            let byte = *at as u8;
            at = at.add(1);
            if byte != b'%' {
                continue;
            }
            let (mut dropped, mut width, mut long, mut short) = (false, 0_usize, 0, 0_u32);
            let kind = loop {
                let byte = *at as u8;
                if byte == 0 {
                    break 0;
                }
                at = at.add(1);
                match byte {
                    b'*' => dropped = true,
                    b'0'..=b'9' => {
                        width = width.saturating_mul(10).saturating_add((byte - b'0').into());
                    }
                    b'h' => short += 1,
                    b'l' | b'q' | b'L' | b'j' | b'z' | b't' => long = byte,
                    // An argument by its number, or memory made for it: not followed.
                    b'$' | b'm' => return,
                    b'\'' | b'I' => {}
                    kind => break kind,
                }
            };
            if kind == b'[' {
                at = end_of_set(at);
            }
            if dropped || kind == b'%' || kind == 0 {
                continue;
            }
            let to = list.word() as *const c_char;
            let size = match (kind, long) {
                (b's' | b'[', 0) => libc::strlen(to) + 1,
                (b'c', 0) => width.max(1),
                (b'p', _) => 8,
                (b's' | b'[' | b'c' | b'S' | b'C', _) => continue,
                (b'e' | b'f' | b'g' | b'a' | b'E' | b'F' | b'G' | b'A', 0) => 4,
                (b'e' | b'f' | b'g' | b'a' | b'E' | b'F' | b'G' | b'A', b'L') => 16,
                (_, 0) => 4 >> short.min(2),
                _ => 8,
            };
            writes(to, size, pc);
            // This one is not counted.
            done -= c_int::from(kind != b'n');
        }
    }
}

/// Behind the `]` of a set of characters, of which the first may be one itself.
unsafe fn end_of_set(mut at: *const c_char) -> *const c_char {
    // SAFETY: the format ends with a zero.
    unsafe {
        at = at.add(usize::from(*at as u8 == b'^'));
        at = at.add(usize::from(*at as u8 == b']'));
        while *at != 0 && *at as u8 != b']' {
            at = at.add(1);
        }
        at.add(usize::from(*at != 0))
    }
}

library! {
    fn vsscanf/3 (pc; text: *const c_char, format: *const c_char, list: List) -> c_int {
        reads_string(text, usize::MAX, pc);
        let arguments = *list;
    }
    then done { follow(format, arguments, done, pc); }
    fn vfscanf/3 (pc; file: *mut FILE, format: *const c_char, list: List) -> c_int {
        let _held = hold(NAME, file, pc);
        let arguments = *list;
    }
    then done { follow(format, arguments, done, pc); }
    fn vscanf/2 (pc; format: *const c_char, list: List) -> c_int {
        let _held = hold(NAME, stdin, pc);
        let arguments = *list;
    }
    then done { follow(format, arguments, done, pc); }
    fn __isoc99_vsscanf/3 (pc; text: *const c_char, format: *const c_char, list: List) -> c_int {
        reads_string(text, usize::MAX, pc);
        let arguments = *list;
    }
    then done { follow(format, arguments, done, pc); }
    fn __isoc99_vfscanf/3 (pc; file: *mut FILE, format: *const c_char, list: List) -> c_int {
        let _held = hold(NAME, file, pc);
        let arguments = *list;
    }
    then done { follow(format, arguments, done, pc); }
    fn __isoc99_vscanf/2 (pc; format: *const c_char, list: List) -> c_int {
        let _held = hold(NAME, stdin, pc);
        let arguments = *list;
    }
    then done { follow(format, arguments, done, pc); }
}

variadic! {
    sscanf/2 => vsscanf::inner;
    fscanf/2 => vfscanf::inner;
    scanf/1 => vscanf::inner;
    __isoc99_sscanf/2 => __isoc99_vsscanf::inner;
    __isoc99_fscanf/2 => __isoc99_vfscanf::inner;
    __isoc99_scanf/1 => __isoc99_vscanf::inner;
}
