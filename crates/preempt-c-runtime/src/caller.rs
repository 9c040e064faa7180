//! Which place of the program's own code has led to a call.

use crate::runtime::runtime;
use crate::{context, snapshot};
use std::arch::asm;

/// The place in the program's own code that led to `pc`.
pub(crate) fn call_site(pc: usize, sp: usize) -> usize {
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
