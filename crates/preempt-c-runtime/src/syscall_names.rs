//! System calls in words, for reports.

use crate::descriptor_table::Descriptors;
use crate::descriptor_table::resource::Body;

/// The usual name of a system call, or its number.
pub(crate) fn name(number: i64) -> String {
    let name = match number {
        libc::SYS_read | libc::SYS_readv => "read",
        libc::SYS_write | libc::SYS_writev => "write",
        libc::SYS_open | libc::SYS_openat => "open",
        libc::SYS_close => "close",
        libc::SYS_mprotect => "mprotect",
        libc::SYS_brk => "brk",
        libc::SYS_poll | libc::SYS_ppoll => "poll",
        libc::SYS_select | libc::SYS_pselect6 => "select",
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => "epoll_wait",
        libc::SYS_epoll_create | libc::SYS_epoll_create1 => "epoll_create",
        libc::SYS_epoll_ctl => "epoll_ctl",
        libc::SYS_eventfd | libc::SYS_eventfd2 => "eventfd",
        libc::SYS_timerfd_create => "timerfd_create",
        libc::SYS_timerfd_settime => "timerfd_settime",
        libc::SYS_timerfd_gettime => "timerfd_gettime",
        libc::SYS_socketpair => "socketpair",
        libc::SYS_shutdown => "shutdown",
        libc::SYS_ioctl => "ioctl",
        libc::SYS_fcntl => "fcntl",
        libc::SYS_dup | libc::SYS_dup2 | libc::SYS_dup3 => "dup",
        libc::SYS_futex => "futex",
        libc::SYS_socket => "socket",
        libc::SYS_connect => "connect",
        libc::SYS_accept | libc::SYS_accept4 => "accept",
        libc::SYS_recvfrom | libc::SYS_recvmsg => "recv",
        libc::SYS_sendto | libc::SYS_sendmsg => "send",
        libc::SYS_pipe | libc::SYS_pipe2 => "pipe",
        libc::SYS_fork | libc::SYS_clone | libc::SYS_clone3 | libc::SYS_vfork => "fork",
        libc::SYS_execve | libc::SYS_execveat => "exec",
        libc::SYS_wait4 | libc::SYS_waitid => "wait",
        libc::SYS_pause => "pause",
        libc::SYS_rt_sigaction => "sigaction",
        libc::SYS_rt_sigsuspend => "sigsuspend",
        libc::SYS_setitimer => "setitimer",
        libc::SYS_alarm => "alarm",
        libc::SYS_timer_create => "timer_create",
        libc::SYS_kill | libc::SYS_tgkill | libc::SYS_tkill => "kill",
        libc::SYS_unlink | libc::SYS_unlinkat => "unlink",
        libc::SYS_newfstatat | libc::SYS_fstat | libc::SYS_stat => "stat",
        _ => return format!("system call {number}"),
    };
    name.into()
}

/// Whether a system call makes a descriptor and is about none.
fn makes_descriptor(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_eventfd
            | libc::SYS_eventfd2
            | libc::SYS_pipe
            | libc::SYS_pipe2
            | libc::SYS_socketpair
            | libc::SYS_timerfd_create
            | libc::SYS_epoll_create
            | libc::SYS_epoll_create1
            | libc::SYS_open
            | libc::SYS_openat
            | libc::SYS_poll
            | libc::SYS_ppoll
            | libc::SYS_select
            | libc::SYS_pselect6
    )
}

/// A system call, with the descriptor that it is about.
pub(crate) fn describe(number: i64, arguments: &[usize; 6], descriptors: &Descriptors) -> String {
    let name = name(number);
    let descriptor = |number: usize| {
        let kind = descriptors.file(number as i32).map(|file| {
            match descriptors.resources[descriptors.files[file].resource].body {
                Body::Counter { .. } => "eventfd ",
                Body::Pipe { .. } => "pipe ",
                Body::Pair { .. } => "socket ",
                Body::Timer { .. } => "timer ",
                Body::Set(_) => "epoll ",
            }
        });
        format!("{}{}", kind.unwrap_or_default(), number as i32)
    };
    match number {
        libc::SYS_epoll_ctl => {
            let what = match arguments[1] as i32 {
                libc::EPOLL_CTL_ADD => "adds",
                libc::EPOLL_CTL_DEL => "removes",
                _ => "changes",
            };
            format!("{name} {} {what} {}", arguments[0] as i32, descriptor(arguments[2]))
        }
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => {
            format!("{name} {}", arguments[0] as i32)
        }
        _ if descriptors.contains(arguments[0] as i32) && !makes_descriptor(number) => {
            format!("{name} {}", descriptor(arguments[0]))
        }
        _ => name,
    }
}
