//! Time under control: every thread has a clock of its own.
//!
//! Reading a clock advances it a little, sleeping advances it by the time slept, and a timeout sets it to the time of the
//! limit. It is never behind what happens before: a thread that takes a lock, joins another one or acquires what another one has released
//! is not earlier than that. So time is a function of what a thread has done and observed, it never runs backwards along
//! any order that the program can see, and loops that wait for time to pass come to an end.
//!
//! How long a thread sleeps says nothing about when others run, nor does the limit of a wait: `--pauses any`. With
//! `--pauses kept` those of [`Deadline::NEAR`] and more end only when no other thread can go on, in the order of their times.

use crate::control::{perform, sleep_a_while, yield_now};
use crate::entry::{entry, is_program, real};
use crate::runtime::{Runtime, inside, runtime};
use crate::task::CallSite;
use libc::{clockid_t, time_t, timespec, timeval};
use preempt_explore::{Action, Deadline, ObjectId, Operation, ThreadId};
use std::ffi::{c_int, c_uint, c_void};
use std::panic::Location;
use std::time::Duration;

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

impl Runtime {
    /// The time of the running thread, in nanoseconds since the program began.
    pub(crate) fn time(&self) -> u64 {
        self.time_of(self.current())
    }

    fn time_of(&self, thread: ThreadId) -> u64 {
        u64::try_from(self.run().state.now(thread).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Sets the clock of the running thread, if it is behind.
    fn set_time(&mut self, time: u64) {
        let me = self.current();
        self.run().state.pass(me, Duration::from_nanos(time));
    }

    /// Time is up for the running thread.
    fn is_due(&mut self, due: u64, distant: bool) {
        self.set_time(due);
        if distant {
            self.latest_end = self.latest_end.max(due);
            let me = self.current();
            let state = &self.run().state;
            let overtaken = |&id: &ThreadId| {
                let time = self.time_of(id);
                id != me && state.can_go_on(id) && time.saturating_add(Deadline::NEAR) < due
            };
            self.overtaken |= self.run().order.iter().any(overtaken);
        }
    }

    /// Notes if the running thread goes on although another one has paused or waited for longer than that takes.
    pub(crate) fn look_whether_overtaken(&mut self) {
        let ended = self.latest_end;
        if ended > 0 && self.time().saturating_add(Deadline::NEAR) < ended {
            self.overtaken = true;
        }
    }
}

/// When the time is up that a program gives as an absolute time.
///
/// # Safety
/// Null, or a time of the program.
pub(crate) unsafe fn due_at(until: *const timespec) -> Option<u64> {
    // SAFETY: as the caller's.
    let until = unsafe { until.as_ref() }?;
    Some(nanoseconds(until).saturating_sub(BEGINNING))
}

/// When the time is up that a program gives as a length.
///
/// # Safety
/// Null, or a time of the program.
pub(crate) unsafe fn due_after(length: *const timespec) -> Option<u64> {
    // SAFETY: as the caller's.
    let length = unsafe { length.as_ref() }?;
    Some(runtime().time().saturating_add(nanoseconds(length)))
}

/// Executes an operation that waits until it can be done or the time is up, if there is a limit.
pub(crate) fn wait_until(
    action: Action,
    object: ObjectId,
    first: u64,
    due: Option<u64>,
    call_site: CallSite,
) -> u64 {
    let runtime = runtime();
    let left = due.map_or(0, |due| due.saturating_sub(runtime.time()));
    let distant = left >= Deadline::NEAR;
    let kept = runtime.options.keeps_pauses();
    let deadline = due.filter(|_| kept).map(|at| Deadline { at, distant });
    let operation = Operation::new(action, object, first, due.is_some().into(), Location::caller());
    let result = perform(Operation { deadline, ..operation }, call_site);
    let is_late = match action {
        Action::Reacquire | Action::TakeToken | Action::Join => result == 1,
        Action::Receive => result > 1,
        _ => result != 1,
    };
    let runtime = crate::runtime::runtime();
    match due {
        Some(due) if is_late => runtime.is_due(due, distant),
        // It was woken when its time had been up for long.
        Some(due) if distant => {
            runtime.overtaken |= due.saturating_add(Deadline::NEAR) < runtime.latest_end
        }
        _ => {}
    }
    result
}

fn now() -> timespec {
    let time = inside(|runtime| {
        let time = runtime.time() + READING;
        runtime.set_time(time);
        BEGINNING + time
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
    let runtime = runtime();
    let due = runtime.time().saturating_add(nanoseconds);
    let distant = nanoseconds >= Deadline::NEAR;
    runtime.me().spinning.clear();
    let call_site = CallSite { pc, address: 0 };
    if distant && runtime.options.keeps_pauses() {
        let token = runtime.run().state.thread(runtime.current()).token;
        wait_until(Action::TakeToken, token, 0, Some(due), call_site);
    } else {
        runtime.set_time(due);
        sleep_a_while(call_site);
        crate::runtime::runtime().is_due(due, distant);
    }
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
