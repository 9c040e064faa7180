//! Read-write locks.

use crate::clock::{due_at, wait_until};
use crate::control::operation;
use crate::entry::{entry, is_program, real};
use crate::mutex::{holder, object};
use crate::objects::Kind;
use crate::runtime::inside;
use crate::task::CallSite;
use crate::trouble::{Kind as Wrong, Trouble};
use libc::{clockid_t, pthread_rwlock_t, pthread_rwlockattr_t, timespec};
use preempt_explore::Action;
use std::ffi::c_int;

entry! {
    pthread_rwlock_init / 2 => init;
    pthread_rwlock_destroy / 1 => destroy;
    pthread_rwlock_rdlock / 1 => read;
    pthread_rwlock_tryrdlock / 1 => try_read;
    pthread_rwlock_timedrdlock / 2 => timed_read;
    pthread_rwlock_clockrdlock / 3 => clock_read;
    pthread_rwlock_wrlock / 1 => write;
    pthread_rwlock_trywrlock / 1 => try_write;
    pthread_rwlock_timedwrlock / 2 => timed_write;
    pthread_rwlock_clockwrlock / 3 => clock_write;
    pthread_rwlock_unlock / 1 => unlock;
}

/// Set in the value of a lock that is held for writing.
const WRITER: u64 = 1 << 63;

unsafe extern "C" fn init(
    lock: *mut pthread_rwlock_t,
    attributes: *const pthread_rwlockattr_t,
    _: usize,
) -> c_int {
    if is_program() {
        inside(|runtime| {
            let index = object(runtime, lock as usize, Kind::ReadWriteLock);
            let (run, id) = (runtime.run(), runtime.objects.id(index));
            run.assign(id, 0);
        });
    }
    let init = real!(
        c"pthread_rwlock_init",
        fn(*mut pthread_rwlock_t, *const pthread_rwlockattr_t) -> c_int
    );
    // SAFETY: as the caller's.
    unsafe { init(lock, attributes) }
}

fn misuse(pc: usize, message: &str) -> ! {
    crate::runtime::runtime().stop(Trouble::new(Wrong::Misuse, pc, message))
}

unsafe extern "C" fn destroy(lock: *mut pthread_rwlock_t, pc: usize) -> c_int {
    if is_program() {
        return inside(|runtime| {
            let index = object(runtime, lock as usize, Kind::ReadWriteLock);
            if holder(runtime, index) != 0 {
                misuse(pc, "a read-write lock is destroyed while it is held");
            }
            0
        });
    }
    // SAFETY: as the caller's.
    unsafe { real!(c"pthread_rwlock_destroy", fn(*mut pthread_rwlock_t) -> c_int)(lock) }
}

fn acquire(lock: *mut pthread_rwlock_t, action: Action, due: Option<u64>, pc: usize) -> c_int {
    inside(|runtime| {
        let index = object(runtime, lock as usize, Kind::ReadWriteLock);
        let tries = matches!(action, Action::TryReadLock | Action::TryWriteLock);
        let mine = WRITER | (u64::from(runtime.current().0) + 1);
        if !tries && holder(runtime, index) == mine {
            return libc::EDEADLK;
        }
        let call_site = CallSite { pc, address: lock as usize };
        if tries {
            crate::atomics::before_read(pc, lock as usize, call_site);
        }
        let id = crate::runtime::runtime().objects.id(index);
        let acquired = wait_until(action, id, 0, due, call_site) == 1;
        let me = crate::runtime::runtime().me();
        match (acquired, tries) {
            (true, _) => {
                me.spinning.clear();
                0
            }
            (false, true) => {
                me.spinning.read(pc, lock as usize, 0);
                libc::EBUSY
            }
            (false, false) => libc::ETIMEDOUT,
        }
    })
}

macro_rules! lock_functions {
    ($($name:ident($($argument:ident: $type:ty),*) => $real:literal, $action:ident $(, $until:ident)?;)*) => {$(
        unsafe extern "C" fn $name(lock: *mut pthread_rwlock_t $(, $argument: $type)*, pc: usize) -> c_int {
            if !is_program() {
                let real = real!($real, fn(*mut pthread_rwlock_t $(, $type)*) -> c_int);
                // SAFETY: as the caller's.
                return unsafe { real(lock $(, $argument)*) };
            }
            let due: Option<u64> = None;
            // SAFETY: the program's own time.
            $(let due = due.or(unsafe { due_at($until) });)?
            acquire(lock, Action::$action, due, pc)
        }
    )*};
}

lock_functions! {
    read() => c"pthread_rwlock_rdlock", ReadLock;
    try_read() => c"pthread_rwlock_tryrdlock", TryReadLock;
    timed_read(until: *const timespec) => c"pthread_rwlock_timedrdlock", ReadLock, until;
    clock_read(clock: clockid_t, until: *const timespec) => c"pthread_rwlock_clockrdlock", ReadLock, until;
    write() => c"pthread_rwlock_wrlock", WriteLock;
    try_write() => c"pthread_rwlock_trywrlock", TryWriteLock;
    timed_write(until: *const timespec) => c"pthread_rwlock_timedwrlock", WriteLock, until;
    clock_write(clock: clockid_t, until: *const timespec) => c"pthread_rwlock_clockwrlock", WriteLock, until;
}

unsafe extern "C" fn unlock(lock: *mut pthread_rwlock_t, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe {
            real!(c"pthread_rwlock_unlock", fn(*mut pthread_rwlock_t) -> c_int)(lock)
        };
    }
    inside(|runtime| {
        let index = object(runtime, lock as usize, Kind::ReadWriteLock);
        let held = holder(runtime, index);
        let action = match held {
            0 => misuse(pc, "a read-write lock is unlocked that is not locked"),
            _ if held & WRITER == 0 => Action::ReadUnlock,
            _ if held == WRITER | (u64::from(runtime.current().0) + 1) => Action::WriteUnlock,
            _ => misuse(pc, "a read-write lock is unlocked by a thread that does not hold it"),
        };
        runtime.me().spinning.clear();
        let id = runtime.objects.id(index);
        operation(action, id, 0, 0, CallSite { pc, address: lock as usize });
        0
    })
}
