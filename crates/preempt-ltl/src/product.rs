//! Automata with acceptance on states as such with acceptance on edges and back; words that two automata accept.

use crate::automaton::{Automaton, Edge};
use crate::degeneralize::degeneralize;
use crate::generalized::{Generalized, MarkedEdge};

impl Automaton {
    /// The same automaton with acceptance on edges: those leaving accepting states.
    pub fn to_generalized(&self) -> Generalized {
        let edges = self
            .edges
            .iter()
            .zip(&self.accepting)
            .map(|(edges, accepting)| {
                edges
                    .iter()
                    .map(|e| MarkedEdge {
                        target: e.target,
                        marks: u64::from(*accepting),
                        label: e.label,
                    })
                    .collect()
            })
            .collect();
        Generalized { marks: 1, initial: self.initial.clone(), edges }
    }

    /// Keeps the states that lie on some accepting run.
    pub fn trimmed(&self) -> Automaton {
        let mut tagged = self.to_generalized();
        tagged.trim();
        Automaton::from_state_marks(&tagged)
    }

    /// Back from [`Automaton::to_generalized`]. A state without edges loses its
    /// acceptance, which it has no use for.
    pub(crate) fn from_state_marks(automaton: &Generalized) -> Automaton {
        let accepting =
            automaton.edges.iter().map(|edges| edges.iter().any(|e| e.marks != 0)).collect();
        let edges = automaton
            .edges
            .iter()
            .map(|edges| edges.iter().map(|e| Edge { target: e.target, label: e.label }).collect())
            .collect();
        Automaton::new(automaton.initial.clone(), edges, accepting)
    }

    /// Is no word accepted?
    pub fn is_language_empty(&self) -> bool {
        self.to_generalized().is_language_empty()
    }
}

/// The automaton of the words that both accept, with two acceptance sets.
pub fn product(a: &Generalized, b: &Generalized) -> Generalized {
    let mut index: rustc_hash::FxHashMap<(u32, u32), u32> = rustc_hash::FxHashMap::default();
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    let mut number = |pair: (u32, u32), pairs: &mut Vec<(u32, u32)>| {
        *index.entry(pair).or_insert_with(|| {
            pairs.push(pair);
            pairs.len() as u32 - 1
        })
    };
    let mut result = Generalized { marks: a.marks + b.marks, ..Generalized::default() };
    for p in &a.initial {
        for q in &b.initial {
            let state = number((*p, *q), &mut pairs);
            result.initial.push(state);
        }
    }
    let mut next = 0;
    while next < pairs.len() {
        let (p, q) = pairs[next];
        next += 1;
        let mut edges = Vec::new();
        for left in &a.edges[p as usize] {
            for right in &b.edges[q as usize] {
                if let Some(label) = left.label.and(right.label) {
                    edges.push(MarkedEdge {
                        target: number((left.target, right.target), &mut pairs),
                        marks: left.marks | right.marks << a.marks,
                        label,
                    });
                }
            }
        }
        result.edges.push(edges);
    }
    result
}

/// Does no word belong to both languages?
pub fn disjoint(a: &Automaton, b: &Automaton) -> bool {
    product(&a.to_generalized(), &b.to_generalized()).is_language_empty()
}

/// The Büchi automaton of the words that both accept.
pub fn intersection(a: &Automaton, b: &Automaton) -> Automaton {
    let mut both = product(&a.to_generalized(), &b.to_generalized());
    both.trim();
    degeneralize(&both)
}
