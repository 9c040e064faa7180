//! Condition variables.
//!
//! Waiting is two operations: release the mutex and start to wait; then, once woken, acquire it
//! again. There are no spurious wakeups. A wait with a time limit may end by it when nothing else can
//! happen, and once in an execution although others could still go on.

use crate::clock::{due_at, wait_until};
use crate::control::operation;
use crate::entry::{entry, is_program, real};
use crate::mutex::{acquired_robust, held_for_wait, object};
use crate::objects::Kind;
use crate::runtime::inside;
use crate::task::CallSite;
use libc::{clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, timespec};
use preempt_explore::Action;
use std::ffi::c_int;

entry! {
    pthread_cond_init / 2 => init;
    pthread_cond_destroy / 1 => destroy;
    pthread_cond_wait / 2 => wait;
    pthread_cond_timedwait / 3 => timed_wait;
    pthread_cond_clockwait / 4 => clock_wait;
    pthread_cond_signal / 1 => signal;
    pthread_cond_broadcast / 1 => broadcast;
}

pub(crate) unsafe extern "C" fn init(
    condition: *mut pthread_cond_t,
    attributes: *const pthread_condattr_t,
    _: usize,
) -> c_int {
    if is_program() {
        inside(|runtime| object(runtime, condition as usize, Kind::Condition));
    }
    let init =
        real!(c"pthread_cond_init", fn(*mut pthread_cond_t, *const pthread_condattr_t) -> c_int);
    // SAFETY: as the caller's.
    unsafe { init(condition, attributes) }
}

pub(crate) unsafe extern "C" fn destroy(condition: *mut pthread_cond_t, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe {
            real!(c"pthread_cond_destroy", fn(*mut pthread_cond_t) -> c_int)(condition)
        };
    }
    inside(|runtime| {
        let index = object(runtime, condition as usize, Kind::Condition);
        let id = runtime.objects.id(index);
        let run = runtime.run();
        if run.order.iter().any(|&thread| run.state.thread(thread).waiting == id) {
            let message = "a condition is destroyed while threads wait on it";
            let kind = crate::trouble::Kind::Misuse;
            runtime.stop(crate::trouble::Trouble::new(kind, pc, message));
        }
        0
    })
}

fn wait_under_control(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    due: Option<u64>,
    pc: usize,
) -> c_int {
    inside(|runtime| {
        let lock = held_for_wait(runtime, mutex, pc);
        let queue = object(runtime, condition as usize, Kind::Condition);
        let (lock, queue) = (runtime.objects.id(lock), runtime.objects.id(queue));
        runtime.me().spinning.clear();
        let call_site = CallSite { pc, address: condition as usize };
        operation(Action::Wait, lock, u64::from(queue.0), 0, call_site);
        let late = wait_until(Action::Reacquire, lock, u64::from(queue.0), due, call_site);
        if late == 1 {
            operation(Action::Lock, lock, 0, 0, call_site);
        }
        match acquired_robust(mutex as usize, pc) {
            0 if late == 1 => libc::ETIMEDOUT,
            left => left,
        }
    })
}

pub(crate) unsafe extern "C" fn wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    pc: usize,
) -> c_int {
    if !is_program() {
        let wait =
            real!(c"pthread_cond_wait", fn(*mut pthread_cond_t, *mut pthread_mutex_t) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { wait(condition, mutex) };
    }
    wait_under_control(condition, mutex, None, pc)
}

pub(crate) unsafe extern "C" fn timed_wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
    pc: usize,
) -> c_int {
    if !is_program() {
        let wait = real!(
            c"pthread_cond_timedwait",
            fn(*mut pthread_cond_t, *mut pthread_mutex_t, *const timespec) -> c_int
        );
        // SAFETY: as the caller's.
        return unsafe { wait(condition, mutex, until) };
    }
    // SAFETY: the program's own time.
    wait_under_control(condition, mutex, unsafe { due_at(until) }, pc)
}

unsafe extern "C" fn clock_wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
    pc: usize,
) -> c_int {
    if !is_program() {
        let wait = real!(
            c"pthread_cond_clockwait",
            fn(*mut pthread_cond_t, *mut pthread_mutex_t, clockid_t, *const timespec) -> c_int
        );
        // SAFETY: as the caller's.
        return unsafe { wait(condition, mutex, clock, until) };
    }
    // SAFETY: as above.
    wait_under_control(condition, mutex, unsafe { due_at(until) }, pc)
}

fn wake(condition: *mut pthread_cond_t, action: Action, pc: usize) -> c_int {
    inside(|runtime| {
        let index = object(runtime, condition as usize, Kind::Condition);
        let id = runtime.objects.id(index);
        runtime.me().spinning.clear();
        operation(action, id, 0, 0, CallSite { pc, address: condition as usize });
        0
    })
}

pub(crate) unsafe extern "C" fn signal(condition: *mut pthread_cond_t, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe {
            real!(c"pthread_cond_signal", fn(*mut pthread_cond_t) -> c_int)(condition)
        };
    }
    wake(condition, Action::NotifyOne, pc)
}

pub(crate) unsafe extern "C" fn broadcast(condition: *mut pthread_cond_t, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe {
            real!(c"pthread_cond_broadcast", fn(*mut pthread_cond_t) -> c_int)(condition)
        };
    }
    wake(condition, Action::NotifyAll, pc)
}
