//! The search in place and the one on copies are the same search, with every store, with reduction and
//! without, and however little of the stack is kept.

#[path = "../../../../../preempt-promela/tests/random/mod.rs"]
#[allow(dead_code)]
mod random;

use super::*;
use crate::Reduction;
use crate::store::{Adaptive, Bitstate, Compact, Tree};
use preempt_core::Statistics;
use preempt_native::Native;
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
    system: &impl System,
    mut store: T,
    options: &Options,
    window: usize,
) -> Found {
    let mut budget = Budget::unlimited();
    let finding = explore::<_, _, A>(system, &mut store, options, &mut budget, window, None);
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

/// Machine code passes over deterministic parts of indivisible sequences, once it is there: in the middle of
/// a search, whose stack holds what the interpreter did before. What was dropped of the stack is computed
/// again, and so is the way to an error.
#[test]
fn sequences_in_one_go_or_step_by_step() {
    let (mut compared, mut passed_over, mut failed) = (0, 0, 0);
    // Long enough for the interpreter to be replaced half way down.
    let long = "short n; byte x, y;
        active proctype p() {
            do
            :: n < 2500 -> atomic { n++; x = n % 3; if :: x == 1 -> y = 1 - y :: else fi; x = y }
            :: n == 2500 -> break
            od;
            assert(y == 7)
        }
        active proctype q() { atomic { n > 500; y = 1; x = 0; n < 5 }; y = 3 }";
    let texts = (1..=60).map(|seed| random::make(&mut random::Random::new(seed), None).text());
    for (seed, text) in std::iter::once(long.to_owned()).chain(texts).enumerate() {
        if !text.contains("atomic") {
            continue;
        }
        let Some(interpreter) = interpreter(&text) else { continue };
        let Ok(prepared) = Native::new(&interpreter) else { continue };
        prepared.prepare();
        for reduction in [Reduction::None, Reduction::Full] {
            for max_errors in [0, 2] {
                let options = Options { reduction, max_errors, ..Options::default() };
                let store = || Exact::new(16 << 20);
                let truth = found::<Copies, _>(&interpreter, store(), &options, WINDOW);
                let endless = truth.0.depth > u64::from(LONG_SEQUENCE);
                if truth.1.is_some()
                    || truth.0.states > 4 * MOST_STATES
                    || endless && max_errors > 0
                {
                    continue;
                }
                compared += 1;
                passed_over += u64::from(truth.0.atomic_steps > 20);
                failed += u64::from(truth.2.is_some());
                for window in [WINDOW, 1 << 9] {
                    let Ok(late) = Native::new(&interpreter) else { continue };
                    for (name, native) in [("prepared", &prepared), ("late", &late)] {
                        let mut by_native = found::<Copies, _>(native, store(), &options, window);
                        // After how many steps an endless sequence is seen to be one may differ.
                        if endless {
                            let Statistics { states, errors, .. } = by_native.0;
                            by_native.0 = Statistics { states, errors, ..truth.0.clone() };
                            by_native.2.clone_from(&truth.2);
                        }
                        let who = format!("{name}, {window}, seed {seed}, {options:?}\n{text}");
                        assert_eq!(by_native, truth, "{who}");
                    }
                }
            }
        }
    }
    println!("{compared} compared, {passed_over} with many inner steps, {failed} with errors");
    assert!(compared > 80 && passed_over > 10 && failed > 30);
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
