//! Büchi automata with accepting states: what a model checker runs against.
//!
//! An automaton reads one valuation per step and moves; a word is accepted when
//! some run passes accepting states infinitely often. Edges are sorted by target,
//! so several cubes to one target (a disjunction) give that successor once.

use crate::generalized::{Generalized, MarkedEdge};
use crate::label::{Cube, Valuation, simplify};

/// An edge: under `label`, to `target`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Edge {
    /// State it leads to.
    pub target: u32,
    /// Valuations under which it can be taken.
    pub label: Cube,
}

/// A Büchi automaton.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Automaton {
    initial: Vec<u32>,
    edges: Vec<Vec<Edge>>,
    accepting: Vec<bool>,
}

impl Automaton {
    /// Builds an automaton; edges are sorted and simplified.
    ///
    /// # Panics
    /// If the lists disagree about the number of states.
    pub fn new(initial: Vec<u32>, edges: Vec<Vec<Edge>>, accepting: Vec<bool>) -> Automaton {
        assert_eq!(edges.len(), accepting.len(), "one accepting bit per state");
        let states = edges.len() as u32;
        let in_range = |s: &u32| *s < states;
        assert!(
            initial.iter().all(in_range) && edges.iter().flatten().all(|e| in_range(&e.target)),
            "states are numbered from 0"
        );
        let mut automaton = Automaton { initial, edges, accepting };
        automaton.tidy();
        automaton
    }

    fn tidy(&mut self) {
        self.initial.sort_unstable();
        self.initial.dedup();
        for edges in &mut self.edges {
            edges.sort_unstable();
            edges.dedup();
            let mut result: Vec<Edge> = Vec::with_capacity(edges.len());
            for group in edges.chunk_by(|a, b| a.target == b.target) {
                let mut cubes: Vec<Cube> = group.iter().map(|e| e.label).collect();
                simplify(&mut cubes);
                result
                    .extend(cubes.into_iter().map(|label| Edge { target: group[0].target, label }));
            }
            *edges = result;
        }
    }

    /// Number of states.
    pub fn len(&self) -> usize {
        self.edges.len()
    }

    /// No states: no word is accepted.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// States a run may start in. Automata made from formulas have one, or none
    /// if the formula has no model.
    pub fn initial(&self) -> &[u32] {
        &self.initial
    }

    /// Must be passed infinitely often.
    #[inline]
    pub fn accepting(&self, state: u32) -> bool {
        self.accepting[state as usize]
    }

    /// Edges of a state, sorted by target; those with one target form a disjunction.
    #[inline]
    pub fn edges(&self, state: u32) -> &[Edge] {
        &self.edges[state as usize]
    }

    /// Where the state can move when it reads `valuation`; each target once.
    #[inline]
    pub fn successors(&self, state: u32, valuation: Valuation) -> impl Iterator<Item = u32> + '_ {
        let mut last = u32::MAX;
        self.edges[state as usize].iter().filter_map(move |edge| {
            let fresh = edge.target != last && edge.label.matches(valuation);
            if fresh {
                last = edge.target;
            }
            fresh.then_some(edge.target)
        })
    }

    /// Number of edges, counting each cube.
    pub fn edge_count(&self) -> usize {
        self.edges.iter().map(Vec::len).sum()
    }

    /// Propositions that some label mentions, one bit each.
    pub fn proposition_mask(&self) -> u64 {
        self.edges.iter().flatten().fold(0, |mask, e| mask | e.label.mask())
    }

    /// At most one run on every word?
    pub fn is_deterministic(&self) -> bool {
        self.initial.len() <= 1
            && self.edges.iter().all(|edges| {
                edges.iter().enumerate().all(|(i, a)| {
                    edges[i + 1..]
                        .iter()
                        .all(|b| a.target == b.target || a.label.and(b.label).is_none())
                })
            })
    }

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
    crate::degeneralize::degeneralize(&both)
}
