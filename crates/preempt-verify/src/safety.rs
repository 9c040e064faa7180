//! Searches for assertions, invalid ends, faults, and claims that complete.

use crate::confirm::confirm;
use crate::engine::Engine;
use crate::{Control, Error, Event, Request};
use preempt_check::search::partitioned::RemoteSearch;
use preempt_check::{Check, Compatibility, Covered, Finding, Options, Preemptions, conclude_until};
use preempt_core::{Claim, System, Verdict, grouped};

/// Checks a system; what is found is confirmed on `reference`, another implementation of the same.
pub(crate) fn check(
    engine: Engine<'_>,
    reference: &dyn System,
    mut options: Options,
    request: &Request,
    control: &Control<'_>,
) -> Result<Claim, Error> {
    let search = |options: &mut Options, elsewhere: Option<&dyn RemoteSearch>| {
        options.time = control.time_left();
        control.watch(|listener| {
            let check = Check::new(engine.system()).options(options.clone()).elsewhere(elsewhere);
            engine.find(check.interrupt(control.flag()).progress(listener))
        })
    };
    if request.explain_plan {
        let check = Check::new(engine.system()).options(options.clone());
        control.announce(Event::Plan(&check.plan()));
    }
    let elsewhere = request.elsewhere.as_ref().map(|elsewhere| &**elsewhere as &dyn RemoteSearch);
    let mut finding = search(&mut options, elsewhere);
    let mut whole = None;
    if let Some(most) = small_enough(&finding, &options) {
        let mut all =
            Options { preemptions: Preemptions::Any, states: Some(most), ..options.clone() };
        // So few states that they are explored here, wherever the others were.
        let all = search(&mut all, None);
        let shown = all.counterexample.is_none() && all.stop.is_none();
        if shown && all.statistics.states <= most {
            (finding.bound, finding.unreached) = (None, all.unreached);
            whole = Some((finding.statistics.states, all.statistics.states));
        }
    }
    let showing = control.showing();
    let over = || showing.is_over();
    if let Some(found) = &finding.counterexample {
        confirm(reference, found, &over)?;
    }
    let mut claim = conclude_until(reference, &options.property, finding, &over).claim;
    if let Some((within, all)) = whole {
        claim.sentence = format!(
            "holds: no violation in any execution ({} states within the bound; {} without it, all explored)",
            grouped(within),
            grouped(all)
        );
    }
    Ok(claim)
}

/// So many states are explored without the bound, whatever was found within it.
const FEW: u64 = 20_000;
/// And so many at most.
const MANY: u64 = 1_000_000;

/// How many states may be explored to find out whether a bound left anything out, if it did not end with a violation.
/// Whether steps had to wait at the bound depends on reduction and on the order of exploration; whether the whole is small
/// does not, so the answer to a small model is the same with all of them.
fn small_enough(finding: &Finding, options: &Options) -> Option<u64> {
    let open = finding.counterexample.is_none() && finding.stop.is_none();
    let plain = options.compatibility == Compatibility::None && !options.observed;
    let whole = options.depth.is_none();
    let states = finding.statistics.states;
    (finding.bound.is_some() && open && plain && whole && states <= MANY).then(|| states.max(FEW))
}

/// The finding behind a claim about a search that found nothing; `None` if it found something.
#[cfg(feature = "promela")]
pub(crate) fn reopen(claim: &Claim) -> Option<Finding> {
    let covered = match claim.verdict {
        Verdict::Holds => Covered::Everything,
        Verdict::HoldsWithinBound(bound) => Covered::Within(bound),
        Verdict::Inconclusive(stop) => Covered::Part(stop),
        Verdict::Violated | Verdict::Nothing => return None,
    };
    Some(Finding {
        statistics: claim.statistics.clone(),
        unreached: claim.unreached.clone(),
        notes: claim.notes.clone(),
        ..Finding::new(covered)
    })
}
