//! Picks the search for a check with a bound on preemptions.

use super::bounded::depth_first;
use super::bounded_reduced::depth_first_reduced;
use super::bounded_spin::{Build, depth_first_as_spin};
use super::iterative::iterative;
use super::iterative_lossy::iterative_lossy;
use super::iterative_parallel::iterative_parallel;
use super::iterative_reduced::{PILOT, Reduced, iterative_reduced, pilot};
use super::ledger::{Bits, Numbered};
use super::marks::LARGEST_BOUND;
use super::shorten::Shortening;
use super::simplest::simplest;
use super::visited::{Marked, Replicated, Visited};
use crate::reduce::Signalled;
use crate::store::{Adaptive, Exact, Store, Tree};
use crate::{Budget, Compatibility, Finding, Options, Preemptions, Reduction, Search, Storage};
use preempt_core::{System, cost};

/// Searches the executions that `options.preemptions` allows.
pub(crate) fn bounded<S: System + ?Sized, T: Store>(
    system: &S,
    store: &mut T,
    options: &Options,
    budget: &mut Budget,
) -> Finding {
    let reduce = options.reduction != Reduction::None;
    // Without a bound a search as deep as the counters reach: more preemptions than states.
    let bound = options.preemptions.limit().unwrap_or(LARGEST_BOUND).min(LARGEST_BOUND);
    let safety = match options.compatibility {
        Compatibility::None => None,
        Compatibility::Spin => Some(true),
        Compatibility::SpinWithoutSafety => Some(false),
    };
    if let Some(safety) = safety {
        return depth_first_as_spin(system, store, bound, Build { safety }, options, budget);
    }
    let needs_stack = needs_stack(options);
    if !needs_stack && store.is_exact() {
        return by_buckets(system, store, options, budget);
    }
    if !needs_stack && matches!(options.preemptions, Preemptions::Iterate { .. }) {
        let mut finding = match options.storage {
            Storage::Bitstate { .. } => {
                iterative_lossy(system, Bits::new(store), options, reduce, budget)
            }
            _ => iterative_lossy(system, Numbered::new(store), options, reduce, budget),
        };
        if options.threads > 1 {
            let note = "one thread was used: several iterate over exact stores only";
            finding.notes.push(note.into());
        }
        return finding;
    }
    let finding = match options.storage {
        Storage::Bitstate { .. } => {
            with_stack(system, Replicated::new(store, bound), bound, options, budget)
        }
        _ if options.shorten => {
            let visited = Shortening::new(Marked::new(store));
            with_stack(system, visited, bound, options, budget)
        }
        _ => with_stack(system, Marked::new(store), bound, options, budget),
    };
    keep_to_the_bound(system, bound, options, budget, finding)
}

/// Whether a search with a bound has to be depth-first.
pub(crate) fn needs_stack(options: &Options) -> bool {
    options.search == Search::Depth || options.free_cycles || options.shorten
}

/// The search for an exact store, one count of preemptions after the other: the usual one.
pub(crate) fn by_buckets<S: System + ?Sized, T: Store>(
    system: &S,
    store: &mut T,
    options: &Options,
    budget: &mut Budget,
) -> Finding {
    let reduce = options.reduction != Reduction::None;
    if options.threads > 1 {
        let limit = budget.memory_limit();
        return match options.storage {
            Storage::Tree => {
                let make = |workers| Tree::new(limit / workers);
                iterative_parallel(system, make, options, reduce, budget)
            }
            _ => {
                let make = |workers| Exact::new(limit / workers);
                iterative_parallel(system, make, options, reduce, budget)
            }
        };
    }
    let bound = options.preemptions.limit().unwrap_or(LARGEST_BOUND).min(LARGEST_BOUND);
    match reduce && runs_ahead(options, bound) {
        true => reduced(system, store, options, bound, budget),
        false => iterative(system, store, options, reduce, budget),
    }
}

/// Whether processes may run ahead of the count. Without preemptions nearly every last mover may owe its turn
/// to somebody, and the strictly local rule reaches fewer states. What a property observes is not
/// reordered by more than strictly local steps.
fn runs_ahead(options: &Options, bound: u32) -> bool {
    bound > 0 && !options.observed
}

/// From this bound on it pays to assume that whatever can be signalled ahead is: more last movers count as
/// nobody, and the search is over at lower counts.
const HIGH_BOUND: u32 = 4;

/// Searches with processes that run ahead, or, where none does, with strictly local steps alone.
fn reduced<S: System + ?Sized, T: Store>(
    system: &S,
    store: &mut T,
    options: &Options,
    bound: u32,
    budget: &mut Budget,
) -> Finding {
    let signalled = match pilot(system, PILOT, options, budget) {
        Err(finding) => return *finding,
        Ok(learned) if learned.is_empty() => {
            return iterative(system, store, options, true, budget);
        }
        Ok(_) if bound >= HIGH_BOUND => Signalled::Anything,
        Ok(learned) => Signalled::Learned(learned),
    };
    match iterative_reduced(system, store, options, signalled, budget) {
        Reduced::Decided(finding) => *finding,
        Reduced::Undecided(finding) => {
            let limit = budget.memory_limit().saturating_sub(store.bytes());
            // Within a bound one execution is enough; rows must have all their errors.
            let max_errors = match options.preemptions {
                Preemptions::AtMost(_) => 1,
                _ => options.max_errors,
            };
            let exactly = Options { max_errors, ..options.clone() };
            let exact = match options.storage {
                Storage::Tree => iterative(system, &mut Tree::new(limit), &exactly, true, budget),
                _ => iterative(system, &mut Adaptive::new(limit), &exactly, true, budget),
            };
            decided(*finding, exact, options)
        }
    }
}

/// A search whose violations may need more preemptions than the bound, decided by one that counts exactly.
fn decided(reduced: Finding, exact: Finding, options: &Options) -> Finding {
    let violated = exact.counterexample.is_some();
    match options.preemptions {
        // What was searched covers the bound; the exact search only found an execution within it.
        Preemptions::AtMost(_) if violated => {
            Finding { counterexample: exact.counterexample, ..reduced }
        }
        // Rows are those of the exact search.
        _ => exact,
    }
}

fn with_stack<S: System + ?Sized, V: Visited>(
    system: &S,
    visited: V,
    bound: u32,
    options: &Options,
    budget: &mut Budget,
) -> Finding {
    if options.reduction == Reduction::None {
        depth_first(system, visited, bound, options.free_cycles, options, budget)
    } else {
        depth_first_reduced(system, visited, bound, options, budget)
    }
}

/// The credit of [HF] Fig. 5 and the free cycles of §3.1 let executions beyond the bound through. A
/// violation that only those have is none within the bound: the exact search decides.
fn keep_to_the_bound<S: System + ?Sized>(
    system: &S,
    bound: u32,
    options: &Options,
    budget: &mut Budget,
    finding: Finding,
) -> Finding {
    let Some(found) = &finding.counterexample else { return finding };
    let needs = cost(system, &found.steps).map_or(0, |cost| cost.preemptions);
    if needs <= bound {
        return finding;
    }
    let exact = simplest(system, options, Some(bound), budget);
    let mut finding = finding;
    match (exact.counterexample, exact.proven) {
        (Some(simpler), proven) => {
            finding.counterexample = Some(simpler);
            finding.simplest = proven;
        }
        (None, true) => {
            finding.counterexample = None;
            finding.bound = Some(bound);
            finding.statistics.errors = 0;
            finding
                .notes
                .push(format!("a violation with {needs} preemptions was met beyond the bound"));
        }
        (None, false) => {
            finding.notes.push(format!(
                "the violation found has {needs} preemptions; whether one has at most {bound} was not decided"
            ));
        }
    }
    finding
}
