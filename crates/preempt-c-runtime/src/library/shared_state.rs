//! State that the C library keeps for all threads of the program.
//!
//! Some of it is not protected: two threads that use it at the same time race. Some is locked by the library: then the order
//! of the calls decides what they return, so each is a step.

use super::streams::{RANDOM, TIME, hold_name};
use super::{has_written_string, library, reads, reads_string, writes};
use std::ffi::{c_char, c_double, c_int, c_long, c_uint};

/// What is not protected and has no address in the program. The content is never used.
struct State(u64);
static TOKENS: State = State(0);
static ENVIRONMENT: State = State(0);
static NUMBERS: State = State(0);

impl State {
    fn used(&'static self, pc: usize) {
        reads(&raw const self.0, size_of::<u64>(), pc);
    }

    fn changed(&'static self, pc: usize) {
        writes(&raw const self.0, size_of::<u64>(), pc);
    }
}

/// The token that `strtok` has found in a string is read up to its end, which is overwritten.
unsafe fn token(found: *const c_char, set: *const c_char, pc: usize) {
    // SAFETY: as the caller's.
    unsafe {
        reads_string(set, usize::MAX, pc);
        has_written_string(found, pc);
    }
}

library! {
    fn strtok/2 (pc; text: *mut c_char, set: *const c_char) -> *mut c_char { TOKENS.changed(pc); }
    then found { token(found, set, pc); }
    fn strtok_r/3 (pc; text: *mut c_char, set: *const c_char, kept: *mut *mut c_char) -> *mut c_char {
        writes(kept, size_of::<usize>(), pc);
    }
    then found { token(found, set, pc); }
    fn __strtok_r/3 (pc; text: *mut c_char, set: *const c_char, kept: *mut *mut c_char) -> *mut c_char {
        writes(kept, size_of::<usize>(), pc);
    }
    then found { token(found, set, pc); }

    fn getenv/1 (pc; name: *const c_char) -> *mut c_char {
        reads_string(name, usize::MAX, pc);
        ENVIRONMENT.used(pc);
    }
    then found { if !found.is_null() { reads_string(found, usize::MAX, pc); } }
    fn setenv/3 (pc; name: *const c_char, value: *const c_char, replace: c_int) -> c_int {
        reads_string(name, usize::MAX, pc);
        reads_string(value, usize::MAX, pc);
        ENVIRONMENT.changed(pc);
    }
    fn putenv/1 (pc; text: *mut c_char) -> c_int {
        reads_string(text, usize::MAX, pc);
        ENVIRONMENT.changed(pc);
    }
    fn unsetenv/1 (pc; name: *const c_char) -> c_int {
        reads_string(name, usize::MAX, pc);
        ENVIRONMENT.changed(pc);
    }
    fn clearenv/0 (pc;) -> c_int { ENVIRONMENT.changed(pc); }

    // One buffer for all. Time zones are looked up under a lock.
    fn localtime/1 (pc; time: *const libc::time_t) -> *mut libc::tm {
        reads(time, size_of::<libc::time_t>(), pc);
        let _held = hold_name(NAME, TIME, pc);
    }
    then found { if !found.is_null() { writes(found, size_of::<libc::tm>(), pc); } }
    fn gmtime/1 (pc; time: *const libc::time_t) -> *mut libc::tm {
        reads(time, size_of::<libc::time_t>(), pc);
        let _held = hold_name(NAME, TIME, pc);
    }
    then found { if !found.is_null() { writes(found, size_of::<libc::tm>(), pc); } }
    fn ctime/1 (pc; time: *const libc::time_t) -> *mut c_char {
        reads(time, size_of::<libc::time_t>(), pc);
        let _held = hold_name(NAME, TIME, pc);
    }
    then found { has_written_string(found, pc); }
    fn asctime/1 (pc; time: *const libc::tm) -> *mut c_char { reads(time, size_of::<libc::tm>(), pc); }
    then found { has_written_string(found, pc); }
    fn localtime_r/2 (pc; time: *const libc::time_t, to: *mut libc::tm) -> *mut libc::tm {
        reads(time, size_of::<libc::time_t>(), pc);
        writes(to, size_of::<libc::tm>(), pc);
        let _held = hold_name(NAME, TIME, pc);
    }
    fn gmtime_r/2 (pc; time: *const libc::time_t, to: *mut libc::tm) -> *mut libc::tm {
        reads(time, size_of::<libc::time_t>(), pc);
        writes(to, size_of::<libc::tm>(), pc);
        let _held = hold_name(NAME, TIME, pc);
    }

    fn ctime_r/2 (pc; time: *const libc::time_t, to: *mut c_char) -> *mut c_char {
        reads(time, size_of::<libc::time_t>(), pc);
        let _held = hold_name(NAME, TIME, pc);
    }
    then found { has_written_string(found, pc); }
    fn asctime_r/2 (pc; time: *const libc::tm, to: *mut c_char) -> *mut c_char {
        reads(time, size_of::<libc::tm>(), pc);
    }
    then found { has_written_string(found, pc); }
    fn mktime/1 (pc; time: *mut libc::tm) -> libc::time_t {
        writes(time, size_of::<libc::tm>(), pc);
        let _held = hold_name(NAME, TIME, pc);
    }
    fn strftime/4 (pc; to: *mut c_char, room: usize, format: *const c_char, time: *const libc::tm) -> usize {
        reads_string(format, usize::MAX, pc);
        reads(time, size_of::<libc::tm>(), pc);
        let _held = hold_name(NAME, TIME, pc);
    }
    then length { writes(to, room.min(length + 1), pc); }

    fn rand/0 (pc;) -> c_int { let _held = hold_name(NAME, RANDOM, pc); }
    fn random/0 (pc;) -> c_long { let _held = hold_name(NAME, RANDOM, pc); }
    fn srand/1 (pc; seed: c_uint) { let _held = hold_name(NAME, RANDOM, pc); }
    fn srandom/1 (pc; seed: c_uint) { let _held = hold_name(NAME, RANDOM, pc); }
    fn rand_r/1 (pc; seed: *mut c_uint) -> c_int { writes(seed, size_of::<c_uint>(), pc); }
    fn drand48/0 (pc;) -> c_double { NUMBERS.changed(pc); }
    fn lrand48/0 (pc;) -> c_long { NUMBERS.changed(pc); }
    fn mrand48/0 (pc;) -> c_long { NUMBERS.changed(pc); }
    fn srand48/1 (pc; seed: c_long) { NUMBERS.changed(pc); }
}
