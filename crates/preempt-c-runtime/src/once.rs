//! One-time initialisation: `pthread_once`, and the guards of C++'s static variables.

use crate::control::{operation, perform};
use crate::entry::{entry, is_program, real};
use crate::mutex::{holder, object};
use crate::objects::Kind;
use crate::runtime::inside;
use crate::task::CallSite;
use preempt_explore::{Action, Operation, Order};
use std::ffi::c_int;
use std::panic::Location;

entry! {
    pthread_once / 2 => once;
    __cxa_guard_acquire / 1 => guard_acquire;
    __cxa_guard_release / 1 => guard_release;
    __cxa_guard_abort / 1 => guard_abort;
}

const DONE: u64 = 2;
const AGAIN: u64 = 0;

/// Begins an initialisation. `false` if it was done before.
fn begins(address: usize, pc: usize) -> bool {
    inside(|runtime| {
        let index = object(runtime, address, Kind::Once);
        let id = runtime.objects.id(index);
        operation(Action::OnceEnter, id, 0, 0, CallSite { pc, address }) != DONE
    })
}

/// Whether the variable was initialised before `main`, out of our sight.
fn was_done_before(address: usize, done: bool) -> bool {
    done && inside(|runtime| {
        let index = object(runtime, address, Kind::Once);
        holder(runtime, index) == 0
    })
}

fn ends(address: usize, state: u64, pc: usize) {
    inside(|runtime| {
        let index = object(runtime, address, Kind::Once);
        let id = runtime.objects.id(index);
        runtime.me().spinning.clear();
        operation(Action::OnceExit, id, state, 0, CallSite { pc, address });
    });
}

unsafe extern "C" fn once(
    control: *mut libc::pthread_once_t,
    initialise: extern "C" fn(),
    pc: usize,
) -> c_int {
    if !is_program() {
        let once = real!(c"pthread_once", fn(*mut libc::pthread_once_t, extern "C" fn()) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { once(control, initialise) };
    }
    // SAFETY: the program's own variable; so does the C library say that it is done.
    let done = unsafe { control.read_volatile() } == 2;
    if !was_done_before(control as usize, done) && begins(control as usize, pc) {
        initialise();
        ends(control as usize, DONE, pc);
    }
    0
}

type Guard = *mut u8;

unsafe extern "C" fn guard_acquire(guard: Guard, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"__cxa_guard_acquire", fn(Guard) -> c_int)(guard) };
    }
    // SAFETY: the first byte of a guard says whether the variable is initialised.
    let done = unsafe { guard.read_volatile() } == 1;
    c_int::from(!was_done_before(guard as usize, done) && begins(guard as usize, pc))
}

unsafe extern "C" fn guard_release(guard: Guard, pc: usize) {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"__cxa_guard_release", fn(Guard))(guard) };
    }
    ends(guard as usize, DONE, pc);
    // The program looks at the first byte by an atomic load before it calls us.
    inside(|runtime| {
        let index = crate::atomics::object(runtime, guard as usize, 1);
        let id = runtime.objects.id(index);
        let store = Operation::new(Action::Store, id, 1, 0, Location::caller());
        let store = Operation { urgent: true, ..store.with_order(Order::Release, Order::Release) };
        perform(store, CallSite { pc, address: guard as usize });
    });
    // SAFETY: the guard's first byte.
    unsafe { guard.write_volatile(1) };
}

unsafe extern "C" fn guard_abort(guard: Guard, pc: usize) {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"__cxa_guard_abort", fn(Guard))(guard) };
    }
    ends(guard as usize, AGAIN, pc);
}
