//! A search by several threads that begins anew with compressed states where memory does not do for whole ones.
//!
//! Searches that know states by their places cannot change the store under way. What is lost is time: at most that of the search
//! that filled the memory.
//!
//! Invariant: the answer is that of the search which covered more.

use crate::Finding;
use preempt_core::Stop;

/// What a search with whole states has found, or if memory was not enough, a search with `compressed` ones.
pub fn compressed_if_full(whole: Finding, compressed: impl FnOnce() -> Finding) -> Finding {
    if whole.stop != Some(Stop::Memory) || whole.counterexample.is_some() {
        return whole;
    }
    let states = whole.statistics.states;
    let mut compressed = compressed();
    let is_full = compressed.stop == Some(Stop::Memory) && compressed.counterexample.is_none();
    if is_full && compressed.statistics.states <= states {
        return whole;
    }
    compressed.notes.push(format!(
        "memory ran low after {states} states: the search began anew with compressed states (tree)"
    ));
    compressed
}
