//! Merging states with the negated formula's automaton as judge.
//!
//! Merging two states can only add words. So a merge is right exactly when the
//! merged automaton shares no word with the automaton of the negation, which a
//! product decides. This finds merges that no simulation sees: `<>r -> (p U r)`
//! needs three states this way where simulation stops at four.
//!
//! Invariant: the language before every accepted merge equals the language after.

use crate::generalized::{Generalized, MarkedEdge};
use crate::product::product;
use crate::simulation::{Acceptance, reduce};

/// Product edges that may be spent on one automaton: milliseconds.
const BUDGET: usize = 600_000;

/// Merges pairs of states of `automaton` as long as `negation` agrees.
pub(crate) fn merge(automaton: &mut Generalized, negation: &Generalized, acceptance: Acceptance) {
    let mut budget = BUDGET;
    'restart: loop {
        let states = automaton.len() as u32;
        for low in 0..states {
            for high in low + 1..states {
                let cost = edge_count(automaton) * (1 + edge_count(negation) / 4);
                if cost > budget {
                    return;
                }
                budget -= cost;
                let mut candidate = merged(automaton, low, high, acceptance);
                if product(&candidate, negation).is_language_empty() {
                    reduce(&mut candidate, acceptance);
                    *automaton = candidate;
                    continue 'restart;
                }
            }
        }
        return;
    }
}

fn edge_count(automaton: &Generalized) -> usize {
    automaton.edges.iter().map(Vec::len).sum()
}

fn merged(automaton: &Generalized, low: u32, high: u32, acceptance: Acceptance) -> Generalized {
    let target = |s: u32| if s == high { low } else { s };
    let mut edges: Vec<Vec<MarkedEdge>> = automaton
        .edges
        .iter()
        .map(|edges| edges.iter().map(|e| MarkedEdge { target: target(e.target), ..*e }).collect())
        .collect();
    let mut moved = std::mem::take(&mut edges[high as usize]);
    edges[low as usize].append(&mut moved);
    if acceptance == Acceptance::States {
        let marks = state_marks(automaton, low, high);
        for edge in &mut edges[low as usize] {
            edge.marks = marks;
        }
    }
    let mut initial: Vec<u32> = automaton.initial.iter().map(|s| target(*s)).collect();
    initial.dedup();
    Generalized { marks: automaton.marks, initial, edges }
}

/// Acceptance of the merged state. A state on no cycle is passed once, so its own
/// acceptance does not count; otherwise either one's is enough.
fn state_marks(automaton: &Generalized, low: u32, high: u32) -> u64 {
    let components = automaton.components();
    let marks = |s: u32| automaton.edges[s as usize].first().map_or(0, |e| e.marks);
    let cyclic = |s: u32| components.nontrivial[components.of[s as usize] as usize];
    match (cyclic(low), cyclic(high)) {
        (false, _) => marks(high),
        (true, false) => marks(low),
        (true, true) => marks(low) | marks(high),
    }
}
