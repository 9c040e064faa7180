//! Where the input of executions comes from, and where their output goes.

use crate::raw;
use std::ffi::CStr;

/// Executions have no input but what they are given, and no output unless it is asked for.
pub(crate) fn redirect(output: bool) {
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

/// The number of the standard input.
pub(crate) const INPUT: i32 = 0;

/// Opens the input of an execution anew, from its beginning. Says whether there is one.
pub(crate) fn open_input(input: Option<&CStr>) -> bool {
    let Some(path) = input else { return false };
    let open = [path.as_ptr() as usize, libc::O_RDONLY as usize, 0, 0, 0, 0];
    // SAFETY: a terminated name; plain system calls.
    unsafe {
        let file = raw::syscall(libc::SYS_open, open);
        if file > INPUT as isize {
            raw::syscall(libc::SYS_dup2, [file as usize, INPUT as usize, 0, 0, 0, 0]);
            raw::syscall(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]);
        }
        file >= 0
    }
}
