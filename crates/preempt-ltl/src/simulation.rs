//! Direct simulation, forward and backward: a cheap reason to merge states.
//!
//! `q` simulates `p` when every edge of `p` is matched by edges of `q` with at
//! least its label and marks, to states that again simulate. Then every word
//! accepted from `p` is accepted from `q`; states that simulate each other merge,
//! and an edge beside a better one to a simulating state goes.

use crate::generalized::{Generalized, MarkedEdge};
use crate::label::{Cube, covered};
use rustc_hash::FxHashMap;

/// Beyond these sizes the quadratic relation is not worth its time, and only states with
/// equal edges are merged.
const MAX_STATES: usize = 400;
const MAX_EDGES: usize = 2_500;

/// Where acceptance lives, which decides what may be merged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acceptance {
    /// Any edge may carry any marks.
    Edges,
    /// All edges of a state carry the mark, or none does; merging keeps it so.
    States,
}

/// Merges by forward and backward simulation until nothing changes.
pub(crate) fn reduce(automaton: &mut Generalized, acceptance: Acceptance) {
    automaton.trim();
    automaton.tidy_edges();
    merge_equal(automaton);
    if automaton.len() > MAX_STATES || edge_count(automaton) > MAX_EDGES {
        return;
    }
    loop {
        let before = (automaton.len(), edge_count(automaton));
        if acceptance == Acceptance::Edges {
            forget_idle_marks(automaton);
        }
        forward(automaton);
        backward(automaton, acceptance);
        if (automaton.len(), edge_count(automaton)) == before {
            return;
        }
    }
}

/// Merges states with equal edges until there are none.
fn merge_equal(automaton: &mut Generalized) {
    loop {
        let mut first: FxHashMap<&[MarkedEdge], u32> = FxHashMap::default();
        let class: Vec<u32> = automaton
            .edges
            .iter()
            .enumerate()
            .map(|(state, edges)| *first.entry(edges).or_insert(state as u32))
            .collect();
        if first.len() == automaton.len() {
            return;
        }
        for edge in automaton.edges.iter_mut().flatten() {
            edge.target = class[edge.target as usize];
        }
        for state in &mut automaton.initial {
            *state = class[*state as usize];
        }
        automaton.trim();
        automaton.tidy_edges();
    }
}

fn edge_count(automaton: &Generalized) -> usize {
    automaton.edges.iter().map(Vec::len).sum()
}

/// Marks on edges that cannot be repeated mean nothing; none is easiest to match.
fn forget_idle_marks(automaton: &mut Generalized) {
    let components = automaton.components();
    for source in 0..automaton.len() {
        let component = components.of[source];
        for edge in &mut automaton.edges[source] {
            if components.of[edge.target as usize] != component
                || !components.accepting[component as usize]
            {
                edge.marks = 0;
            }
        }
    }
}

fn forward(automaton: &mut Generalized) {
    let states = automaton.len();
    let relation = relation(states, |p, q, relation| {
        simulated(&automaton.edges[p], &automaton.edges[q], |a, b| {
            relation[a as usize * states + b as usize]
        })
    });
    let by = |p: u32, q: u32| relation[p as usize * states + q as usize];
    let class = classes(states, &by);
    // Only edges to other classes are compared, so no two edges remove each other.
    let pruned: Vec<Vec<MarkedEdge>> = automaton
        .edges
        .iter()
        .map(|edges| {
            let mut kept: Vec<MarkedEdge> = Vec::new();
            let mapped: Vec<MarkedEdge> = edges
                .iter()
                .map(|e| MarkedEdge { target: class[e.target as usize], ..*e })
                .collect();
            for (i, edge) in mapped.iter().enumerate() {
                let dominated = mapped.iter().enumerate().any(|(j, other)| {
                    let better = edge.label.implies(other.label)
                        && edge.marks & other.marks == edge.marks
                        && by(edge.target, other.target);
                    let worse = other.label.implies(edge.label)
                        && other.marks & edge.marks == other.marks
                        && by(other.target, edge.target);
                    i != j && better && (!worse || j < i)
                });
                if !dominated {
                    kept.push(*edge);
                }
            }
            kept
        })
        .collect();
    automaton.edges = pruned;
    for state in &mut automaton.initial {
        *state = class[*state as usize];
    }
    automaton.trim();
    automaton.tidy_edges();
}

/// Merges states with the same past: reached by the same edges from the same places.
fn backward(automaton: &mut Generalized, acceptance: Acceptance) {
    let states = automaton.len();
    let mut incoming: Vec<Vec<MarkedEdge>> = vec![Vec::new(); states];
    for (source, edges) in automaton.edges.iter().enumerate() {
        for edge in edges {
            incoming[edge.target as usize].push(MarkedEdge { target: source as u32, ..*edge });
        }
    }
    let mut initial = vec![false; states];
    automaton.initial.iter().for_each(|s| initial[*s as usize] = true);
    let accepting = |s: usize| automaton.edges[s].iter().any(|e| e.marks != 0);
    let relation = relation(states, |p, q, relation| {
        (!initial[p] || initial[q])
            && (acceptance == Acceptance::Edges || !accepting(p) || accepting(q))
            && simulated(&incoming[p], &incoming[q], |a, b| {
                relation[a as usize * states + b as usize]
            })
    });
    let by = |p: u32, q: u32| relation[p as usize * states + q as usize];
    let class = classes(states, &by);
    let mut merged: Vec<Vec<MarkedEdge>> = vec![Vec::new(); states];
    for (source, edges) in automaton.edges.iter().enumerate() {
        merged[class[source] as usize]
            .extend(edges.iter().map(|e| MarkedEdge { target: class[e.target as usize], ..*e }));
    }
    automaton.edges = merged;
    for state in &mut automaton.initial {
        *state = class[*state as usize];
    }
    automaton.trim();
    automaton.tidy_edges();
}

/// Greatest relation that the step test confirms.
fn relation(states: usize, holds: impl Fn(usize, usize, &[bool]) -> bool) -> Vec<bool> {
    let mut relation = vec![true; states * states];
    let mut changed = true;
    while changed {
        changed = false;
        for p in 0..states {
            for q in 0..states {
                if relation[p * states + q] && p != q && !holds(p, q, &relation) {
                    relation[p * states + q] = false;
                    changed = true;
                }
            }
        }
    }
    relation
}

fn simulated(small: &[MarkedEdge], large: &[MarkedEdge], by: impl Fn(u32, u32) -> bool) -> bool {
    let mut cover: Vec<Cube> = Vec::new();
    small.iter().all(|edge| {
        cover.clear();
        for other in large {
            if edge.marks & other.marks == edge.marks && by(edge.target, other.target) {
                if edge.label.implies(other.label) {
                    return true;
                }
                cover.push(other.label);
            }
        }
        covered(edge.label, &cover)
    })
}

/// Lowest member of each class of mutually related states.
fn classes(states: usize, by: &impl Fn(u32, u32) -> bool) -> Vec<u32> {
    (0..states as u32).map(|q| (0..q).find(|p| by(*p, q) && by(q, *p)).unwrap_or(q)).collect()
}
