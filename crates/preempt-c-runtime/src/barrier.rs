//! Barriers.

use crate::control::operation;
use crate::entry::{entry, is_program, real};
use crate::mutex::{holder, object};
use crate::objects::Kind;
use crate::runtime::inside;
use crate::snapshot::is_static;
use crate::task::CallSite;
use crate::trouble::{Kind as Wrong, Trouble};
use libc::{pthread_barrier_t, pthread_barrierattr_t};
use preempt_explore::Action;
use std::ffi::{c_int, c_uint};

entry! {
    pthread_barrier_init / 3 => init;
    pthread_barrier_destroy / 1 => destroy;
    pthread_barrier_wait / 1 => wait;
}

unsafe extern "C" fn init(
    barrier: *mut pthread_barrier_t,
    attributes: *const pthread_barrierattr_t,
    count: c_uint,
    pc: usize,
) -> c_int {
    if is_program() && count > 0 {
        inside(|runtime| {
            let index = object(runtime, barrier as usize, Kind::Barrier);
            // Other memory may belong to another object by now.
            if runtime.objects.details(index).count != 0 && is_static(barrier as usize) {
                misuse(pc, "a barrier is initialised again before it is destroyed");
            }
            let (run, id) = (runtime.run(), runtime.objects.id(index));
            runtime.objects.details(index).count = count;
            run.assign(id, 0);
        });
    }
    let init = real!(
        c"pthread_barrier_init",
        fn(*mut pthread_barrier_t, *const pthread_barrierattr_t, c_uint) -> c_int
    );
    // SAFETY: as the caller's.
    unsafe { init(barrier, attributes, count) }
}

fn misuse(pc: usize, message: &str) -> ! {
    crate::runtime::runtime().stop(Trouble::new(Wrong::Misuse, pc, message))
}

unsafe extern "C" fn destroy(barrier: *mut pthread_barrier_t, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe {
            real!(c"pthread_barrier_destroy", fn(*mut pthread_barrier_t) -> c_int)(barrier)
        };
    }
    inside(|runtime| {
        let index = object(runtime, barrier as usize, Kind::Barrier);
        if holder(runtime, index) as u32 != 0 {
            misuse(pc, "a barrier is destroyed while threads wait at it");
        }
        runtime.objects.details(index).count = 0;
        0
    })
}

unsafe extern "C" fn wait(barrier: *mut pthread_barrier_t, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe {
            real!(c"pthread_barrier_wait", fn(*mut pthread_barrier_t) -> c_int)(barrier)
        };
    }
    inside(|runtime| {
        let index = object(runtime, barrier as usize, Kind::Barrier);
        let count = runtime.objects.details(index).count;
        if count == 0 {
            misuse(pc, "a thread waits at a barrier that is not initialised");
        }
        let id = runtime.objects.id(index);
        let call_site = CallSite { pc, address: barrier as usize };
        runtime.me().spinning.clear();
        let arrived = operation(Action::Arrive, id, u64::from(count), 0, call_site);
        if arrived & 1 == 1 {
            return libc::PTHREAD_BARRIER_SERIAL_THREAD;
        }
        operation(Action::Leave, id, arrived >> 1, 0, call_site);
        0
    })
}
