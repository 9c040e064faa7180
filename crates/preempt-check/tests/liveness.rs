//! Nested search by one thread and by several, fairness and bounds against strongly connected components found naively.
//!
//! The oracle enumerates the whole product with maps and sets, computes components by repeated
//! forward reachability, and shares no code with the search but the systems themselves.

use cycles::{Graph, graph, reach};
use preempt_check::property::{
    Fair, Product, Property, PropertyMove, Stutter, Watched, WithinBound,
};
use preempt_check::search::concurrent::nested_concurrent;
use preempt_check::search::nested::{NestedOptions, Scheme, nested};
use preempt_check::store::Exact;
use preempt_check::{Budget, Finding, Storage};
use preempt_core::{Enabled, Fault, FaultKind, Label, ProcessId, Step, System, replay};
use std::collections::{BTreeMap, BTreeSet};
use tiny::{Random, sized, tiny};

mod cycles;
mod tiny;

/// From, a proposition and its value, to.
type Edge = (u32, Option<(usize, bool)>, u32);

#[derive(Clone, Debug)]
struct Automaton {
    moves: Vec<Edge>,
    accepting: Vec<u32>,
}

impl Property for Automaton {
    fn initial(&self) -> u32 {
        0
    }

    fn moves(
        &self,
        state: u32,
        holds: &mut dyn FnMut(usize) -> bool,
        emit: &mut dyn FnMut(PropertyMove),
    ) {
        for (from, label, to) in &self.moves {
            if *from == state && label.is_none_or(|(index, value)| holds(index) == value) {
                emit(PropertyMove::To(*to));
            }
        }
    }

    fn is_accepting(&self, state: u32) -> bool {
        self.accepting.contains(&state)
    }

    fn assertion(&self, _number: u32) -> Fault {
        Fault { kind: FaultKind::Assertion, message: String::new(), file: String::new(), line: 0 }
    }
}

fn automaton(random: &mut Random, bits: usize) -> Automaton {
    let states = 1 + random.below(3) as u32;
    let moves = (0..1 + random.below(6))
        .map(|_| {
            let label = (random.below(4) > 0)
                .then(|| (random.below(bits as u64) as usize, random.below(2) == 0));
            (random.below(states.into()) as u32, label, random.below(states.into()) as u32)
        })
        .collect();
    Automaton { moves, accepting: vec![random.below(states.into()) as u32] }
}

/// The states on a common cycle with each state that is on a cycle at all.
fn components(graph: &Graph) -> Vec<BTreeSet<&Vec<u8>>> {
    let reachable: BTreeMap<_, _> = graph.keys().map(|s| (s, reach(graph, s))).collect();
    graph
        .keys()
        .filter(|s| reachable[s].contains(s))
        .map(|s| reachable[s].iter().copied().filter(|t| reachable[t].contains(s)).collect())
        .collect()
}

fn search<S: System>(system: &S, scheme: Scheme) -> Finding {
    let options = NestedOptions::to_the_first(scheme);
    let mut store = Exact::new(1 << 30);
    let finding = nested(system, &mut store, &mut Budget::unlimited(), options, |_| 0);
    assert_eq!(finding.stop, None);
    if let Some(found) = &finding.counterexample {
        check_lasso(system, &found.steps, found.cycle_start.expect("a cycle"));
    }
    let mut steps = None;
    for (threads, storage) in [(1, Storage::Exact), (3, Storage::Exact), (3, Storage::Tree)] {
        let mut budget = Budget::unlimited();
        let together = nested_concurrent(system, threads, storage, &mut budget, options)
            .expect("the search knows such questions");
        assert_eq!(together.stop, None);
        assert_eq!(together.counterexample.is_some(), finding.counterexample.is_some());
        match &together.counterexample {
            Some(found) => {
                check_lasso(system, &found.steps, found.cycle_start.expect("a cycle"));
                // Whichever threads expand the states, one searches.
                assert_eq!(steps.get_or_insert_with(|| found.steps.clone()), &found.steps);
            }
            None => assert_eq!(together.statistics.states, finding.statistics.states),
        }
    }
    finding
}

/// The steps form an execution whose last part returns to where it began and accepts on the way.
fn check_lasso<S: System>(system: &S, steps: &[Step], start: usize) {
    assert!(start < steps.len());
    let normal = |mut state: Vec<u8>| {
        system.enabled(&mut state, &mut Enabled::new());
        state
    };
    let (_, first, _) = replay(system, &steps[..start]).unwrap();
    let (_, last, _) = replay(system, steps).unwrap();
    assert_eq!(normal(first), normal(last));
    let accepts = (start..steps.len()).any(|end| {
        let (_, state, _) = replay(system, &steps[..end]).unwrap();
        system.has_label(&normal(state), Label::Accept)
    });
    assert!(accepts, "the cycle passes no accepting state");
}

const CASES: u64 = 800;

#[test]
fn a_cycle_is_found_exactly_if_there_is_one() {
    let mut random = Random(7);
    let (mut violated, mut fair_differs) = (0, 0);
    for case in 0..CASES {
        let system = tiny(&mut random);
        let property = automaton(&mut random, system.bits);
        let product = Product::new(&system, &property, Stutter::Extend);
        let graph = graph(&product);
        let components = components(&graph);
        let accepting =
            |c: &BTreeSet<&Vec<u8>>| c.iter().any(|s| product.has_label(s, Label::Accept));
        let expected = components.iter().any(accepting);
        let found = search(&product, Scheme::Full);
        assert_eq!(
            found.counterexample.is_some(),
            expected,
            "case {case}: {system:?} {property:?}"
        );
        if !expected {
            assert_eq!(found.statistics.states as usize, graph.len());
        }
        let served = |c: &BTreeSet<&Vec<u8>>, p: ProcessId| {
            c.iter().any(|s| {
                graph[*s].iter().all(|(mover, _)| *mover != p)
                    || graph[*s].iter().any(|(mover, next)| *mover == p && c.contains(next))
            })
        };
        let fair = |c: &BTreeSet<&Vec<u8>>| {
            accepting(c) && (0..system.processes.len()).all(|p| served(c, ProcessId(p as u16)))
        };
        let expected_fair = components.iter().any(fair);
        let watched = Watched::new(&product, Fair);
        let found = search(&watched, Scheme::Full);
        assert_eq!(
            found.counterexample.is_some(),
            expected_fair,
            "fair, case {case}: {system:?} {property:?}"
        );
        violated += u64::from(expected);
        fair_differs += u64::from(expected != expected_fair);
    }
    assert!(violated > CASES / 10 && violated < CASES * 9 / 10, "{violated}");
    assert!(fair_differs > 3, "{fair_differs}");
}

#[test]
fn infinite_executions_within_a_bound() {
    let mut random = Random(11);
    let mut at_bound = [0; 3];
    let mut total = 0;
    for case in 0..CASES / 4 {
        let system = sized(&mut random, 6, 12);
        let property = Automaton {
            moves: vec![
                (0, Some((0, true)), 1),
                (0, Some((0, false)), 0),
                (1, Some((0, false)), 2),
                (1, Some((0, true)), 1),
                (2, Some((system.bits - 1, true)), 3),
                (2, Some((0, false)), 2),
                (3, None, 3),
            ],
            accepting: vec![3],
        };
        let product = Product::new(&system, &property, Stutter::Extend);
        let unbounded = search(&product, Scheme::Full).counterexample.is_some();
        total += u32::from(unbounded);
        let mut before = false;
        for bound in 0..3 {
            let watched = Watched::new(&product, WithinBound::new(bound));
            let found = search(&watched, Scheme::Full).counterexample;
            if let Some(found) = &found {
                let (trace, _, _) = replay(&product, &found.steps).unwrap();
                assert!(trace.cost().preemptions <= bound.into(), "case {case}");
            }
            // More preemptions never lose a violation, and never invent one.
            assert!(!before || found.is_some(), "case {case}");
            assert!(unbounded || found.is_none(), "case {case}");
            at_bound[usize::from(bound)] += u32::from(!before && found.is_some());
            before = found.is_some();
        }
    }
    assert!(at_bound.iter().all(|n| *n > 0), "{at_bound:?} of {total}");
}
