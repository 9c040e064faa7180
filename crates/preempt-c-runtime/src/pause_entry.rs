//! The program at a `pause` (`pauses.rs`), taken to a function as if it had called one.
//!
//! Invariant: as after `pause`, every register is as before.

use crate::context::RED_ZONE;
use crate::control::pause;
use crate::pauses::PAUSE;
use crate::runtime::inside;
use crate::task::CallSite;
use std::arch::global_asm;

/// What the register `rax` says instead of the number of a system call.
pub(crate) const NUMBER: i64 = -2;

/// What the program goes on with after its pause.
#[repr(C)]
struct Interrupted {
    /// `rax`, `rcx` and `r11`, which system calls change.
    registers: [libc::greg_t; 3],
    pc: usize,
}

unsafe extern "C" {
    /// Goes on behind a pause: the stack pointer points to [`Interrupted`], just below the red zone.
    fn preempt_pause_exit();
}

// A return address is looked up by the byte before it, so the function begins with one.
global_asm!(
    ".type preempt_pause_exit_function, @function",
    "preempt_pause_exit_function:",
    ".cfi_startproc",
    ".cfi_def_cfa rsp, 160",
    ".cfi_offset 16, -136",
    "nop",
    ".globl preempt_pause_exit",
    ".hidden preempt_pause_exit",
    "preempt_pause_exit:",
    "pop rax",
    ".cfi_adjust_cfa_offset -8",
    "pop rcx",
    ".cfi_adjust_cfa_offset -8",
    "pop r11",
    ".cfi_adjust_cfa_offset -8",
    "lea rsp, [rsp + 136]",
    ".cfi_def_cfa rsp, 0",
    "jmp qword ptr [rsp - 136]",
    ".cfi_endproc",
    ".size preempt_pause_exit_function, . - preempt_pause_exit_function",
);

const _: () = assert!(size_of::<Interrupted>() == 32 && RED_ZONE == 128, "as in the assembly");

/// Lets the registers of a program that stands at a pause go on behind it.
pub(crate) fn pass(registers: &mut [libc::greg_t]) {
    registers[libc::REG_RIP as usize] += PAUSE.len() as libc::greg_t;
}

/// Keeps what the program goes on with behind its pause, and says what has been asked for in `rax`. Returns where our function
/// returns to, and with which stack pointer.
pub(crate) fn leave(registers: &mut [libc::greg_t]) -> (usize, usize) {
    let sp = registers[libc::REG_RSP as usize] as usize;
    pass(registers);
    let pc = registers[libc::REG_RIP as usize] as usize;
    let kept = [libc::REG_RAX, libc::REG_RCX, libc::REG_R11];
    let interrupted =
        Interrupted { registers: kept.map(|register| registers[register as usize]), pc };
    let at = sp - RED_ZONE - size_of::<Interrupted>();
    // SAFETY: the program's own stack, below what it uses.
    unsafe { (at as *mut Interrupted).write_unaligned(interrupted) };
    registers[libc::REG_RAX as usize] = NUMBER;
    (preempt_pause_exit as *const () as usize, at)
}

/// The program stands at a pause and called us instead, with these registers and this stack pointer.
pub(crate) fn give_way(arguments: &[usize; 6], sp: usize) {
    // SAFETY: `leave` has put it there.
    let Interrupted { registers, pc } = unsafe { (sp as *const Interrupted).read_unaligned() };
    let words = registers.iter().map(|&word| word as u64);
    let live = words.chain(arguments.iter().map(|&word| word as u64));
    inside(|runtime| {
        runtime.me().spinning.clear();
        if !pause(CallSite { pc, address: 0 }, live) {
            runtime.pauses.pass(pc - PAUSE.len());
        }
    });
}
