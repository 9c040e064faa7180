//! What must be true of any text that is read as a Boolean program or pushdown system: shared by the mutator in `bad_input.rs` and
//! by the targets of cargo-fuzz (`fuzz/fuzz_targets/`).

use preempt_bool::{Dialect, parse, parse_pushdown};

/// Reads a text in every dialect: a program or errors, never a panic.
pub(crate) fn one_program(text: &str) {
    for dialect in [Dialect::Slam, Dialect::Boppo, Dialect::Bopp] {
        if let Err(errors) = parse(text, "broken.bp", dialect) {
            assert!(!errors.is_empty());
        }
    }
}

/// Reads a text as a system, and each of its lines as its target.
pub(crate) fn one_system(text: &str) {
    for target in text.lines().take(3).map(Some).chain([None]) {
        if let Err(errors) = parse_pushdown(text, "broken.pds", None, target) {
            assert!(!errors.is_empty());
        }
    }
}
