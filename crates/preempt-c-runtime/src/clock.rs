//! Time under control: every thread has a clock of its own.
//!
//! Reading a clock advances it a little, sleeping advances it by the time slept, joining a thread
//! sets it to the later of both. So time is a function of what a thread has done and observed, and
//! loops that wait for time to pass come to an end.

use crate::control::yield_now;
use crate::entry::{entry, is_program, real};
use crate::runtime::{inside, runtime};
use crate::task::CallSite;
use libc::{clockid_t, time_t, timespec, timeval};
use std::ffi::{c_int, c_uint, c_void};

entry! {
    nanosleep / 2 => sleep_for;
    clock_nanosleep / 4 => sleep_on_clock;
    usleep / 1 => sleep_microseconds;
    sleep / 1 => sleep_seconds;
    poll / 3 => poll_files;
    sched_yield / 0 => give_way;
    pthread_yield / 0 => give_way;
}

const SECOND: u64 = 1_000_000_000;
/// Some day in November 2023.
pub(crate) const BEGINNING: u64 = 1_700_000_000 * SECOND;
const READING: u64 = SECOND / 1_000_000;

fn now() -> timespec {
    let time = inside(|runtime| {
        let me = runtime.me();
        me.time += READING;
        BEGINNING + me.time
    });
    timespec { tv_sec: (time / SECOND) as time_t, tv_nsec: (time % SECOND) as i64 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    if !is_program() {
        let get = real!(c"clock_gettime", fn(clockid_t, *mut timespec) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { get(clock, time) };
    }
    // SAFETY: the program's own variable.
    unsafe { *time = now() };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timespec_get(time: *mut timespec, base: c_int) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"timespec_get", fn(*mut timespec, c_int) -> c_int)(time, base) };
    }
    // SAFETY: the program's own variable.
    unsafe { *time = now() };
    base
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(time: *mut timeval, zone: *mut c_void) -> c_int {
    if !is_program() {
        let get = real!(c"gettimeofday", fn(*mut timeval, *mut c_void) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { get(time, zone) };
    }
    let now = now();
    // SAFETY: the program's own variable.
    unsafe { *time = timeval { tv_sec: now.tv_sec, tv_usec: now.tv_nsec / 1000 } };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn time(result: *mut time_t) -> time_t {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"time", fn(*mut time_t) -> time_t)(result) };
    }
    let now = now().tv_sec;
    if !result.is_null() {
        // SAFETY: the program's own variable.
        unsafe { *result = now };
    }
    now
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock() -> libc::clock_t {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"clock", fn() -> libc::clock_t)() };
    }
    let now = now();
    now.tv_sec * 1_000_000 + now.tv_nsec / 1000
}

/// Sleeps: others may run for free.
fn sleep_under_control(nanoseconds: u64, pc: usize) {
    inside(|_| pass(nanoseconds, pc));
}

/// Lets time pass for the running thread.
pub(crate) fn pass(nanoseconds: u64, pc: usize) {
    let me = runtime().me();
    me.time = me.time.saturating_add(nanoseconds);
    me.spinning.clear();
    yield_now(CallSite { pc, address: 0 });
}

fn nanoseconds(time: &timespec) -> u64 {
    (time.tv_sec.max(0) as u64).saturating_mul(SECOND).saturating_add(time.tv_nsec.max(0) as u64)
}

unsafe extern "C" fn sleep_for(time: *const timespec, rest: *mut timespec, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe {
            real!(c"nanosleep", fn(*const timespec, *mut timespec) -> c_int)(time, rest)
        };
    }
    // SAFETY: the program's own variable.
    sleep_under_control(nanoseconds(unsafe { &*time }), pc);
    0
}

unsafe extern "C" fn sleep_on_clock(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    rest: *mut timespec,
    pc: usize,
) -> c_int {
    if !is_program() {
        let sleep = real!(
            c"clock_nanosleep",
            fn(clockid_t, c_int, *const timespec, *mut timespec) -> c_int
        );
        // SAFETY: as the caller's.
        return unsafe { sleep(clock, flags, time, rest) };
    }
    // SAFETY: the program's own variable.
    let wanted = nanoseconds(unsafe { &*time });
    let length = match flags & libc::TIMER_ABSTIME {
        0 => wanted,
        _ => wanted.saturating_sub(nanoseconds(&now())),
    };
    sleep_under_control(length, pc);
    0
}

unsafe extern "C" fn sleep_microseconds(microseconds: c_uint, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"usleep", fn(c_uint) -> c_int)(microseconds) };
    }
    sleep_under_control(u64::from(microseconds) * 1000, pc);
    0
}

unsafe extern "C" fn sleep_seconds(seconds: c_uint, pc: usize) -> c_uint {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"sleep", fn(c_uint) -> c_uint)(seconds) };
    }
    sleep_under_control(u64::from(seconds) * SECOND, pc);
    0
}

/// `poll` of nothing is another way to sleep; of something, the kernel is asked (`kernel.rs`).
unsafe extern "C" fn poll_files(
    files: *mut libc::pollfd,
    count: libc::nfds_t,
    milliseconds: c_int,
    pc: usize,
) -> c_int {
    if is_program() && count == 0 && milliseconds >= 0 {
        sleep_under_control(milliseconds as u64 * 1_000_000, pc);
        return 0;
    }
    let poll = real!(c"poll", fn(*mut libc::pollfd, libc::nfds_t, c_int) -> c_int);
    // SAFETY: as the caller's.
    unsafe { poll(files, count, milliseconds) }
}

unsafe extern "C" fn give_way(pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"sched_yield", fn() -> c_int)() };
    }
    inside(|runtime| {
        runtime.me().spinning.clear();
        yield_now(CallSite { pc, address: 0 });
    });
    0
}
