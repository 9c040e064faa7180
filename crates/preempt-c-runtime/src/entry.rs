//! How the program's calls come in.
//!
//! [`SELECTOR`] tells which code runs: the program's, or this library's. The kernel reads the same
//! byte (`kernel.rs`): while the program runs, its system calls are reported to us. A function of
//! the C library that is called while it is not the program's turn (by the dynamic loader, by the
//! search itself, or in a program that was started without `preempt run`) is handed on.
//!
//! Entry points that need the place of the call are two instructions of assembly: the return address
//! becomes one more argument. That is the only way to have it without help of the compiler.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// Any code but that of the program under control, such as the search: system calls pass.
pub(crate) const SEARCH: u8 = 0;
/// Code of the program under control: system calls are reported.
pub(crate) const PROGRAM: u8 = 1;

/// Which code runs now.
pub(crate) static SELECTOR: AtomicU8 = AtomicU8::new(SEARCH);

/// The stack pointer with which the program has called this library last; 0 once it was looked at.
pub(crate) static ENTERED_WITH: AtomicUsize = AtomicUsize::new(0);

/// The registers that a call keeps, as they were then.
pub(crate) static KEPT_REGISTERS: [AtomicUsize; 6] = [const { AtomicUsize::new(0) }; 6];

/// Whether the program under control runs now.
#[inline(always)]
pub(crate) fn is_program() -> bool {
    SELECTOR.load(Ordering::Relaxed) == PROGRAM
}

/// Sets which code runs.
#[inline(always)]
pub(crate) fn select(whose: u8) {
    SELECTOR.store(whose, Ordering::Relaxed);
}

/// Defines functions of the C library by our own, which get the place of the call as one more
/// argument. The number is that of the function's arguments.
macro_rules! entry {
    (@ 0) => { "rdi" };
    (@ 1) => { "rsi" };
    (@ 2) => { "rdx" };
    (@ 3) => { "rcx" };
    (@ 4) => { "r8" };
    (@ 5) => { "r9" };
    ($($name:ident / $count:tt => $inner:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            std::arch::naked_asm!(
                concat!("mov ", $crate::entry::entry!(@ $count), ", [rsp]"),
                "mov [rip + {stack}], rsp",
                "mov [rip + {kept}], rbx",
                "mov [rip + {kept} + 8], rbp",
                "mov [rip + {kept} + 16], r12",
                "mov [rip + {kept} + 24], r13",
                "mov [rip + {kept} + 32], r14",
                "mov [rip + {kept} + 40], r15",
                "jmp {inner}",
                stack = sym $crate::entry::ENTERED_WITH,
                kept = sym $crate::entry::KEPT_REGISTERS,
                inner = sym $inner,
            )
        }
    )*};
}
pub(crate) use entry;

/// The function of this name that would have been called without us.
macro_rules! real {
    ($name:literal, fn($($type:ty),* $(,)?) $(-> $result:ty)?) => {{
        static AT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let at = $crate::entry::next(&AT, $name);
        // Some callers are inside of a block for the call itself.
        #[allow(unused_unsafe)]
        // SAFETY: the C library's function of this name has this signature.
        let function = unsafe {
            std::mem::transmute::<usize, unsafe extern "C" fn($($type),*) $(-> $result)?>(at)
        };
        function
    }};
}
pub(crate) use real;

/// Looks up a function behind this library, once.
pub(crate) fn next(known: &AtomicUsize, name: &CStr) -> usize {
    let mut at = known.load(Ordering::Relaxed);
    if at == 0 {
        // SAFETY: a terminated name.
        at = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
        if at == 0 {
            crate::raw::write(2, b"preempt: the C library lacks ");
            crate::raw::write(2, name.to_bytes());
            crate::raw::fail("\n");
        }
        known.store(at, Ordering::Relaxed);
    }
    at
}
