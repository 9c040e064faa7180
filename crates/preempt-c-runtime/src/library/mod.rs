//! Functions of the C library that read or write the program's memory, or state that its threads share.
//!
//! The linker hands the program's own calls to us (`--wrap`, for every function that this library exports as
//! `__wrap_NAME`); clang calls some directly. Each function here says what the call accesses, then makes it. Calls from
//! within other libraries are not seen: what they do counts as no access.
//!
//! A function is listed with its arguments, and in braces with what it accesses; what is known only afterwards follows
//! `then`.

mod cxx;
mod files;
mod formatted;
mod memory;
mod scanned;
mod shared_state;
mod stream_locks;
mod streams;
mod strings;
mod variadic;
mod wide;

use crate::access::access;
use std::ffi::{c_char, c_void};

/// Defines what stands before functions of the C library. `/ N` is the number of arguments.
macro_rules! library {
    ($(
        fn $name:ident / $count:tt ($pc:ident; $($argument:ident: $type:ty),*) $(-> $result:ty)? {
            $($before:tt)*
        }
        $(then $value:ident { $($after:tt)* })?
    )*) => {$(
        pub(super) mod $name {
            #[allow(clippy::wildcard_imports, reason = "what the list of functions uses")]
            use super::*;

            unsafe extern "C" {
                fn $name($($argument: $type),*) $(-> $result)?;
            }

            #[allow(dead_code, reason = "of calls that take several steps")]
            const NAME: &str = stringify!($name);

            #[unsafe(naked)]
            #[unsafe(export_name = concat!("__wrap_", stringify!($name)))]
            extern "C" fn entry() {
                std::arch::naked_asm!(
                    concat!("mov ", $crate::entry::entry!(@ $count), ", [rsp]"),
                    "mov [rip + {stack}], rsp",
                    "jmp {inner}",
                    stack = sym $crate::entry::ENTERED_WITH,
                    inner = sym inner,
                )
            }

            #[allow(clippy::too_many_arguments, reason = "as the C library has it")]
            pub(in crate::library) unsafe extern "C" fn inner($($argument: $type,)* $pc: usize) $(-> $result)? {
                // SAFETY: as the caller's: the arguments are those of the C library's function.
                unsafe {
                    $($before)*
                    let value = $name($($argument),*);
                    $({
                        let $value = value;
                        $($after)*
                    })?
                    value
                }
            }
        }
    )*};
}
use library;

/// The program reads memory.
fn reads(at: *const impl Sized, size: usize, pc: usize) {
    access(at as usize, size, false, pc);
}

/// The program writes memory.
fn writes(at: *const impl Sized, size: usize, pc: usize) {
    access(at as usize, size, true, pc);
}

/// The program reads a string with its end, or `most` bytes of it. Says how long it is.
unsafe fn reads_string(text: *const c_char, most: usize, pc: usize) -> usize {
    // SAFETY: as the caller's.
    let length = unsafe { libc::strnlen(text, most) };
    reads(text, (length + 1).min(most), pc);
    length
}

/// The program has got a string, or nothing, in a buffer that was written to.
unsafe fn has_written_string(text: *const c_char, pc: usize) {
    if !text.is_null() {
        // SAFETY: the C library has put a string there.
        let length = unsafe { libc::strlen(text) };
        writes(text, length + 1, pc);
    }
}

/// How far a result lies behind the start, with the byte that it points to; all if there is none.
fn up_to(start: *const c_void, found: *const c_void, all: usize) -> usize {
    match found.is_null() {
        true => all,
        false => found as usize - start as usize + 1,
    }
}
