//! Thread-specific keys, and what happens to thread-local data when a thread ends.

use crate::entry::{PROGRAM, is_program, real, select};
use crate::runtime::inside;
use crate::runtime::runtime;
use crate::task;
use crate::trouble::Trouble;
use libc::pthread_key_t;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Keys made under control are numbered from here on; smaller ones are the C library's.
const FIRST: pthread_key_t = 1 << 20;
/// As many as POSIX guarantees for a process, times eight, for each thread.
const MOST: pthread_key_t = 1024;

type Destructor = unsafe extern "C" fn(*mut c_void);

/// The keys of one thread's making in this execution, by their destructors. A key's number says which
/// thread has made it and as which of its keys: so it is the same whatever other threads do meanwhile.
static mut MADE: [Vec<Option<Destructor>>; task::MOST] = [const { Vec::new() }; task::MOST];

/// The keys that a thread has made. One thread runs at a time, and callers keep no reference.
fn made(thread: usize) -> &'static mut Vec<Option<Destructor>> {
    // SAFETY: see above; the index is checked.
    unsafe { &mut (*std::ptr::addr_of_mut!(MADE))[thread] }
}

/// Forgets all keys.
pub(crate) fn begin(threads: usize) {
    (0..threads).for_each(|thread| made(thread).clear());
}

/// The destructor of a key, if there is such a key.
fn destructor(key: pthread_key_t) -> Option<&'static mut Option<Destructor>> {
    let index = key.checked_sub(FIRST)?;
    let thread = (index / MOST) as usize;
    (thread < task::MOST).then(|| made(thread).get_mut((index % MOST) as usize)).flatten()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_key_create(
    key: *mut pthread_key_t,
    destructor: Option<Destructor>,
) -> c_int {
    if !is_program() {
        let create =
            real!(c"pthread_key_create", fn(*mut pthread_key_t, Option<Destructor>) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { create(key, destructor) };
    }
    inside(|runtime| {
        let thread = runtime.current().index();
        let keys = made(thread);
        let nth = keys.len() as pthread_key_t;
        if nth == MOST {
            return libc::EAGAIN;
        }
        keys.push(destructor);
        // SAFETY: the caller's variable.
        unsafe { *key = FIRST + thread as pthread_key_t * MOST + nth };
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_key_delete(key: pthread_key_t) -> c_int {
    if !is_program() || key < FIRST {
        // SAFETY: as the caller's.
        return unsafe { real!(c"pthread_key_delete", fn(pthread_key_t) -> c_int)(key) };
    }
    inside(|_| match destructor(key) {
        Some(destructor) => {
            *destructor = None;
            0
        }
        None => libc::EINVAL,
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setspecific(key: pthread_key_t, value: *const c_void) -> c_int {
    if !is_program() || key < FIRST {
        let set = real!(c"pthread_setspecific", fn(pthread_key_t, *const c_void) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { set(key, value) };
    }
    inside(|runtime| {
        if destructor(key).is_none() {
            return libc::EINVAL;
        }
        let values = &mut runtime.me().keys;
        match values.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value as usize,
            None => values.push((key, value as usize)),
        }
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getspecific(key: pthread_key_t) -> *mut c_void {
    if !is_program() || key < FIRST {
        // SAFETY: as the caller's.
        return unsafe { real!(c"pthread_getspecific", fn(pthread_key_t) -> *mut c_void)(key) };
    }
    let value = inside(|runtime| {
        let known = runtime.me().keys.iter().find(|(known, _)| *known == key);
        known.map_or(0, |&(_, value)| value)
    });
    value as *mut c_void
}

/// The running thread ends: destroys its C++ objects and the values of its keys, as the program.
pub(crate) fn destroy_values() {
    select(PROGRAM);
    destroy_objects();
    // A destructor may set values again; POSIX asks for four rounds.
    for _ in 0..4 {
        let mut any = false;
        // Values that a destructor sets are the next round's.
        let values = inside(|runtime| std::mem::take(&mut runtime.me().keys));
        for &(key, value) in &values {
            if let (Some(&mut Some(destructor)), true) = (destructor(key), value != 0) {
                any = true;
                // SAFETY: the program's own destructor and value.
                unsafe { destructor(value as *mut c_void) };
            }
        }
        inside(|_| drop(values));
        if !any {
            return;
        }
    }
}

/// Calls the destructors of the thread's `thread_local` objects.
pub(crate) fn destroy_objects() {
    static AT: AtomicUsize = AtomicUsize::new(0);
    let mut at = AT.load(Ordering::Relaxed);
    if at == 0 {
        // SAFETY: a terminated name.
        at = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__call_tls_dtors".as_ptr()) } as usize;
        if at == 0 {
            let message = "this C library has no __call_tls_dtors";
            runtime().stop(Trouble::unsupported(0, message));
        }
        AT.store(at, Ordering::Relaxed);
    }
    // SAFETY: glibc's own function; it destroys what the running thread has registered.
    unsafe { std::mem::transmute::<usize, unsafe extern "C" fn()>(at)() };
}
