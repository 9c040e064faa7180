//! What would end the process becomes a failure report: stack overflow, wild pointers, `abort`.
//!
//! Coroutine stacks end in a guard page. A handler for SIGSEGV and SIGBUS recognises a fault in the coroutine
//! that is running, on its stack or elsewhere, and makes that coroutine return to its caller with an error. Any
//! other fault goes to the handler that was installed before.
//!
//! In the same way a panic that escapes from a destructor during unwinding, which makes Rust abort
//! the process, becomes a return from the coroutine: a handler for SIGABRT recognises the abort that
//! the panic hook has announced. And a thread that is blocked in the operating system, where nothing
//! under control can wake it, is called back by a signal of our own. Only where the register layout is
//! known (Linux on x86-64 and AArch64); elsewhere an overflow ends the process as usual.

use corosensei::trap::CoroutineTrapHandler;
use std::cell::Cell;

/// Why a coroutine was left without unwinding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Left {
    /// It ran out of stack.
    Overflow,
    /// It was blocked by something that is not under control.
    Blocked,
    /// It accessed memory that is not there, at this address.
    Fault(usize),
    /// It called `abort`.
    Abort,
}

/// Handle for turning a stack overflow into a return from the coroutine.
pub(super) type Trap = CoroutineTrapHandler<Result<(), Left>>;

thread_local! {
    static RUNNING: Cell<Option<Trap>> = const { Cell::new(None) };
    static ABORTING: Cell<bool> = const { Cell::new(false) };
}

/// Announces that Rust is about to abort because of a panic in the running coroutine.
pub(super) fn announce_abort() {
    ABORTING.set(true);
}

/// Declares which coroutine runs from now on; returns the one before.
pub(super) fn watch(trap: Trap) -> Option<Trap> {
    RUNNING.replace(Some(trap))
}

/// Undoes [`watch`].
pub(super) fn unwatch(before: Option<Trap>) {
    RUNNING.set(before);
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod signal {
    use crate::rt::overflow::{ABORTING, Left, RUNNING, Trap};
    use std::sync::{Once, OnceLock};

    static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

    /// Installs the handler, once per process.
    pub(in super::super) fn install_handler() {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            // SAFETY: plain system calls on zeroed structures of the right type; the handler
            // only touches what `handle` says.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handle as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
                let mut previous: libc::sigaction = std::mem::zeroed();
                if libc::sigaction(libc::SIGSEGV, &action, &mut previous) == 0 {
                    let _ = PREVIOUS.set(previous);
                }
                libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
                action.sa_sigaction = handle_abort as *const () as usize;
                libc::sigaction(libc::SIGABRT, &action, std::ptr::null_mut());
                action.sa_sigaction = handle_call as *const () as usize;
                libc::sigaction(call_back(), &action, std::ptr::null_mut());
            }
        });
    }

    /// # Safety
    /// Called by the kernel with a valid signal frame.
    unsafe extern "C" fn handle(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        // SAFETY: the kernel passes a `ucontext_t`; std gives every thread it starts an
        // alternate signal stack, so this does not run on the overflown stack.
        unsafe {
            let context = &mut *context.cast::<libc::ucontext_t>();
            let address = (*info).si_addr() as usize;
            if let Some(trap) = running_trap(context) {
                let left = match is_near(stack_pointer(context), address) {
                    true => Left::Overflow,
                    false => Left::Fault(address),
                };
                redirect(context, trap.setup_trap_handler(move || Err(left)));
                return;
            }
            forward(signal, info, (context as *mut libc::ucontext_t).cast());
        }
    }

    /// # Safety
    /// Called by the kernel with a valid signal frame.
    unsafe extern "C" fn handle_abort(
        _: libc::c_int,
        _: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        // SAFETY: as in `handle`. If the abort is not ours, returning lets the C library go on
        // with it.
        unsafe {
            let context = &mut *context.cast::<libc::ucontext_t>();
            if let Some(trap) = running_trap(context) {
                let left = if ABORTING.replace(false) { Ok(()) } else { Err(Left::Abort) };
                redirect(context, trap.setup_trap_handler(move || left));
            }
        }
    }

    /// The signal that calls a blocked thread back.
    fn call_back() -> libc::c_int {
        libc::SIGRTMAX() - 3
    }

    /// # Safety
    /// Called by the kernel with a valid signal frame.
    unsafe extern "C" fn handle_call(
        _: libc::c_int,
        _: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        // SAFETY: as in `handle`. The sender has seen that the thread sleeps in a system call, so
        // it is in no critical section of an allocator.
        unsafe {
            let context = &mut *context.cast::<libc::ucontext_t>();
            if let Some(trap) = running_trap(context) {
                redirect(context, trap.setup_trap_handler(|| Err(Left::Blocked)));
            }
        }
    }

    /// A thread of this process, to be called back.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Callee {
        handle: libc::pthread_t,
        id: libc::pid_t,
    }

    impl Callee {
        /// The calling thread.
        pub(crate) fn here() -> Self {
            // SAFETY: plain calls without arguments.
            unsafe { Callee { handle: libc::pthread_self(), id: libc::gettid() } }
        }

        /// Whether it sleeps in the operating system.
        pub(crate) fn sleeps(&self) -> bool {
            let stat = std::fs::read_to_string(format!("/proc/self/task/{}/stat", self.id));
            stat.is_ok_and(|text| {
                text.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('S'))
            })
        }

        /// Makes it leave the coroutine it is in. The thread must not have ended.
        pub(crate) fn call_back(&self) {
            // SAFETY: the caller waits for the thread, so its handle is valid.
            unsafe { libc::pthread_kill(self.handle, call_back()) };
        }
    }

    /// An overflow faults just below the stack pointer (or a frame further); a wild pointer
    /// anywhere.
    fn is_near(stack_pointer: usize, address: usize) -> bool {
        address < stack_pointer + 4096 && address + (1 << 20) > stack_pointer
    }

    /// # Safety
    /// Arguments as given to a signal handler.
    unsafe fn forward(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        let handler = PREVIOUS.get().map_or(libc::SIG_DFL, |previous| previous.sa_sigaction);
        // SAFETY: the address was a handler installed with SA_SIGINFO (std's is), or one of the
        // two constants, which are treated as the default action.
        unsafe {
            if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_DFL);
                return;
            }
            type Handler =
                unsafe extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
            let handler = std::mem::transmute::<usize, Handler>(handler);
            handler(signal, info, context);
        }
    }

    /// The trap of the running coroutine, if that is what was interrupted.
    fn running_trap(context: &libc::ucontext_t) -> Option<Trap> {
        RUNNING.get().filter(|trap| trap.stack_ptr_in_bounds(stack_pointer(context)))
    }

    #[cfg(target_arch = "x86_64")]
    fn stack_pointer(context: &libc::ucontext_t) -> usize {
        context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize
    }

    #[cfg(target_arch = "x86_64")]
    fn redirect(context: &mut libc::ucontext_t, registers: corosensei::trap::TrapHandlerRegs) {
        let saved = &mut context.uc_mcontext.gregs;
        saved[libc::REG_RIP as usize] = registers.rip as i64;
        saved[libc::REG_RSP as usize] = registers.rsp as i64;
        saved[libc::REG_RBP as usize] = registers.rbp as i64;
        saved[libc::REG_RDI as usize] = registers.rdi as i64;
        saved[libc::REG_RSI as usize] = registers.rsi as i64;
    }

    #[cfg(target_arch = "aarch64")]
    fn stack_pointer(context: &libc::ucontext_t) -> usize {
        context.uc_mcontext.sp as usize
    }

    #[cfg(target_arch = "aarch64")]
    fn redirect(context: &mut libc::ucontext_t, registers: corosensei::trap::TrapHandlerRegs) {
        let saved = &mut context.uc_mcontext;
        saved.pc = registers.pc;
        saved.sp = registers.sp;
        saved.regs[0] = registers.x0;
        saved.regs[1] = registers.x1;
        saved.regs[29] = registers.x29;
        saved.regs[30] = registers.lr;
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use signal::Callee;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) use signal::install_handler;

/// Threads cannot be called back here.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callee;

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
impl Callee {
    /// The calling thread.
    pub(crate) fn here() -> Self {
        Callee
    }

    /// Whether it sleeps in the operating system: not known.
    pub(crate) fn sleeps(&self) -> bool {
        false
    }

    /// Does nothing.
    pub(crate) fn call_back(&self) {}
}

/// Nothing to install: an overflow ends the process.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(super) fn install_handler() {
    let _ = |()| -> Result<(), Left> { Err(Left::Overflow) };
}
