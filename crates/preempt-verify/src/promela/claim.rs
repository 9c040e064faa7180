//! Never claims as properties.

use super::literals::{constant, literals};
use preempt_check::property::{Changing, ChangingMove, Property, PropertyMove};
use preempt_core::{Describe, Fault, System};
use preempt_ltl::{Cube, Edge};
use preempt_promela::interpret::{ClaimEffect, Interpreter};
use preempt_promela::ir::{Automaton, Program};

/// A never claim that runs beside the system.
pub(crate) struct NeverClaim<'a> {
    automaton: &'a Automaton,
    interpreter: &'a Interpreter,
    /// Whether C in it changes the state.
    changes: bool,
}

impl<'a> NeverClaim<'a> {
    pub(crate) fn new(automaton: &'a Automaton, interpreter: &'a Interpreter) -> Self {
        NeverClaim { automaton, interpreter, changes: automaton.changes() }
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

    fn changing(&self) -> Option<&dyn Changing> {
        self.changes.then_some(self)
    }
}

impl Changing for NeverClaim<'_> {
    fn changing_moves(
        &self,
        state: u32,
        vector: &[u8],
        emit: &mut dyn FnMut(ChangingMove, &mut Vec<u8>),
    ) {
        let first = self.automaton.first_move(state);
        let mut after = vector.to_vec();
        let mut moved = false;
        for (at, taken) in self.automaton.states[state as usize].transitions.iter().enumerate() {
            let number = first + at as u32;
            let possible = match taken.proposition {
                Some(index) => self.interpreter.proposition(vector, index as usize),
                None => Ok(!moved),
            };
            match possible {
                Ok(true) => moved = true,
                Ok(false) => continue,
                Err(fault) => {
                    emit(ChangingMove::Broken(fault), &mut after);
                    continue;
                }
            }
            let mut faults = Vec::new();
            let holds = |index: u32| self.interpreter.proposition(vector, index as usize);
            let failed = taken.asserts.iter().filter(|(index, _)| holds(*index) != Ok(true));
            faults.extend(failed.map(|(_, fault)| fault.0));
            after.clear();
            after.extend_from_slice(vector);
            let mut violated = |fault| faults.push(fault);
            let effect = self.interpreter.change_by_claim(taken, &mut after, &mut violated);
            match effect {
                ClaimEffect::Blocked => continue,
                ClaimEffect::Broken(fault) => {
                    emit(ChangingMove::Broken(fault), &mut after);
                    continue;
                }
                ClaimEffect::Moved => {}
            }
            for &assertion in &faults {
                emit(ChangingMove::Violates { number, assertion }, &mut after);
            }
            match self.automaton.states[taken.target as usize].is_end {
                false => emit(ChangingMove::Take(number), &mut after),
                true if faults.is_empty() => emit(ChangingMove::Complete(number), &mut after),
                true => {}
            }
        }
    }

    fn change(&self, number: u32, vector: &mut Vec<u8>) -> u32 {
        let Some(taken) = self.automaton.move_of(number) else { return self.automaton.entry };
        // It was completed when the step was found.
        self.interpreter.change_by_claim(taken, vector, &mut |_| ());
        taken.target
    }
}

/// The claim as a Büchi automaton over its own propositions, and which of the system's these are; `None` where these are
/// too many. A failed assertion is taken for the end of the claim.
pub(crate) fn as_buchi(
    automaton: &Automaton,
    program: &Program,
) -> Option<(preempt_ltl::Automaton, Vec<usize>)> {
    let literals = literals(program);
    let mut propositions: Vec<usize> = Vec::new();
    let mut literal = |index: u32| {
        if let Some(value) = constant(program, index as usize) {
            return Some(Condition::Constant(value));
        }
        let (index, sign) = literals[index as usize];
        let known = propositions.iter().position(|p| *p == index);
        let number = known.unwrap_or_else(|| {
            propositions.push(index);
            propositions.len() - 1
        });
        (number < 64).then_some(Condition::Literal(number as u32, sign))
    };
    let failed = automaton.states.len() as u32;
    let mut edges = Vec::new();
    for state in &automaton.states {
        let mut list = Vec::new();
        // `None` once the others cover everything.
        let mut none_of_the_others = Some(Cube::default());
        for transition in &state.transitions {
            let label = match transition.proposition {
                Some(index) => {
                    let condition = literal(index)?;
                    none_of_the_others = none_of_the_others
                        .and_then(|others| others.and(condition.negated().cube()?));
                    condition.cube()
                }
                None => none_of_the_others,
            };
            let Some(label) = label else { continue };
            list.push(Edge { target: transition.target, label });
            for (index, _) in &transition.asserts {
                let fails = literal(*index)?.negated().cube().and_then(|cube| label.and(cube));
                list.extend(fails.map(|label| Edge { target: failed, label }));
            }
        }
        if state.is_end {
            let itself = edges.len() as u32;
            list = vec![Edge { target: itself, label: Cube::default() }];
        }
        edges.push(list);
    }
    edges.push(vec![Edge { target: failed, label: Cube::default() }]);
    let accepting = automaton.states.iter().map(|s| s.is_accept || s.is_end).chain([true]);
    let buchi = preempt_ltl::Automaton::new(vec![automaton.entry], edges, accepting.collect());
    Some((buchi, propositions))
}

/// What a proposition of a claim asks for.
#[derive(Clone, Copy)]
enum Condition {
    Constant(bool),
    Literal(u32, bool),
}

impl Condition {
    fn negated(self) -> Self {
        match self {
            Condition::Constant(value) => Condition::Constant(!value),
            Condition::Literal(number, sign) => Condition::Literal(number, !sign),
        }
    }

    /// The letters that satisfy it; `None` for none.
    fn cube(self) -> Option<Cube> {
        match self {
            Condition::Constant(value) => value.then(Cube::default),
            Condition::Literal(number, sign) => Some(Cube::literal(number, sign)),
        }
    }
}
