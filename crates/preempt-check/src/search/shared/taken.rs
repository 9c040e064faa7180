//! Which transitions of the program were taken: the others are reported as unreached.

use preempt_core::{Step, System};

/// Notes that the transitions of a step were taken.
#[inline(always)]
pub(crate) fn mark_taken<S: System + ?Sized>(system: &S, taken: &mut [bool], step: Step) {
    let (own, partner) = system.transitions_of(step);
    if let Some(taken) = taken.get_mut(own) {
        *taken = true;
    }
    if let Some(taken) = partner.and_then(|key| taken.get_mut(key)) {
        *taken = true;
    }
}
