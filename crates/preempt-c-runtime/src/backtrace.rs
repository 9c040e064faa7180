//! The calls that lead to an operation, for reports.
//!
//! A step is best shown at the line of the program that asked for it, which may lie several calls above the
//! place where the library was entered. So an execution that keeps its steps also keeps, for each of
//! them, the return addresses on the stack, found by the unwinder that exceptions use. Executions of the search do not pay
//! for it.

use crate::task::Frames;
use std::ffi::{c_int, c_void};

/// Deeper calls are left out.
const DEEPEST: usize = 128;

/// A frame, as the unwinder shows it.
#[repr(C)]
pub(crate) struct Context {
    _private: [u8; 0],
}

unsafe extern "C" {
    fn _Unwind_Backtrace(
        each: unsafe extern "C" fn(*mut Context, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    pub(crate) fn _Unwind_GetIP(context: *mut Context) -> usize;
}

const GO_ON: c_int = 0;
const STOP: c_int = 5;

unsafe extern "C" fn add(context: *mut Context, frames: *mut c_void) -> c_int {
    // SAFETY: the unwinder's own structure, and the list that `frames` has passed.
    let (pc, frames) = unsafe { (_Unwind_GetIP(context), &mut *frames.cast::<Vec<usize>>()) };
    if pc == 0 || frames.len() == DEEPEST {
        return STOP;
    }
    if !crate::snapshot::is_own_text(pc) {
        frames.push(pc);
    }
    GO_ON
}

/// Lets the unwinder prepare itself, which takes a `pthread_once`, before the program is under control.
pub(crate) fn prepare() {
    drop(frames());
}

/// The calls that have led here, without this library's own. Called while the program is not under control.
pub(crate) fn frames() -> Frames {
    let mut frames: Vec<usize> = Vec::new();
    // SAFETY: the callback gets what it expects; every frame of ours and of the program can be unwound, and where
    // one cannot, the unwinder ends.
    unsafe { _Unwind_Backtrace(add, (&raw mut frames).cast()) };
    frames.into_boxed_slice()
}
