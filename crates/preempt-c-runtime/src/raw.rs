//! System calls without the C library, whose functions this library replaces.

use std::arch::asm;

/// Calls the kernel; the result is negative for an error, as the kernel returns it.
///
/// # Safety
/// As for the system call itself.
#[inline(always)]
pub(crate) unsafe fn syscall(number: i64, arguments: [usize; 6]) -> isize {
    let result: isize;
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the registers are those of the kernel's calling convention; memory is clobbered.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// The number of at most eight bytes at an address; `None` where no memory is, or where the kernel does not let us ask.
pub(crate) fn number(address: usize, size: usize) -> Option<u64> {
    let mut bytes = [0_u8; 8];
    let to = libc::iovec { iov_base: bytes.get_mut(..size)?.as_mut_ptr().cast(), iov_len: size };
    let from = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: size };
    // SAFETY: asks for the number of this process.
    let process = unsafe { syscall(libc::SYS_getpid, [0; 6]) } as usize;
    let lists = (&raw const to as usize, &raw const from as usize);
    // SAFETY: writes to our bytes only, and fails where there is nothing to read.
    let read = unsafe { syscall(libc::SYS_process_vm_readv, [process, lists.0, 1, lists.1, 1, 0]) };
    (read == size as isize).then_some(u64::from_le_bytes(bytes))
}

/// Maps anonymous memory, or ends the process: nothing can be done without it.
pub(crate) fn map(length: usize, shared: bool) -> *mut u8 {
    let kind = if shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
    let flags = (kind | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    // SAFETY: a fresh anonymous mapping touches nothing that exists.
    let at = unsafe { syscall(libc::SYS_mmap, [0, length, protection, flags, usize::MAX, 0]) };
    if (-4095..0).contains(&at) {
        refuse("preempt: the system gives no address space\n");
    }
    at as *mut u8
}

/// As [`map`], at a fixed address that must be free.
pub(crate) fn map_at(address: usize, length: usize) -> *mut u8 {
    let flags =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let arguments = [address, length, protection, flags as usize, usize::MAX, 0];
    // SAFETY: as above; an address in use is an error and not a replacement.
    let at = unsafe { syscall(libc::SYS_mmap, arguments) };
    if at as usize != address {
        refuse("preempt: the system does not give the address range for the program's heap\n");
    }
    at as *mut u8
}

/// Replaces a mapping by fresh memory that forked children share.
///
/// # Safety
/// Nothing in the range is used any more.
pub(crate) unsafe fn map_over(address: usize, length: usize) {
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let arguments = [address, length, protection, flags as usize, usize::MAX, 0];
    // SAFETY: as the caller's.
    let at = unsafe { syscall(libc::SYS_mmap, arguments) };
    if at as usize != address {
        refuse("preempt: the system gives no address space\n");
    }
}

/// Gives memory back.
pub(crate) fn unmap(address: usize, length: usize) {
    // SAFETY: the caller owns these pages and does not use them any more.
    unsafe { syscall(libc::SYS_munmap, [address, length, 0, 0, 0, 0]) };
}

/// Changes the protection of whole pages.
pub(crate) fn protect(address: usize, length: usize, protection: i32) {
    // SAFETY: the caller owns these pages.
    unsafe { syscall(libc::SYS_mprotect, [address, length, protection as usize, 0, 0, 0]) };
}

/// Writes all bytes to a descriptor, or gives up.
pub(crate) fn write(descriptor: i32, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let arguments = [descriptor as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0];
        // SAFETY: the bytes are valid for reading.
        let written = unsafe { syscall(libc::SYS_write, arguments) };
        if written == -(libc::EINTR as isize) {
            continue;
        }
        if written <= 0 {
            return;
        }
        bytes = &bytes[written as usize..];
    }
}

/// Ends the process at once, without handlers.
pub(crate) fn exit(code: i32) -> ! {
    loop {
        // SAFETY: does not return.
        unsafe { syscall(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Says why nothing works, and ends with the exit code of a bug.
pub(crate) fn fail(message: &str) -> ! {
    write(2, message.as_bytes());
    exit(101)
}

/// Ends the process because the system does not give what is needed; `preempt run` says so as well.
pub(crate) fn refuse(message: &str) -> ! {
    write(2, message.as_bytes());
    exit(102)
}

/// Waits until a word is no longer `value`, or a signal comes.
pub(crate) fn futex_wait(word: *const u32, value: u32) {
    // SAFETY: the word is in memory that lives as long as the process.
    unsafe { syscall(libc::SYS_futex, [word as usize, 0, value as usize, 0, 0, 0]) };
}

/// As [`futex_wait`], for a while.
pub(crate) fn futex_wait_for(word: *const u32, value: u32, patience: std::time::Duration) {
    let time = libc::timespec {
        tv_sec: patience.as_secs() as i64,
        tv_nsec: i64::from(patience.subsec_nanos()),
    };
    let arguments = [word as usize, 0, value as usize, &raw const time as usize, 0, 0];
    // SAFETY: as above; the structure is valid for reading.
    unsafe { syscall(libc::SYS_futex, arguments) };
}

/// Wakes all threads that wait for a word.
pub(crate) fn futex_wake(word: *const u32) {
    // SAFETY: as above.
    unsafe { syscall(libc::SYS_futex, [word as usize, 1, i32::MAX as usize, 0, 0, 0]) };
}

/// Does nothing for a while.
pub(crate) fn sleep(time: std::time::Duration) {
    let time =
        libc::timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
    // SAFETY: the structure is valid for reading.
    unsafe { syscall(libc::SYS_nanosleep, [&raw const time as usize, 0, 0, 0, 0, 0]) };
}

/// Sends a signal to the process that made this one.
pub(crate) fn signal_parent(signal: i32) {
    // SAFETY: both calls are about processes of ours.
    unsafe {
        let parent = syscall(libc::SYS_getppid, [0; 6]) as usize;
        syscall(libc::SYS_kill, [parent, signal as usize, 0, 0, 0, 0]);
    }
}

/// A copy of this process: 0 in the copy.
pub(crate) fn fork() -> isize {
    // SAFETY: this process has one thread.
    unsafe { syscall(libc::SYS_fork, [0; 6]) }
}

/// Has this process killed when its parent ends.
pub(crate) fn end_with_parent() {
    let arguments = [libc::PR_SET_PDEATHSIG as usize, libc::SIGKILL as usize, 0, 0, 0, 0];
    // SAFETY: concerns this process only.
    unsafe { syscall(libc::SYS_prctl, arguments) };
}

/// Kills a child.
pub(crate) fn kill(child: isize) {
    // SAFETY: a child that was not waited for.
    unsafe { syscall(libc::SYS_kill, [child as usize, libc::SIGKILL as usize, 0, 0, 0, 0]) };
}

/// Whether a child has ended; it can still be waited for.
pub(crate) fn has_ended(child: isize) -> bool {
    // SAFETY: the structure is plain data and valid for writing.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        let at = &raw mut info as usize;
        let arguments = [libc::P_PID as usize, child as usize, at, options as usize, 0, 0];
        syscall(libc::SYS_waitid, arguments) < 0 || info.si_pid() != 0
    }
}

/// Waits for a child; its status as `waitpid` gives it.
pub(crate) fn wait(child: isize) -> i32 {
    let mut status = 0;
    loop {
        let arguments = [child as usize, &raw mut status as usize, 0, 0, 0, 0];
        // SAFETY: `status` is valid for writing.
        let result = unsafe { syscall(libc::SYS_wait4, arguments) };
        if result != -(libc::EINTR as isize) {
            return status;
        }
    }
}
