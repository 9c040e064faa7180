//! Shortened cycles against brute force: the way in has the fewest preemptions, then steps, of all ways to
//! a state on an accepting cycle, and the cycle is the shortest from there.

mod cycles;
mod tiny;

use cycles::{Graph, accepting_cycles, graph};
use preempt_check::property::{Buchi, Product, Stutter};
use preempt_check::search::lasso::{preemptions_to_everywhere, shorten_cycle};
use preempt_check::search::nested::{NestedOptions, Scheme, nested};
use preempt_check::store::Exact;
use preempt_check::{Budget, Counterexample};
use preempt_core::{Enabled, Label, ProcessId, Step, System, replay};
use preempt_ltl::{parse, translate};
use std::collections::{BTreeMap, BTreeSet};
use tiny::{Random, sized};

/// A state and the process that moved last.
type Node = (Vec<u8>, Option<u16>);

/// Fewest preemptions, then steps, to every node; relaxed until nothing changes.
fn least_costs<S: System>(system: &S, graph: &Graph) -> BTreeMap<Node, (u32, u32)> {
    let mut initial = Vec::new();
    system.initial(&mut initial);
    system.enabled(&mut initial, &mut Enabled::new());
    let mut costs = BTreeMap::from([((initial, None), (0, 0))]);
    loop {
        let mut changed = false;
        for ((state, last), cost) in costs.clone() {
            let could_go_on = graph[&state].iter().any(|(mover, _)| Some(mover.0) == last);
            for (mover, next) in &graph[&state] {
                let property = *mover == ProcessId::PROPERTY;
                let preempts = could_go_on && Some(mover.0) != last && !property;
                let cost = (cost.0 + u32::from(preempts), cost.1 + 1);
                let node = (next.clone(), if property { last } else { Some(mover.0) });
                if costs.get(&node).is_none_or(|known| cost < *known) {
                    costs.insert(node, cost);
                    changed = true;
                }
            }
        }
        if !changed {
            return costs;
        }
    }
}

/// Steps of the shortest cycle from a state through an accepting one.
fn shortest_cycle<S: System>(system: &S, graph: &Graph, from: &Vec<u8>) -> Option<usize> {
    let mut level = BTreeSet::from([(from.clone(), false)]);
    let mut seen = BTreeSet::new();
    for length in 1.. {
        let mut next = BTreeSet::new();
        for (state, passed) in level {
            let passed = passed || system.has_label(&state, Label::Accept);
            for (_, target) in &graph[&state] {
                if passed && target == from {
                    return Some(length);
                }
                if seen.insert((target.clone(), passed)) {
                    next.insert((target.clone(), passed));
                }
            }
        }
        if next.is_empty() {
            return None;
        }
        level = next;
    }
    None
}

fn state_after<S: System>(system: &S, steps: &[Step]) -> Vec<u8> {
    let (_, mut state, _) = replay(system, steps).expect("an execution");
    system.enabled(&mut state, &mut Enabled::new());
    state
}

fn find<S: System>(system: &S) -> Option<Counterexample> {
    let options = NestedOptions::to_the_first(Scheme::Full);
    let mut store = Exact::new(1 << 30);
    nested(system, &mut store, &mut Budget::unlimited(), options, |_| 0).counterexample
}

const FORMULAS: [&str; 6] =
    ["[]<> p", "<> (p && <> (!p && <> q))", "p U q", "[] (p -> <> q)", "<>[] p", "<> (q && <> !q)"];

#[test]
fn ways_and_cycles_are_the_least() {
    let mut random = Random(29);
    let (mut found, mut with_preemptions) = (0, 0);
    for case in 0..900 {
        let system = sized(&mut random, 5, 10);
        let formula = parse(FORMULAS[case % FORMULAS.len()]).expect("a formula").formula;
        let automaton = translate(&formula).expect("an automaton");
        let property = Buchi::new(automaton, vec![0, system.bits - 1]);
        let product = Product::new(&system, &property, Stutter::Extend);
        let graph = graph(&product);
        let costs = least_costs(&product, &graph);
        let everywhere = costs.values().map(|cost| cost.0).max();
        let told = preemptions_to_everywhere(&product, &mut Budget::unlimited());
        assert_eq!(told, everywhere, "case {case}: {system:?}");
        let goals = accepting_cycles(&product, &graph);
        let least = costs.iter().filter(|((state, _), _)| goals.contains(state));
        let least = least.map(|(_, cost)| *cost).min();
        let first = find(&product);
        assert_eq!(first.is_some(), least.is_some(), "case {case}: {system:?}");
        let (Some(first), Some(least)) = (first, least) else { continue };
        let short = shorten_cycle(&product, &first, &mut Budget::unlimited()).expect("a lasso");
        let start = short.cycle_start.expect("a cycle");
        let (stem, cycle) = short.steps.split_at(start);
        let (trace, ..) = replay(&product, stem).expect("an execution");
        assert_eq!(trace.cost().preemptions, least.0, "case {case}: {system:?}");
        assert_eq!(stem.len(), least.1 as usize, "case {case}: {system:?}");
        let entry = state_after(&product, stem);
        assert!(goals.contains(&entry), "case {case}: {system:?}");
        assert_eq!(state_after(&product, &short.steps), entry, "case {case}: {system:?}");
        let accepts = (start..short.steps.len()).any(|end| {
            product.has_label(&state_after(&product, &short.steps[..end]), Label::Accept)
        });
        assert!(accepts, "case {case}: {system:?}");
        let shortest = shortest_cycle(&product, &graph, &entry);
        assert_eq!(Some(cycle.len()), shortest, "case {case}: {system:?}");
        found += 1;
        with_preemptions += u32::from(least.0 > 0);
    }
    assert!(found > 100 && with_preemptions > 1, "{found}, {with_preemptions} with preemptions");
}
