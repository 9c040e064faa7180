//! Searches for assertions, invalid ends, faults, and claims that complete.

use crate::confirm::confirm;
use crate::engine::Engine;
use crate::{Control, Error, Request};
use preempt_check::search::partitioned::Elsewhere;
use preempt_check::{Check, Finding, Options, conclude};
use preempt_core::{Claim, System, Verdict};

/// Checks a system; what is found is confirmed on `reference`, another implementation of the same.
pub(crate) fn check(
    engine: Engine<'_>,
    reference: &dyn System,
    mut options: Options,
    request: &Request,
    control: &Control<'_>,
) -> Result<Claim, Error> {
    options.time = control.time_left();
    let answer = control.watch(|listener| {
        let elsewhere = request.elsewhere.as_ref().map(|elsewhere| &**elsewhere as &dyn Elsewhere);
        let check = Check::new(engine.system()).options(options.clone()).elsewhere(elsewhere);
        engine.run(check.interrupt(control.flag()).progress(listener))
    });
    let Some(found) = answer.counterexample else { return Ok(answer.claim) };
    let claim = answer.claim;
    confirm(reference, &found)?;
    let finding = Finding {
        counterexample: Some(found),
        simplest: claim.violation.as_ref().is_some_and(|violation| violation.simplest),
        bound: options.preemptions.limit(),
        statistics: claim.statistics,
        unreached: claim.unreached,
        notes: claim.notes,
        ..Finding::default()
    };
    Ok(conclude(reference, &options.property, finding).claim)
}

/// The finding behind a claim about a search that found nothing; `None` if it found something.
#[cfg(feature = "promela")]
pub(crate) fn reopen(claim: &Claim) -> Option<Finding> {
    let (stop, bound) = match claim.verdict {
        Verdict::Holds => (None, None),
        Verdict::HoldsWithinBound(bound) => (None, Some(bound)),
        Verdict::Inconclusive(stop) => (Some(stop), None),
        Verdict::Violated => return None,
    };
    Some(Finding {
        stop,
        bound,
        statistics: claim.statistics.clone(),
        unreached: claim.unreached.clone(),
        notes: claim.notes.clone(),
        ..Finding::default()
    })
}
