//! What the program asks and says about its threads: their names, where their stacks are, and how they want to be scheduled.
//!
//! The C library would look into its own description of a thread, which ours do not have, and for the
//! main thread into the list of mappings. How a thread is scheduled makes no difference here; what it asks for is remembered.

use crate::context::{GUARD, STACK};
use crate::entry::{is_program, real};
use crate::runtime::{inside, runtime};
use crate::task::Settings;
use crate::threads::find;
use libc::{clockid_t, cpu_set_t, pthread_attr_t, pthread_t, sched_param};
use std::ffi::{CStr, c_char, c_int, c_void};

/// A name and its end have at most so many bytes.
const NAME: usize = 16;
/// A set of processors with the first one in it.
const FIRST: u8 = 1;

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int {
    if !is_program() {
        let set = real!(c"pthread_setname_np", fn(pthread_t, *const c_char) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { set(thread, name) };
    }
    // SAFETY: a terminated name.
    let name = unsafe { CStr::from_ptr(name) };
    inside(|runtime| {
        let Some(thread) = find(runtime, thread) else { return libc::ESRCH };
        if name.to_bytes().len() >= NAME {
            return libc::ERANGE;
        }
        runtime.tasks[thread.index()].name = name.to_string_lossy().into_owned();
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getname_np(
    thread: pthread_t,
    name: *mut c_char,
    size: usize,
) -> c_int {
    if !is_program() {
        let get = real!(c"pthread_getname_np", fn(pthread_t, *mut c_char, usize) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { get(thread, name, size) };
    }
    inside(|runtime| {
        let Some(thread) = find(runtime, thread) else { return libc::ESRCH };
        if size < NAME {
            return libc::ERANGE;
        }
        let known = runtime.tasks[thread.index()].name.as_bytes();
        // SAFETY: the program's own buffer, of `size` bytes; a name is shorter than `NAME`.
        unsafe {
            name.cast::<u8>().copy_from_nonoverlapping(known.as_ptr(), known.len());
            name.add(known.len()).write(0);
        }
        0
    })
}

/// Changes or reads what a thread has asked for.
fn settings(thread: pthread_t, use_them: impl FnOnce(&mut Settings) -> c_int) -> c_int {
    inside(|runtime| {
        let Some(thread) = find(runtime, thread) else { return libc::ESRCH };
        use_them(&mut runtime.tasks[thread.index()].settings)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setschedparam(
    thread: pthread_t,
    policy: c_int,
    parameters: *const sched_param,
) -> c_int {
    if !is_program() {
        let set =
            real!(c"pthread_setschedparam", fn(pthread_t, c_int, *const sched_param) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { set(thread, policy, parameters) };
    }
    // SAFETY: the program's own structure.
    let priority = unsafe { (*parameters).sched_priority };
    // SAFETY: no memory is passed.
    let range =
        unsafe { libc::sched_get_priority_min(policy)..=libc::sched_get_priority_max(policy) };
    if policy < 0 || !range.contains(&priority) {
        return libc::EINVAL;
    }
    settings(thread, |settings| {
        (settings.policy, settings.priority) = (policy, priority);
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getschedparam(
    thread: pthread_t,
    policy: *mut c_int,
    parameters: *mut sched_param,
) -> c_int {
    if !is_program() {
        let get =
            real!(c"pthread_getschedparam", fn(pthread_t, *mut c_int, *mut sched_param) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { get(thread, policy, parameters) };
    }
    settings(thread, |settings| {
        // SAFETY: the program's own variables.
        unsafe {
            *policy = settings.policy;
            (*parameters).sched_priority = settings.priority;
        }
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setschedprio(thread: pthread_t, priority: c_int) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe {
            real!(c"pthread_setschedprio", fn(pthread_t, c_int) -> c_int)(thread, priority)
        };
    }
    settings(thread, |settings| {
        settings.priority = priority;
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setaffinity_np(
    thread: pthread_t,
    size: usize,
    set: *const cpu_set_t,
) -> c_int {
    if !is_program() {
        let call =
            real!(c"pthread_setaffinity_np", fn(pthread_t, usize, *const cpu_set_t) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { call(thread, size, set) };
    }
    // SAFETY: the program's own set, of so many bytes.
    let bytes = unsafe { std::slice::from_raw_parts(set.cast::<u8>(), size) };
    if bytes.iter().all(|&byte| byte == 0) {
        return libc::EINVAL;
    }
    settings(thread, |settings| {
        settings.processors = bytes.to_vec();
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getaffinity_np(
    thread: pthread_t,
    size: usize,
    set: *mut cpu_set_t,
) -> c_int {
    if !is_program() {
        let call = real!(c"pthread_getaffinity_np", fn(pthread_t, usize, *mut cpu_set_t) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { call(thread, size, set) };
    }
    settings(thread, |settings| {
        // SAFETY: the program's own set, of so many bytes.
        let bytes = unsafe { std::slice::from_raw_parts_mut(set.cast::<u8>(), size) };
        bytes.fill(0);
        let known: &[u8] =
            if settings.processors.is_empty() { &[FIRST] } else { &settings.processors };
        bytes.iter_mut().zip(known).for_each(|(to, from)| *to = *from);
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getcpuclockid(thread: pthread_t, clock: *mut clockid_t) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe {
            real!(c"pthread_getcpuclockid", fn(pthread_t, *mut clockid_t) -> c_int)(thread, clock)
        };
    }
    settings(thread, |_| {
        // SAFETY: the program's own variable.
        unsafe { *clock = libc::CLOCK_THREAD_CPUTIME_ID };
        0
    })
}

/// Changes a setting of the running thread to one of two values, and says what it was.
///
/// # Safety
///
/// `old` is null or valid for writing.
unsafe fn exchange(
    value: c_int,
    old: *mut c_int,
    setting: impl FnOnce(&mut Settings) -> &mut c_int,
) -> c_int {
    if !(0..=1).contains(&value) {
        return libc::EINVAL;
    }
    let before = inside(|runtime| std::mem::replace(setting(&mut runtime.me().settings), value));
    if !old.is_null() {
        // SAFETY: as the caller's.
        unsafe { *old = before };
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe {
            real!(c"pthread_setcancelstate", fn(c_int, *mut c_int) -> c_int)(state, old)
        };
    }
    // SAFETY: as the caller's.
    unsafe { exchange(state, old, |settings| &mut settings.cancel_state) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe {
            real!(c"pthread_setcanceltype", fn(c_int, *mut c_int) -> c_int)(kind, old)
        };
    }
    // SAFETY: as the caller's.
    unsafe { exchange(kind, old, |settings| &mut settings.cancel_type) }
}

/// Nothing cancels a thread.
#[unsafe(no_mangle)]
extern "C" fn pthread_testcancel() {
    if !is_program() {
        // SAFETY: no arguments.
        unsafe { real!(c"pthread_testcancel", fn())() }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getattr_np(
    thread: pthread_t,
    attributes: *mut pthread_attr_t,
) -> c_int {
    if !is_program() {
        let get = real!(c"pthread_getattr_np", fn(pthread_t, *mut pthread_attr_t) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { get(thread, attributes) };
    }
    let known = inside(|runtime| find(runtime, thread));
    let Some(thread) = known else { return libc::ESRCH };
    let top = inside(|_| runtime().tasks[thread.index()].stack);
    // SAFETY: the caller's structure. These functions write to it and to nothing else.
    unsafe {
        libc::pthread_attr_init(attributes);
        libc::pthread_attr_setguardsize(attributes, GUARD);
        libc::pthread_attr_setstack(attributes, (top - STACK) as *mut c_void, STACK)
    }
}
