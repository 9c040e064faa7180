//! Functions with any number of arguments, and the lists that their arguments come in.
//!
//! The convention of x86-64: the first six words and the first eight floating-point numbers are in registers, which the
//! function saves; the rest is on the stack. A list is two offsets into what was saved, and two addresses.

/// A list of arguments, as the C library has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Arguments {
    words: u32,
    floats: u32,
    stack: usize,
    saved: usize,
}

/// What is saved of words, and of both.
const WORDS: u32 = 48;
const SAVED: u32 = 176;

impl Arguments {
    /// The next argument that is a number or an address.
    pub(super) unsafe fn word(&mut self) -> usize {
        let at = if self.words < WORDS {
            self.words += 8;
            self.saved + self.words as usize - 8
        } else {
            self.stack += 8;
            self.stack - 8
        };
        // SAFETY: the caller knows that there is one more.
        unsafe { *(at as *const usize) }
    }

    /// Passes over a floating-point number.
    pub(super) fn skip_float(&mut self) {
        if self.floats < SAVED {
            self.floats += 16;
        } else {
            self.stack += 8;
        }
    }

    /// Passes over one of sixteen bytes, which is on the stack always.
    pub(super) fn skip_long_double(&mut self) {
        self.stack = self.stack.next_multiple_of(16) + 16;
    }
}

/// Defines functions with any number of arguments by ours, which get their first so many arguments, a list
/// of the others, and the place of the call.
macro_rules! variadic {
    (@ 1) => { "lea rsi, [rsp + 176]; mov rdx, [rbp + 8]" };
    (@ 2) => { "lea rdx, [rsp + 176]; mov rcx, [rbp + 8]" };
    (@ 3) => { "lea rcx, [rsp + 176]; mov r8, [rbp + 8]" };
    ($($name:ident / $count:tt => $inner:path;)*) => {$(
        const _: () = {
            #[unsafe(naked)]
            #[unsafe(export_name = concat!("__wrap_", stringify!($name)))]
            extern "C" fn entry() {
                std::arch::naked_asm!(
                    ".cfi_startproc",
                    "mov [rip + {stack}], rsp",
                    "push rbp",
                    ".cfi_def_cfa_offset 16",
                    ".cfi_offset 6, -16",
                    "mov rbp, rsp",
                    ".cfi_def_cfa_register 6",
                    "sub rsp, 208",
                    "mov [rsp], rdi",
                    "mov [rsp + 8], rsi",
                    "mov [rsp + 16], rdx",
                    "mov [rsp + 24], rcx",
                    "mov [rsp + 32], r8",
                    "mov [rsp + 40], r9",
                    "test al, al",
                    "je 2f",
                    "movaps [rsp + 48], xmm0",
                    "movaps [rsp + 64], xmm1",
                    "movaps [rsp + 80], xmm2",
                    "movaps [rsp + 96], xmm3",
                    "movaps [rsp + 112], xmm4",
                    "movaps [rsp + 128], xmm5",
                    "movaps [rsp + 144], xmm6",
                    "movaps [rsp + 160], xmm7",
                    "2:",
                    concat!("mov dword ptr [rsp + 176], 8 * ", stringify!($count)),
                    "mov dword ptr [rsp + 180], 48",
                    "lea r10, [rbp + 16]",
                    "mov [rsp + 184], r10",
                    "mov [rsp + 192], rsp",
                    $crate::library::variadic::variadic!(@ $count),
                    "call {inner}",
                    "leave",
                    ".cfi_def_cfa 7, 8",
                    "ret",
                    ".cfi_endproc",
                    stack = sym $crate::entry::ENTERED_WITH,
                    inner = sym $inner,
                )
            }
        };
    )*};
}
pub(super) use variadic;
