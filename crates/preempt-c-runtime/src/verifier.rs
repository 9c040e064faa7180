//! Functions that programs for verifiers call: what they assume, values that may be any, errors, indivisible sections. Their names
//! are those of the competition on software verification, and of GenMC.

use crate::control::operation;
use crate::descriptors::{When, lock, unlock};
use crate::ending;
use crate::entry::{entry, is_program};
use crate::runtime::{inside, runtime};
use crate::task::CallSite;
use crate::trouble::{Kind, Trouble};
use preempt_explore::{Action, ObjectId};
use std::ffi::c_int;

/// The name of the lock that indivisible sections hold: an address that no memory has.
const SECTION: usize = 0x6500_0000_0000;

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
    let (low, high) = if is_program() { runtime().options.values } else { (0, 0) };
    within(low, high, pc)
}

unsafe extern "C" fn any_unsigned(pc: usize) -> i64 {
    let (low, high) = if is_program() { runtime().options.values } else { (0, 0) };
    within(low.max(0), high.max(0), pc)
}

/// What follows is one step: it begins like a lock, and no other thread moves before its end.
unsafe extern "C" fn begin(pc: usize) {
    if is_program() {
        inside(|_| {
            lock(SECTION, When::Scheduled, pc);
            runtime().me().indivisible = true;
        });
    }
}

unsafe extern "C" fn end(pc: usize) {
    if is_program() {
        inside(|runtime| {
            if !runtime.me().indivisible {
                let message = "an indivisible section is ended that was not begun";
                runtime.stop(Trouble::new(Kind::Misuse, pc, message));
            }
            runtime.me().indivisible = false;
            unlock(SECTION, pc);
        });
    }
}
