//! Formulas judged by finite executions: whether one has begun in a way that nothing can follow which satisfies the formula.
//!
//! The automaton of the formula's violations runs beside the model. Where it comes to a state that accepts every word, the formula
//! is violated whatever follows. The steps are those of a claim as Spin writes it: in front of such a state an assertion fails, and the
//! claim stays where it was. So states and violations are counted as Spin counts them where the two automata are the same.

use preempt_check::property::{Buchi, Property, PropertyMove, Reader};
use preempt_core::{Fault, FaultKind};
use preempt_ltl::Automaton;

/// The automaton of a formula's violations, of which those count that finite executions show.
pub(super) struct BadPrefix {
    automaton: Automaton,
    /// The same as it reads states.
    reader: Buchi,
    /// For each state whether every word is accepted from it; the last one is that in front of the initial ones.
    universal: Vec<bool>,
    /// What it means to come to such a state.
    fault: Fault,
}

impl BadPrefix {
    pub(super) fn new(automaton: &Automaton, propositions: Vec<usize>, which: &str) -> Self {
        let mut universal = automaton.universal();
        universal.push(automaton.initial().iter().any(|state| universal[*state as usize]));
        let message = format!("a finite execution violates {which}");
        BadPrefix {
            automaton: automaton.clone(),
            reader: Buchi::new(automaton.clone(), propositions),
            universal,
            fault: Fault { kind: FaultKind::Claim, message, file: String::new(), line: 0 },
        }
    }

    /// An automaton that accepts what comes to such a state.
    pub(super) fn violations(&self) -> Automaton {
        let states = 0..self.automaton.len();
        let edges = states.clone().map(|state| self.automaton.edges(state as u32).to_vec());
        let accepting = states.map(|state| self.universal[state]).collect();
        Automaton::new(self.automaton.initial().to_vec(), edges.collect(), accepting)
    }

    /// Whether a violation may go on for ever without ever coming to such a state.
    pub(super) fn leaves_open(&self) -> bool {
        let states = 0..self.automaton.len() as u32;
        let is_open = |state: &u32| !self.universal[*state as usize];
        let edges = |state: u32| {
            let edges = self.automaton.edges(state).iter().copied();
            edges.filter(|edge| is_open(&edge.target)).collect()
        };
        let accepting = states.clone().map(|state| self.automaton.accepting(state)).collect();
        let initial = self.automaton.initial().iter().copied().filter(is_open).collect();
        !Automaton::new(initial, states.map(edges).collect(), accepting).is_language_empty()
    }
}

impl Property for BadPrefix {
    fn initial(&self) -> u32 {
        self.reader.initial()
    }

    fn moves(
        &self,
        state: u32,
        holds: &mut dyn FnMut(usize) -> bool,
        emit: &mut dyn FnMut(PropertyMove),
    ) {
        if self.universal[state as usize] {
            return emit(PropertyMove::Complete);
        }
        let mut is_violated = false;
        self.reader.read(state, self.reader.letter(holds), &mut |to| {
            if !self.universal[to as usize] {
                emit(PropertyMove::To(to));
            } else if !std::mem::replace(&mut is_violated, true) {
                emit(PropertyMove::Violates { to: state, assertion: 0 });
                emit(PropertyMove::To(state));
            }
        });
    }

    fn is_accepting(&self, _state: u32) -> bool {
        false
    }

    fn assertion(&self, _number: u32) -> Fault {
        self.fault.clone()
    }
}
