//! Models whose indivisible sequences may never end.

use preempt_check::Finding;
use preempt_check::property::Endless;
use preempt_core::{Claim, ProcessId, Stop, System};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{Expr, UnaryOp};

/// A model in which sequences may never end.
#[derive(Clone, Copy)]
pub(super) struct Sequences<'a> {
    /// The system that is searched.
    pub(super) searched: &'a Endless<'a>,
    /// The same on the reference interpreter.
    pub(super) reference: &'a Endless<'a>,
}

/// The system, with a step for every indivisible sequence that goes on for ever.
pub(super) fn around<'a>(
    system: &'a dyn System,
    interpreter: &Interpreter,
    give_up: &'a (dyn Fn() -> bool + Sync),
) -> Endless<'a> {
    let program = interpreter.program();
    let propositions = program.propositions.iter().enumerate();
    let stalled = propositions.filter_map(|(index, id)| match program.expr(*id) {
        Expr::NonProgress => Some((index, true)),
        Expr::Unary(UnaryOp::Not, inner) => {
            matches!(program.expr(*inner), Expr::NonProgress).then_some((index, false))
        }
        _ => None,
    });
    Endless::new(system, stalled.collect(), give_up)
}

/// A search that did not find out of a sequence whether it ends proves nothing.
pub(super) fn weaken(sequences: Option<Sequences<'_>>, finding: &mut Finding) {
    let gave_up = sequences.is_some_and(|sequences| sequences.searched.gave_up());
    if gave_up && finding.counterexample.is_none() {
        finding.stop = finding.stop.or(Some(Stop::Memory));
        finding.notes.push(
            "whether an indivisible sequence with very many states inside ever ends was not found out".into(),
        );
    }
}

/// The step that stays inside a sequence is none that a program has: saved traces take it for the property's.
pub(super) fn shown(mut claim: Claim) -> Claim {
    if let Some(violation) = &mut claim.violation {
        for step in violation.trace.raw.iter_mut().filter(|step| Endless::is_stay(**step)) {
            step.process = ProcessId::PROPERTY;
        }
    }
    claim
}
