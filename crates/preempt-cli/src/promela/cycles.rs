//! Searches for infinite executions: acceptance cycles, non-progress cycles, LTL.

use super::verify::verify;
use crate::arguments::CheckArguments;
use crate::failure::Failure;
use crate::terminal::{INTERRUPTED, ProgressLine};
use preempt_check::property::{Fair, Product, Property, Stutter, Watched, WithinBound};
use preempt_check::search::nested::{NestedOptions, Scheme, nested};
use preempt_check::store::{Compact, Exact, Store, Tree};
use preempt_check::{Budget, Finding, Storage, available_memory, conclude};
use preempt_core::{Claim, Step, System, ViolationKind};
use preempt_promela::interpret::Interpreter;

/// What to look for.
pub(super) struct Question<'a> {
    /// In words.
    pub(super) property: String,
    /// What a cycle is called.
    pub(super) kind: ViolationKind,
    /// Whether an execution that ends is repeated at its last state.
    pub(super) stutter: Stutter,
    /// Reduction.
    pub(super) scheme: Scheme,
    /// Lines for the report.
    pub(super) notes: Vec<String>,
    pub(super) arguments: &'a CheckArguments,
}

/// Runs the property beside the system; what is found is confirmed on the reference interpreter.
pub(super) fn check<S: System + ?Sized>(
    system: &S,
    reference: &Interpreter,
    property: &dyn Property,
    question: Question<'_>,
) -> Result<Claim, Failure> {
    let arguments = question.arguments;
    let product = Product::new(system, property, question.stutter);
    let target = Product::<S, dyn Property>::target;
    let iterate = arguments.iterate.map(|last| last.unwrap_or(u32::from(u16::MAX)));
    let bounds = match (arguments.bound, iterate) {
        (Some(bound), _) => bound..=bound,
        (None, Some(last)) => 0..=last,
        (None, None) => {
            let finding = search(&product, &question, target);
            return answer(reference, property, question, finding);
        }
    };
    let mut rows = Vec::new();
    let mut finding = Finding::default();
    let unbounded = iterate.map(|_| search(&product, &question, target));
    for bound in bounds {
        let watch = WithinBound(u16::try_from(bound).unwrap_or(u16::MAX));
        finding = match arguments.fair {
            true => {
                let fair = Watched::new(&product, Fair);
                nested_search(&Watched::new(&fair, watch), &question, target)
            }
            false => nested_search(&Watched::new(&product, watch), &question, target),
        };
        rows.push(preempt_core::BoundRow {
            bound,
            states: finding.statistics.states,
            transitions: finding.statistics.transitions,
            errors: finding.statistics.errors,
        });
        finding.bound = Some(bound);
        if finding.counterexample.is_some() || finding.stop.is_some() {
            break;
        }
        // Nothing at any bound: going on would not change the answer.
        if unbounded.as_ref().is_some_and(|all| all.counterexample.is_none() && all.stop.is_none())
        {
            finding.bound = None;
            break;
        }
    }
    finding.statistics.per_bound = rows;
    answer(reference, property, question, finding)
}

fn search<S: System>(product: &S, question: &Question<'_>, target: fn(Step) -> u32) -> Finding {
    match question.arguments.fair {
        true => nested_search(&Watched::new(product, Fair), question, target),
        false => nested_search(product, question, target),
    }
}

fn nested_search<S: System>(
    system: &S,
    question: &Question<'_>,
    target: fn(Step) -> u32,
) -> Finding {
    let arguments = question.arguments;
    let memory = arguments.memory.map_or_else(|| available_memory() / 8 * 7, |m| m as usize);
    match super::safety::storage(arguments) {
        Storage::Tree => nested_in(system, question, target, &mut Tree::new(memory)),
        Storage::Compact => {
            let mut store = Compact::new(memory, true);
            let mut finding = nested_in(system, question, target, &mut store);
            finding.coverage = Some(format!(
                "about {:.1e} states are expected to have been taken for others",
                store.expected_omissions()
            ));
            finding
        }
        storage => {
            let mut finding = nested_in(system, question, target, &mut Exact::new(memory));
            if matches!(storage, Storage::Bitstate { .. }) {
                finding.notes.push(
                    "states were stored exactly: bitstate hashing is not used for cycles".into(),
                );
            }
            finding
        }
    }
}

fn nested_in<S: System, T: Store>(
    system: &S,
    question: &Question<'_>,
    target: fn(Step) -> u32,
    store: &mut T,
) -> Finding {
    let arguments = question.arguments;
    let options = NestedOptions {
        scheme: question.scheme,
        kind: question.kind,
        assertions: !arguments.no_assert,
        deadlocks: false,
        max_errors: arguments.max_errors,
        depth: arguments.depth,
    };
    let mut line = ProgressLine::new(arguments.quiet);
    let mut listener = |progress: &preempt_check::Progress| line.show(progress);
    let memory = arguments.memory.map_or(usize::MAX, |m| m as usize);
    let mut budget = Budget::unlimited().memory(memory).interrupt(&INTERRUPTED);
    if let Some(time) = arguments.time {
        budget = budget.time(time);
    }
    let mut budget = budget.listener(&mut listener);
    let finding = nested(system, store, &mut budget, options, target);
    drop(budget);
    line.clear();
    finding
}

fn answer(
    reference: &Interpreter,
    property: &dyn Property,
    question: Question<'_>,
    mut finding: Finding,
) -> Result<Claim, Failure> {
    let reference = Product::new(reference, property, question.stutter);
    if let Some(found) = &finding.counterexample {
        verify(&reference, found)?;
    }
    finding.notes.splice(0..0, question.notes);
    let bound = finding.bound;
    let mut claim = conclude(&reference, &question.property, finding).claim;
    if let (Some(bound), preempt_core::Verdict::HoldsWithinBound(_)) = (bound, claim.verdict) {
        claim.notes.push(format!(
            "for infinite executions the bound counts all preemptions of the execution: those with more than {bound} in all, among them every one that preempts again and again, were not explored"
        ));
    }
    Ok(claim)
}
