//! Which signals are ours, and their names.

/// Signals after which a program is over.
pub(crate) const FATAL: [i32; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT, libc::SIGTRAP];

/// Asks the search to end with what it has. The last signal that there is: programs use others.
pub(crate) const STOP: i32 = 64;

/// Whether the program may not have a handler of its own for this signal.
pub(crate) fn is_ours(signal: i32) -> bool {
    FATAL.contains(&signal) || [libc::SIGSYS, libc::SIGALRM, STOP].contains(&signal)
}

/// The usual name of a signal.
pub(crate) fn name(signal: i32) -> String {
    let name = match signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGILL => "SIGILL",
        libc::SIGABRT => "SIGABRT",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSYS => "SIGSYS",
        libc::SIGPIPE => "SIGPIPE",
        _ => return format!("signal {signal}"),
    };
    name.into()
}
