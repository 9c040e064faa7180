//! Coroutines: stacks, thread-local blocks, and the switch between them.
//!
//! A switch saves the registers that a function must preserve and changes the stack; together with
//! the base of the thread-local block (`wrfsbase`) that is all that a thread of a program is made of.
//! The blocks are real: the dynamic loader makes them (`_dl_allocate_tls`), so `__thread`,
//! `thread_local`, `errno` and C++ exceptions work as on a thread of the operating system.

use crate::raw;
use std::arch::{asm, naked_asm};
use std::ffi::c_void;

/// Functions may use so many bytes below the stack pointer.
pub(crate) const RED_ZONE: usize = 128;

/// Size of a coroutine's stack; memory is used when it is touched.
pub(crate) const STACK: usize = 8 << 20;
/// Size of what lies below a stack and cannot be touched.
pub(crate) const GUARD: usize = 64 << 10;

/// Saves the running context at `save` and continues the one at `to`.
///
/// # Safety
/// `to` was saved by this function or made by [`prepare`], and its stack is alive.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(save: *mut usize, to: usize) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// A stack of [`STACK`] bytes above pages that cannot be touched; its upper end.
pub(crate) fn stack(shared: bool) -> usize {
    let at = raw::map(STACK + GUARD, shared) as usize;
    raw::protect(at, GUARD, libc::PROT_NONE);
    at + GUARD + STACK
}

/// Whether an address is in the guard below the stack that ends at `top`.
pub(crate) fn is_guard(top: usize, address: usize) -> bool {
    (top - STACK - GUARD..top - STACK).contains(&address)
}

/// A context that begins with a call of `body`, which must not return.
pub(crate) fn prepare(top: usize, body: extern "C" fn() -> !) -> usize {
    // Upwards from the saved stack pointer: six registers, the body, a return address of zero
    // that tells unwinders where the stack ends. At the entry of a function the stack is 8 off 16.
    let words = [0, 0, 0, 0, 0, 0, body as usize, 0];
    let at = (top & !15) - words.len() * 8;
    // SAFETY: the stack is ours and nothing runs on it.
    unsafe { (at as *mut [usize; 8]).write(words) };
    at
}

/// The base of the running thread-local block.
pub(crate) fn block() -> usize {
    let base: usize;
    // SAFETY: reads a register; `start` has made sure that the processor allows it.
    unsafe { asm!("rdfsbase {}", out(reg) base, options(nomem, nostack, preserves_flags)) };
    base
}

/// Continues with another thread-local block.
///
/// # Safety
/// `base` is a block made by [`new_block`] or the main thread's.
pub(crate) unsafe fn set_block(base: usize) {
    // SAFETY: as the caller's.
    unsafe { asm!("wrfsbase {}", in(reg) base, options(nostack, preserves_flags)) };
}

type AllocateBlock = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type InitialiseBlock = unsafe extern "C" fn();

/// Offsets in the head of a thread's block, as the processor's ABI and glibc lay it out: its own
/// address twice, and from `SHARED` to `SHARED_END` what all threads have in common (whether there
/// are several, vdso, canary, pointer guard).
const SELF: [usize; 2] = [0x00, 0x10];
const SHARED: std::ops::Range<usize> = 0x18..0x40;

/// A new thread-local block like that of a new thread, or why there is none.
pub(crate) fn new_block(main: usize) -> Result<usize, &'static str> {
    // SAFETY: both functions are glibc's own, found by name; they are called as glibc calls them
    // when it makes a thread. The head of the block belongs to the code that allocated it.
    unsafe {
        let allocate = libc::dlsym(libc::RTLD_DEFAULT, c"_dl_allocate_tls".as_ptr());
        if allocate.is_null() {
            return Err("this C library has no _dl_allocate_tls");
        }
        let allocate: AllocateBlock = std::mem::transmute(allocate);
        let block = allocate(std::ptr::null_mut()) as usize;
        if block == 0 {
            return Err("out of memory for thread-local blocks");
        }
        for at in SELF {
            *((block + at) as *mut usize) = block;
        }
        let (from, to) = ((main + SHARED.start) as *const u8, (block + SHARED.start) as *mut u8);
        std::ptr::copy_nonoverlapping(from, to, SHARED.len());
        let initialise = libc::dlsym(libc::RTLD_DEFAULT, c"__ctype_init".as_ptr());
        if !initialise.is_null() {
            let initialise: InitialiseBlock = std::mem::transmute(initialise);
            set_block(block);
            initialise();
            set_block(main);
        }
        Ok(block)
    }
}
