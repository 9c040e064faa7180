//! The beginning: the search takes the place of `main` if `preempt run` has started the process.

use crate::control::{Runtime, runtime};
use crate::entry::real;
use crate::launch::Backend;
use crate::options::Options;
use crate::{explorer, kernel, launch, raw, signals, snapshot};
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

type Main = unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) -> c_int;
type StartMain = unsafe extern "C" fn(
    Main,
    c_int,
    *const *const c_char,
    *const c_void,
    *const c_void,
    *const c_void,
    *const c_void,
) -> c_int;

static MAIN: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicUsize = AtomicUsize::new(0);
static ARGUMENTS: AtomicUsize = AtomicUsize::new(0);
static ENVIRONMENT: AtomicUsize = AtomicUsize::new(0);
static BEFORE_MAIN: AtomicBool = AtomicBool::new(false);

/// Whether constructors of static objects may still run.
pub(crate) fn is_before_main() -> bool {
    BEFORE_MAIN.load(Ordering::Relaxed)
}

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
    let main = match Options::from_environment(environment) {
        Ok(None) => main,
        Ok(Some(options)) => {
            MAIN.store(main as *const () as usize, Ordering::Relaxed);
            COUNT.store(count as usize, Ordering::Relaxed);
            ARGUMENTS.store(arguments as usize, Ordering::Relaxed);
            ENVIRONMENT.store(environment as usize, Ordering::Relaxed);
            Runtime::install(options);
            snapshot::look();
            BEFORE_MAIN.store(true, Ordering::Relaxed);
            instead_of_main as Main
        }
        Err(()) => raw::fail(
            "preempt: this program was linked by another version of preempt; link it again\n",
        ),
    };
    // SAFETY: as the caller's, with our main function.
    unsafe { start(main, count, arguments, initialise, finish, finish_loader, stack_end) }
}

/// Calls the program's main function.
pub(crate) fn call_main() -> c_int {
    let main = MAIN.load(Ordering::Relaxed);
    // SAFETY: what the program was started with.
    unsafe {
        std::mem::transmute::<usize, Main>(main)(
            COUNT.load(Ordering::Relaxed) as c_int,
            ARGUMENTS.load(Ordering::Relaxed) as *const *const c_char,
            ENVIRONMENT.load(Ordering::Relaxed) as *const *const c_char,
        )
    }
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
    BEFORE_MAIN.store(false, Ordering::Relaxed);
    let runtime = runtime();
    if !can_switch_blocks() {
        runtime.backend = Backend::Threads;
        runtime.note("the processor does not let programs switch thread-local blocks, so real threads were used");
    }
    announce_threads();
    runtime.arena.keep();
    runtime.at_exit_before = runtime.at_exit.len();
    // SAFETY: flushes what constructors have printed, before output is redirected.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    redirect(runtime.options.output);
    signals::install();
    if matches!(runtime.backend, Backend::Restart | Backend::Here) {
        kernel::watch_this_process(runtime.options.patience);
    }
    if runtime.backend == Backend::Restart {
        snapshot::take(&runtime.arena);
    }
    launch::serve(runtime, explorer::body);
    raw::exit(0)
}

/// The C library believes that there is one thread until it has made a second one, and libraries then
/// count references without atomic operations. It does not make ours, so it has to be told.
fn announce_threads() {
    // SAFETY: a variable of the C library, of one byte; no threads exist yet.
    unsafe {
        let alone = libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr());
        if !alone.is_null() {
            alone.cast::<u8>().write(0);
        }
    }
}

/// Executions have no input, and no output unless it is asked for.
fn redirect(output: bool) {
    // SAFETY: a terminated name; plain system calls.
    unsafe {
        let arguments = [c"/dev/null".as_ptr() as usize, libc::O_RDWR as usize, 0, 0, 0, 0];
        let null = raw::syscall(libc::SYS_open, arguments);
        if null < 0 {
            return;
        }
        let last = if output { 1 } else { 3 };
        for descriptor in 0..last {
            raw::syscall(libc::SYS_dup2, [null as usize, descriptor, 0, 0, 0, 0]);
        }
        raw::syscall(libc::SYS_close, [null as usize, 0, 0, 0, 0, 0]);
    }
}
