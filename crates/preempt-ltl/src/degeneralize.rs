//! Generalised acceptance on edges to ordinary acceptance on states.
//!
//! Inside an accepting component a counter waits for the marks in turn; a state
//! is accepting when the last one was just seen. Outside no counting is needed,
//! so states there have one copy: this is degeneralisation per component.

use crate::automaton::{Automaton, Edge};
use crate::generalized::Generalized;
use rustc_hash::FxHashMap;

/// The order in which marks are waited for; it changes the size, not the language.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Ascending,
    Descending,
}

/// The Büchi automaton of the same language.
pub fn degeneralize(automaton: &Generalized) -> Automaton {
    degeneralize_in_order(automaton, Order::Ascending)
}

/// The Büchi automaton of the same language, waiting for the marks in this order.
pub(crate) fn degeneralize_in_order(automaton: &Generalized, order: Order) -> Automaton {
    let components = automaton.components();
    // Marks that every edge of a component carries need no waiting there.
    let mut wanted: Vec<Vec<u64>> = Vec::with_capacity(components.count);
    for component in 0..components.count {
        let mut marks = marks_to_count(automaton, &components.of, component as u32);
        if order == Order::Descending {
            marks.reverse();
        }
        wanted.push(marks);
    }
    let mut index: FxHashMap<(u32, usize), u32> = FxHashMap::default();
    let mut states: Vec<(u32, usize)> = Vec::new();
    let mut number = |key: (u32, usize), states: &mut Vec<(u32, usize)>| {
        *index.entry(key).or_insert_with(|| {
            states.push(key);
            states.len() as u32 - 1
        })
    };
    let component_of = |s: u32| components.of[s as usize] as usize;
    let top = |s: u32| wanted[component_of(s)].len();
    // Where nothing needs counting the copy with the highest count is the accepting one.
    let entry = |s: u32| {
        if components.accepting[component_of(s)] && top(s) == 0 { top(s) } else { 0 }
    };
    let initial: Vec<u32> =
        automaton.initial.iter().map(|s| number((*s, entry(*s)), &mut states)).collect();
    let mut edges: Vec<Vec<Edge>> = Vec::new();
    let mut accepting = Vec::new();
    let mut next = 0;
    while next < states.len() {
        let (state, level) = states[next];
        next += 1;
        let component = component_of(state);
        let counts = components.accepting[component];
        accepting.push(counts && level == top(state));
        let mut out = Vec::new();
        for edge in &automaton.edges[state as usize] {
            let key = if counts && component_of(edge.target) == component {
                let order = &wanted[component];
                let mut reached = if level == order.len() { 0 } else { level };
                while reached < order.len() && edge.marks & order[reached] != 0 {
                    reached += 1;
                }
                (edge.target, reached)
            } else {
                (edge.target, entry(edge.target))
            };
            out.push(Edge { target: number(key, &mut states), label: edge.label });
        }
        edges.push(out);
    }
    Automaton::new(initial, edges, accepting)
}

/// The marks of a component, without those implied by another one.
fn marks_to_count(automaton: &Generalized, of: &[u32], component: u32) -> Vec<u64> {
    let inner: Vec<u64> = (0..automaton.len())
        .filter(|s| of[*s] == component)
        .flat_map(|s| automaton.edges[s].iter())
        .filter(|e| of[e.target as usize] == component)
        .map(|e| e.marks)
        .collect();
    let mut kept: Vec<u64> = Vec::new();
    for mark in (0..automaton.marks).map(|m| 1u64 << m) {
        if inner.iter().all(|m| m & mark != 0) {
            continue;
        }
        let implied_by = |other: u64| inner.iter().all(|m| m & other == 0 || m & mark != 0);
        if kept.iter().any(|k| implied_by(*k)) {
            continue;
        }
        kept.retain(|k| !inner.iter().all(|m| m & mark == 0 || m & k != 0));
        kept.push(mark);
    }
    kept
}
