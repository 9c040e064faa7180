//! Picks the search for a check with a bound on preemptions.

use super::bounded::depth_first;
use super::bounded_reduced::depth_first_reduced;
use super::iterative::iterative;
use super::marks::LARGEST_BOUND;
use super::visited::Marked;
use crate::store::Exact;
use crate::{Budget, Finding, Options, Reduction, Search};
use preempt_core::System;

/// Searches the executions that `options.preemptions` allows.
pub(crate) fn bounded<S: System + ?Sized>(
    system: &S,
    options: &Options,
    budget: &mut Budget,
) -> Finding {
    let reduce = options.reduction != Reduction::None;
    let store = Exact::new(budget.memory_limit());
    match (options.search, options.preemptions.limit()) {
        (Search::Depth, Some(bound)) => {
            let bound = bound.min(LARGEST_BOUND);
            if reduce {
                depth_first_reduced(system, Marked::new(store), bound, options, budget)
            } else {
                depth_first(system, Marked::new(store), bound, false, options, budget)
            }
        }
        _ => iterative(system, store, options, reduce, budget),
    }
}
