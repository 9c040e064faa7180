//! The program's own main function, which the search calls once per execution.

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub(crate) type Main =
    unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) -> c_int;
static MAIN: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicUsize = AtomicUsize::new(0);
static ARGUMENTS: AtomicUsize = AtomicUsize::new(0);
static ENVIRONMENT: AtomicUsize = AtomicUsize::new(0);
static BEFORE_MAIN: AtomicBool = AtomicBool::new(false);

/// Whether constructors of shared libraries may still run.
pub(crate) fn is_before_main() -> bool {
    BEFORE_MAIN.load(Ordering::Relaxed)
}

/// Constructors of shared libraries are about to run, or have run.
pub(crate) fn set_before_main(is_before: bool) {
    BEFORE_MAIN.store(is_before, Ordering::Relaxed);
}

/// Keeps what the program was started with.
pub(crate) fn keep(
    main: Main,
    count: c_int,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) {
    MAIN.store(main as *const () as usize, Ordering::Relaxed);
    COUNT.store(count as usize, Ordering::Relaxed);
    ARGUMENTS.store(arguments as usize, Ordering::Relaxed);
    ENVIRONMENT.store(environment as usize, Ordering::Relaxed);
}

/// What the program was started with: the number of its arguments, these, and the environment.
pub(crate) fn started_with() -> (c_int, *const *const c_char, *const *const c_char) {
    (
        COUNT.load(Ordering::Relaxed) as c_int,
        ARGUMENTS.load(Ordering::Relaxed) as *const *const c_char,
        ENVIRONMENT.load(Ordering::Relaxed) as *const *const c_char,
    )
}

/// Calls the program's main function.
pub(crate) fn call_main() -> c_int {
    let main = MAIN.load(Ordering::Relaxed);
    let (count, arguments, environment) = started_with();
    // SAFETY: what the program was started with.
    unsafe { std::mem::transmute::<usize, Main>(main)(count, arguments, environment) }
}
