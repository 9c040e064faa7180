//! Any bytes as a Promela model: the function of the mutator in `crates/preempt-promela/tests/fuzz_syntax.rs`.
#![no_main]

#[path = "../../crates/preempt-promela/tests/one_input/mod.rs"]
mod one_input;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // The first byte decides which steps are taken.
    let (seed, text) = data.split_first().map_or((0, data), |(first, rest)| (*first, rest));
    let mut state = usize::from(seed);
    one_input::one_input(text.to_vec(), &mut |limit| {
        state = state.wrapping_mul(31).wrapping_add(7);
        state % limit.max(1)
    });
});
