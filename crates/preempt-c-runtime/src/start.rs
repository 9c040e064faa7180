//! The beginning: the search takes the place of `main` if `preempt run` has started the process.

use crate::backend::Backend;
use crate::entry::real;
use crate::exempt::Exempt;
use crate::main_function::Main;
use crate::runtime::{Runtime, runtime};
use crate::{
    constructors, explorer, kernel, launch, main_function, options, raw, redirect, signals,
    snapshot,
};
use std::ffi::{c_char, c_int, c_void};

type StartMain = unsafe extern "C" fn(
    Main,
    c_int,
    *const *const c_char,
    *const c_void,
    *const c_void,
    *const c_void,
    *const c_void,
) -> c_int;

/// Every program begins here; the C library's function of this name calls what it is given.
#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_start_main(
    main: Main,
    count: c_int,
    arguments: *const *const c_char,
    initialise: *const c_void,
    finish: *const c_void,
    finish_loader: *const c_void,
    stack_end: *const c_void,
) -> c_int {
    let start = real!(
        c"__libc_start_main",
        fn(
            Main,
            c_int,
            *const *const c_char,
            *const c_void,
            *const c_void,
            *const c_void,
            *const c_void,
        ) -> c_int
    );
    let _: StartMain = start;
    // SAFETY: the environment follows the arguments and their terminating null pointer.
    let environment = unsafe { arguments.add(count as usize + 1) };
    let main = match options::from_environment(environment) {
        Ok(None) => main,
        Ok(Some(request)) => {
            main_function::keep(main, count, arguments, environment);
            Runtime::install(request);
            snapshot::look();
            runtime().exempt = Exempt::find();
            constructors::take_over();
            main_function::set_before_main(true);
            instead_of_main as Main
        }
        Err(()) => raw::refuse(
            "preempt: this program was linked by another version of preempt; link it again\n",
        ),
    };
    // SAFETY: as the caller's, with our main function.
    unsafe { start(main, count, arguments, initialise, finish, finish_loader, stack_end) }
}

/// On a processor or kernel without it, threads cannot be switched by the program itself.
fn can_switch_blocks() -> bool {
    const FSGSBASE: u64 = 2;
    // SAFETY: reads the auxiliary vector.
    unsafe { libc::getauxval(libc::AT_HWCAP2) & FSGSBASE != 0 }
}

unsafe extern "C" fn instead_of_main(
    _: c_int,
    _: *const *const c_char,
    _: *const *const c_char,
) -> c_int {
    main_function::set_before_main(false);
    let runtime = runtime();
    if !can_switch_blocks() {
        runtime.backend = Backend::Threads;
        runtime.note("the processor does not let programs switch thread-local blocks, so real threads were used");
    }
    announce_threads();
    crate::backtrace::prepare();
    runtime.arena.keep();
    runtime.at_exit_before = runtime.at_exit.len();
    // SAFETY: flushes what constructors have printed, before output is redirected.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    redirect::redirect(runtime.options.shows_output());
    signals::install();
    runtime.pauses.write_over(runtime.backend);
    if matches!(runtime.backend, Backend::Restart | Backend::Here) {
        kernel::watch_this_process(runtime.options.seconds_of_patience());
    }
    if runtime.backend == Backend::Restart {
        snapshot::take(&runtime.arena);
    }
    launch::serve(runtime, explorer::body);
    raw::exit(0)
}

/// The C library believes that there is one thread until it has made a second one, and libraries then
/// count references without atomic operations. It does not make ours, so the variable is set here.
fn announce_threads() {
    // SAFETY: a variable of the C library, of one byte; no threads exist yet.
    unsafe {
        let single_threaded = libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr());
        if !single_threaded.is_null() {
            single_threaded.cast::<u8>().write(0);
        }
    }
}
