//! Where the input of executions comes from, and where their output goes.

use crate::raw;

/// Executions have no input, and no output unless it is asked for.
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
