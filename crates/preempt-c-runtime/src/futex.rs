//! `syscall(SYS_futex, …)`: what semaphores and waiting atomics of C++ are made of.
//!
//! The kernel looks at the word and starts to wait in one indivisible step. Here that is a lock of
//! our own per address, taken by both sides; no other thread runs while it is held, because everything
//! inside is urgent, so it adds no scheduling points beyond its first. Both begin with a full barrier, as
//! Linux promises: what a thread has stored before its call is seen by every thread that looks after a
//! later call of its own.

use crate::atomics::fence;
use crate::clock::{due_after, due_at, wait_until};
use crate::control::{operation, perform, urgently};
use crate::entry::is_program;
use crate::mutex::object;
use crate::objects::Kind;
use crate::raw;
use crate::runtime::inside;
use crate::task::CallSite;
use crate::trouble::Trouble;
use preempt_explore::{Action, Operation, Order};
use std::ffi::c_long;
use std::panic::Location;

const WAIT: usize = 0;
const WAKE: usize = 1;
const WAIT_BITSET: usize = 9;
const WAKE_BITSET: usize = 10;
const COMMAND: usize = 0x7F;

fn fails(error: i32) -> c_long {
    // SAFETY: the thread's own variable.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// `syscall` takes any number of arguments; on this processor unused ones do no harm.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if is_program() && number == libc::SYS_futex {
        return futex(a, b & COMMAND, c, d);
    }
    if is_program() && number == libc::SYS_gettid {
        return inside(|runtime| 1000 + c_long::from(runtime.current().0));
    }
    // SAFETY: as the caller's. Under control the kernel reports the call to us again.
    let result = unsafe { plain(number, [a, b, c, d, e, f]) };
    if (-4095..0).contains(&result) { fails(-result as i32) } else { result as c_long }
}

/// The call itself, made outside this library's text when the program is under control.
///
/// # Safety
/// As for the system call.
unsafe fn plain(number: c_long, arguments: [usize; 6]) -> isize {
    if is_program() {
        return crate::kernel::decide(number, arguments, 0);
    }
    // SAFETY: as the caller's.
    unsafe { raw::syscall(number, arguments) }
}

/// One futex operation under control.
pub(crate) fn futex(word: usize, command: usize, value: usize, timeout: usize) -> c_long {
    let pc = crate::caller::caller();
    match command {
        // SAFETY: the program's own time, if it gives one.
        WAIT => wait(word, value as u32, unsafe { due_after(timeout as *const _) }, pc),
        // SAFETY: as above.
        WAIT_BITSET => wait(word, value as u32, unsafe { due_at(timeout as *const _) }, pc),
        WAKE | WAKE_BITSET => wake(word, value as i32, pc),
        _ => inside(|runtime| {
            let message = format!(
                "the futex operation {command} is not modelled: only waiting and waking are"
            );
            runtime.stop(Trouble::unsupported(pc, message))
        }),
    }
}

fn wait(word: usize, expected: u32, due: Option<u64>, pc: usize) -> c_long {
    let call_site = CallSite { pc, address: word };
    fence(Order::SequentiallyConsistent);
    let result = inside(|runtime| {
        let lock = object(runtime, word, Kind::FutexLock);
        let queue = object(runtime, word, Kind::FutexQueue);
        let (lock, queue) = (runtime.objects.id(lock), runtime.objects.id(queue));
        operation(Action::Lock, lock, 0, 0, call_site);
        let runtime = crate::runtime::runtime();
        let number = crate::atomics::object(runtime, word, 4);
        let number = runtime.objects.id(number);
        // The kernel looks at the memory itself, which is no synchronisation.
        let load = Operation::new(Action::Load, number, 0, Operation::NEWEST, Location::caller());
        let load = Operation { urgent: true, ..load.with_order(Order::Relaxed, Order::Relaxed) };
        let found = perform(load, call_site) as u32;
        if found != expected {
            urgently(Action::Unlock, lock, 0, 0, call_site);
            return Err(libc::EAGAIN);
        }
        crate::runtime::runtime().me().spinning.clear();
        urgently(Action::Wait, lock, u64::from(queue.0), 0, call_site);
        let late = wait_until(Action::Reacquire, lock, u64::from(queue.0), due, call_site);
        if late == 1 {
            return Err(libc::ETIMEDOUT);
        }
        urgently(Action::Unlock, lock, 0, 0, call_site);
        Ok(())
    });
    match result {
        Ok(()) => 0,
        Err(error) => fails(error),
    }
}

fn wake(word: usize, most: i32, pc: usize) -> c_long {
    let call_site = CallSite { pc, address: word };
    fence(Order::SequentiallyConsistent);
    inside(|runtime| {
        let lock = object(runtime, word, Kind::FutexLock);
        let queue = object(runtime, word, Kind::FutexQueue);
        let (lock, queue) = (runtime.objects.id(lock), runtime.objects.id(queue));
        runtime.me().spinning.clear();
        operation(Action::Lock, lock, 0, 0, call_site);
        let run = crate::runtime::runtime().run();
        let waiting = run.order.iter().filter(|&&t| run.state.thread(t).waiting == queue).count();
        let woken = waiting.min(most.max(0) as usize);
        if woken == waiting {
            urgently(Action::NotifyAll, queue, 0, 0, call_site);
        } else {
            for _ in 0..woken {
                urgently(Action::NotifyOne, queue, 0, 0, call_site);
            }
        }
        urgently(Action::Unlock, lock, 0, 0, call_site);
        woken as c_long
    })
}
