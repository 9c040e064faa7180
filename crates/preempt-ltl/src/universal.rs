//! States from which every word is accepted: where a finite execution has violated a formula whatever comes next.
//!
//! Whether a state is one is as hard as complementation; this finds those that show locally: accepting states
//! whose edges to such states cover every valuation, and the states whose edges to those do. In automata made of formulas that is
//! nearly always the state that Spin calls `accept_all`. **Invariant:** what is found accepts every word.

use crate::automaton::Automaton;
use crate::label::{Cube, covered};

impl Automaton {
    /// For each state, whether it is seen to accept every word.
    pub fn universal(&self) -> Vec<bool> {
        let states = 0..self.len() as u32;
        let goes_on = |state: u32, among: &[bool]| {
            let edges = self.edges(state).iter().filter(|edge| among[edge.target as usize]);
            covered(Cube::TRUE, &edges.map(|edge| edge.label).collect::<Vec<_>>())
        };
        let mut found: Vec<bool> = states.clone().map(|state| self.accepting(state)).collect();
        while let Some(state) =
            states.clone().find(|state| found[*state as usize] && !goes_on(*state, &found))
        {
            found[state as usize] = false;
        }
        while let Some(state) =
            states.clone().find(|state| !found[*state as usize] && goes_on(*state, &found))
        {
            found[state as usize] = true;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use crate::{parse, translate};

    #[test]
    fn a_bad_prefix_of_an_invariant_ends_in_a_universal_state() {
        let automaton = translate(&parse("!([] p)").unwrap().formula).unwrap();
        assert_eq!(automaton.universal().iter().filter(|universal| **universal).count(), 1);
        let automaton = translate(&parse("!([] <> p)").unwrap().formula).unwrap();
        assert!(!automaton.universal().contains(&true));
    }
}
