//! Any text as a concurrent pushdown system: the function of the mutator in `crates/preempt-bool/tests/bad_input.rs`.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/preempt-bool/tests/one_input/mod.rs"]
mod one_input;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| one_input::one_system(text));
