//! Variables on stacks that were never written.
//!
//! Before the function of a thread begins, the memory below is filled with a pattern. A number on the stack of another thread that
//! still has it was never written, not by code without instrumentation either. Only what the thread's first calls have there
//! is found: later ones find what earlier ones have left. A thread's own variables are left to the compiler's warnings.

/// What is there.
const PATTERN: [u8; 8] = 0xD5A3_96C7_E18B_4F2D_u64.to_le_bytes();
/// So many words are filled: the variables of most functions.
const WORDS: usize = 128;
/// Smaller numbers may have the pattern by chance.
const SMALLEST: usize = 4;

/// Fills what lies below the caller's frame.
#[inline(never)]
pub(crate) fn fill() {
    let mut words = [0_u64; WORDS];
    for word in &mut words {
        // SAFETY: a variable of this function, which must be written although nothing here reads it.
        unsafe { std::ptr::from_mut(word).write_volatile(u64::from_le_bytes(PATTERN)) };
    }
}

/// Whether these bytes have the pattern.
pub(crate) fn has_pattern(address: usize, size: usize) -> bool {
    // SAFETY: bytes on a stack, which the program is about to read.
    let byte = |at: usize| unsafe { (at as *const u8).read_volatile() };
    size >= SMALLEST && (address..address + size).all(|at| byte(at) == PATTERN[at % PATTERN.len()])
}
