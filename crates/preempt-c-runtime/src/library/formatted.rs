//! Output by a format: strings that it names are read, and buffers written.

use super::streams::{hold, stdout};
use super::variadic::{Arguments, variadic};
use super::{has_written_string, library, reads_string, wide, writes};
use libc::FILE;
use std::ffi::{c_char, c_int};

type List = *mut Arguments;

/// One conversion of a format, as far as it matters here.
struct Conversion {
    /// `d`, `s` and so on.
    kind: u8,
    /// `l`, `L` and so on, the last of them; `h` and `hh` are told apart by `short`.
    long: u8,
    short: u32,
    /// Width and precision that are arguments come first.
    stars: u32,
    precision: Option<Precision>,
    /// An argument by its number: not followed.
    numbered: bool,
}

enum Precision {
    Given(usize),
    Argument,
}

/// Reads the conversion behind a `%`.
unsafe fn conversion(at: &mut *const c_char) -> Conversion {
    let mut found =
        Conversion { kind: 0, long: 0, short: 0, stars: 0, precision: None, numbered: false };
    loop {
        // SAFETY: the format ends with a zero, which ends the conversion.
        let byte = unsafe { **at } as u8;
        if byte == 0 {
            return found;
        }
        // SAFETY: as above.
        *at = unsafe { at.add(1) };
        match byte {
            b'$' => found.numbered = true,
            b'*' if found.precision.is_some() => found.precision = Some(Precision::Argument),
            b'*' => found.stars += 1,
            b'.' => found.precision = Some(Precision::Given(0)),
            b'0'..=b'9' => {
                if let Some(Precision::Given(digits)) = &mut found.precision {
                    *digits = digits.saturating_mul(10).saturating_add(usize::from(byte - b'0'));
                }
            }
            b'-' | b'+' | b' ' | b'#' | b'\'' | b'I' => {}
            b'h' => found.short += 1,
            b'l' | b'q' | b'L' | b'j' | b'z' | b't' | b'Z' => found.long = byte,
            kind => {
                found.kind = kind;
                return found;
            }
        }
    }
}

/// Follows a format through its arguments: strings are read, `%n` is written.
unsafe fn follow(format: *const c_char, arguments: List, pc: usize) {
    // SAFETY: as the caller's: the arguments are those that the format asks for.
    unsafe {
        reads_string(format, usize::MAX, pc);
        let mut list = *arguments;
        let mut at = format;
        loop {
            at = libc::strchr(at, b'%'.into());
            if at.is_null() {
                return;
            }
            at = at.add(1);
            let found = conversion(&mut at);
            if found.numbered {
                return;
            }
            for _ in 0..found.stars {
                list.word();
            }
            let most = match found.precision {
                Some(Precision::Given(most)) => most,
                Some(Precision::Argument) => {
                    usize::try_from(list.word() as c_int).unwrap_or(usize::MAX)
                }
                None => usize::MAX,
            };
            match found.kind {
                b's' if found.long == 0 => {
                    let text = list.word() as *const c_char;
                    if !text.is_null() {
                        reads_string(text, most, pc);
                    }
                }
                b's' | b'S' => wide::reads_at_most(list.word(), most, pc),
                b'n' => {
                    let size = match (found.long, found.short) {
                        (0, 0) => 4,
                        (0, short) => 4 >> short,
                        _ => 8,
                    };
                    writes(list.word() as *const u8, size, pc);
                }
                b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' if found.long == b'L' => {
                    list.skip_long_double();
                }
                b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => list.skip_float(),
                b'%' | b'm' => {}
                0 => return,
                _ => drop(list.word()),
            }
        }
    }
}

library! {
    fn vprintf/2 (pc; format: *const c_char, list: List) -> c_int {
        follow(format, list, pc);
        let _held = hold(NAME, stdout, pc);
    }
    fn vfprintf/3 (pc; file: *mut FILE, format: *const c_char, list: List) -> c_int {
        follow(format, list, pc);
        let _held = hold(NAME, file, pc);
    }
    fn vdprintf/3 (pc; descriptor: c_int, format: *const c_char, list: List) -> c_int { follow(format, list, pc); }
    fn vsprintf/3 (pc; to: *mut c_char, format: *const c_char, list: List) -> c_int { follow(format, list, pc); }
    then length { writes(to, (length + 1).max(0) as usize, pc); }
    fn vsnprintf/4 (pc; to: *mut c_char, room: usize, format: *const c_char, list: List) -> c_int {
        follow(format, list, pc);
    }
    then length { writes(to, room.min((length + 1).max(0) as usize), pc); }
    fn vasprintf/3 (pc; to: *mut *mut c_char, format: *const c_char, list: List) -> c_int {
        follow(format, list, pc);
        writes(to, size_of::<usize>(), pc);
    }
    then length {
        if length >= 0 {
            has_written_string(*to, pc);
        }
    }
}

variadic! {
    printf/1 => vprintf::inner;
    fprintf/2 => vfprintf::inner;
    dprintf/2 => vdprintf::inner;
    sprintf/2 => vsprintf::inner;
    snprintf/3 => vsnprintf::inner;
    asprintf/2 => vasprintf::inner;
}
