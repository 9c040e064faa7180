//! What the search of a property promises about assertions: no execution violates one.
//!
//! A property automaton stops following an execution that it can no longer accept, and what comes later on
//! that execution is not explored. Automata for the same property differ in where they stop, and reduction
//! needs its own kind of automaton, so a promise about "the states the search came by" would depend on
//! options. Where an automaton stopped and the model has assertions, they are therefore searched for
//! once more without it.

use crate::engine::Engine;
use crate::question::{Asserted, Question};
use crate::{Error, safety};
use preempt_check::{Assertions, Finding, Preemptions, Search, Storage};
use preempt_core::{Claim, Stop, System, Verdict};

/// Completes what a search of a property found nothing in. Gives the answer if an assertion is violated.
pub(crate) fn complete(
    engine: Engine<'_>,
    reference: &dyn System,
    question: &Question<'_>,
    finding: &mut Finding,
) -> Result<Option<Claim>, Error> {
    let request = question.request;
    if request.imitates() || question.assertions == Asserted::Apart {
        // Spin looks at assertions as far as the claim goes.
        return Ok(None);
    }
    if !request.assertions {
        finding.assertions = Some(Assertions::Ignored);
        return Ok(None);
    }
    finding.assertions = Some(Assertions::Checked);
    let is_over = finding.counterexample.is_some()
        || matches!(finding.stop, Some(Stop::Time | Stop::Memory | Stop::Interrupted));
    if is_over || !finding.cut || question.assertions != Asserted::All {
        return Ok(None);
    }
    let mut options = request.options(question.property.clone(), false);
    options.deadlocks = false;
    options.swarm = None;
    options.preemptions = finding.bound.map_or(Preemptions::Any, Preemptions::AtMost);
    if !matches!(options.search, Search::Depth | Search::Breadth) {
        options.search = Search::Auto;
    }
    if let Storage::Bitstate { .. } = options.storage {
        options.storage = Storage::Exact;
    }
    let mut claim = safety::check(engine, reference, options, request, question.control)?;
    finding.statistics.seconds += claim.statistics.seconds;
    match claim.verdict {
        Verdict::Violated => {
            claim.statistics.unreduced |= question.unreduced;
            claim.notes.splice(0..0, question.notes.clone());
            return Ok(Some(claim));
        }
        Verdict::Inconclusive(stop) => {
            finding.stop = finding.stop.or(Some(stop));
            finding.notes.push(format!(
                "the search for violations of the property was completed, the search for violated assertions was not: {}",
                claim.sentence
            ));
        }
        Verdict::Holds | Verdict::HoldsWithinBound(_) | Verdict::Nothing => {
            finding.assertions = Some(Assertions::CheckedApart(claim.statistics.states));
        }
    }
    Ok(None)
}
