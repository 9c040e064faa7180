//! Systems whose indivisible sequences may never end.

use preempt_check::Finding;
use preempt_check::property::Endless;
use preempt_core::{Claim, ProcessId, Stop};

/// A system in which sequences may never end.
#[derive(Clone, Copy)]
pub(crate) struct Sequences<'a> {
    /// The system that is searched.
    pub(crate) searched: &'a Endless<'a>,
    /// The same on the reference.
    pub(crate) reference: &'a Endless<'a>,
}

/// A search that did not find out of a sequence whether it ends proves nothing.
pub(crate) fn weaken(sequences: Option<Sequences<'_>>, finding: &mut Finding) {
    let gave_up = sequences.is_some_and(|sequences| sequences.searched.gave_up());
    if gave_up && finding.counterexample.is_none() {
        finding.stop = finding.stop.or(Some(Stop::Memory));
        finding.notes.push(
            "whether an indivisible sequence with very many states inside ever ends was not found out".into(),
        );
    }
}

/// The step that stays inside a sequence is none that a program has: saved traces take it for the property's.
pub(crate) fn shown(mut claim: Claim) -> Claim {
    if let Some(violation) = &mut claim.violation {
        for step in violation.trace.raw.iter_mut().filter(|step| Endless::is_stay(**step)) {
            step.process = ProcessId::PROPERTY;
        }
    }
    claim
}
