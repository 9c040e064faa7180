//! `--trails PREFIX`: every violating execution in a file of its own, as `-e` of Spin's verifier saves them.

use super::failed;
use crate::failure::Failure;
use crate::output;
use preempt_core::Claim;
use preempt_promela::interpret::trail::Trail;
use preempt_verify::promela::{Checker, Property};
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
    let mut failure = None;
    let complete = checker.each_violation(&mut |system, steps| {
        let trail = Trail { steps: steps.to_vec(), ..Trail::default() };
        if failure.is_none() {
            failure = output::write(&next(), &system.write_trail(&trail)).err();
        }
    });
    let complete = complete.map_err(failed)?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let count = *saved - before;
    let rest = if complete { "" } else { "; there may be more: the search for them was cut off" };
    Ok(format!("--trails: {count} violating executions were saved{rest}"))
}
