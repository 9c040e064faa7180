//! What the search of a property promises about assertions: no execution violates one.
//!
//! A property automaton stops following an execution that it can no longer accept, and what comes later on
//! that execution is not explored. Automata for the same property differ in where they stop, and reduction
//! needs its own kind of automaton, so a promise about "the states the search came by" would depend on
//! options. Where an automaton stopped and the model has assertions, they are therefore searched for
//! once more without it.

use super::cycles::Question;
use super::safety;
use crate::failure::Failure;
use preempt_check::{Assertions, Finding, Preemptions, Search, Storage};
use preempt_core::{Claim, FaultKind, Stop, System, Verdict};
use preempt_promela::interpret::Interpreter;
use std::time::Duration;

/// Completes what a search of a property found nothing in. Gives the answer if an assertion is violated.
pub(super) fn complete<S: System + ?Sized>(
    system: &S,
    reference: &Interpreter,
    question: &Question<'_>,
    finding: &mut Finding,
    time: Option<Duration>,
) -> Result<Option<Claim>, Failure> {
    let arguments = question.arguments;
    if arguments.compat.is_some() {
        // Spin looks at assertions as far as the claim goes.
        return Ok(None);
    }
    if arguments.no_assert {
        finding.assertions = Some(Assertions::Ignored);
        return Ok(None);
    }
    finding.assertions = Some(Assertions::Checked);
    let is_over = finding.counterexample.is_some()
        || matches!(finding.stop, Some(Stop::Time | Stop::Memory | Stop::Interrupted));
    let faults = &reference.program().faults;
    let has_assertions = faults.iter().any(|fault| fault.kind == FaultKind::Assertion);
    if is_over || !finding.cut || !has_assertions {
        return Ok(None);
    }
    let mut options = safety::options(arguments, question.property.clone(), false);
    options.deadlocks = false;
    options.swarm = None;
    options.time = time;
    options.preemptions = finding.bound.map_or(Preemptions::Any, Preemptions::AtMost);
    if !matches!(options.search, Search::Depth | Search::Breadth) {
        options.search = Search::Auto;
    }
    if let Storage::Bitstate { .. } = options.storage {
        options.storage = Storage::Exact;
    }
    let mut claim = safety::check(system, reference, options, arguments)?;
    finding.statistics.seconds += claim.statistics.seconds;
    match claim.verdict {
        Verdict::Violated => {
            claim.notes.splice(0..0, question.notes.clone());
            return Ok(Some(claim));
        }
        Verdict::Inconclusive(stop) => {
            finding.stop = finding.stop.or(Some(stop));
            finding.notes.push(format!(
                "the property was searched to the end, assertions were not: {}",
                claim.sentence
            ));
        }
        Verdict::Holds | Verdict::HoldsWithinBound(_) => {
            finding.assertions = Some(Assertions::CheckedApart(claim.statistics.states));
        }
    }
    Ok(None)
}
