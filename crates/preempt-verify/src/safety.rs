//! Searches for assertions, invalid ends, faults, and claims that complete.

use crate::confirm::confirm;
use crate::engine::Engine;
use crate::{Control, Error, Event, Request};
use preempt_check::RemoteSearch;
use preempt_check::{Check, Compatibility, Finding, Options, Preemptions, conclude_until};
use preempt_core::{Claim, System, grouped};

/// Checks a system; what is found is confirmed on `reference`, another implementation of the same.
pub(crate) fn check(
    engine: Engine<'_>,
    reference: &dyn System,
    options: Options,
    request: &Request,
    control: &Control<'_>,
) -> Result<Claim, Error> {
    let checked = search(engine, reference, &options, request, control)?;
    Ok(conclude(checked, reference, &options.property, control))
}

/// What a check found, before it is concluded.
pub(crate) struct Checked {
    pub(crate) finding: Finding,
    /// If everything was explored, too: how many states there are within the bound, and how many without it.
    whole: Option<(u64, u64)>,
}

/// The search of a [`check`]; what is found is confirmed.
pub(crate) fn search(
    engine: Engine<'_>,
    reference: &dyn System,
    options: &Options,
    request: &Request,
    control: &Control<'_>,
) -> Result<Checked, Error> {
    let mut options = options.clone();
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
    finding.drop_given_up(reference);
    Ok(Checked { finding, whole })
}

/// What is claimed after a [`search`].
pub(crate) fn conclude(
    Checked { finding, whole }: Checked,
    reference: &dyn System,
    property: &str,
    control: &Control<'_>,
) -> Claim {
    let showing = control.showing();
    let over = || showing.is_over();
    let mut claim = conclude_until(reference, property, finding, &over).claim;
    if let Some((within, all)) = whole {
        claim.sentence = format!(
            "holds: no violation in any execution ({} states within the bound; {} without it, all explored)",
            grouped(within),
            grouped(all)
        );
    }
    claim
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
