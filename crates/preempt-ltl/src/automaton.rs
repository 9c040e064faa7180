//! Büchi automata with accepting states: what a model checker runs against.
//!
//! An automaton reads one valuation per step and moves; a word is accepted when
//! some run passes accepting states infinitely often. Edges are sorted by target,
//! so several cubes to one target (a disjunction) give that successor once.

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
    pub(crate) initial: Vec<u32>,
    pub(crate) edges: Vec<Vec<Edge>>,
    pub(crate) accepting: Vec<bool>,
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
}
