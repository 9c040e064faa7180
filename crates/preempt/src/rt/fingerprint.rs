//! What a thread remembers, as a number: everything on its stack and in the registers that calls preserve.
//!
//! A thread that comes to the same place twice with the same memory, and has seen nothing new in between, does the same
//! for ever. That tells a loop that waits from one that counts its rounds and gives up some time, and a comparison that
//! may fail again for no reason from one that has done so before with the same effect.
//!
//! Numbers are compared within one execution only, and nothing that is explored depends on them: only what is said
//! about it. What a thread keeps on the heap is not looked at.

use super::runtime::Runtime;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// The registers that calls preserve, on the stack of the function that was called by code of the test. Whatever lies above
/// belongs to that code, or was saved for it; below are variables of the runtime.
pub(crate) struct Frame([u64; REGISTERS]);

impl Frame {
    /// The frame of the caller.
    #[inline(always)]
    pub(crate) fn here() -> Self {
        Frame(registers())
    }
}

impl Runtime {
    /// What the running thread remembers, if that can be known: all from this frame on.
    pub(crate) fn memory(&self, frame: &Frame) -> Option<u64> {
        let base = self.fibers.base(self.run().current)?;
        (REGISTERS > 0).then(|| hash_between(frame.0.as_ptr() as usize, base))
    }
}

/// A hash of all words from the first address to the second, both on the stack that this runs on.
#[inline(never)]
fn hash_between(low: usize, high: usize) -> u64 {
    let mut hasher = FxHasher::default();
    for address in (low..high).step_by(size_of::<u64>()) {
        // SAFETY: between a variable on this stack and its base there is nothing but the stack. Words that were never written have some value; volatile reads make no assumption about it.
        hasher.write_u64(unsafe { std::ptr::read_volatile(address as *const u64) });
    }
    hasher.finish()
}

#[cfg(target_arch = "x86_64")]
const REGISTERS: usize = 6;
#[cfg(target_arch = "aarch64")]
const REGISTERS: usize = 11;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const REGISTERS: usize = 0;

/// The registers that calls preserve.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn registers() -> [u64; REGISTERS] {
    let (b, bp, r12, r13, r14, r15): (u64, u64, u64, u64, u64, u64);
    // SAFETY: copies registers and changes nothing else.
    unsafe {
        std::arch::asm!("mov {}, rbx", out(reg) b, options(nomem, nostack, preserves_flags));
        std::arch::asm!("mov {}, rbp", out(reg) bp, options(nomem, nostack, preserves_flags));
        std::arch::asm!("mov {}, r12", out(reg) r12, options(nomem, nostack, preserves_flags));
        std::arch::asm!("mov {}, r13", out(reg) r13, options(nomem, nostack, preserves_flags));
        std::arch::asm!("mov {}, r14", out(reg) r14, options(nomem, nostack, preserves_flags));
        std::arch::asm!("mov {}, r15", out(reg) r15, options(nomem, nostack, preserves_flags));
    }
    [b, bp, r12, r13, r14, r15]
}

/// The registers that calls preserve.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn registers() -> [u64; REGISTERS] {
    let mut list = [0; REGISTERS];
    // SAFETY: copies registers to an array that is large enough, and changes nothing else.
    unsafe {
        std::arch::asm!(
            "stp x19, x20, [{0}]",
            "stp x21, x22, [{0}, #16]",
            "stp x23, x24, [{0}, #32]",
            "stp x25, x26, [{0}, #48]",
            "stp x27, x28, [{0}, #64]",
            "str x29, [{0}, #80]",
            in(reg) list.as_mut_ptr(),
            options(nostack, preserves_flags)
        );
    }
    list
}

/// Nothing is known about registers elsewhere.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn registers() -> [u64; REGISTERS] {
    []
}
