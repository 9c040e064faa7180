//! The instruction `pause` as a step: the thread gives way to others, as by `sched_yield`.
//!
//! A loop that waits says so by it (`spin_loop` in Rust, `_mm_pause` in C). `pauses.rs` of `preempt-run` has found the
//! instructions of the program. Each is written over by `ud2`, which has two bytes as well: the kernel reports that by a signal,
//! and the handler lets the program go on as if a function had been called there (`syscall_entry.rs`).
//!
//! Invariant: as after `pause`, every register is as before.

use crate::backend::Backend;
use crate::control::pause;
use crate::runtime::inside;
use crate::syscall_entry::{RED_ZONE, enter};
use crate::task::CallSite;
use crate::{raw, snapshot};
use std::arch::global_asm;

const PAUSE: [u8; 2] = [0xF3, 0x90];
/// An instruction that has no meaning.
const UD2: [u8; 2] = [0x0F, 0x0B];

/// What the registers `rax` say instead of the number of a system call.
pub(crate) const NUMBER: i64 = -2;

const PAGE: usize = 4096;

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

/// The pauses of the program.
#[derive(Default)]
pub(crate) struct Pauses {
    /// Where they are, relative to where the program is loaded, in order.
    offsets: Vec<usize>,
    /// Those that are pauses again, because the running thread has given way and done nothing since: a loop that only pauses
    /// goes round as fast as it would by itself.
    passed: Vec<usize>,
}

impl Pauses {
    pub(crate) fn new(offsets: Vec<usize>) -> Pauses {
        Pauses { offsets, passed: Vec::new() }
    }

    /// Writes over the instructions. Threads of the operating system have no stack for signals: theirs stay.
    pub(crate) fn write_over(&mut self, backend: Backend) {
        let can_be_written = |offset: &usize| {
            let at = snapshot::absolute(*offset);
            let first = at & !(PAGE - 1);
            let size = (at + PAUSE.len()).next_multiple_of(PAGE) - first;
            let all = (libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) as usize;
            snapshot::is_program_text(at)
                // SAFETY: pages of the program's own text, which can do what they could before.
                && unsafe { raw::syscall(libc::SYS_mprotect, [first, size, all, 0, 0, 0]) } == 0
        };
        match backend {
            Backend::Threads => self.offsets.clear(),
            _ => self.offsets.retain(can_be_written),
        }
        for &offset in &self.offsets {
            write(snapshot::absolute(offset), UD2);
        }
    }

    /// Whether the instruction at `pc` was a pause.
    pub(crate) fn contains(&self, pc: usize) -> bool {
        self.offsets.binary_search(&snapshot::relative(pc)).is_ok()
    }

    /// The program does something, or another thread goes on: every pause counts again.
    #[inline]
    pub(crate) fn begin_round(&mut self) {
        if !self.passed.is_empty() {
            self.passed.drain(..).for_each(|at| write(at, UD2));
        }
    }

    /// The thread has given way, and this pause need not be reported until something happens.
    fn pass(&mut self, at: usize) {
        write(at, PAUSE);
        self.passed.push(at);
    }
}

fn write(at: usize, instruction: [u8; 2]) {
    // SAFETY: the two bytes of a pause, which can be written. One thread runs at a time, and it is not there.
    unsafe { (at as *mut [u8; 2]).write_volatile(instruction) };
}

/// Lets the registers of a program that stands at a pause go on behind it.
pub(crate) fn pass(registers: &mut [libc::greg_t]) {
    registers[libc::REG_RIP as usize] += UD2.len() as libc::greg_t;
}

/// Changes the registers of a program that stands at a pause so that it gives way and goes on behind it.
pub(crate) fn divert(registers: &mut [libc::greg_t]) {
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
    enter(registers, preempt_pause_exit as *const () as usize, at);
}

/// The program stands at a pause and called us instead, with these registers and this stack pointer.
pub(crate) fn give_way(arguments: &[usize; 6], sp: usize) {
    // SAFETY: `divert` has put it there.
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
