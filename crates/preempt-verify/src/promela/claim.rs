//! Never claims as properties.

use preempt_check::property::{Property, PropertyMove};
use preempt_core::{Describe, Fault};
use preempt_ltl::{Cube, Edge};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::Automaton;

/// A never claim that runs beside the system.
pub(crate) struct NeverClaim<'a> {
    automaton: &'a Automaton,
    interpreter: &'a Interpreter,
}

impl<'a> NeverClaim<'a> {
    pub(crate) fn new(automaton: &'a Automaton, interpreter: &'a Interpreter) -> Self {
        NeverClaim { automaton, interpreter }
    }
}

impl Property for NeverClaim<'_> {
    fn initial(&self) -> u32 {
        self.automaton.entry
    }

    fn moves(
        &self,
        state: u32,
        holds: &mut dyn FnMut(usize) -> bool,
        emit: &mut dyn FnMut(PropertyMove),
    ) {
        let mut moved = false;
        for transition in &self.automaton.states[state as usize].transitions {
            let possible = match transition.proposition {
                Some(index) => holds(index as usize),
                None => !moved,
            };
            if !possible {
                continue;
            }
            moved = true;
            let failed = transition.asserts.iter().find(|(index, _)| !holds(*index as usize));
            let to = transition.target;
            let ends = self.automaton.states[to as usize].is_end;
            if let Some((_, fault)) = failed {
                emit(PropertyMove::Violates { to, assertion: fault.0 });
            }
            // As in Spin the execution goes on behind a failed assertion.
            match (ends, failed) {
                (false, _) => emit(PropertyMove::To(to)),
                (true, None) => emit(PropertyMove::Complete),
                (true, Some(_)) => {}
            }
        }
    }

    fn is_accepting(&self, state: u32) -> bool {
        self.automaton.states[state as usize].is_accept
    }

    fn counts_labels(&self) -> bool {
        true
    }

    fn assertion(&self, number: u32) -> Fault {
        self.interpreter.fault(number)
    }
}

/// The claim as a Büchi automaton over its own propositions, and which of the system's these are.
/// `None` where it says more than an automaton can: assertions, or too many propositions. `literals`
/// says which propositions say the same.
pub(crate) fn as_buchi(
    automaton: &Automaton,
    literals: &[(usize, bool)],
) -> Option<(preempt_ltl::Automaton, Vec<usize>)> {
    let mut propositions: Vec<usize> = Vec::new();
    let mut literal = |index: u32| {
        let (index, sign) = literals[index as usize];
        let known = propositions.iter().position(|p| *p == index);
        let number = known.unwrap_or_else(|| {
            propositions.push(index);
            propositions.len() - 1
        });
        (number < 64).then_some((number as u32, sign))
    };
    let mut edges = Vec::new();
    for state in &automaton.states {
        let mut list = Vec::new();
        // `None` once the others cover everything.
        let mut none_of_the_others = Some(Cube::default());
        for transition in &state.transitions {
            if !transition.asserts.is_empty() {
                return None;
            }
            let label = match transition.proposition {
                Some(index) => {
                    let (number, sign) = literal(index)?;
                    none_of_the_others = none_of_the_others
                        .and_then(|others| others.and(Cube::literal(number, !sign)));
                    Some(Cube::literal(number, sign))
                }
                None => none_of_the_others,
            };
            list.extend(label.map(|label| Edge { target: transition.target, label }));
        }
        if state.is_end {
            let itself = edges.len() as u32;
            list = vec![Edge { target: itself, label: Cube::default() }];
        }
        edges.push(list);
    }
    let accepting = automaton.states.iter().map(|s| s.is_accept || s.is_end).collect();
    let buchi = preempt_ltl::Automaton::new(vec![automaton.entry], edges, accepting);
    Some((buchi, propositions))
}
