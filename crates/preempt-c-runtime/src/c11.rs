//! C11's `threads.h`: the C library makes it of pthread, within itself, so we do the same.

use crate::entry::entry;
use libc::{pthread_cond_t, pthread_key_t, pthread_mutex_t, pthread_t, timespec};
use std::ffi::{c_int, c_void};

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const TIMEDOUT: c_int = 4;

const RECURSIVE: c_int = 1;

/// The C library's numbers for what pthread returns.
fn result(error: c_int) -> c_int {
    match error {
        0 => SUCCESS,
        libc::EBUSY => BUSY,
        libc::ETIMEDOUT => TIMEDOUT,
        _ => ERROR,
    }
}

unsafe extern "C" {
    fn pthread_join(thread: pthread_t, value: *mut *mut c_void) -> c_int;
    fn pthread_detach(thread: pthread_t) -> c_int;
    fn pthread_exit(value: *mut c_void) -> !;
    fn pthread_self() -> pthread_t;
    fn pthread_once(control: *mut libc::pthread_once_t, initialise: extern "C" fn()) -> c_int;
    fn pthread_mutexattr_init(attributes: *mut libc::pthread_mutexattr_t) -> c_int;
    fn pthread_mutexattr_settype(attributes: *mut libc::pthread_mutexattr_t, kind: c_int) -> c_int;
    fn pthread_key_create(
        key: *mut pthread_key_t,
        destructor: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> c_int;
    fn pthread_key_delete(key: pthread_key_t) -> c_int;
    fn pthread_setspecific(key: pthread_key_t, value: *const c_void) -> c_int;
    fn pthread_getspecific(key: pthread_key_t) -> *mut c_void;
    fn nanosleep(time: *const timespec, rest: *mut timespec) -> c_int;
    fn sched_yield() -> c_int;
}

/// A thread's function returns an int here, in the same register as a pointer's lower half; that
/// half is all that `thrd_join` looks at. The attributes are left out.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn thrd_create() {
    std::arch::naked_asm!(
        "mov rcx, rdx",
        "mov rdx, rsi",
        "xor esi, esi",
        "mov r8, [rsp]",
        "jmp {create}",
        create = sym crate::threads::create,
    )
}

entry! {
    mtx_lock / 1 => lock;
    mtx_trylock / 1 => try_lock;
    mtx_timedlock / 2 => timed_lock;
    mtx_unlock / 1 => unlock;
    mtx_destroy / 1 => crate::mutex::destroy;
    cnd_destroy / 1 => crate::condition::destroy;
    cnd_wait / 2 => wait;
    cnd_timedwait / 3 => timed_wait;
    cnd_signal / 1 => signal;
    cnd_broadcast / 1 => broadcast;
}

/// Functions of ours that take the place of the call as their last argument.
macro_rules! with_place {
    ($($name:ident($($argument:ident: $type:ty),*) => $inner:path;)*) => {$(
        unsafe extern "C" fn $name($($argument: $type,)* pc: usize) -> c_int {
            // SAFETY: as the caller's.
            result(unsafe { $inner($($argument,)* pc) })
        }
    )*};
}

with_place! {
    lock(mutex: *mut pthread_mutex_t) => crate::mutex::lock;
    try_lock(mutex: *mut pthread_mutex_t) => crate::mutex::try_lock;
    timed_lock(mutex: *mut pthread_mutex_t, until: *const timespec) => crate::mutex::timed_lock;
    unlock(mutex: *mut pthread_mutex_t) => crate::mutex::unlock;
    wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) => crate::condition::wait;
    timed_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec)
        => crate::condition::timed_wait;
    signal(condition: *mut pthread_cond_t) => crate::condition::signal;
    broadcast(condition: *mut pthread_cond_t) => crate::condition::broadcast;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_join(thread: pthread_t, code: *mut c_int) -> c_int {
    let mut value = std::ptr::null_mut();
    // SAFETY: as the caller's.
    unsafe {
        let error = pthread_join(thread, &mut value);
        if !code.is_null() {
            *code = value as usize as c_int;
        }
        result(error)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_detach(thread: pthread_t) -> c_int {
    // SAFETY: as the caller's.
    result(unsafe { pthread_detach(thread) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_exit(code: c_int) -> ! {
    // SAFETY: as the caller's.
    unsafe { pthread_exit(code as u32 as usize as *mut c_void) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_current() -> pthread_t {
    // SAFETY: no arguments.
    unsafe { pthread_self() }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_equal(a: pthread_t, b: pthread_t) -> c_int {
    c_int::from(a == b)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_sleep(time: *const timespec, rest: *mut timespec) -> c_int {
    // SAFETY: as the caller's.
    unsafe { nanosleep(time, rest) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_yield() {
    // SAFETY: no arguments.
    unsafe { sched_yield() };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mtx_init(mutex: *mut pthread_mutex_t, kind: c_int) -> c_int {
    // SAFETY: as the caller's.
    unsafe {
        let mut attributes = std::mem::zeroed();
        pthread_mutexattr_init(&mut attributes);
        if kind & RECURSIVE != 0 {
            pthread_mutexattr_settype(&mut attributes, libc::PTHREAD_MUTEX_RECURSIVE);
        }
        result(crate::mutex::init(mutex, &attributes, 0))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cnd_init(condition: *mut pthread_cond_t) -> c_int {
    // SAFETY: as the caller's.
    result(unsafe { crate::condition::init(condition, std::ptr::null(), 0) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn call_once(control: *mut libc::pthread_once_t, initialise: extern "C" fn()) {
    // SAFETY: as the caller's.
    unsafe { pthread_once(control, initialise) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tss_create(
    key: *mut pthread_key_t,
    destructor: Option<unsafe extern "C" fn(*mut c_void)>,
) -> c_int {
    // SAFETY: as the caller's.
    result(unsafe { pthread_key_create(key, destructor) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tss_delete(key: pthread_key_t) {
    // SAFETY: as the caller's.
    unsafe { pthread_key_delete(key) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tss_set(key: pthread_key_t, value: *const c_void) -> c_int {
    // SAFETY: as the caller's.
    result(unsafe { pthread_setspecific(key, value) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn tss_get(key: pthread_key_t) -> *mut c_void {
    // SAFETY: as the caller's.
    unsafe { pthread_getspecific(key) }
}
