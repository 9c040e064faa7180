//! The table of bounds of a search over states, against numbers counted in the plainest way.
//!
//! A search state is a program state with the thread that has the processor. The reference computes the fewest switches to
//! each of them by relaxing all edges until nothing changes, and then counts states and arrivals by their number of switches.

use super::{program, read, seeds};
use crate::check::check;
use crate::explicit::Machine;
use crate::options::{Method, Options, Switches};
use preempt_core::{BoundUnit, Enabled, Outcome, ProcessId, System, Verdict};
use std::collections::HashMap;

/// Larger programs are left out.
const MOST: usize = 4000;

/// For each number of switches: search states, arrivals, and whether a target is reached.
type Row = (u64, u64, bool);

/// Search states by their numbers, and the edges between them with their switches; `None` if there are too many, or if
/// a stack is cut.
struct Graph {
    edges: Vec<Vec<(usize, u32)>>,
    starts: Vec<usize>,
    violates: Vec<bool>,
}

fn graph(machine: &Machine<'_>) -> Option<Graph> {
    let mut initial = Vec::new();
    machine.initial(&mut initial);
    let threads = machine.process_count(&initial);
    let mut numbers: HashMap<(Vec<u8>, usize), usize> = HashMap::new();
    let mut nodes: Vec<(Vec<u8>, usize)> = Vec::new();
    let mut number = |state: &[u8], active: usize, nodes: &mut Vec<(Vec<u8>, usize)>| {
        *numbers.entry((state.to_vec(), active)).or_insert_with(|| {
            nodes.push((state.to_vec(), active));
            nodes.len() - 1
        })
    };
    let actives = if machine.init_is_over(&initial) { 1..threads } else { 0..1 };
    let starts = actives.map(|active| number(&initial, active, &mut nodes)).collect();
    let mut graph = Graph { edges: Vec::new(), starts, violates: Vec::new() };
    while let Some((state, active)) = nodes.get(graph.edges.len()).cloned() {
        let (mut edges, mut violates) = (Vec::new(), false);
        let mut enabled = Enabled::new();
        machine.enabled(&mut state.clone(), &mut enabled);
        for &step in enabled.of(ProcessId(active as u16)) {
            let mut after = state.clone();
            match machine.apply(&mut after, step) {
                Outcome::Broken(_) => return None,
                Outcome::Violated(_) => violates = true,
                Outcome::Done => {}
            }
            if active == 0 && machine.init_is_over(&after) {
                edges.extend((1..threads).map(|next| (number(&after, next, &mut nodes), 0)));
                continue;
            }
            edges.push((number(&after, active, &mut nodes), 0));
            if active > 0 && machine.may_matter(step.transition, &after) {
                let others = (1..threads).filter(|other| *other != active);
                edges.extend(others.map(|other| (number(&after, other, &mut nodes), 1)));
            }
        }
        graph.edges.push(edges);
        graph.violates.push(violates);
        if nodes.len() > MOST {
            return None;
        }
    }
    Some(graph)
}

fn rows(graph: &Graph, most: u32) -> Vec<Row> {
    let mut least = vec![u32::MAX; graph.edges.len()];
    graph.starts.iter().for_each(|start| least[*start] = 0);
    loop {
        let mut changed = false;
        for from in 0..least.len() {
            for &(to, cost) in &graph.edges[from] {
                let there = least[from].saturating_add(cost);
                changed |= there < least[to];
                least[to] = least[to].min(there);
            }
        }
        if !changed {
            break;
        }
    }
    let row = |bound: u32| {
        let within = |number: &usize| least[*number] <= bound;
        let states = (0..least.len()).filter(within).count() as u64;
        let arrivals = (0..least.len())
            .flat_map(|from| graph.edges[from].iter().map(move |(_, cost)| (from, *cost)));
        let arrivals = arrivals.filter(|(from, cost)| least[*from].saturating_add(*cost) <= bound);
        let arrivals = (arrivals.count() + graph.starts.len()) as u64;
        (states, arrivals, (0..least.len()).any(|n| within(&n) && graph.violates[n]))
    };
    (0..=most).map(row).collect()
}

#[test]
fn tables_of_bounds_are_right() {
    let (mut compared, mut violated, mut exhausted, mut rows_compared) = (0, 0, 0, 0);
    for seed in seeds(600) {
        let source = program(seed, seed % 4 == 0);
        let parsed = read(&source);
        let most = (seed % 5) as u32;
        if parsed.targets(None).is_ok_and(|targets| targets.is_empty()) {
            continue;
        }
        let Ok(machine) = Machine::new(&parsed, None, 6) else { continue };
        let Some(graph) = graph(&machine) else { continue };
        let expected = rows(&graph, most);
        let switches = Switches::Iterate(most);
        let options = Options {
            method: Some(Method::Explicit),
            switches,
            max_frames: 6,
            ..Options::default()
        };
        let report = check(&parsed, &options).unwrap();
        let numbers = &report.claim.statistics;
        let what = || format!("seed {seed}: {numbers:?}, {expected:?}\n{source}");
        assert_eq!(numbers.bound_unit, BoundUnit::Switches);
        assert_eq!(numbers.transitions, numbers.states + numbers.matched, "{}", what());
        let last = *numbers.per_bound.last().unwrap();
        let all = (numbers.states, numbers.transitions, numbers.errors);
        assert_eq!((last.states, last.transitions, last.errors), all, "{}", what());
        let is_violated = report.claim.verdict == Verdict::Violated;
        let first = expected.iter().position(|row| row.2);
        assert_eq!(is_violated, first.is_some(), "{}", what());
        // The search ends at the first violation, in the middle of a row.
        let whole = first.unwrap_or(numbers.per_bound.len());
        assert!(numbers.per_bound.len() == whole + usize::from(is_violated), "{}", what());
        for (at, (row, expected)) in numbers.per_bound.iter().zip(&expected).take(whole).enumerate()
        {
            let row = (row.bound, row.states, row.transitions, row.errors);
            assert_eq!(row, (at as u32, expected.0, expected.1, 0), "{}", what());
            rows_compared += 1;
        }
        if is_violated {
            assert_eq!(report.switches, first.map(|bound| bound as u32), "{}", what());
            assert_eq!((last.bound as usize, last.errors), (whole, 1), "{}", what());
        } else {
            // Where no row is left, more switches lead to nothing new.
            exhausted += usize::from(numbers.per_bound.len() <= most as usize);
            let end = expected[numbers.per_bound.len() - 1].0;
            assert!(expected.iter().all(|row| row.0 <= end), "{}", what());
        }
        compared += 1;
        violated += usize::from(is_violated);
    }
    eprintln!(
        "{compared} tables ({violated} violated, {exhausted} exhausted), {rows_compared} rows"
    );
    assert!(compared > 100 && violated > 20 && rows_compared > 200);
}
