//! Signals that end an execution, and those that we use ourselves.

use crate::control::runtime;
use crate::entry::{SEARCH, is_program, select};
use crate::trouble::{Kind, Trouble};
use crate::{context, kernel, raw, snapshot};
use std::arch::{asm, naked_asm};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// As the kernel has it.
#[repr(C)]
struct KernelAction {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

const SA_RESTORER: u64 = 0x0400_0000;

/// Returns from a handler. It is ours because the kernel lets system calls of our own text pass.
#[unsafe(naked)]
unsafe extern "C" fn restore() {
    naked_asm!("mov eax, 15", "syscall")
}

/// Signals after which a program is over.
const FATAL: [i32; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT, libc::SIGTRAP];

/// Asks the search to end with what it has. The last signal that there is: programs use others.
const STOP: i32 = 64;

/// What [`STOP`] sets.
static STOPPED: AtomicPtr<AtomicBool> = AtomicPtr::new(std::ptr::null_mut());

/// A flag that is set when the search is asked to end.
pub(crate) fn stop_flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    // Never freed: the signal may come at any time.
    STOPPED.store(Arc::into_raw(flag.clone()).cast_mut(), Ordering::Release);
    flag
}

/// Sets our handlers, on a stack of their own.
pub(crate) fn install() {
    const SIZE: usize = 256 << 10;
    let stack = libc::stack_t { ss_sp: raw::map(SIZE, false).cast(), ss_flags: 0, ss_size: SIZE };
    // SAFETY: the stack lives as long as the process; handlers do not allocate from the C library.
    unsafe {
        raw::syscall(libc::SYS_sigaltstack, [&raw const stack as usize, 0, 0, 0, 0, 0]);
        for signal in FATAL.into_iter().chain([libc::SIGSYS, libc::SIGALRM, STOP]) {
            let action = KernelAction {
                handler: handle as *const () as usize,
                flags: (libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER) as u64
                    | SA_RESTORER,
                restorer: restore as *const () as usize,
                mask: 0,
            };
            let arguments = [signal as usize, &raw const action as usize, 0, 8, 0, 0];
            raw::syscall(libc::SYS_rt_sigaction, arguments);
        }
    }
}

/// Whether the program may not have a handler of its own for this signal.
pub(crate) fn is_ours(signal: i32) -> bool {
    FATAL.contains(&signal) || [libc::SIGSYS, libc::SIGALRM, STOP].contains(&signal)
}

unsafe extern "C" fn handle(
    signal: i32,
    info: *mut libc::siginfo_t,
    context: *mut libc::ucontext_t,
) {
    let whose = if is_program() { crate::entry::PROGRAM } else { SEARCH };
    select(SEARCH);
    // SAFETY: the kernel's own structures.
    let (address, registers) =
        unsafe { ((*info).si_addr() as usize, &mut (*context).uc_mcontext.gregs) };
    let (pc, sp) =
        (registers[libc::REG_RIP as usize] as usize, registers[libc::REG_RSP as usize] as usize);
    match signal {
        libc::SIGSEGV if snapshot::is_first_write(address) => {}
        libc::SIGSYS => {
            let number = registers[libc::REG_RAX as usize];
            let argument = |register: i32| registers[register as usize] as usize;
            let arguments = [
                argument(libc::REG_RDI),
                argument(libc::REG_RSI),
                argument(libc::REG_RDX),
                argument(libc::REG_R10),
                argument(libc::REG_R8),
                argument(libc::REG_R9),
            ];
            let result = kernel::decide(number, arguments, place(pc, sp));
            registers[libc::REG_RAX as usize] = result as i64;
        }
        libc::SIGALRM => watch(whose, pc, sp),
        STOP => {
            // SAFETY: null or a flag that is never freed.
            if let Some(flag) = unsafe { STOPPED.load(Ordering::Acquire).as_ref() } {
                flag.store(true, Ordering::Relaxed);
            }
        }
        _ if whose == SEARCH => {
            raw::write(2, b"preempt: ");
            raw::write(2, name(signal).as_bytes());
            raw::fail(" in preempt's own code; please report it\n");
        }
        _ => {
            let message = describe(signal, address);
            runtime().stop(Trouble::new(Kind::Signal, place(pc, sp), message));
        }
    }
    select(whose);
}

fn describe(signal: i32, address: usize) -> String {
    let runtime = runtime();
    let name = name(signal);
    if matches!(signal, libc::SIGSEGV | libc::SIGBUS) {
        if context::is_guard(runtime.me().stack.max(context::STACK * 2), address) {
            return format!(
                "{name}: the stack of a thread overflows its {} MiB",
                context::STACK >> 20
            );
        }
        if address < 4096 {
            return format!("{name}: a null pointer is used (address {address:#x})");
        }
        return format!("{name}: address {address:#x} cannot be accessed");
    }
    name.to_string()
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
        _ => return format!("signal {signal}"),
    };
    name.into()
}

static LAST: AtomicU64 = AtomicU64::new(u64::MAX);
static QUIET: AtomicU64 = AtomicU64::new(0);

/// Once a second: ends an execution that makes no progress.
fn watch(whose: u8, pc: usize, sp: usize) {
    if whose == SEARCH {
        return;
    }
    let runtime = runtime();
    if LAST.swap(runtime.pulse, Ordering::Relaxed) != runtime.pulse {
        QUIET.store(0, Ordering::Relaxed);
        return;
    }
    if QUIET.fetch_add(1, Ordering::Relaxed) + 1 >= runtime.options.patience {
        let message = format!(
            "a thread computes for {} seconds without reaching a scheduling point: it waits for \
             something that no other thread can change meanwhile, or it needs more time (--patience)",
            runtime.options.patience
        );
        runtime.stop(Trouble::new(Kind::Livelock, place(pc, sp), message));
    }
}

/// The place in the program's own code that led to `pc`.
pub(crate) fn place(pc: usize, sp: usize) -> usize {
    if snapshot::is_program_text(pc) {
        return pc + 1;
    }
    scan(sp)
}

/// The innermost return address into the program's own code, found by looking through the stack.
/// Never inlined, so that what it sees is the caller's.
#[inline(never)]
pub(crate) fn caller() -> usize {
    let sp: usize;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
    scan(sp)
}

fn scan(sp: usize) -> usize {
    const MOST: usize = 4096;
    let top = match runtime().tasks.get(runtime().current().index()) {
        Some(task) if task.stack >= sp && task.stack - sp <= context::STACK => task.stack,
        _ => sp + 1024,
    };
    for at in ((sp & !7)..top).step_by(8).take(MOST) {
        // SAFETY: the part of the stack in use is mapped.
        let word = unsafe { *(at as *const usize) };
        if snapshot::is_program_text(word) && follows_call(word) {
            return word;
        }
    }
    0
}

/// Whether the instruction before an address of the program is a call.
fn follows_call(address: usize) -> bool {
    let byte = |back: usize| {
        let at = address - back;
        // SAFETY: addresses of the program's text are readable.
        if snapshot::is_program_text(at) { unsafe { *(at as *const u8) } } else { 0 }
    };
    byte(5) == 0xE8 || [2, 3, 6, 7].into_iter().any(|back| byte(back) == 0xFF)
}
