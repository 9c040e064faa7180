//! System calls of the program, taken back to its own stack.
//!
//! The kernel reports a system call by a signal. The handler runs on a stack that all threads share. A call that
//! is a scheduling point cannot be executed there: another thread would run while the stack is in use. So
//! the handler only changes where the program goes on: at [`entry`], below the part of its stack that
//! is in use, as if the instruction had been a call of that function.
//!
//! Invariant: as after a system call, every register but `rax`, `rcx` and `r11` is as before.

use crate::caller::call_site;
use crate::context::RED_ZONE;
use crate::{kernel, pause_entry};
use std::arch::global_asm;

unsafe extern "C" {
    /// Goes on as the program with the system call that the registers describe: its number and its arguments. Above the
    /// stack pointer are the address to return to and the stack pointer to return with.
    fn preempt_syscall_entry();
}

// Extended state (x87, SSE, AVX, AVX-512) is kept as well: the kernel keeps it, and compiled code does not.
// The unwinder learns that the caller's stack pointer is the saved one.
global_asm!(
    ".globl preempt_syscall_entry",
    ".hidden preempt_syscall_entry",
    ".type preempt_syscall_entry, @function",
    "preempt_syscall_entry:",
    ".cfi_startproc",
    "push rbp",
    "mov rbp, rsp",
    // CFA = [rbp + 16], the saved stack pointer.
    ".cfi_escape 0x0f, 3, 0x76, 16, 0x06",
    // The return address is at rbp + 8, the saved rbp at rbp.
    ".cfi_escape 0x10, 16, 2, 0x76, 8",
    ".cfi_escape 0x10, 6, 2, 0x76, 0",
    "push r9",
    "push r8",
    "push r10",
    "push rdx",
    "push rsi",
    "push rdi",
    "pushfq",
    "mov r11, rax",
    "sub rsp, 4096",
    "and rsp, -64",
    "xor eax, eax",
    "mov [rsp + 512], rax",
    "mov [rsp + 520], rax",
    "mov [rsp + 528], rax",
    "mov [rsp + 536], rax",
    "mov [rsp + 544], rax",
    "mov [rsp + 552], rax",
    "mov [rsp + 560], rax",
    "mov [rsp + 568], rax",
    "mov eax, 0xe7",
    "xor edx, edx",
    "xsave64 [rsp]",
    "mov rdi, r11",
    "lea rsi, [rbp - 48]",
    "mov rdx, [rbp + 8]",
    "mov rcx, [rbp + 16]",
    "cld",
    "call {inner}",
    "mov r11, rax",
    "mov eax, 0xe7",
    "xor edx, edx",
    "xrstor64 [rsp]",
    "mov rax, r11",
    "lea rsp, [rbp - 56]",
    "popfq",
    "pop rdi",
    "pop rsi",
    "pop rdx",
    "pop r10",
    "pop r8",
    "pop r9",
    "mov rcx, [rbp + 8]",
    "mov r11, [rbp + 16]",
    "mov rbp, [rbp]",
    "mov rsp, r11",
    "jmp rcx",
    ".cfi_endproc",
    ".size preempt_syscall_entry, . - preempt_syscall_entry",
    inner = sym call,
);

extern "C" fn call(number: i64, arguments: *const [usize; 6], pc: usize, sp: usize) -> isize {
    // SAFETY: the entry has put them onto the stack.
    let arguments = unsafe { *arguments };
    if number == pause_entry::NUMBER {
        pause_entry::give_way(&arguments, sp);
        return 0;
    }
    kernel::decide(number, arguments, call_site(pc, sp))
}

/// Changes the registers of a program that stands behind a system call so that it goes on with our function for it.
pub(crate) fn divert(registers: &mut [libc::greg_t]) {
    let sp = registers[libc::REG_RSP as usize] as usize;
    let pc = registers[libc::REG_RIP as usize] as usize;
    enter(registers, pc, sp);
}

/// Lets the program go on with our function, which returns to `pc` with this stack pointer. `rax` says what is asked for.
pub(crate) fn enter(registers: &mut [libc::greg_t], pc: usize, sp: usize) {
    let below = ((sp - RED_ZONE) & !15) - 16;
    // SAFETY: the program's own stack, below what it uses.
    unsafe { (below as *mut [usize; 2]).write([pc, sp]) };
    registers[libc::REG_RSP as usize] = below as libc::greg_t;
    registers[libc::REG_RIP as usize] = preempt_syscall_entry as *const () as libc::greg_t;
}
