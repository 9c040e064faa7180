//! Signals that end an execution, and those that we use ourselves.

use crate::caller::call_site;
use crate::dispositions::{self, KernelAction};
use crate::entry::{ENTERED_WITH, KEPT_REGISTERS, SEARCH, is_program, select};
use crate::runtime::runtime;
use crate::signal_numbers::{FATAL, STOP, name};
use crate::trouble::{Kind, Trouble};
use crate::{context, idle, pause_entry, raw, snapshot, stop_flag, syscall_entry};
use std::arch::naked_asm;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// What happens on a signal that is ours.
fn action() -> KernelAction {
    KernelAction {
        handler: handle as *const () as usize,
        flags: (libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER) as u64 | SA_RESTORER,
        restorer: restore as *const () as usize,
        mask: 0,
    }
}

const SA_RESTORER: u64 = 0x0400_0000;

/// Returns from a handler. It is ours because the kernel lets system calls of our own text pass.
#[unsafe(naked)]
unsafe extern "C" fn restore() {
    naked_asm!("mov eax, 15", "syscall")
}

/// Sets our handlers, on a stack of their own.
pub(crate) fn install() {
    const SIZE: usize = 256 << 10;
    let stack = libc::stack_t { ss_sp: raw::map(SIZE, false).cast(), ss_flags: 0, ss_size: SIZE };
    dispositions::set_ours(action());
    // SAFETY: the stack lives as long as the process; handlers do not allocate from the C library.
    unsafe {
        raw::syscall(libc::SYS_sigaltstack, [&raw const stack as usize, 0, 0, 0, 0, 0]);
        for signal in FATAL.into_iter().chain([libc::SIGSYS, libc::SIGALRM, STOP]) {
            let action = action();
            let arguments = [signal as usize, &raw const action as usize, 0, 8, 0, 0];
            raw::syscall(libc::SYS_rt_sigaction, arguments);
        }
    }
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
        libc::SIGSYS => syscall_entry::divert(registers),
        libc::SIGALRM => watch(whose, pc, sp),
        STOP => stop_flag::stop(),
        libc::SIGILL if runtime().pauses.contains(pc) => match whose {
            SEARCH => pause_entry::pass(registers),
            _ => {
                set_kept_registers(registers);
                let (pc, sp) = pause_entry::leave(registers);
                syscall_entry::enter(registers, pc, sp);
            }
        },
        _ if whose == SEARCH => {
            raw::write(2, b"preempt: ");
            raw::write(2, name(signal).as_bytes());
            raw::fail(" in preempt's own code; please report it\n");
        }
        _ => {
            let message = describe(signal, address);
            runtime().stop(Trouble::new(Kind::Signal, call_site(pc, sp), message));
        }
    }
    select(whose);
}

/// The program enters this library where it stands.
fn set_kept_registers(registers: &[libc::greg_t]) {
    use libc::{REG_R12, REG_R13, REG_R14, REG_R15, REG_RBP, REG_RBX, REG_RSP};
    let kept = [REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15];
    for (known, register) in KEPT_REGISTERS.iter().zip(kept) {
        known.store(registers[register as usize] as usize, Ordering::Relaxed);
    }
    ENTERED_WITH.store(registers[REG_RSP as usize] as usize, Ordering::Relaxed);
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

static LAST: AtomicU64 = AtomicU64::new(u64::MAX);
static QUIET: AtomicU64 = AtomicU64::new(0);

/// Once a second: ends an execution that makes no progress, and any if time is up.
fn watch(whose: u8, pc: usize, sp: usize) {
    let runtime = runtime();
    if LAST.load(Ordering::Relaxed) == runtime.pulse {
        // A thread that does nothing but read is in this library most of the time.
        idle::begin();
    }
    if whose == SEARCH {
        LAST.store(runtime.pulse, Ordering::Relaxed);
        return;
    }
    if runtime.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        runtime.abandon(call_site(pc, sp));
    }
    if LAST.swap(runtime.pulse, Ordering::Relaxed) != runtime.pulse {
        QUIET.store(0, Ordering::Relaxed);
        return;
    }
    if QUIET.fetch_add(1, Ordering::Relaxed) + 1 >= runtime.options.seconds_of_patience() {
        let message = format!(
            "a thread computes for {} seconds without reaching a scheduling point: it waits for \
             something that no other thread can change meanwhile, or it needs more time (--patience)",
            runtime.options.seconds_of_patience()
        );
        runtime.stop(Trouble::new(Kind::Livelock, call_site(pc, sp), message));
    }
}
