//! The independent check of every counterexample, on the reference interpreter.

use crate::Error;
use preempt_check::Counterexample;
use preempt_core::{Enabled, Label, Outcome, Stop, System, ViolationKind, follow};

/// Replays `found` on `reference`: each step is enabled where it is taken, and the end is as bad as
/// was claimed.
pub(crate) fn confirm(
    reference: &dyn System,
    found: &Counterexample,
    over: &dyn Fn() -> Option<Stop>,
) -> Result<(), Error> {
    let bug = |message| unconfirmed(reference, message);
    let (mut state, outcome) = match follow(reference, &found.steps, over) {
        Ok(replayed) => replayed,
        // It will not be called a violation then, see `conclude`.
        Err(error) if error.stopped.is_some() => return Ok(()),
        Err(error) => return Err(bug(error.to_string())),
    };
    if let Some(fault) = found.fault {
        return match outcome {
            Outcome::Violated(seen) | Outcome::Broken(seen) if seen == fault => Ok(()),
            _ => Err(bug(format!("the last step ends in {outcome:?}, not in fault {fault}"))),
        };
    }
    if let Some(start) = found.cycle_start {
        return confirm_cycle(reference, found, start, over).map_err(bug);
    }
    let mut enabled = Enabled::new();
    reference.enabled(&mut state, &mut enabled);
    match found.kind {
        ViolationKind::InvalidEnd if !enabled.is_empty() => {
            Err(bug("a process can still move at its end".into()))
        }
        ViolationKind::InvalidEnd if reference.is_valid_end(&state) => {
            Err(bug("its end is valid".into()))
        }
        _ => Ok(()),
    }
}

/// What it means that a counterexample does not happen again.
fn unconfirmed(reference: &dyn System, message: String) -> Error {
    match reference.is_repeatable() {
        true => Error::Bug(format!("the counterexample cannot be confirmed: {message}")),
        false => Error::Request(format!(
            "a violation was found that does not happen again ({message}): the C of the model depends on something that is \
             no part of the state"
        )),
    }
}

/// Replays an execution that ends in a circle inside an indivisible sequence. What is seen of it was
/// confirmed before.
pub(crate) fn confirm_circle(
    reference: &dyn System,
    found: &Counterexample,
    over: &dyn Fn() -> Option<Stop>,
) -> Result<(), Error> {
    let bug = |message| unconfirmed(reference, message);
    match follow(reference, &found.steps, over) {
        Ok(_) => {}
        Err(error) if error.stopped.is_some() => return Ok(()),
        Err(error) => return Err(bug(error.to_string())),
    }
    let start = found.cycle_start.unwrap_or(found.steps.len());
    close_cycle(reference, found, start, over).map(|_| ()).map_err(bug)
}

/// The part from `start` on returns to where it began, and accepts on the way.
fn confirm_cycle(
    reference: &dyn System,
    found: &Counterexample,
    start: usize,
    over: &dyn Fn() -> Option<Stop>,
) -> Result<(), String> {
    match close_cycle(reference, found, start, over)? {
        Some(false) => Err("its cycle does not accept".into()),
        _ => Ok(()),
    }
}

/// The part from `start` on returns to where it began; says whether it accepts on the way, or nothing if it had to be given
/// up: then it will not be shown either.
fn close_cycle(
    reference: &dyn System,
    found: &Counterexample,
    start: usize,
    over: &dyn Fn() -> Option<Stop>,
) -> Result<Option<bool>, String> {
    let mut state = Vec::new();
    reference.initial(&mut state);
    let mut enabled = Enabled::new();
    let mut first = None;
    let mut accepts = false;
    for (at, step) in found.steps.iter().enumerate() {
        if at % 256 == 0 && over().is_some() {
            return Ok(None);
        }
        enabled.clear();
        reference.enabled(&mut state, &mut enabled);
        if at == start {
            first = Some(state.clone());
        }
        accepts |= at >= start && reference.has_label(&state, Label::Accept);
        reference.apply(&mut state, *step);
    }
    enabled.clear();
    reference.enabled(&mut state, &mut enabled);
    match first {
        Some(first) if first == state => Ok(Some(accepts)),
        _ => Err("its cycle does not close".into()),
    }
}
