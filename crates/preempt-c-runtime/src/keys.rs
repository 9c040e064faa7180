//! Thread-specific keys, and what happens to thread-local data when a thread ends.

use crate::entry::{PROGRAM, is_program, real, select};
use crate::runtime::inside;
use crate::runtime::runtime;
use crate::trouble::Trouble;
use libc::pthread_key_t;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Keys made under control are numbered from here on; smaller ones are the C library's.
const FIRST: pthread_key_t = 1 << 20;
/// As many as POSIX guarantees, times eight.
const MOST: usize = 1024;

type Destructor = unsafe extern "C" fn(*mut c_void);

/// The keys of this execution. The list is in the program's memory: it starts anew with it.
static mut DESTRUCTORS: [Option<Destructor>; MOST] = [None; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Forgets all keys.
pub(crate) fn begin() {
    COUNT.store(0, Ordering::Relaxed);
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
    let index = COUNT.load(Ordering::Relaxed);
    if index == MOST {
        return libc::EAGAIN;
    }
    COUNT.store(index + 1, Ordering::Relaxed);
    // SAFETY: one thread runs at a time; the caller's variable.
    unsafe {
        DESTRUCTORS[index] = destructor;
        *key = FIRST + index as pthread_key_t;
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_key_delete(key: pthread_key_t) -> c_int {
    if !is_program() || key < FIRST {
        // SAFETY: as the caller's.
        return unsafe { real!(c"pthread_key_delete", fn(pthread_key_t) -> c_int)(key) };
    }
    // SAFETY: one thread runs at a time.
    unsafe { DESTRUCTORS[(key - FIRST) as usize % MOST] = None };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setspecific(key: pthread_key_t, value: *const c_void) -> c_int {
    if !is_program() || key < FIRST {
        let set = real!(c"pthread_setspecific", fn(pthread_key_t, *const c_void) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { set(key, value) };
    }
    inside(|runtime| {
        let (index, keys) = ((key - FIRST) as usize, &mut runtime.me().keys);
        if index >= COUNT.load(Ordering::Relaxed) {
            return libc::EINVAL;
        }
        if keys.len() <= index {
            keys.resize(index + 1, 0);
        }
        keys[index] = value as usize;
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
        runtime.me().keys.get((key - FIRST) as usize).copied().unwrap_or_default()
    });
    value as *mut c_void
}

/// The running thread ends: destroys its C++ objects and the values of its keys, as the program.
pub(crate) fn destroy_values() {
    select(PROGRAM);
    destroy_objects();
    // SAFETY: one thread runs at a time.
    let destructor_of = |key: usize| unsafe { DESTRUCTORS[key] };
    // A destructor may set values again; POSIX asks for four rounds.
    for _ in 0..4 {
        let mut any = false;
        // Keys that a destructor makes come after these.
        let count = COUNT.load(Ordering::Relaxed);
        for index in 0..count {
            let destructor = destructor_of(index);
            let value = inside(|runtime| {
                runtime.me().keys.get_mut(index).map(std::mem::take).unwrap_or_default()
            });
            if let (Some(destructor), true) = (destructor, value != 0) {
                any = true;
                // SAFETY: the program's own destructor and value.
                unsafe { destructor(value as *mut c_void) };
            }
        }
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
