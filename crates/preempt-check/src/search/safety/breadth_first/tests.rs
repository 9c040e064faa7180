//! With helpers a search is the same to the last number: on random graphs with faults, invalid ends, indivisible
//! sequences and states of several lengths, over every store, whatever ends the search.

use super::helpers::Helpers;
use super::{breadth_first, breadth_first_with};
use crate::store::{Adaptive, Bitstate, Compact, Exact, Store, Tree};
use crate::{Budget, Finding, Options, Reduction};
use preempt_core::{
    Describe, Enabled, Fault, FaultKind, Independence, Outcome, ProcessId, Step, Stop, System,
};

/// A random graph; where steps lead follows from the seed.
struct Graph {
    seed: u64,
    nodes: u32,
    steps: u64,
    /// One state of so many is long: trees find its successors another way.
    long: u64,
    /// One step of so many has a fault, one node of so many no step.
    faults: u64,
    ends: u64,
}

impl Graph {
    fn new(seed: u64) -> Self {
        let of = |what: u64, choices: &[u64]| {
            choices[(mix(seed ^ what << 32) % choices.len() as u64) as usize]
        };
        Graph {
            seed,
            nodes: of(1, &[300, 1_000, 4_000]) as u32,
            steps: of(2, &[2, 3, 5]),
            faults: of(3, &[u64::MAX, u64::MAX, 2_000, 300, 30]),
            ends: of(4, &[u64::MAX, 1_000, 50]),
            long: of(5, &[u64::MAX, 1, 1, 2, 300]),
        }
    }

    fn chance(&self, node: u32, what: u64) -> u64 {
        mix(self.seed ^ u64::from(node) << 16 ^ what.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn write(&self, node: u32, state: &mut Vec<u8>) {
        state.clear();
        state.extend(node.to_le_bytes());
        let more = if self.chance(node, 101).is_multiple_of(self.long) { 61 } else { 0 };
        state.resize(4 + more + (self.chance(node, 100) % 3 * 9) as usize, node as u8);
    }
}

fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 31).wrapping_mul(0x7fb5_d329_728e_a185);
    (value ^ value >> 27).wrapping_mul(0x81da_def4_bc2d_d44d) ^ value >> 33
}

fn node(state: &[u8]) -> u32 {
    state.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

impl System for Graph {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        self.write(0, state);
        Outcome::Done
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        3
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        let node = node(state);
        if node != 0 && self.chance(node, 50).is_multiple_of(self.ends) {
            return;
        }
        for step in 0..1 + self.chance(node, 51) % self.steps {
            enabled.push(Step::new(ProcessId((step / 2) as u16), step as u32));
        }
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        let (from, what) = (node(state), u64::from(step.transition));
        let near = from.wrapping_mul(2) + 1 + step.transition;
        let to = if what == 0 { near } else { self.chance(from, what) as u32 };
        self.write(to % self.nodes, state);
        match self.chance(from, 60 + what) {
            chance if !chance.is_multiple_of(self.faults) => Outcome::Done,
            chance if chance & 1 << 40 == 0 => Outcome::Violated(0),
            chance => Outcome::Broken((chance >> 41 & 1) as u32),
        }
    }

    fn is_transient(&self, state: &[u8]) -> bool {
        self.chance(node(state), 70).is_multiple_of(9) && node(state) > 2
    }

    fn is_valid_end(&self, state: &[u8]) -> bool {
        self.chance(node(state), 80).is_multiple_of(2)
    }

    fn transition_count(&self) -> usize {
        8
    }
}

impl Independence for Graph {}

impl Describe for Graph {
    fn fault(&self, number: u32) -> Fault {
        let kind = if number == 0 { FaultKind::Assertion } else { FaultKind::Cut(Stop::Depth) };
        Fault { kind, message: String::new(), file: String::new(), line: 0 }
    }
}

fn run(
    graph: &Graph,
    store: &mut impl Store,
    options: &Options,
    helpers: Option<Helpers>,
) -> (Finding, usize) {
    let mut budget = Budget::unlimited();
    let finding = match helpers {
        None => breadth_first(graph, store, options, 1, &mut budget),
        Some(helpers) => breadth_first_with(graph, store, options, helpers, &mut budget),
    };
    (finding, store.bytes())
}

/// All that is known about a search. Where the store is full in the middle of a batch, what was counted in the rest of this
/// batch depends on where packages end; see `together.rs`.
fn said((mut finding, bytes): (Finding, usize)) -> String {
    if finding.stop == Some(Stop::Memory) {
        let numbers = &mut finding.statistics;
        (numbers.matched, numbers.transitions, numbers.atomic_steps, numbers.errors) = (0, 0, 0, 0);
    }
    format!("{finding:?} {bytes}")
}

#[test]
fn helpers_change_nothing() {
    let graphs = std::env::var("PREEMPT_TEST_SYSTEMS").ok().and_then(|n| n.parse().ok());
    let (mut ended, mut complete) = (0, 0);
    for seed in 0..graphs.unwrap_or(30) {
        let graph = Graph::new(seed);
        let options = Options {
            reduction: Reduction::None,
            max_errors: [1, 0, 3][(seed % 3) as usize],
            depth: if seed % 7 == 6 { Some(5 + seed % 5) } else { None },
            ..Options::default()
        };
        let compare = |make: &dyn Fn(Option<Helpers>) -> String| {
            let alone = make(None);
            for (threads, call_at) in [(2, 1), (4, 60)] {
                let helped = make(Some(Helpers::soon(threads, call_at)));
                assert_eq!(helped, alone, "graph {seed}, {threads} threads from {call_at} on");
            }
        };
        compare(&|helpers| said(run(&graph, &mut Exact::new(usize::MAX), &options, helpers)));
        compare(&|helpers| said(run(&graph, &mut Tree::new(usize::MAX), &options, helpers)));
        for limit in [80_000, 200_000] {
            compare(&|helpers| said(run(&graph, &mut Adaptive::new(limit), &options, helpers)));
        }
        compare(&|helpers| said(run(&graph, &mut Exact::new(40_000), &options, helpers)));
        compare(&|helpers| said(run(&graph, &mut Compact::new(1 << 24, true), &options, helpers)));
        compare(&|helpers| said(run(&graph, &mut Bitstate::new(16, 3), &options, helpers)));
        let finding = run(&graph, &mut Exact::new(usize::MAX), &options, None).0;
        ended += u64::from(finding.counterexample.is_some());
        complete += u64::from(finding.statistics.complete);
    }
    assert!(ended > 5 && complete > 5, "{ended} searches found something, {complete} all");
}
