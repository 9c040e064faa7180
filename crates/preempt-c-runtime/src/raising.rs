//! Signals that the program sends to itself.
//!
//! A signal to the calling thread is delivered before the call returns, unless the thread blocks it: its handler is called,
//! or what the system does without one happens. One that is blocked is delivered when it is
//! unblocked. Signals to other threads would arrive at a time that nothing controls, so they are refused.

use crate::dispositions::{self, Disposition};
use crate::entry::{entry, is_program, real};
use crate::runtime::inside;
use crate::signal_numbers;
use crate::threads::find;
use crate::trouble::{Kind, Trouble};
use libc::{pid_t, pthread_t};
use std::ffi::c_int;

entry! {
    raise / 1 => raise_here;
    kill / 2 => kill_process;
    pthread_kill / 2 => kill_thread;
    pthread_sigmask / 3 => change_mask_of_thread;
    sigprocmask / 3 => change_mask;
}

unsafe extern "C" fn raise_here(signal: c_int, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"raise", fn(c_int) -> c_int)(signal) };
    }
    send(signal, pc)
}

unsafe extern "C" fn kill_process(process: pid_t, signal: c_int, pc: usize) -> c_int {
    // SAFETY: has no effects.
    if !is_program() || process != unsafe { libc::getpid() } {
        // SAFETY: as the caller's. Under control the kernel reports the call.
        return unsafe { real!(c"kill", fn(pid_t, c_int) -> c_int)(process, signal) };
    }
    send(signal, pc)
}

unsafe extern "C" fn kill_thread(thread: pthread_t, signal: c_int, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"pthread_kill", fn(pthread_t, c_int) -> c_int)(thread, signal) };
    }
    let target = inside(|runtime| find(runtime, thread).map(|found| found == runtime.current()));
    match target {
        None => libc::ESRCH,
        Some(_) if signal == 0 => 0,
        Some(true) => send(signal, pc),
        Some(false) => inside(|runtime| {
            let message = "pthread_kill sends a signal to another thread, which would arrive at any \
                           time: this is not modelled";
            runtime.stop(Trouble::unsupported(pc, message))
        }),
    }
}

fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

fn send(signal: c_int, pc: usize) -> c_int {
    if signal == 0 {
        return 0;
    }
    if !(1..=64).contains(&signal) {
        // SAFETY: the thread's own variable.
        unsafe { *libc::__errno_location() = libc::EINVAL };
        return -1;
    }
    let blocked = inside(|runtime| {
        let me = runtime.me();
        let blocked = me.blocked_signals & bit(signal) != 0;
        if blocked {
            me.pending_signals |= bit(signal);
        }
        blocked
    });
    if !blocked {
        deliver(signal, pc);
    }
    0
}

/// What happens on a signal, as the program.
fn deliver(signal: c_int, pc: usize) {
    let (handler, flags, mask) = match dispositions::of(signal) {
        Disposition::Ignored => return,
        Disposition::Ends => inside(|runtime| {
            let message = format!("{} ends the program", signal_numbers::name(signal));
            runtime.stop(Trouble::new(Kind::Signal, pc, message))
        }),
        Disposition::Handled { handler, flags, mask } => (handler, flags as c_int, mask),
    };
    let own = if flags & libc::SA_NODEFER == 0 { bit(signal) } else { 0 };
    let before = inside(|runtime| {
        let me = runtime.me();
        let before = me.blocked_signals;
        me.blocked_signals |= mask | own;
        before
    });
    if flags & libc::SA_RESETHAND != 0 {
        dispositions::reset(signal);
    }
    // SAFETY: plain data.
    let mut information: libc::siginfo_t = unsafe { std::mem::zeroed() };
    information.si_signo = signal;
    information.si_code = libc::SI_TKILL;
    type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut std::ffi::c_void);
    // SAFETY: the program's own handler; one that takes the number alone does not look at the rest.
    unsafe {
        let handler = std::mem::transmute::<usize, Handler>(handler);
        handler(signal, &raw mut information, std::ptr::null_mut());
    }
    set_blocked(before, pc);
}

/// Changes which signals the running thread blocks, and delivers those that have waited.
fn set_blocked(mask: u64, pc: usize) {
    inside(|runtime| runtime.me().blocked_signals = mask);
    loop {
        let due = inside(|runtime| {
            let me = runtime.me();
            let due = me.pending_signals & !me.blocked_signals;
            let first = due & due.wrapping_neg();
            me.pending_signals &= !first;
            first
        });
        if due == 0 {
            return;
        }
        deliver(due.trailing_zeros() as c_int + 1, pc);
    }
}

unsafe extern "C" fn change_mask(how: c_int, new: *const u64, old: *mut u64, pc: usize) -> c_int {
    // SAFETY: as the caller's.
    let error = unsafe { change_mask_of_thread(how, new, old, pc) };
    if error == 0 {
        return 0;
    }
    // SAFETY: the thread's own variable.
    unsafe { *libc::__errno_location() = error };
    -1
}

unsafe extern "C" fn change_mask_of_thread(
    how: c_int,
    new: *const u64,
    old: *mut u64,
    pc: usize,
) -> c_int {
    if !is_program() {
        let change = real!(c"pthread_sigmask", fn(c_int, *const u64, *mut u64) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { change(how, new, old) };
    }
    let before = inside(|runtime| runtime.me().blocked_signals);
    // SAFETY: the program's own sets, of which the first 64 bits are used.
    let wanted = unsafe {
        if !old.is_null() {
            std::ptr::write_bytes(old.cast::<u8>(), 0, size_of::<libc::sigset_t>());
            *old = before;
        }
        if new.is_null() {
            return 0;
        }
        *new
    };
    let mask = match how {
        libc::SIG_BLOCK => before | wanted,
        libc::SIG_UNBLOCK => before & !wanted,
        libc::SIG_SETMASK => wanted,
        _ => return libc::EINVAL,
    };
    set_blocked(mask & !(bit(libc::SIGKILL) | bit(libc::SIGSTOP)), pc);
    0
}
