//! The search in place and the one on copies are the same search, with every store, with reduction and
//! without, and however little of the stack is kept.

#[path = "../../../../../preempt-promela/tests/random/mod.rs"]
#[allow(dead_code)]
mod random;

use super::*;
use crate::Reduction;
use crate::store::{Adaptive, Bitstate, Compact, Tree};
use preempt_core::Statistics;
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};
use preempt_promela::syntax::{ParseOptions, parse};

/// Larger models are passed over.
const MOST_STATES: u64 = 3_000;

fn interpreter(text: &str) -> Option<Interpreter> {
    let loader = |_: &str, _: &str| Err(std::io::Error::other("nothing is included"));
    let options = ParseOptions { defines: Vec::new(), loader: &loader };
    let model = parse("random.pml", text.as_bytes().to_vec(), &options).model?;
    Some(Interpreter::new(lower(&model, LowerOptions::default()).ok()?))
}

/// All that a search finds: numbers, why it ended, steps to the first error.
type Found = (Statistics, Option<Stop>, Option<Vec<Step>>);

fn found<A: StateAccess, T: Store>(
    system: &Interpreter,
    mut store: T,
    options: &Options,
    window: usize,
) -> Found {
    let mut budget = Budget::unlimited();
    let finding = explore::<_, _, A>(system, &mut store, options, &mut budget, window);
    let steps = finding.counterexample.map(|counterexample| counterexample.steps);
    (finding.statistics, finding.stop, steps)
}

#[test]
fn in_place_or_on_copies() {
    let (mut compared, mut dropped, mut interrupted) = (0, 0, 0);
    for seed in 1..=150 {
        let text = random::make(&mut random::Random::new(seed), None).text();
        let Some(system) = interpreter(&text) else { continue };
        for reduction in [Reduction::None, Reduction::Full] {
            let limit = usize::MAX / 4;
            let options = Options { reduction, max_errors: 0, ..Options::default() };

            let small = Exact::new(4 << 20);
            let truth = found::<Copies, _>(&system, small, &options, WINDOW);
            if truth.1.is_some() || truth.0.states > MOST_STATES {
                continue;
            }
            compared += 1;
            let who = format!("seed {seed}, {reduction:?}\n{text}");
            for window in [WINDOW, 1 << 9] {
                let exact = || Exact::new(limit);
                let same = [
                    ("copies", found::<Copies, _>(&system, exact(), &options, window)),
                    ("exact", found::<InPlace, _>(&system, exact(), &options, window)),
                    ("auto", found::<InPlace, _>(&system, Adaptive::new(limit), &options, window)),
                    ("tree", found::<InPlace, _>(&system, Tree::new(limit), &options, window)),
                    (
                        "compact",
                        found::<InPlace, _>(&system, Compact::new(limit, true), &options, window),
                    ),
                ];
                for (name, found) in same {
                    assert_eq!(found, truth, "{name}, {window}, {who}");
                }
            }
            let bits = || Bitstate::new(26, 3);
            let on_copies = found::<Copies, _>(&system, bits(), &options, WINDOW);
            let in_place = found::<InPlace, _>(&system, bits(), &options, 1 << 9);
            assert_eq!(on_copies, in_place, "bitstate, {who}");
            dropped += u64::from(truth.0.depth > 20);
            interrupted += u64::from(text.contains("atomic"));
        }
    }
    println!("{compared} compared, {dropped} deep, {interrupted} with sequences");
    assert!(compared > 100 && dropped > 30 && interrupted > 30);
}

/// States that grow and shrink by more than what there was room for, on a stack that is mostly dropped.
#[test]
fn states_that_change_their_length() {
    let text = "byte n; chan q = [3] of { byte, int };
        proctype worker(byte id) { int a[40]; a[id] = id; q!id,a[id]; n-- }
        active proctype maker() {
            byte id; int v;
            do
            :: n < 3 && id < 5 -> atomic { n++; run worker(id); id++ }
            :: q?_,v -> assert(v < 4)
            :: n == 0 && id == 5 && empty(q) -> break
            od
        }";
    let system = interpreter(text).expect("a model");
    let options = Options { reduction: Reduction::None, max_errors: 0, ..Options::default() };
    let truth = found::<Copies, _>(&system, Exact::new(usize::MAX / 4), &options, WINDOW);
    assert!(truth.0.states > 1_000 && truth.0.errors > 0 && truth.0.state_bytes > 500);
    for window in [WINDOW, 1 << 14, 1 << 9] {
        let exact = Exact::new(usize::MAX / 4);
        assert_eq!(found::<InPlace, _>(&system, exact, &options, window), truth, "{window}");
        // Memory gets tight on the way: the store changes its form.
        let tight = Adaptive::new(truth.0.states as usize * 300);
        assert_eq!(found::<InPlace, _>(&system, tight, &options, window), truth, "{window}");
    }
}
