//! System calls of the program under control.
//!
//! The kernel reports every system call that the program, or a library on its behalf, makes
//! (`PR_SET_SYSCALL_USER_DISPATCH`). Most programs under test make none but those for output. Any
//! other call is looked at here. Calls on descriptors inside the program are steps of its threads (`descriptors/`), and those that
//! concern the program alone (its signals, its mappings, files that it only reads) are answered or made in place. Those that change
//! something outside are made in forked executions only, in every order of the threads. Those that wait for the outside, make
//! processes or arrange for signals cannot be made at all, because the search would lose control.

use crate::backend::Backend;
use crate::descriptor_table::{Descriptors, OUTSIDE, TABLE};
use crate::entry::{PROGRAM, SELECTOR, is_program};
use crate::runtime::inside;
use crate::runtime::{Runtime, runtime};
use crate::syscall_names::{describe, name};
use crate::trouble::Trouble;
use crate::{descriptors, dispositions, ending, mappings, raw, redirect, served, snapshot};

const PR_SET_SYSCALL_USER_DISPATCH: usize = 59;
const ON: usize = 1;

/// Has system calls of the calling thread reported from now on.
pub(crate) fn watch_this_thread() {
    let (start, length) = snapshot::own_text();
    let selector = SELECTOR.as_ptr() as usize;
    let arguments = [PR_SET_SYSCALL_USER_DISPATCH, ON, start, length, selector, 0];
    // SAFETY: the selector lives as long as the process. Where the kernel does not know this, calls
    // are simply made; the rest works as before.
    unsafe { raw::syscall(libc::SYS_prctl, arguments) };
}

/// The same for a process of one thread; looks for progress once a second.
pub(crate) fn watch_this_process(patience: u64) {
    watch_this_thread();
    if patience > 0 {
        let second = libc::timeval { tv_sec: 1, tv_usec: 0 };
        let timer = libc::itimerval { it_interval: second, it_value: second };
        let arguments = [libc::ITIMER_REAL as usize, &raw const timer as usize, 0, 0, 0, 0];
        // SAFETY: the structure is valid for reading; the handler is set.
        unsafe { raw::syscall(libc::SYS_setitimer, arguments) };
    }
}

/// What becomes of a call.
enum SyscallPolicy {
    /// It is made.
    Make,
    /// It reads files, which stay as they are while the program writes none.
    Read,
    /// It is made in a process of its own only.
    Outside,
    /// It would wait.
    Waits,
    /// It would make a process or a thread, or replace this one.
    MakesProcess,
    /// It would cause signals later.
    Signals,
    /// This is what it returns.
    Answer(isize),
}

fn policy(number: i64, arguments: &[usize; 6]) -> SyscallPolicy {
    let descriptor = arguments[0] as i32;
    match number {
        libc::SYS_write | libc::SYS_writev if descriptor == 1 || descriptor == 2 => {
            SyscallPolicy::Make
        }
        libc::SYS_fstat | libc::SYS_lseek | libc::SYS_ioctl | libc::SYS_newfstatat
            if (0..=2).contains(&descriptor) && !runtime().descriptors.is_opened(descriptor) =>
        {
            SyscallPolicy::Make
        }
        libc::SYS_gettid => SyscallPolicy::Answer(1000 + runtime().current().0 as isize),
        libc::SYS_getrandom => SyscallPolicy::Answer(numbers(arguments[0], arguments[1])),
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep | libc::SYS_sched_yield => {
            SyscallPolicy::Answer(0)
        }
        libc::SYS_rt_sigaction => {
            SyscallPolicy::Answer(dispositions::change(descriptor, arguments[1], arguments[2]))
        }
        // From within the C library, around things that signals must not interrupt: none does.
        libc::SYS_rt_sigprocmask => SyscallPolicy::Answer(0),
        // Handlers run on a stack of ours, whatever the program asks for.
        libc::SYS_sigaltstack => SyscallPolicy::Answer(dispositions::no_stack(arguments[1])),
        libc::SYS_prctl if is_name(descriptor) => SyscallPolicy::Answer(0),
        libc::SYS_mmap | libc::SYS_munmap | libc::SYS_mremap
            if mappings::is_of_the_program(number, arguments) =>
        {
            let thread = runtime().current().index();
            SyscallPolicy::Answer(runtime().mappings.call(thread, number, arguments))
        }
        libc::SYS_mprotect | libc::SYS_madvise if mappings::contains(arguments[0]) => {
            SyscallPolicy::Make
        }
        // The number of a descriptor of ours is occupied by a file that is never used.
        libc::SYS_fcntl | libc::SYS_fstat if runtime().descriptors.contains(descriptor) => {
            SyscallPolicy::Make
        }
        // As on a kernel that does not know them: programs have another way to do the same.
        libc::SYS_io_uring_setup | libc::SYS_pidfd_open => {
            SyscallPolicy::Answer(-(libc::ENOSYS as isize))
        }
        _ if is_reading(number, arguments) => SyscallPolicy::Read,
        libc::SYS_poll | libc::SYS_ppoll | libc::SYS_select | libc::SYS_pselect6
            if cannot_wait(number, arguments) =>
        {
            SyscallPolicy::Make
        }
        libc::SYS_futex if arguments[1] & 0x7F == 1 || arguments[1] & 0x7F == 10 => {
            SyscallPolicy::Answer(0)
        }
        libc::SYS_read if would_wait(descriptor) => SyscallPolicy::Waits,
        _ => usual_policy(number),
    }
}

/// What becomes of a call whatever its arguments are.
fn usual_policy(number: i64) -> SyscallPolicy {
    match number {
        libc::SYS_getpid
        | libc::SYS_getppid
        | libc::SYS_getuid
        | libc::SYS_geteuid
        | libc::SYS_getgid
        | libc::SYS_getegid
        | libc::SYS_uname
        | libc::SYS_sysinfo
        | libc::SYS_getrusage
        | libc::SYS_times
        | libc::SYS_getcpu
        | libc::SYS_sched_getaffinity
        | libc::SYS_sched_getparam
        | libc::SYS_sched_getscheduler
        | libc::SYS_prlimit64
        | libc::SYS_getcwd
        | libc::SYS_membarrier
        | libc::SYS_set_robust_list
        | libc::SYS_rseq
        | libc::SYS_clock_getres
        | libc::SYS_clock_gettime
        | libc::SYS_gettimeofday
        | libc::SYS_time => SyscallPolicy::Make,
        libc::SYS_futex
        | libc::SYS_poll
        | libc::SYS_ppoll
        | libc::SYS_select
        | libc::SYS_pselect6
        | libc::SYS_epoll_wait
        | libc::SYS_epoll_pwait
        | libc::SYS_accept
        | libc::SYS_accept4
        | libc::SYS_connect
        | libc::SYS_recvfrom
        | libc::SYS_recvmsg
        | libc::SYS_pause
        | libc::SYS_rt_sigsuspend
        | libc::SYS_rt_sigtimedwait
        | libc::SYS_wait4
        | libc::SYS_waitid
        | libc::SYS_flock
        | libc::SYS_msgrcv
        | libc::SYS_semop
        | libc::SYS_semtimedop
        | libc::SYS_mq_timedreceive => SyscallPolicy::Waits,
        libc::SYS_clone
        | libc::SYS_clone3
        | libc::SYS_fork
        | libc::SYS_vfork
        | libc::SYS_execve
        | libc::SYS_execveat => SyscallPolicy::MakesProcess,
        libc::SYS_setitimer
        | libc::SYS_alarm
        | libc::SYS_timer_create
        | libc::SYS_timerfd_create
        | libc::SYS_signalfd4 => SyscallPolicy::Signals,
        _ => SyscallPolicy::Outside,
    }
}

/// Whether `prctl` is about the name of the thread, which is of no consequence.
fn is_name(option: i32) -> bool {
    option == libc::PR_SET_NAME || option == libc::PR_GET_NAME
}

/// Whether a call that looks at descriptors has a time limit of zero, so that it returns at once.
fn cannot_wait(number: i64, arguments: &[usize; 6]) -> bool {
    if number == libc::SYS_poll {
        return arguments[2] as i32 == 0;
    }
    let limit = if number == libc::SYS_ppoll { arguments[2] } else { arguments[4] };
    // Seconds and a fraction of one, in two words.
    // SAFETY: the program's own structure.
    limit != 0 && unsafe { *(limit as *const [u64; 2]) == [0, 0] }
}

/// Whether a call only reads files of the outside.
fn is_reading(number: i64, arguments: &[usize; 6]) -> bool {
    let descriptor = arguments[0] as i32;
    let only_reads = |flags: usize| {
        let changes = libc::O_CREAT | libc::O_TRUNC | libc::O_TMPFILE & !libc::O_DIRECTORY;
        flags as i32 & libc::O_ACCMODE == libc::O_RDONLY && flags as i32 & changes == 0
    };
    match number {
        libc::SYS_open => only_reads(arguments[1]),
        libc::SYS_openat => only_reads(arguments[2]),
        libc::SYS_newfstatat
        | libc::SYS_stat
        | libc::SYS_lstat
        | libc::SYS_statx
        | libc::SYS_access
        | libc::SYS_faccessat
        | libc::SYS_faccessat2
        | libc::SYS_readlink
        | libc::SYS_readlinkat
        | libc::SYS_statfs => true,
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_pread64
        | libc::SYS_preadv
        | libc::SYS_lseek
        | libc::SYS_fstat
        | libc::SYS_fstatfs
        | libc::SYS_getdents64
        | libc::SYS_fcntl
        | libc::SYS_fadvise64
        | libc::SYS_close => runtime().descriptors.is_opened(descriptor),
        _ => false,
    }
}

/// Makes a call that reads a file. What an execution opens is closed before the next one.
fn read(number: i64, arguments: [usize; 6], pc: usize) -> isize {
    // SAFETY: the program's own call.
    let make = || unsafe { raw::syscall(number, arguments) };
    let opens = matches!(number, libc::SYS_open | libc::SYS_openat);
    if !opens && number != libc::SYS_close {
        return make();
    }
    descriptors::lock(TABLE, descriptors::When::Scheduled, pc);
    let result = make();
    let descriptors = &mut runtime().descriptors;
    match opens {
        true if result >= 0 => descriptors.set_opened(result as i32, true),
        true => {}
        false => descriptors.set_opened(arguments[0] as i32, false),
    }
    descriptors::unlock(TABLE, pc);
    result
}

/// Whether a read has nothing to read now: a terminal, a pipe or a socket.
fn would_wait(descriptor: i32) -> bool {
    let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    // SAFETY: the structure is valid for reading and writing.
    unsafe { raw::syscall(libc::SYS_poll, [&raw mut poll as usize, 1, 0, 0, 0, 0]) == 0 }
}

/// Bytes that the program takes for random; the same whenever the thread does the same.
fn numbers(at: usize, length: usize) -> isize {
    let me = runtime().current().0;
    let task = runtime().me();
    task.random += 1;
    let mut state = task.random ^ u64::from(me) << 32;
    for offset in 0..length {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // SAFETY: the program's own buffer.
        unsafe { *((at + offset) as *mut u8) = (state >> 56) as u8 };
    }
    length as isize
}

/// Makes a system call for the program, or ends the execution. Returns what the kernel would.
pub(crate) fn decide(number: i64, arguments: [usize; 6], pc: usize) -> isize {
    if is_program() {
        let pc = if pc == 0 { crate::caller::caller() } else { pc };
        return inside(|runtime| {
            let described = |descriptors: &Descriptors| describe(number, &arguments, descriptors);
            let call = served::begin(runtime, described);
            let result = decide(number, arguments, pc);
            served::end(self::runtime(), call, Some(result));
            result
        });
    }
    if let Some(result) = descriptors::call(number, &arguments, pc) {
        return result;
    }
    if number == libc::SYS_read
        && arguments[0] == redirect::INPUT as usize
        && runtime().input.is_none()
    {
        runtime().note(
            "the program reads its standard input, which is empty; --input FILE gives it one",
        );
    }
    let name = name(number);
    let refuse = |why: &str| runtime().stop(Trouble::unsupported(pc, format!("{name} {why}")));
    match policy(number, &arguments) {
        // SAFETY: the program's own call.
        SyscallPolicy::Make => unsafe { raw::syscall(number, arguments) },
        SyscallPolicy::Answer(result) => result,
        _ if number == libc::SYS_exit_group || number == libc::SYS_exit => {
            ending::leave(arguments[0] as i32, pc)
        }
        SyscallPolicy::Read if runtime().backend == Backend::Restart => read(number, arguments, pc),
        SyscallPolicy::Outside | SyscallPolicy::Read => {
            outside(runtime(), &name, pc);
            // What one thread writes another may read: the order of such calls matters.
            descriptors::lock(OUTSIDE, descriptors::When::Scheduled, pc);
            // SAFETY: as above; this is a process of its own.
            let result = unsafe { raw::syscall(number, arguments) };
            descriptors::unlock(OUTSIDE, pc);
            result
        }
        SyscallPolicy::Waits if number == libc::SYS_futex => refuse(
            "is called by a library that was not compiled by preempt cc and waits there: compile \
             it, too, or leave it out of the test",
        ),
        SyscallPolicy::Waits => refuse(
            "waits for something outside of the program, which cannot be scheduled: replace it in \
             the test",
        ),
        SyscallPolicy::MakesProcess => {
            refuse("makes another process, which cannot be followed: leave it out of the test")
        }
        SyscallPolicy::Signals => {
            refuse("causes signals at times that cannot be controlled: leave it out of the test")
        }
    }
}

/// The program reaches beyond its memory: executions need a process of their own.
fn outside(runtime: &mut Runtime, name: &str, pc: usize) {
    if runtime.backend != Backend::Restart {
        return;
    }
    if runtime.options.backend == preempt_exchange::Backend::Restart {
        let message = format!(
            "{name} has effects outside of the program's memory, so executions cannot be repeated \
             in one process: use --backend fork"
        );
        runtime.stop(Trouble::unsupported(pc, message));
    }
    runtime.forked_because = Some(name.into());
    runtime.backend = Backend::Fork;
    runtime.restart();
}

/// The kernel reads the selector, too: its value for the program must be the one that reports system calls.
const _: () = assert!(PROGRAM == 1, "the kernel blocks system calls where the selector is 1");
