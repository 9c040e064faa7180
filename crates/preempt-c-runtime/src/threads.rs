//! Threads: creating, joining, ending; and the hand-over between real ones.

use crate::backend::Backend;
use crate::clock::{due_at, wait_until};
use crate::control::{end_of_thread, into_program, spawn};
use crate::entry::{entry, is_program, real};
use crate::mutex::owner_dies;
use crate::runtime::inside;
use crate::runtime::{Runtime, is_installed, runtime};
use crate::task::CallSite;
use crate::task::Start;
use crate::token::wait_for_turn;
use crate::trouble::{Kind, Trouble};
use crate::{context, equip, keys, raw, unwritten};
use libc::{pthread_attr_t, pthread_t, timespec};
use preempt_explore::{Action, Next, ObjectId, ThreadId};
use std::ffi::{c_int, c_void};

entry! {
    pthread_create / 4 => create;
    pthread_join / 2 => join;
    pthread_detach / 1 => detach;
    pthread_cancel / 1 => cancel;
    pthread_timedjoin_np / 3 => timed_join;
    pthread_clockjoin_np / 4 => clock_join;
    pthread_tryjoin_np / 2 => try_join;
}

/// No stack is so large. Otherwise all are as large as ours.
const ADDRESS_SPACE: usize = 1 << 47;

pub(crate) unsafe extern "C" fn create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
    pc: usize,
) -> c_int {
    if !is_program() {
        let create = real!(
            c"pthread_create",
            fn(*mut pthread_t, *const pthread_attr_t, Start, *mut c_void) -> c_int
        );
        if !is_installed() {
            crate::plain::thread_is_made();
        }
        // SAFETY: as the caller's.
        return unsafe { create(thread, attributes, start, argument) };
    }
    let mut detached = 0;
    let mut stack = 0;
    if !attributes.is_null() {
        // SAFETY: attributes that the program has initialised.
        unsafe {
            libc_getdetachstate(attributes, &mut detached);
            libc::pthread_attr_getstacksize(attributes, &mut stack);
        }
    }
    if stack >= ADDRESS_SPACE {
        return libc::EAGAIN;
    }
    inside(|runtime| {
        runtime.me().call_site = CallSite { pc, address: start as usize };
        spawn(|runtime, child| {
            let task = &mut runtime.tasks[child.index()];
            task.start = Some(start);
            task.argument = argument;
            task.call_site = CallSite { pc: start as usize, address: 0 };
            task.detached = detached == libc::PTHREAD_CREATE_DETACHED;
            if runtime.backend == Backend::Threads {
                make_real(runtime, child);
            } else {
                equip::equip(runtime, child);
                let task = &mut runtime.tasks[child.index()];
                task.identity = task.block;
                task.context = context::prepare(task.stack, thread_body);
            }
            // SAFETY: the program's own variable; the child may read it at once.
            unsafe { *thread = runtime.tasks[child.index()].identity as pthread_t };
        });
    });
    0
}

unsafe extern "C" {
    #[link_name = "pthread_attr_getdetachstate"]
    fn libc_getdetachstate(attributes: *const pthread_attr_t, state: *mut c_int) -> c_int;
}

extern "C" fn thread_body() -> ! {
    let runtime = runtime();
    let me = runtime.me();
    let (start, argument) = (me.start, me.argument);
    let Some(start) = start else { raw::fail("preempt: a thread without a function\n") };
    me.spinning.begin(&raw const start as usize);
    unwritten::fill();
    into_program();
    // SAFETY: the program's own function with the argument that it gave.
    let value = unsafe { start(argument) };
    finish(value)
}

/// A thread other than the main one has ended with this value.
pub(crate) fn finish(value: *mut c_void) -> ! {
    keys::destroy_values();
    crate::entry::select(crate::entry::SEARCH);
    runtime().me().value = value;
    owner_dies();
    end_of_thread(Next::End)
}

/// On a real thread.
unsafe extern "C" fn real_body(thread: *mut c_void) -> *mut c_void {
    wait_for_turn(thread as usize);
    crate::kernel::watch_this_thread();
    thread_body()
}

fn make_real(runtime: &mut Runtime, child: ThreadId) {
    let create = real!(
        c"pthread_create",
        fn(*mut pthread_t, *const pthread_attr_t, Start, *mut c_void) -> c_int
    );
    let mut identity: pthread_t = 0;
    let argument = child.index() as *mut c_void;
    // SAFETY: the thread waits for its turn before it does anything.
    let failed = unsafe { create(&mut identity, std::ptr::null(), real_body, argument) };
    if failed != 0 {
        runtime.stop(Trouble::unsupported(0, "the operating system makes no more threads"));
    }
    runtime.tasks[child.index()].identity = identity as usize;
}

/// The thread that the program calls by this name.
pub(crate) fn find(runtime: &Runtime, name: pthread_t) -> Option<ThreadId> {
    let run = runtime.run();
    let known = |thread: &ThreadId| runtime.tasks[thread.index()].identity == name as usize;
    // The latest of that name: identities may be used again by later threads.
    run.order.iter().rev().copied().find(known)
}

fn misuse(pc: usize, message: &str) -> ! {
    runtime().stop(Trouble::new(Kind::Misuse, pc, message))
}

unsafe extern "C" fn join(thread: pthread_t, value: *mut *mut c_void, pc: usize) -> c_int {
    if !is_program() {
        let join = real!(c"pthread_join", fn(pthread_t, *mut *mut c_void) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { join(thread, value) };
    }
    join_until(thread, value, None, pc)
}

/// Waits for the end of a thread, until a time if there is a limit.
fn join_until(thread: pthread_t, value: *mut *mut c_void, due: Option<u64>, pc: usize) -> c_int {
    let result = inside(|runtime| {
        let Some(target) = find(runtime, thread) else { return Err(libc::ESRCH) };
        if target == runtime.current() {
            return Err(libc::EDEADLK);
        }
        let task = &runtime.tasks[target.index()];
        if task.detached {
            misuse(pc, "pthread_join of a thread that was detached");
        }
        if task.joined {
            misuse(pc, "pthread_join of a thread that was joined before");
        }
        let call_site = CallSite { pc, address: 0 };
        if wait_until(Action::Join, ObjectId::NONE, u64::from(target.0), due, call_site) != 0 {
            return Err(libc::ETIMEDOUT);
        }
        let target = &mut crate::runtime::runtime().tasks[target.index()];
        target.joined = true;
        Ok(target.value)
    });
    match result {
        Ok(found) => {
            if !value.is_null() {
                // SAFETY: the program's own variable.
                unsafe { *value = found };
            }
            0
        }
        Err(error) => error,
    }
}

unsafe extern "C" fn detach(thread: pthread_t, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"pthread_detach", fn(pthread_t) -> c_int)(thread) };
    }
    inside(|runtime| {
        let Some(target) = find(runtime, thread) else { return libc::ESRCH };
        let task = &mut runtime.tasks[target.index()];
        if task.detached || task.joined {
            misuse(pc, "pthread_detach of a thread that was detached or joined before");
        }
        task.detached = true;
        0
    })
}

fn unsupported(pc: usize, message: &str) -> ! {
    inside(|runtime| runtime.stop(Trouble::unsupported(pc, message)))
}

unsafe extern "C" fn cancel(thread: pthread_t, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"pthread_cancel", fn(pthread_t) -> c_int)(thread) };
    }
    unsupported(
        pc,
        "pthread_cancel is not modelled: end threads by a flag that they look at, or leave the \
         cancellation out of the test",
    )
}

unsafe extern "C" fn timed_join(
    thread: pthread_t,
    value: *mut *mut c_void,
    until: *const timespec,
    pc: usize,
) -> c_int {
    if !is_program() {
        let join = real!(
            c"pthread_timedjoin_np",
            fn(pthread_t, *mut *mut c_void, *const timespec) -> c_int
        );
        // SAFETY: as the caller's.
        return unsafe { join(thread, value, until) };
    }
    // SAFETY: the program's own time.
    join_until(thread, value, unsafe { due_at(until) }, pc)
}

unsafe extern "C" fn clock_join(
    thread: pthread_t,
    value: *mut *mut c_void,
    clock: libc::clockid_t,
    until: *const timespec,
    pc: usize,
) -> c_int {
    if !is_program() {
        let join = real!(
            c"pthread_clockjoin_np",
            fn(pthread_t, *mut *mut c_void, libc::clockid_t, *const timespec) -> c_int
        );
        // SAFETY: as the caller's.
        return unsafe { join(thread, value, clock, until) };
    }
    // SAFETY: the program's own time.
    join_until(thread, value, unsafe { due_at(until) }, pc)
}

unsafe extern "C" fn try_join(thread: pthread_t, value: *mut *mut c_void, pc: usize) -> c_int {
    if !is_program() {
        let join = real!(c"pthread_tryjoin_np", fn(pthread_t, *mut *mut c_void) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { join(thread, value) };
    }
    let _ = (thread, value);
    unsupported(pc, "pthread_tryjoin_np is not modelled: use pthread_join")
}

#[unsafe(no_mangle)]
extern "C" fn pthread_self() -> pthread_t {
    if is_program() {
        return inside(|runtime| runtime.me().identity) as pthread_t;
    }
    context::block() as pthread_t
}
