//! How a program ends: by returning from `main`, `exit`, a failed assertion, `abort`.

use crate::control::{end_of_thread, into_program, operation};
use crate::entry::{SEARCH, entry, is_program, real, select};
use crate::mutex::owner_dies;
use crate::runtime::inside;
use crate::runtime::{AtExit, is_installed, runtime};
use crate::task::{CallSite, Task};
use crate::trouble::{Kind, Trouble};
use crate::{constructors, keys, main_function, raw};
use preempt_explore::{Action, Next, ObjectId};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

entry! {
    __assert_fail / 4 => assertion_failed;
    __assert_perror_fail / 4 => error_assertion_failed;
    __assert / 3 => plain_assertion_failed;
    abort / 0 => aborted;
    exit / 1 => exits;
    _exit / 1 => exits_at_once;
    _Exit / 1 => exits_at_once;
    quick_exit / 1 => exits_at_once;
}

/// The main thread, on a stack of its own.
pub(crate) extern "C" fn main_thread() -> ! {
    let frame = 0_usize;
    runtime().me().spinning.begin(&raw const frame as usize);
    into_program();
    constructors::construct();
    let code = main_function::call_main();
    end_program(code, 0)
}

/// Runs what the program wants to be run at its end, and ends it.
fn end_program(code: c_int, pc: usize) -> ! {
    keys::destroy_objects();
    while let Some(AtExit { function, argument }) = inside(|runtime| runtime.at_exit.pop()) {
        // SAFETY: registered by the program for this purpose; one that takes no argument does not
        // look at it.
        unsafe { std::mem::transmute::<usize, extern "C" fn(usize)>(function)(argument) };
    }
    constructors::destroy();
    select(SEARCH);
    leave(code, pc)
}

/// Ends the program without calling any more of its code.
pub(crate) fn leave(code: c_int, pc: usize) -> ! {
    let runtime = runtime();
    if runtime.options.shows_output() {
        // SAFETY: flushes what the program has printed.
        unsafe { libc::fflush(std::ptr::null_mut()) };
    }
    runtime.exit_code = code;
    if let Some(trouble) = runtime.panic_of_main(code) {
        runtime.stop(trouble);
    }
    if code != 0 && runtime.options.exit_code {
        let message = format!("the program ends with exit code {code}");
        runtime.stop(Trouble::new(Kind::ExitCode, pc, message));
    }
    // Whether threads that nothing was waited for have ended is nothing that this one has seen: it does the same
    // in either case.
    if others(|task| !task.joined) > 0 {
        let left = others(|task| !task.ended);
        if left > 0 && runtime.options.unjoined {
            let message = format!("the program ends while {left} of its threads still run");
            runtime.stop(Trouble::new(Kind::Misuse, pc, message));
        }
        // Others may run before, but not after.
        operation(Action::Choose, ObjectId::NONE, 1, 0, CallSite { pc, address: 0 });
        if others(|task| !task.ended) == 0 {
            check_leaks();
        }
        end_of_thread(Next::Exit);
    }
    check_leaks();
    end_of_thread(Next::End)
}

/// Ends an execution that does not count. Others may run before, but not after.
pub(crate) fn abandon(pc: usize) -> ! {
    operation(Action::Choose, ObjectId::NONE, 1, 0, CallSite { pc, address: 0 });
    end_of_thread(Next::Exit)
}

/// How many threads other than the running one are so.
fn others(is_so: impl Fn(&Task) -> bool) -> usize {
    let runtime = runtime();
    let me = runtime.current();
    let run = runtime.run();
    run.order.iter().filter(|&&t| t != me && is_so(&runtime.tasks[t.index()])).count()
}

/// Ends the execution if memory is never freed, and that was asked for.
fn check_leaks() {
    let runtime = runtime();
    if runtime.options.leaks
        && let Some((count, pc)) = runtime.arena.leaks()
    {
        let blocks = if count == 1 { "block is" } else { "blocks are" };
        let message = format!("{count} {blocks} never freed; the first is allocated");
        runtime.stop(Trouble::new(Kind::Leak, pc, message));
    }
}

/// `pthread_exit` in the main thread: the program ends with its last thread.
pub(crate) fn main_thread_leaves() -> ! {
    keys::destroy_values();
    select(SEARCH);
    owner_dies();
    end_of_thread(Next::End)
}

fn fails(kind: Kind, pc: usize, message: String) -> ! {
    inside(|runtime| runtime.stop(Trouble::new(kind, pc, message)))
}

fn text(at: *const c_char) -> String {
    if at.is_null() {
        return String::new();
    }
    // SAFETY: terminated strings that the compiler or the program made.
    unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()
}

unsafe extern "C" fn assertion_failed(
    expression: *const c_char,
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
    pc: usize,
) -> ! {
    if !is_program() {
        let fail = real!(c"__assert_fail", fn(*const c_char, *const c_char, c_uint, *const c_char));
        // SAFETY: as the caller's.
        unsafe { fail(expression, file, line, function) };
    }
    fails(Kind::Assertion, pc, format!("assertion violated: {}", text(expression)))
}

unsafe extern "C" fn error_assertion_failed(
    error: c_int,
    _: *const c_char,
    _: c_uint,
    _: *const c_char,
    pc: usize,
) -> ! {
    if !is_program() {
        raw::fail("assertion failed\n");
    }
    fails(Kind::Assertion, pc, format!("assertion violated: unexpected error {error}"))
}

unsafe extern "C" fn plain_assertion_failed(
    expression: *const c_char,
    _: *const c_char,
    _: c_int,
    pc: usize,
) -> ! {
    if !is_program() {
        raw::fail("assertion failed\n");
    }
    fails(Kind::Assertion, pc, format!("assertion violated: {}", text(expression)))
}

unsafe extern "C" fn aborted(pc: usize) -> ! {
    if !is_program() {
        // SAFETY: the C library's own.
        unsafe { real!(c"abort", fn())() };
        raw::exit(134);
    }
    if let Some(trouble) = inside(|runtime| runtime.panic_of_abort()) {
        inside(|runtime| runtime.stop(trouble));
    }
    let pc = if crate::snapshot::is_program_text(pc) { pc } else { crate::caller::caller() };
    fails(Kind::Abort, pc, "abort is called".into())
}

unsafe extern "C" fn exits(code: c_int, pc: usize) -> ! {
    if !is_program() {
        // SAFETY: as the caller's.
        unsafe { real!(c"exit", fn(c_int))(code) };
        raw::exit(code);
    }
    end_program(code, pc)
}

unsafe extern "C" fn exits_at_once(code: c_int, pc: usize) -> ! {
    if !is_program() {
        raw::exit(code);
    }
    select(SEARCH);
    leave(code, pc)
}

/// Registers a function to be called at the end. Static objects of the program itself come here
/// before `main`, when their constructors have run.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cxa_atexit(
    function: usize,
    argument: *mut c_void,
    object: *mut c_void,
) -> c_int {
    let ours = is_installed() && (is_program() || main_function::is_before_main());
    if !ours || !crate::snapshot::is_program_text(function) {
        let register = real!(c"__cxa_atexit", fn(usize, *mut c_void, *mut c_void) -> c_int);
        // SAFETY: as the caller's.
        return unsafe { register(function, argument, object) };
    }
    let entry = AtExit { function, argument: argument as usize };
    if is_program() {
        inside(|runtime| runtime.at_exit.push(entry));
    } else {
        runtime().at_exit.push(entry);
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn atexit(function: usize) -> c_int {
    // SAFETY: as the caller's.
    unsafe { __cxa_atexit(function, std::ptr::null_mut(), std::ptr::null_mut()) }
}
