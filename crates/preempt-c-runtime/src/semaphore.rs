//! POSIX semaphores without names.
//!
//! A semaphore is a channel of the strategy whose messages are the units: posting sends one, waiting
//! receives one.

use crate::atomics::before_read;
use crate::clock::{due_at, wait_until};
use crate::control::operation;
use crate::entry::{entry, is_program, real};
use crate::mutex::object;
use crate::objects::Kind;
use crate::runtime::inside;
use crate::task::CallSite;
use crate::trouble::Trouble;
use libc::{clockid_t, sem_t, timespec};
use preempt_explore::{Action, Channel};
use std::ffi::{c_char, c_int, c_uint};

entry! {
    sem_init / 3 => init;
    sem_destroy / 1 => destroy;
    sem_wait / 1 => wait;
    sem_trywait / 1 => try_wait;
    sem_timedwait / 2 => timed_wait;
    sem_clockwait / 3 => clock_wait;
    sem_post / 1 => post;
    sem_getvalue / 2 => value;
}

unsafe extern "C" fn init(semaphore: *mut sem_t, shared: c_int, value: c_uint, _: usize) -> c_int {
    if is_program() {
        inside(|runtime| {
            let index = object(runtime, semaphore as usize, Kind::Semaphore);
            let (run, id) = (runtime.run(), runtime.objects.id(index));
            run.assign(
                id,
                Channel { length: value, senders: 1, receiver: true, offered: false }.value(),
            );
        });
    }
    // SAFETY: as the caller's.
    unsafe { real!(c"sem_init", fn(*mut sem_t, c_int, c_uint) -> c_int)(semaphore, shared, value) }
}

unsafe extern "C" fn destroy(semaphore: *mut sem_t, _: usize) -> c_int {
    if is_program() {
        return 0;
    }
    // SAFETY: as the caller's.
    unsafe { real!(c"sem_destroy", fn(*mut sem_t) -> c_int)(semaphore) }
}

fn fails(error: c_int) -> c_int {
    // SAFETY: the thread's own variable.
    unsafe { *libc::__errno_location() = error };
    -1
}

fn take(semaphore: *mut sem_t, action: Action, due: Option<u64>, pc: usize) -> c_int {
    let result = inside(|runtime| {
        let index = object(runtime, semaphore as usize, Kind::Semaphore);
        let call_site = CallSite { pc, address: semaphore as usize };
        if action == Action::TryReceive {
            before_read(pc, semaphore as usize, call_site);
        }
        let id = crate::runtime::runtime().objects.id(index);
        let result = wait_until(action, id, 0, due, call_site);
        let me = crate::runtime::runtime().me();
        match result {
            1 => me.spinning.read(pc, semaphore as usize, 0),
            _ => me.spinning.clear(),
        }
        result
    });
    match result {
        0 => 0,
        1 => fails(libc::EAGAIN),
        _ => fails(libc::ETIMEDOUT),
    }
}

unsafe extern "C" fn wait(semaphore: *mut sem_t, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"sem_wait", fn(*mut sem_t) -> c_int)(semaphore) };
    }
    take(semaphore, Action::Receive, None, pc)
}

unsafe extern "C" fn try_wait(semaphore: *mut sem_t, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"sem_trywait", fn(*mut sem_t) -> c_int)(semaphore) };
    }
    take(semaphore, Action::TryReceive, None, pc)
}

unsafe extern "C" fn timed_wait(semaphore: *mut sem_t, until: *const timespec, pc: usize) -> c_int {
    if !is_program() {
        let wait = real!(c"sem_timedwait", fn(*mut sem_t, *const timespec) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { wait(semaphore, until) };
    }
    // SAFETY: the program's own time.
    take(semaphore, Action::Receive, unsafe { due_at(until) }, pc)
}

unsafe extern "C" fn clock_wait(
    semaphore: *mut sem_t,
    clock: clockid_t,
    until: *const timespec,
    pc: usize,
) -> c_int {
    if !is_program() {
        let wait = real!(c"sem_clockwait", fn(*mut sem_t, clockid_t, *const timespec) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { wait(semaphore, clock, until) };
    }
    // SAFETY: as above.
    take(semaphore, Action::Receive, unsafe { due_at(until) }, pc)
}

unsafe extern "C" fn post(semaphore: *mut sem_t, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"sem_post", fn(*mut sem_t) -> c_int)(semaphore) };
    }
    inside(|runtime| {
        let index = object(runtime, semaphore as usize, Kind::Semaphore);
        let id = runtime.objects.id(index);
        runtime.me().spinning.clear();
        operation(Action::Send, id, 0, 0, CallSite { pc, address: semaphore as usize });
        0
    })
}

unsafe extern "C" fn value(semaphore: *mut sem_t, value: *mut c_int, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe {
            real!(c"sem_getvalue", fn(*mut sem_t, *mut c_int) -> c_int)(semaphore, value)
        };
    }
    let found = inside(|runtime| {
        let call_site = CallSite { pc, address: semaphore as usize };
        before_read(pc, semaphore as usize, call_site);
        let index = object(runtime, semaphore as usize, Kind::Semaphore);
        let id = runtime.objects.id(index);
        let found = operation(Action::Length, id, 0, 0, call_site);
        runtime.me().spinning.read(pc, semaphore as usize, found);
        found
    });
    // SAFETY: the program's own variable.
    unsafe { *value = found as c_int };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_open(
    name: *const c_char,
    flags: c_int,
    mode: libc::mode_t,
    value: c_uint,
) -> *mut sem_t {
    if is_program() {
        let pc = crate::caller::caller();
        let message = "sem_open is not modelled: other processes may use a semaphore with a name. \
                       Use sem_init";
        inside(|runtime| runtime.stop(Trouble::unsupported(pc, message)));
    }
    let open = real!(c"sem_open", fn(*const c_char, c_int, libc::mode_t, c_uint) -> *mut sem_t);
    // SAFETY: as the caller's; superfluous arguments are not looked at.
    unsafe { open(name, flags, mode, value) }
}
