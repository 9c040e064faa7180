//! `--trails PREFIX`: every violating execution in a file of its own, as `-e` of Spin's verifier saves them.

use super::failed;
use crate::failure::Failure;
use crate::output;
use preempt_core::Claim;
use preempt_promela::interpret::trail::Trail;
use preempt_verify::promela::{Checker, Property, Violations, plain};
use std::path::{Path, PathBuf};

/// Saves the executions, and says how many. `saved` counts through all properties.
pub(super) fn save(
    prefix: &Path,
    checker: &Checker<'_>,
    property: Property,
    claim: &Claim,
    saved: &mut u64,
) -> Result<String, Failure> {
    let before = *saved;
    let mut next = || -> PathBuf {
        *saved += 1;
        let mut path = prefix.as_os_str().to_owned();
        path.push(format!("{saved}.trail"));
        path.into()
    };
    if property != Property::Safety {
        if let Some(trail) = checker.trail(property, claim).map_err(failed)? {
            output::write(&next(), &trail)?;
        }
        return Ok("--trails: of executions that violate a claim the simplest is saved".into());
    }
    let system = plain(checker.model, checker.settings, checker.control).map_err(failed)?;
    let request = checker.request;
    let give_up = || checker.control.is_over();
    let violations = Violations {
        assertions: request.assertions,
        deadlocks: request.deadlocks,
        most: request.max_errors,
        memory: request.memory,
        give_up: &give_up,
    };
    let mut failure = None;
    let complete = violations.each(&system, &mut |steps| {
        let trail = Trail { steps: steps.to_vec(), cycle_start: None };
        if failure.is_none() {
            failure = output::write(&next(), &system.write_trail(&trail)).err();
        }
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    let count = *saved - before;
    let rest = if complete { "" } else { "; there may be more: the search for them was cut off" };
    Ok(format!("--trails: {count} violating executions were saved{rest}"))
}
