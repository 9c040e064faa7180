//! Functions that programs for verifiers call: what they assume, values that may be any, errors, indivisible sections. Their names
//! are those of the competition on software verification, and of GenMC.

use crate::control::operation;
use crate::descriptors::{When, lock, unlock};
use crate::ending;
use crate::entry::{ENTERED_WITH, entry, is_program};
use crate::runtime::inside;
use crate::sections::{HAS_SECTIONS, is_section};
use crate::task::CallSite;
use crate::trouble::{Kind, Trouble};
use preempt_explore::{Action, ObjectId};
use std::ffi::c_int;

/// The name of the lock that indivisible sections hold: an address that no memory has.
const SECTION: usize = 0x6500_0000_0000;
/// An address that no memory has either.
const NOTHING: usize = 0x6500_0000_1000;

entry! {
    __VERIFIER_assume / 1 => assume;
    __VERIFIER_error / 0 => error;
    reach_error / 0 => error;
    __VERIFIER_atomic_begin / 0 => begin;
    __VERIFIER_atomic_end / 0 => end;
    __VERIFIER_nondet_bool / 0 => either;
    __VERIFIER_nondet__Bool / 0 => either;
    __VERIFIER_nondet_char / 0 => any;
    __VERIFIER_nondet_short / 0 => any;
    __VERIFIER_nondet_int / 0 => any;
    __VERIFIER_nondet_long / 0 => any;
    __VERIFIER_nondet_longlong / 0 => any;
    __VERIFIER_nondet_uchar / 0 => any_unsigned;
    __VERIFIER_nondet_ushort / 0 => any_unsigned;
    __VERIFIER_nondet_uint / 0 => any_unsigned;
    __VERIFIER_nondet_unsigned / 0 => any_unsigned;
    __VERIFIER_nondet_unsigned_int / 0 => any_unsigned;
    __VERIFIER_nondet_ulong / 0 => any_unsigned;
    __VERIFIER_nondet_ulonglong / 0 => any_unsigned;
    __VERIFIER_nondet_size_t / 0 => any_unsigned;
    __VERIFIER_nondet_pointer / 0 => pointer;
}

/// An execution in which the assumption is false does not count.
unsafe extern "C" fn assume(holds: c_int, pc: usize) {
    if holds == 0 && is_program() {
        inside(|_| ending::abandon(pc));
    }
}

unsafe extern "C" fn error(pc: usize) {
    if is_program() {
        let message = "assertion violated: an error is reached";
        inside(|runtime| runtime.stop(Trouble::new(Kind::Assertion, pc, message)));
    }
    crate::raw::fail("an error is reached\n")
}

/// One of so many values, each of which is explored.
fn choose(many: u64, pc: usize) -> u64 {
    if !is_program() || many < 2 {
        return 0;
    }
    inside(|_| operation(Action::Choose, ObjectId::NONE, many, 0, CallSite { pc, address: 0 }))
}

unsafe extern "C" fn either(pc: usize) -> i64 {
    choose(2, pc) as i64
}

fn within(low: i64, high: i64, pc: usize) -> i64 {
    if is_program() {
        inside(|runtime| runtime.has_chosen_values = true);
    }
    low + choose((high - low) as u64 + 1, pc) as i64
}

unsafe extern "C" fn any(pc: usize) -> i64 {
    let (low, high) = if is_program() { crate::runtime::runtime().options.values } else { (0, 0) };
    within(low, high, pc)
}

unsafe extern "C" fn any_unsigned(pc: usize) -> i64 {
    let (low, high) = if is_program() { crate::runtime::runtime().options.values } else { (0, 0) };
    within(low.max(0), high.max(0), pc)
}

/// Null, or a pointer to nothing.
unsafe extern "C" fn pointer(pc: usize) -> usize {
    if is_program() {
        inside(|runtime| runtime.has_chosen_values = true);
    }
    choose(2, pc) as usize * NOTHING
}

/// What follows is one step: it begins like a lock, and no other thread moves before its end. A section within a section belongs
/// to it.
unsafe extern "C" fn begin(pc: usize) {
    if is_program() {
        inside(|runtime| {
            if runtime.me().indivisible == 0 {
                lock(SECTION, When::Scheduled, pc);
            }
            crate::runtime::runtime().me().indivisible += 1;
        });
    }
}

unsafe extern "C" fn end(pc: usize) {
    if is_program() {
        inside(|runtime| {
            if runtime.me().indivisible == 0 {
                let message = "an indivisible section is ended that was not begun";
                runtime.stop(Trouble::new(Kind::Misuse, pc, message));
            }
            runtime.me().indivisible -= 1;
            if runtime.me().indivisible == 0 {
                unlock(SECTION, pc);
            }
        });
    }
}

unsafe extern "C" fn enter(_: usize, pc: usize) {
    if is_section(pc) {
        // SAFETY: as a call of the program's.
        unsafe { begin(pc) }
    }
}

unsafe extern "C" fn leave(pc: usize) {
    if is_section(pc) {
        // SAFETY: as a call of the program's.
        unsafe { end(pc) }
    }
}

/// The compiler reports the beginning and the end of every function. Nearly always this has to return at once.
macro_rules! function_calls {
    ($($name:ident, $register:literal => $inner:path;)*) => {$(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            std::arch::naked_asm!(
                "cmp byte ptr [rip + {has}], 0",
                "jne 2f",
                "ret",
                "2:",
                concat!("mov ", $register, ", [rsp]"),
                "mov [rip + {stack}], rsp",
                "jmp {inner}",
                has = sym HAS_SECTIONS,
                stack = sym ENTERED_WITH,
                inner = sym $inner,
            )
        }
    )*};
}

function_calls! {
    __tsan_func_entry, "rsi" => enter;
    __tsan_func_exit, "rdi" => leave;
}
