//! Generalised Büchi automata with acceptance on edges, and their strongly connected components.
//!
//! The meeting point of all constructions: formulas, products and HOA files
//! become one of these, and emptiness is decided on it. A run is accepting when
//! it passes every mark infinitely often.

use crate::components::tarjan;
use crate::label::{Cube, Valuation, simplify};
use crate::word::Word;
use rustc_hash::FxHashMap;

/// An edge with the acceptance marks it carries, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MarkedEdge {
    /// State it leads to.
    pub target: u32,
    /// Acceptance sets it belongs to.
    pub marks: u64,
    /// Valuations under which it can be taken.
    pub label: Cube,
}

/// A generalised Büchi automaton, acceptance on edges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Generalized {
    /// Number of acceptance sets, at most 64.
    pub marks: u32,
    /// States a run may start in.
    pub initial: Vec<u32>,
    /// Edges by source state.
    pub edges: Vec<Vec<MarkedEdge>>,
}

/// Strongly connected components, numbered so that edges go to equal or lower numbers.
pub(crate) struct Components {
    pub(crate) of: Vec<u32>,
    pub(crate) count: usize,
    /// The component has an edge inside.
    pub(crate) nontrivial: Vec<bool>,
    /// A run can stay inside and pass every mark for ever.
    pub(crate) accepting: Vec<bool>,
}

impl Generalized {
    /// Number of states.
    pub fn len(&self) -> usize {
        self.edges.len()
    }

    /// No states at all.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// All marks there are.
    pub fn all_marks(&self) -> u64 {
        if self.marks == 64 { u64::MAX } else { (1 << self.marks) - 1 }
    }

    pub(crate) fn components(&self) -> Components {
        let of = tarjan(self.len(), |s| self.edges[s as usize].iter().map(|e| e.target));
        let count = of.iter().map(|c| *c as usize + 1).max().unwrap_or(0);
        let mut nontrivial = vec![false; count];
        let mut seen = vec![0u64; count];
        for (source, edges) in self.edges.iter().enumerate() {
            for edge in edges {
                let component = of[source] as usize;
                if of[edge.target as usize] as usize == component {
                    nontrivial[component] = true;
                    seen[component] |= edge.marks;
                }
            }
        }
        let all = self.all_marks();
        let accepting = (0..count).map(|c| nontrivial[c] && seen[c] & all == all).collect();
        Components { of, count, nontrivial, accepting }
    }

    /// Keeps the states that lie on some accepting run from an initial state.
    pub(crate) fn trim(&mut self) {
        let components = self.components();
        // Lower numbers come first, so successors are known before their sources.
        let mut live = components.accepting.clone();
        let mut by_component: Vec<Vec<u32>> = vec![Vec::new(); components.count];
        for state in 0..self.len() {
            by_component[components.of[state] as usize].push(state as u32);
        }
        for component in 0..components.count {
            live[component] |= by_component[component].iter().any(|s| {
                self.edges[*s as usize]
                    .iter()
                    .any(|e| live[components.of[e.target as usize] as usize])
            });
        }
        let mut number = vec![u32::MAX; self.len()];
        let mut order: Vec<u32> = Vec::new();
        let alive = |s: u32| live[components.of[s as usize] as usize];
        for state in &self.initial {
            if alive(*state) && number[*state as usize] == u32::MAX {
                number[*state as usize] = order.len() as u32;
                order.push(*state);
            }
        }
        let mut next = 0;
        while next < order.len() {
            let state = order[next];
            next += 1;
            for edge in &self.edges[state as usize] {
                if alive(edge.target) && number[edge.target as usize] == u32::MAX {
                    number[edge.target as usize] = order.len() as u32;
                    order.push(edge.target);
                }
            }
        }
        let edges = order
            .iter()
            .map(|state| {
                self.edges[*state as usize]
                    .iter()
                    .filter(|e| number[e.target as usize] != u32::MAX)
                    .map(|e| MarkedEdge { target: number[e.target as usize], ..*e })
                    .collect()
            })
            .collect();
        self.edges = edges;
        self.initial =
            self.initial.iter().map(|s| number[*s as usize]).filter(|s| *s != u32::MAX).collect();
        self.initial.sort_unstable();
        self.initial.dedup();
    }

    /// Joins edges that differ only in their label, and sorts.
    pub(crate) fn tidy_edges(&mut self) {
        for edges in &mut self.edges {
            let mut groups: FxHashMap<(u32, u64), Vec<Cube>> = FxHashMap::default();
            for edge in edges.iter() {
                groups.entry((edge.target, edge.marks)).or_default().push(edge.label);
            }
            edges.clear();
            for ((target, marks), mut cubes) in groups {
                simplify(&mut cubes);
                edges.extend(cubes.into_iter().map(|label| MarkedEdge { target, marks, label }));
            }
            edges.sort_unstable();
        }
    }

    /// Is no word accepted?
    pub fn is_language_empty(&self) -> bool {
        let components = self.components();
        let mut seen = vec![false; self.len()];
        let mut stack = self.initial.clone();
        while let Some(state) = stack.pop() {
            if std::mem::replace(&mut seen[state as usize], true) {
                continue;
            }
            if components.accepting[components.of[state as usize] as usize] {
                return false;
            }
            stack.extend(self.edges[state as usize].iter().map(|e| e.target));
        }
        true
    }

    /// Some accepted word, if there is one.
    pub fn find_word(&self) -> Option<Word> {
        let components = self.components();
        let accepting = |s: u32| components.accepting[components.of[s as usize] as usize];
        let (stem, start) = self.path(&self.initial, |_| true, |s, _| accepting(s))?;
        let inside =
            |e: &MarkedEdge| components.of[e.target as usize] == components.of[start as usize];
        let mut cycle: Vec<Valuation> = Vec::new();
        let mut at = start;
        let mut missing = self.all_marks();
        while missing != 0 {
            let mut collected = 0;
            let (mut part, end) = self.path(&[at], inside, |_, edge| {
                let useful = edge.is_some_and(|e| e.marks & missing != 0);
                if useful {
                    collected = edge.map_or(0, |e| e.marks);
                }
                useful
            })?;
            cycle.append(&mut part);
            missing &= !collected;
            at = end;
        }
        let (mut back, _) = self
            .path(&[at], inside, |s, edge| s == start && (edge.is_some() || !cycle.is_empty()))?;
        cycle.append(&mut back);
        Some(Word { stem, cycle })
    }

    /// Breadth-first: labels of a shortest path to where `goal(state, edge taken)` holds.
    fn path(
        &self,
        from: &[u32],
        allowed: impl Fn(&MarkedEdge) -> bool,
        mut goal: impl FnMut(u32, Option<&MarkedEdge>) -> bool,
    ) -> Option<(Vec<Valuation>, u32)> {
        for state in from {
            if goal(*state, None) {
                return Some((Vec::new(), *state));
            }
        }
        let mut reached: FxHashMap<u32, Option<(u32, Valuation)>> =
            from.iter().map(|s| (*s, None)).collect();
        let mut queue: std::collections::VecDeque<u32> = from.iter().copied().collect();
        while let Some(state) = queue.pop_front() {
            for edge in self.edges[state as usize].iter().filter(|e| allowed(e)) {
                if goal(edge.target, Some(edge)) {
                    let mut labels = vec![edge.label.positive];
                    let mut at = state;
                    while let Some(Some((previous, label))) = reached.get(&at) {
                        labels.push(*label);
                        at = *previous;
                    }
                    labels.reverse();
                    return Some((labels, edge.target));
                }
                reached.entry(edge.target).or_insert_with(|| {
                    queue.push_back(edge.target);
                    Some((state, edge.label.positive))
                });
            }
        }
        None
    }
}
