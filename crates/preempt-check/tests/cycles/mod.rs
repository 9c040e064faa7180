//! Accepting cycles by brute force: the whole graph in maps and sets, and reachability from every state.
//! Shares no code with the searches.

#![allow(dead_code)] // Each test binary uses its own part.

use preempt_check::Counterexample;
use preempt_core::{Enabled, Label, ProcessId, System, replay};
use std::collections::{BTreeMap, BTreeSet};

/// All states, and for each its successors with the process that moves.
pub(crate) type Graph = BTreeMap<Vec<u8>, Vec<(ProcessId, Vec<u8>)>>;

pub(crate) fn graph<S: System>(system: &S) -> Graph {
    let mut graph = Graph::new();
    let mut state = Vec::new();
    system.initial(&mut state);
    let mut todo = vec![state];
    while let Some(mut state) = todo.pop() {
        let mut enabled = Enabled::new();
        system.enabled(&mut state, &mut enabled);
        if graph.contains_key(&state) {
            continue;
        }
        let mut successors = Vec::new();
        for &step in enabled.steps() {
            let mut next = state.clone();
            system.apply(&mut next, step);
            system.enabled(&mut next, &mut Enabled::new());
            todo.push(next.clone());
            successors.push((step.process, next));
        }
        graph.insert(state, successors);
    }
    graph
}

/// What can be reached by at least one step.
pub(crate) fn reach<'g>(graph: &'g Graph, from: &'g Vec<u8>) -> BTreeSet<&'g Vec<u8>> {
    let mut seen = BTreeSet::new();
    let mut todo = vec![from];
    while let Some(state) = todo.pop() {
        for (_, next) in &graph[state] {
            if seen.insert(next) {
                todo.push(next);
            }
        }
    }
    seen
}

/// The states that lie on a cycle with an accepting state.
pub(crate) fn accepting_cycles<'g, S: System>(
    system: &S,
    graph: &'g Graph,
) -> BTreeSet<&'g Vec<u8>> {
    let mut found = BTreeSet::new();
    for state in graph.keys().filter(|state| system.has_label(state, Label::Accept)) {
        let ahead = reach(graph, state);
        if ahead.contains(state) {
            found.extend(ahead.into_iter().filter(|other| reach(graph, other).contains(state)));
        }
    }
    found
}

/// The cycle is one, and accepts.
pub(crate) fn confirm<S: System + ?Sized>(system: &S, found: &Counterexample, what: &str) {
    let start = found.cycle_start.expect("a cycle");
    let state = |end: usize| {
        let (_, mut state, _) = replay(system, &found.steps[..end]).expect("it replays");
        system.enabled(&mut state, &mut Enabled::new());
        state
    };
    assert!(start < found.steps.len(), "{what}");
    assert_eq!(state(start), state(found.steps.len()), "the cycle is one: {what}");
    let accepts = |end| system.has_label(&state(end), Label::Accept);
    assert!((start..found.steps.len()).any(accepts), "the cycle is accepting: {what}");
}
