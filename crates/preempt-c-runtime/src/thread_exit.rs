//! `pthread_exit`: a thread ends in the middle of its functions, which are unwound.
//!
//! Destructors of C++ objects and cleanup handlers run on the way, from the innermost call to the outermost. Handlers
//! of C are of two kinds. Those of code that is compiled with exceptions are found by the unwinder;
//! all others have registered a buffer, to which the thread jumps when their frame is reached, and which
//! calls [`__pthread_unwind_next`] when its handler has run.
//!
//! No function here is declared to unwind: this library is compiled to abort on panics, and would catch what passes through
//! functions that are.

use crate::backtrace::{_Unwind_GetIP, Context};
use crate::ending::main_thread_leaves;
use crate::entry::{entry, is_program, real};
use crate::raw;
use crate::runtime::inside;
use crate::snapshot::is_own_text;
use crate::threads::finish;
use preempt_explore::ThreadId;
use std::ffi::{c_int, c_void};

/// What the unwinder wants to know about what is thrown: nothing here.
#[repr(C, align(16))]
struct Exception {
    class: u64,
    cleanup: usize,
    private: [usize; 6],
}

type Stop =
    unsafe extern "C" fn(c_int, c_int, u64, *mut Exception, *mut Context, *mut c_void) -> c_int;

unsafe extern "C" {
    fn _Unwind_ForcedUnwind(exception: *mut Exception, stop: Stop, argument: *mut c_void) -> c_int;
    fn _Unwind_GetCFA(context: *mut Context) -> usize;
    fn longjmp(buffer: *mut c_void, value: c_int) -> !;
}

const GO_ON: c_int = 0;
const END_OF_STACK: c_int = 16;

entry! {
    pthread_exit / 1 => exit;
}

unsafe extern "C" fn exit(value: *mut c_void, _: usize) -> ! {
    if !is_program() {
        // SAFETY: as the caller's.
        unsafe { real!(c"pthread_exit", fn(*mut c_void))(value) };
        raw::exit(0);
    }
    leave(value)
}

/// Ends the running thread with this value, from wherever it is.
fn leave(value: *mut c_void) -> ! {
    let exception = inside(|runtime| {
        runtime.me().value = value;
        Box::into_raw(Box::new(Exception { class: 0, cleanup: 0, private: [0; 6] }))
    });
    let mut in_program = false;
    // SAFETY: the exception lives as long as the search; the callback gets what it expects.
    unsafe { _Unwind_ForcedUnwind(exception, at_frame, (&raw mut in_program).cast()) };
    // Frames that cannot be unwound are passed over.
    end()
}

unsafe extern "C" fn at_frame(
    _: c_int,
    actions: c_int,
    _: u64,
    _: *mut Exception,
    context: *mut Context,
    in_program: *mut c_void,
) -> c_int {
    // SAFETY: the unwinder's own structure, and the variable that `leave` has passed.
    let (cfa, ip, in_program) = unsafe {
        (_Unwind_GetCFA(context), _Unwind_GetIP(context), &mut *in_program.cast::<bool>())
    };
    let ours = is_own_text(ip);
    *in_program |= !ours;
    let over = actions & END_OF_STACK != 0 || ours && *in_program;
    // The innermost handler whose frame has been reached.
    let buffer = inside(|runtime| {
        let registered = &mut runtime.me().cleanups;
        registered.pop_if(|&mut buffer| over || buffer < cfa)
    });
    if let Some(buffer) = buffer {
        // SAFETY: the buffer was filled in a frame that is still there.
        unsafe { longjmp(buffer as *mut c_void, 1) };
    }
    if over {
        end();
    }
    GO_ON
}

fn end() -> ! {
    if inside(|runtime| runtime.current() == ThreadId::MAIN) {
        // The program goes on until its last thread has ended, with the exit code 0.
        main_thread_leaves()
    }
    finish(inside(|runtime| runtime.me().value))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __pthread_register_cancel(buffer: *mut c_void) {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"__pthread_register_cancel", fn(*mut c_void))(buffer) };
    }
    inside(|runtime| runtime.me().cleanups.push(buffer as usize));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __pthread_unregister_cancel(buffer: *mut c_void) {
    if !is_program() {
        // SAFETY: as the caller's.
        return unsafe { real!(c"__pthread_unregister_cancel", fn(*mut c_void))(buffer) };
    }
    inside(|runtime| runtime.me().cleanups.retain(|&known| known != buffer as usize));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __pthread_unwind_next(buffer: *mut c_void) -> ! {
    if !is_program() {
        // SAFETY: as the caller's.
        unsafe { real!(c"__pthread_unwind_next", fn(*mut c_void))(buffer) };
        raw::exit(0);
    }
    leave(inside(|runtime| runtime.me().value))
}
