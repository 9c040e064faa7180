//! A search by several threads that begins anew with compressed states where memory does not do for whole ones.
//!
//! Searches that know states by their places cannot change the store under way. What is lost is time: at most that of the search
//! that filled the memory.
//!
//! Invariant: the answer is that of the search which covered more.

use crate::Finding;
use preempt_core::Stop;

/// What a search with whole states has found, or if memory was not enough, a search with `compressed` ones, where there is one.
pub fn compressed_if_full(whole: Finding, compressed: impl FnOnce() -> Option<Finding>) -> Finding {
    if whole.stop != Some(Stop::Memory) || whole.counterexample.is_some() {
        return whole;
    }
    let states = whole.statistics.states;
    let Some(mut compressed) = compressed() else { return whole };
    let is_full = compressed.stop == Some(Stop::Memory) && compressed.counterexample.is_none();
    if is_full && compressed.statistics.states <= states {
        return whole;
    }
    compressed.notes.push(format!(
        "memory ran low after {states} states: the search began anew with compressed states (tree)"
    ));
    compressed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Covered;

    /// A search that did not fit, and that cannot be repeated with compressed states, is no proof.
    #[test]
    fn without_a_second_search_the_first_one_counts() {
        let whole = Finding::new(Covered::Part(Stop::Memory));
        assert_eq!(compressed_if_full(whole, || None).stop, Some(Stop::Memory));
    }
}
