//! Streams of the C library: each call is one step on its stream, and orders what comes before it in one thread with what comes
//! after a later one in another, as the lock of the stream does.
//!
//! The standard output and error are no objects: what is printed is not seen by the program, so the order of it is not
//! searched. They become objects in a program that locks them itself (`stream_locks.rs`).

use super::{has_written_string, library, reads, reads_string, writes};
use crate::arena;
use crate::descriptors::{When, lock, unlock};
use crate::entry::is_program;
use crate::mutex::{self, object};
use crate::objects::Kind;
use crate::runtime::{inside, runtime};
use crate::served;
use libc::FILE;
use std::ffi::{c_char, c_int, c_long, c_void};

/// Names of streams: addresses that no memory has, each as far behind as its stream lies in the heap.
const NAMES: usize = 0x6400_0000_0000;
/// The name of what the C library keeps for random numbers.
pub(super) const RANDOM: usize = NAMES - 16;

/// The name of what it keeps about time zones.
pub(super) const TIME: usize = NAMES - 48;
/// How many bytes of a stream every call on it changes: its flags, and where it reads and writes.
const CHANGED: usize = 48;

/// The name of the standard input.
const INPUT: usize = NAMES - 32;
/// The name of the standard output.
const OUTPUT: usize = NAMES - 64;
/// The name of the standard error.
const ERROR: usize = NAMES - 80;

unsafe extern "C" {
    pub(super) static stdin: *mut FILE;
    pub(super) static stdout: *mut FILE;
    static stderr: *mut FILE;
}

/// The name of a stream; `None` if it is none that this library knows.
pub(super) fn name_of(file: *mut FILE) -> Option<usize> {
    // SAFETY: these read variables that the C library sets once.
    let (input, output, error) = unsafe { (stdin, stdout, stderr) };
    match file as usize {
        _ if file == input => Some(INPUT),
        _ if file == output => Some(OUTPUT),
        _ if file == error => Some(ERROR),
        address if arena::contains(address) => Some(NAMES + (address - arena::BASE)),
        _ => None,
    }
}

/// Whether the order of what threads do with a stream can make a difference to the program.
fn is_searched(name: usize) -> bool {
    !matches!(name, OUTPUT | ERROR) || runtime().objects.knows(name, Kind::FileLock)
}

/// Whether the running thread holds the lock of this stream.
pub(super) fn is_mine(name: usize) -> bool {
    let runtime = runtime();
    runtime.objects.knows(name, Kind::FileLock) && {
        let index = object(runtime, name, Kind::FileLock);
        mutex::is_mine(runtime, index)
    }
}

/// The running thread uses a stream. What is printed is not looked at, so nothing is said of it.
pub(super) fn touch(file: *mut FILE, pc: usize) {
    if name_of(file).is_some_and(is_searched) {
        writes(file, CHANGED, pc);
    }
}

/// A call on something that the C library locks for its time.
pub(super) struct Held {
    name: usize,
    pc: usize,
    call: Option<usize>,
}

/// Begins a call of a function on a stream.
pub(super) fn hold(function: &str, file: *mut FILE, pc: usize) -> Option<Held> {
    let name = name_of(file).filter(|&name| is_program() && is_searched(name))?;
    if is_mine(name) {
        touch(file, pc);
        return None;
    }
    let held = hold_name(function, name, pc);
    touch(file, pc);
    held
}

/// Begins a call of a function on what has this name.
pub(super) fn hold_name(function: &str, name: usize, pc: usize) -> Option<Held> {
    if !is_program() {
        return None;
    }
    let call = inside(|runtime| {
        let call = served::begin(runtime, |_| function.into());
        lock(name, When::Scheduled, pc);
        call
    });
    Some(Held { name, pc, call })
}

impl Drop for Held {
    fn drop(&mut self) {
        inside(|_| {
            unlock(self.name, self.pc);
            served::end(runtime(), self.call, None);
        });
    }
}

library! {
    fn fputs/2 (pc; text: *const c_char, file: *mut FILE) -> c_int {
        reads_string(text, usize::MAX, pc);
        let _held = hold(NAME, file, pc);
    }
    fn puts/1 (pc; text: *const c_char) -> c_int {
        reads_string(text, usize::MAX, pc);
        let _held = hold(NAME, stdout, pc);
    }
    fn perror/1 (pc; text: *const c_char) {
        if !text.is_null() {
            reads_string(text, usize::MAX, pc);
        }
        let _held = hold(NAME, stderr, pc);
    }
    fn putchar/1 (pc; byte: c_int) -> c_int { let _held = hold(NAME, stdout, pc); }
    fn fwrite/4 (pc; from: *const c_void, size: usize, count: usize, file: *mut FILE) -> usize {
        reads(from, size.saturating_mul(count), pc);
        let _held = hold(NAME, file, pc);
    }
    fn fread/4 (pc; to: *mut c_void, size: usize, count: usize, file: *mut FILE) -> usize {
        let _held = hold(NAME, file, pc);
    }
    then done { writes(to, size.saturating_mul(done), pc); }
    fn fgets/3 (pc; to: *mut c_char, room: c_int, file: *mut FILE) -> *mut c_char { let _held = hold(NAME, file, pc); }
    then done { has_written_string(done, pc); }
    fn getline/3 (pc; at: *mut *mut c_char, room: *mut usize, file: *mut FILE) -> isize {
        writes(at, size_of::<usize>(), pc);
        writes(room, size_of::<usize>(), pc);
        let _held = hold(NAME, file, pc);
    }
    then length { if length >= 0 { writes(*at, length as usize + 1, pc); } }
    fn getdelim/4 (pc; at: *mut *mut c_char, room: *mut usize, end: c_int, file: *mut FILE) -> isize {
        writes(at, size_of::<usize>(), pc);
        writes(room, size_of::<usize>(), pc);
        let _held = hold(NAME, file, pc);
    }
    then length { if length >= 0 { writes(*at, length as usize + 1, pc); } }
    // What getline is where functions are inlined.
    fn __getdelim/4 (pc; at: *mut *mut c_char, room: *mut usize, end: c_int, file: *mut FILE) -> isize {
        writes(at, size_of::<usize>(), pc);
        writes(room, size_of::<usize>(), pc);
        let _held = hold(NAME, file, pc);
    }
    then length { if length >= 0 { writes(*at, length as usize + 1, pc); } }
    fn fputc/2 (pc; byte: c_int, file: *mut FILE) -> c_int { let _held = hold(NAME, file, pc); }
    fn putc/2 (pc; byte: c_int, file: *mut FILE) -> c_int { let _held = hold(NAME, file, pc); }
    fn fgetc/1 (pc; file: *mut FILE) -> c_int { let _held = hold(NAME, file, pc); }
    fn getc/1 (pc; file: *mut FILE) -> c_int { let _held = hold(NAME, file, pc); }
    fn getchar/0 (pc;) -> c_int { let _held = hold(NAME, stdin, pc); }
    fn ungetc/2 (pc; byte: c_int, file: *mut FILE) -> c_int { let _held = hold(NAME, file, pc); }
    fn fflush/1 (pc; file: *mut FILE) -> c_int { let _held = hold(NAME, file, pc); }
    fn fseek/3 (pc; file: *mut FILE, offset: c_long, from: c_int) -> c_int { let _held = hold(NAME, file, pc); }
    fn fseeko/3 (pc; file: *mut FILE, offset: c_long, from: c_int) -> c_int { let _held = hold(NAME, file, pc); }
    fn ftello/1 (pc; file: *mut FILE) -> c_long { let _held = hold(NAME, file, pc); }
    fn clearerr/1 (pc; file: *mut FILE) { let _held = hold(NAME, file, pc); }
    fn rewind/1 (pc; file: *mut FILE) { let _held = hold(NAME, file, pc); }
    fn ftell/1 (pc; file: *mut FILE) -> c_long { let _held = hold(NAME, file, pc); }
    fn feof/1 (pc; file: *mut FILE) -> c_int { let _held = hold(NAME, file, pc); }
    fn ferror/1 (pc; file: *mut FILE) -> c_int { let _held = hold(NAME, file, pc); }
    fn fclose/1 (pc; file: *mut FILE) -> c_int { let _held = hold(NAME, file, pc); }
    fn fopen/2 (pc; path: *const c_char, mode: *const c_char) -> *mut FILE {
        reads_string(path, usize::MAX, pc);
        reads_string(mode, usize::MAX, pc);
    }
}
