//! Streams that the program locks for several calls (`flockfile`), and the calls that leave the lock to the program.
//!
//! The lock is that of every call on the stream, taken once more for each `flockfile` of the thread that holds it. The C library's
//! own is never taken by such a call: one thread runs at a time, and a thread that waited there would stop all of them. Calls
//! that do not lock write to the stream, so two threads that make them without the lock race.

use super::streams::{is_mine, name_of, touch};
use super::{has_written_string, library, reads, reads_string, writes};
use crate::atomics::before_read;
use crate::clock::wait_until;
use crate::control::operation;
use crate::descriptors::{When, lock};
use crate::entry::{entry, is_program, real};
use crate::mutex::object;
use crate::objects::Kind;
use crate::runtime::{inside, runtime};
use crate::served;
use crate::task::CallSite;
use crate::trouble::{Kind as Trouble_, Trouble};
use libc::FILE;
use preempt_explore::Action;
use std::ffi::{c_char, c_int, c_void};

entry! {
    flockfile / 1 => lock_stream;
    ftrylockfile / 1 => try_lock_stream;
    funlockfile / 1 => unlock_stream;
}

unsafe extern "C" fn lock_stream(file: *mut FILE, pc: usize) {
    let Some(name) = name_of(file).filter(|_| is_program()) else {
        // SAFETY: as the caller's.
        return unsafe { real!(c"flockfile", fn(*mut FILE))(file) };
    };
    inside(|_| {
        if is_mine(name) {
            return again(name);
        }
        let call = served::begin(runtime(), |_| "flockfile".into());
        lock(name, When::Scheduled, pc);
        served::end(runtime(), call, None);
    });
}

/// The holder of a stream locks it once more.
fn again(name: usize) {
    let runtime = runtime();
    let index = object(runtime, name, Kind::FileLock);
    runtime.objects.details(index).depth += 1;
}

unsafe extern "C" fn try_lock_stream(file: *mut FILE, pc: usize) -> c_int {
    let Some(name) = name_of(file).filter(|_| is_program()) else {
        // SAFETY: as the caller's.
        return unsafe { real!(c"ftrylockfile", fn(*mut FILE) -> c_int)(file) };
    };
    inside(|_| {
        if is_mine(name) {
            again(name);
            return 0;
        }
        let call = served::begin(runtime(), |_| "ftrylockfile".into());
        let call_site = CallSite { pc, address: name };
        before_read(pc, name, call_site);
        let index = object(runtime(), name, Kind::FileLock);
        let id = runtime().objects.id(index);
        let acquired = wait_until(Action::TryLock, id, 0, None, call_site) == 1;
        match acquired {
            true => runtime().me().spinning.clear(),
            false => runtime().me().spinning.read(pc, name, 0),
        }
        let result = c_int::from(!acquired);
        served::end(runtime(), call, Some(result as isize));
        result
    })
}

unsafe extern "C" fn unlock_stream(file: *mut FILE, pc: usize) {
    let Some(name) = name_of(file).filter(|_| is_program()) else {
        // SAFETY: as the caller's.
        return unsafe { real!(c"funlockfile", fn(*mut FILE))(file) };
    };
    inside(|runtime| {
        if !is_mine(name) {
            let message = "a stream is unlocked by a thread that has not locked it";
            runtime.stop(Trouble::new(Trouble_::Misuse, pc, message));
        }
        let index = object(runtime, name, Kind::FileLock);
        let details = runtime.objects.details(index);
        if details.depth > 0 {
            details.depth -= 1;
            return;
        }
        let call = served::begin(runtime, |_| "funlockfile".into());
        let id = runtime.objects.id(index);
        operation(Action::Unlock, id, 0, 0, CallSite { pc, address: name });
        served::end(crate::runtime::runtime(), call, None);
    });
}

library! {
    fn putc_unlocked/2 (pc; byte: c_int, file: *mut FILE) -> c_int { touch(file, pc); }
    fn fputc_unlocked/2 (pc; byte: c_int, file: *mut FILE) -> c_int { touch(file, pc); }
    fn getc_unlocked/1 (pc; file: *mut FILE) -> c_int { touch(file, pc); }
    fn fgetc_unlocked/1 (pc; file: *mut FILE) -> c_int { touch(file, pc); }
    fn fflush_unlocked/1 (pc; file: *mut FILE) -> c_int { touch(file, pc); }
    fn clearerr_unlocked/1 (pc; file: *mut FILE) { touch(file, pc); }
    fn fputs_unlocked/2 (pc; text: *const c_char, file: *mut FILE) -> c_int {
        reads_string(text, usize::MAX, pc);
        touch(file, pc);
    }
    fn fwrite_unlocked/4 (pc; from: *const c_void, size: usize, count: usize, file: *mut FILE) -> usize {
        reads(from, size.saturating_mul(count), pc);
        touch(file, pc);
    }
    fn fread_unlocked/4 (pc; to: *mut c_void, size: usize, count: usize, file: *mut FILE) -> usize { touch(file, pc); }
    then done { writes(to, size.saturating_mul(done), pc); }
    fn fgets_unlocked/3 (pc; to: *mut c_char, room: c_int, file: *mut FILE) -> *mut c_char { touch(file, pc); }
    then done { has_written_string(done, pc); }
}
