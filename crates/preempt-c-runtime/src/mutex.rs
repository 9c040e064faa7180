//! Mutexes and spinlocks.

use crate::clock::{due_at, wait_until};
use crate::control::operation;
use crate::entry::{entry, is_program, real};
use crate::objects::{Condition, Kind};
use crate::runtime::inside;
use crate::runtime::{Runtime, runtime};
use crate::task::CallSite;
use crate::trouble::{Kind as Trouble_, Trouble};
use libc::{pthread_mutex_t, pthread_mutexattr_t, timespec};
use preempt_explore::Action;
use std::ffi::c_int;

entry! {
    pthread_mutex_init / 2 => init;
    pthread_mutex_destroy / 1 => destroy;
    pthread_mutex_lock / 1 => lock;
    pthread_mutex_trylock / 1 => try_lock;
    pthread_mutex_timedlock / 2 => timed_lock;
    pthread_mutex_clocklock / 3 => clock_lock;
    pthread_mutex_unlock / 1 => unlock;
    pthread_mutex_consistent / 1 => consistent;
    pthread_spin_init / 2 => spin_init;
    pthread_spin_destroy / 1 => spin_destroy;
    pthread_spin_lock / 1 => spin_lock;
    pthread_spin_trylock / 1 => spin_try_lock;
    pthread_spin_unlock / 1 => spin_unlock;
}

/// What a mutex does when its owner locks it again. It is in the mutex itself, where the C library
/// and its static initialisers put it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Normal,
    Recursive,
    ErrorCheck,
    Destroyed,
}

const STYLE_OFFSET: usize = 16;
const STYLE_MASK: i32 = 3;
/// Set in a mutex that is released when its holder ends.
const ROBUST: i32 = 16;

fn style(mutex: *const pthread_mutex_t) -> Style {
    // SAFETY: a mutex has its kind at this offset in glibc on this processor.
    let kind = unsafe { mutex.byte_add(STYLE_OFFSET).cast::<i32>().read() };
    // So does the C library mark a mutex that was destroyed.
    if kind == -1 {
        return Style::Destroyed;
    }
    match kind & STYLE_MASK {
        libc::PTHREAD_MUTEX_RECURSIVE => Style::Recursive,
        libc::PTHREAD_MUTEX_ERRORCHECK => Style::ErrorCheck,
        _ => Style::Normal,
    }
}

fn is_robust(mutex: usize) -> bool {
    // SAFETY: as above.
    let kind = unsafe { ((mutex + STYLE_OFFSET) as *const i32).read() };
    kind != -1 && kind & ROBUST != 0
}

/// A robust mutex was acquired: says what its last holder has left behind.
pub(crate) fn acquired_robust(mutex: usize, pc: usize) -> c_int {
    if !is_robust(mutex) {
        return 0;
    }
    let runtime = runtime();
    let index = object(runtime, mutex, Kind::Mutex);
    match runtime.objects.details(index).condition {
        Condition::NotRecoverable => {
            let id = runtime.objects.id(index);
            operation(Action::Unlock, id, 1, 0, CallSite { pc, address: mutex });
            return libc::ENOTRECOVERABLE;
        }
        Condition::OwnerDied => runtime.me().robust.push(mutex),
        Condition::Consistent => {
            runtime.me().robust.push(mutex);
            return 0;
        }
    }
    libc::EOWNERDEAD
}

/// The running thread ends: releases the robust mutexes that it holds.
pub(crate) fn owner_dies() {
    while let Some(mutex) = runtime().me().robust.pop() {
        let runtime = runtime();
        let index = object(runtime, mutex, Kind::Mutex);
        if !is_mine(runtime, index) {
            continue;
        }
        let details = runtime.objects.details(index);
        (details.depth, details.condition) = (0, Condition::OwnerDied);
        let id = runtime.objects.id(index);
        operation(Action::Unlock, id, 0, 0, CallSite { pc: 0, address: mutex });
    }
}

/// The object of a lock.
pub(crate) fn object(runtime: &mut Runtime, address: usize, kind: Kind) -> u32 {
    let run = runtime.run();
    let (index, new) = runtime.objects.find(run, address, kind);
    runtime.learnt |= new;
    index
}

fn misuse(pc: usize, message: &str) -> ! {
    runtime().stop(Trouble::new(Trouble_::Misuse, pc, message))
}

/// The thread that holds a mutex, plus one.
pub(crate) fn holder(runtime: &Runtime, index: u32) -> u64 {
    runtime.run().state.object(runtime.objects.id(index)).value
}

/// Whether the running thread holds a lock.
pub(crate) fn is_mine(runtime: &Runtime, index: u32) -> bool {
    holder(runtime, index) == u64::from(runtime.current().0) + 1
}

/// Forgets what was at this address.
fn renew(runtime: &mut Runtime, address: usize) {
    let index = object(runtime, address, Kind::Mutex);
    let (run, id) = (runtime.run(), runtime.objects.id(index));
    *runtime.objects.details(index) = Default::default();
    run.assign(id, 0);
}

pub(crate) unsafe extern "C" fn init(
    mutex: *mut pthread_mutex_t,
    attributes: *const pthread_mutexattr_t,
    _: usize,
) -> c_int {
    let init =
        real!(c"pthread_mutex_init", fn(*mut pthread_mutex_t, *const pthread_mutexattr_t) -> c_int);
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { init(mutex, attributes) };
    }
    // SAFETY: as the caller's. The C library's own writes the kind into the mutex.
    let result = unsafe {
        let plain = attributes.as_ref().and_then(without_inheritance);
        init(mutex, plain.as_ref().map_or(attributes, std::ptr::from_ref))
    };
    inside(|runtime| renew(runtime, mutex as usize));
    result
}

/// The attributes of a mutex without the inheritance of priorities, which makes no difference here, and for which the C library
/// asks the kernel; `None` if they have none.
fn without_inheritance(attributes: &pthread_mutexattr_t) -> Option<pthread_mutexattr_t> {
    let mut protocol = libc::PTHREAD_PRIO_NONE;
    let mut copy = *attributes;
    // SAFETY: attributes that the program has initialised, and a copy of them.
    unsafe {
        libc::pthread_mutexattr_getprotocol(attributes, &mut protocol);
        libc::pthread_mutexattr_setprotocol(&mut copy, libc::PTHREAD_PRIO_NONE);
    }
    (protocol == libc::PTHREAD_PRIO_INHERIT).then_some(copy)
}

pub(crate) unsafe extern "C" fn destroy(mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    if is_program() {
        inside(|runtime| {
            let index = object(runtime, mutex as usize, Kind::Mutex);
            if holder(runtime, index) != 0 {
                misuse(pc, "a mutex is destroyed while it is held");
            }
        });
    }
    // SAFETY: as the caller's.
    unsafe { real!(c"pthread_mutex_destroy", fn(*mut pthread_mutex_t) -> c_int)(mutex) }
}

pub(crate) unsafe extern "C" fn lock(mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"pthread_mutex_lock", fn(*mut pthread_mutex_t) -> c_int)(mutex) };
    }
    acquire(mutex, Action::Lock, None, pc)
}

/// Acquires a mutex in one of three ways: waiting, trying, or waiting until a time.
fn acquire(mutex: *mut pthread_mutex_t, action: Action, due: Option<u64>, pc: usize) -> c_int {
    let style = style(mutex);
    inside(|runtime| {
        let index = object(runtime, mutex as usize, Kind::Mutex);
        if style == Style::Destroyed {
            misuse(pc, "a mutex is locked after it was destroyed");
        }
        if style != Style::Normal && is_mine(runtime, index) {
            return match (style, action) {
                (Style::Recursive, _) => {
                    runtime.objects.details(index).depth += 1;
                    0
                }
                (_, Action::TryLock) => libc::EBUSY,
                _ => libc::EDEADLK,
            };
        }
        let call_site = CallSite { pc, address: mutex as usize };
        crate::atomics::before_read(pc, mutex as usize, call_site);
        let id = crate::runtime::runtime().objects.id(index);
        let acquired = wait_until(action, id, 0, due, call_site) == 1;
        let me = crate::runtime::runtime().me();
        match (acquired, action) {
            (true, _) => {
                match action {
                    Action::TryLock => me.spinning.clear(),
                    _ => me.spinning.locked(pc, mutex as usize),
                }
                let runtime = crate::runtime::runtime();
                runtime.objects.details(index).writes = runtime.me().writes;
                acquired_robust(mutex as usize, pc)
            }
            (false, Action::TryLock) => {
                me.spinning.read(pc, mutex as usize, 0);
                libc::EBUSY
            }
            _ => libc::ETIMEDOUT,
        }
    })
}

pub(crate) unsafe extern "C" fn try_lock(mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe {
            real!(c"pthread_mutex_trylock", fn(*mut pthread_mutex_t) -> c_int)(mutex)
        };
    }
    acquire(mutex, Action::TryLock, None, pc)
}

pub(crate) unsafe extern "C" fn timed_lock(
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
    pc: usize,
) -> c_int {
    if !is_program() {
        let lock =
            real!(c"pthread_mutex_timedlock", fn(*mut pthread_mutex_t, *const timespec) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { lock(mutex, until) };
    }
    // SAFETY: the program's own time.
    acquire(mutex, Action::Lock, unsafe { due_at(until) }, pc)
}

unsafe extern "C" fn clock_lock(
    mutex: *mut pthread_mutex_t,
    clock: libc::clockid_t,
    until: *const timespec,
    pc: usize,
) -> c_int {
    if !is_program() {
        let lock = real!(
            c"pthread_mutex_clocklock",
            fn(*mut pthread_mutex_t, libc::clockid_t, *const timespec) -> c_int
        );
        // SAFETY: as the caller's.
        return unsafe { lock(mutex, clock, until) };
    }
    // SAFETY: the program's own time.
    acquire(mutex, Action::Lock, unsafe { due_at(until) }, pc)
}

pub(crate) unsafe extern "C" fn unlock(mutex: *mut pthread_mutex_t, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"pthread_mutex_unlock", fn(*mut pthread_mutex_t) -> c_int)(mutex) };
    }
    let style = style(mutex);
    inside(|runtime| {
        let index = object(runtime, mutex as usize, Kind::Mutex);
        if !is_mine(runtime, index) {
            if style != Style::Normal {
                return libc::EPERM;
            }
            match holder(runtime, index) {
                0 => misuse(pc, "a mutex is unlocked that is not locked"),
                _ => misuse(pc, "a mutex is unlocked by a thread that does not hold it"),
            }
        }
        let details = runtime.objects.details(index);
        if details.depth > 0 {
            details.depth -= 1;
            return 0;
        }
        if details.condition == Condition::OwnerDied {
            details.condition = Condition::NotRecoverable;
        }
        runtime.me().robust.retain(|&held| held != mutex as usize);
        let writes = runtime.me().writes;
        let unchanged = runtime.objects.details(index).writes == writes;
        let id = runtime.objects.id(index);
        let call_site = CallSite { pc, address: mutex as usize };
        operation(Action::Unlock, id, u64::from(unchanged), 0, call_site);
        0
    })
}

/// How often the running thread has locked a recursive mutex beyond the first time, and that it holds
/// it at all; for waiting on a condition.
pub(crate) fn held_for_wait(runtime: &mut Runtime, mutex: *mut pthread_mutex_t, pc: usize) -> u32 {
    let index = object(runtime, mutex as usize, Kind::Mutex);
    if !is_mine(runtime, index) {
        misuse(pc, "a thread waits on a condition without holding the mutex");
    }
    index
}

unsafe extern "C" fn consistent(mutex: *mut pthread_mutex_t, _: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe {
            real!(c"pthread_mutex_consistent", fn(*mut pthread_mutex_t) -> c_int)(mutex)
        };
    }
    inside(|runtime| {
        let index = object(runtime, mutex as usize, Kind::Mutex);
        if !is_mine(runtime, index) {
            return libc::EINVAL;
        }
        let condition = &mut runtime.objects.details(index).condition;
        match std::mem::take(condition) {
            Condition::OwnerDied => 0,
            _ => libc::EINVAL,
        }
    })
}

type Spin = libc::pthread_spinlock_t;

unsafe extern "C" fn spin_init(lock: *mut Spin, shared: c_int, _: usize) -> c_int {
    // SAFETY: as the caller's.
    let result =
        unsafe { real!(c"pthread_spin_init", fn(*mut Spin, c_int) -> c_int)(lock, shared) };
    if is_program() {
        inside(|runtime| renew(runtime, lock as usize));
    }
    result
}

unsafe extern "C" fn spin_destroy(lock: *mut Spin, pc: usize) -> c_int {
    if is_program() {
        inside(|runtime| {
            let index = object(runtime, lock as usize, Kind::Mutex);
            if holder(runtime, index) != 0 {
                misuse(pc, "a spinlock is destroyed while it is held");
            }
        });
    }
    0
}

fn spin(lock: *mut Spin, action: Action, pc: usize) -> c_int {
    inside(|runtime| {
        let index = object(runtime, lock as usize, Kind::Mutex);
        let call_site = CallSite { pc, address: lock as usize };
        if action == Action::Unlock {
            if !is_mine(runtime, index) {
                misuse(pc, "a spinlock is unlocked by a thread that does not hold it");
            }
            runtime.me().spinning.clear();
        }
        if action == Action::TryLock {
            crate::atomics::before_read(pc, lock as usize, call_site);
        }
        let id = crate::runtime::runtime().objects.id(index);
        let done = operation(action, id, 0, 0, call_site) == 1;
        if action != Action::TryLock || done {
            return 0;
        }
        crate::runtime::runtime().me().spinning.read(pc, lock as usize, 0);
        libc::EBUSY
    })
}

unsafe extern "C" fn spin_lock(lock: *mut Spin, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"pthread_spin_lock", fn(*mut Spin) -> c_int)(lock) };
    }
    spin(lock, Action::Lock, pc)
}

unsafe extern "C" fn spin_try_lock(lock: *mut Spin, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"pthread_spin_trylock", fn(*mut Spin) -> c_int)(lock) };
    }
    spin(lock, Action::TryLock, pc)
}

unsafe extern "C" fn spin_unlock(lock: *mut Spin, pc: usize) -> c_int {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"pthread_spin_unlock", fn(*mut Spin) -> c_int)(lock) };
    }
    spin(lock, Action::Unlock, pc)
}
