//! Steps of a system and a property automaton together, as values.
//!
//! The step of the system is kept as it is, but for its choice, whose upper bits say where the automaton goes.

use preempt_core::{ProcessId, Step};

/// The automaton's next state travels in the upper bits of a step's choice.
const CHOICE_BITS: u32 = 4;
const CHOICE_MASK: u32 = (1 << CHOICE_BITS) - 1;
/// What a step by [`ProcessId::PROPERTY`] is.
const STUTTER: u32 = 0;
pub(super) const COMPLETE: u32 = 1;
pub(super) const VIOLATE: u32 = 2;
pub(super) const FAULT: u32 = 3;

/// A step of the program that takes the automaton to this state.
pub(crate) fn joined(step: Step, to: u32) -> Step {
    Step { choice: step.choice | to << CHOICE_BITS, ..step }
}

/// Nothing can move; the automaton does.
pub(crate) fn stuttering(to: u32) -> Step {
    property_step(STUTTER, to, 0)
}

/// An assertion of the automaton fails.
pub(super) fn violating(to: u32, assertion: u32) -> Step {
    property_step(VIOLATE, to, assertion)
}

/// The automaton comes to its end.
pub(super) fn completing(to: u32) -> Step {
    property_step(COMPLETE, to, 0)
}

/// What the automaton asks has no value, or what it does cannot be completed.
pub(super) fn faulting(automaton: u32, fault: u32) -> Step {
    property_step(FAULT, automaton, fault)
}

fn property_step(kind: u32, to: u32, assertion: u32) -> Step {
    Step {
        process: ProcessId::PROPERTY,
        partner: None,
        transition: kind,
        partner_transition: assertion,
        choice: to << CHOICE_BITS,
    }
}

/// Where a step takes the automaton.
pub(super) fn target(step: Step) -> u32 {
    step.choice >> CHOICE_BITS
}

/// The system's own step.
pub(super) fn of_program(step: Step) -> Step {
    Step { choice: step.choice & CHOICE_MASK, ..step }
}
