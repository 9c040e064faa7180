//! What the program asks and says about its threads: their names, and where their stacks are.
//!
//! The C library would look into its own description of a thread, which ours do not have, and for the
//! main thread into the list of mappings.

use crate::context::{GUARD, STACK};
use crate::entry::{is_program, real};
use crate::runtime::{inside, runtime};
use crate::threads::find;
use libc::{pthread_attr_t, pthread_t};
use std::ffi::{CStr, c_char, c_int, c_void};

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
        if runtime.record.is_some() {
            runtime.tasks[thread.index()].name = name.to_string_lossy().into_owned();
        }
        0
    })
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
