//! Properties beside the model where preemptions are counted: the rows and claims of a card and of the processor.
//!
//! A step of the property alone is taken at each visit to a state, and how many visits are dealt with together depends on their order, on the
//! processor as well. So where the property has such steps, transitions and violations are not compared one by one.

use super::beside::{formula, random_property, selections};
use super::{assert_no_mistake, interpreter, models, options, shared};
use crate::Card;
use crate::evaluate::Evaluator;
use preempt_check::property::{Product, Property as Automaton, Stutter};
use preempt_check::{Budget, search_here};
use preempt_core::{BoundRow, Claim, Enabled, ProcessId, Stop, System, Verdict};
use preempt_native::Native;
use preempt_promela::interpret::Interpreter;
use preempt_promela::model::Model;
use preempt_verify::promela::{
    Backend, Checker, Property, Selection, Settings, automaton, beside, read, select,
};
use preempt_verify::{Control, Preemptions, Reduction, Request};
use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

/// More states than this take the evaluator too long.
const MOST: u64 = 250;

/// Whether the property takes a step alone anywhere.
fn moves_alone(model: &Model, interpreter: &Interpreter, property: Property) -> bool {
    let automaton = automaton(model, interpreter, property).expect("an automaton");
    let automaton: &dyn Automaton = automaton.as_deref().expect("an automaton");
    let product = Product::new(interpreter, automaton, Stutter::Extend);
    let mut first = Vec::new();
    product.initial(&mut first);
    let (mut known, mut waiting) = (HashSet::from([first.clone()]), vec![first]);
    let mut enabled = Enabled::new();
    while let Some(mut state) = waiting.pop() {
        enabled.clear();
        product.enabled(&mut state, &mut enabled);
        for &step in enabled.steps() {
            if step.process == ProcessId::PROPERTY {
                return true;
            }
            let mut next = state.clone();
            product.apply(&mut next, step);
            if known.insert(next.clone()) {
                waiting.push(next);
            }
        }
    }
    false
}

/// What rows have in common.
fn rows(rows: &[BoundRow], is_exact: bool) -> Vec<BoundRow> {
    let row = |row: &BoundRow| match is_exact {
        true => *row,
        false => BoundRow { transitions: 0, errors: row.errors.min(1), ..*row },
    };
    rows.iter().map(row).collect()
}

/// What claims have in common.
fn numbers(claim: &Claim, is_exact: bool) -> impl PartialEq + std::fmt::Debug + use<> {
    let s = &claim.statistics;
    (
        (claim.verdict, claim.sentence.clone(), claim.unreached.clone()),
        (s.states, s.complete, rows(&s.per_bound, is_exact)),
        is_exact.then_some((s.transitions, s.matched, s.errors)),
        claim.violation.as_ref().map(|violation| (violation.kind, violation.trace.cost())),
    )
}

/// What was compared with a card, and how many of that was violated, had steps of the property alone, or states that left the card.
#[derive(Default, Debug)]
struct Compared {
    searches: u32,
    violated: u32,
    alone: u32,
    moved: u32,
    left: u32,
}

/// Compares all bounds.
fn compare(text: &str, selection: &Selection, seed: u64, compared: &mut Compared) {
    let Ok(mut model) = read("model.pml", text) else { return };
    let Ok(selected) = select(&mut model, selection) else { return };
    let Some(&property) = selected.first() else { return };
    if !matches!(property, Property::BadPrefix(_) | Property::Completion(_)) {
        return;
    }
    let control = &Control::new();
    let settings = Settings { backend: Backend::Native, ..Settings::default() };
    let plain =
        Request { reduction: Reduction::None, max_errors: 0, threads: 1, ..Request::default() };
    let claim = |request: &Request| {
        let checker = Checker { model: &model, settings: &settings, request, control };
        checker.check(property).map(|checked| checked.claim)
    };
    let all = Request { preemptions: Preemptions::Iterate { last: None }, ..plain.clone() };
    let Ok(here) = claim(&all) else { return };
    if here.statistics.states > MOST || here.statistics.states < 3 {
        return;
    }
    let Ok(interpreter) = beside(&model, &settings, property, control) else { return };
    let is_exact = !moves_alone(&model, &interpreter, property);
    let bounds = (0..=4).map(Preemptions::AtMost);
    let bounds = bounds.chain([None, Some(1)].map(|last| Preemptions::Iterate { last }));
    for (preemptions, max_errors) in bounds.flat_map(|bound| [(bound, 0), (bound, 1)]) {
        let request = Request { preemptions, max_errors, ..plain.clone() };
        let here = claim(&request).expect("the same model");
        // On a card with room for all, and on one that most states have to leave.
        let states = here.statistics.states;
        let small = 34 * states.next_power_of_two() * 8 / 7 + 900;
        for memory in [None, Some(small)] {
            if memory.is_some() && max_errors == 1 {
                continue;
            }
            let name = format!("seed {seed}, {preemptions:?}, {max_errors}, {memory:?}: {text}");
            let device = shared(Evaluator::new(seed, 1 << 26));
            let interpreter = beside(&model, &settings, property, control).expect("a model");
            let card = Card { few: 1, ..Card::new(device.clone(), interpreter, memory) };
            let request = Request { elsewhere: Some(Arc::new(card)), ..request.clone() };
            let there = claim(&request).expect("the same model");
            if there.notes.iter().any(|note| note.contains("the card was not used")) {
                assert_no_mistake(&there.notes, &name);
                compared.left += 1;
                continue;
            }
            if device.lock().unwrap_or_else(PoisonError::into_inner).launches <= 1 {
                continue;
            }
            if memory.is_some() && there.verdict == Verdict::Inconclusive(Stop::Memory) {
                continue;
            }
            let (ours, theirs) = match max_errors {
                0 => (numbers(&here, is_exact), numbers(&there, is_exact)),
                // Which other states are looked at before the first violation depends on their order.
                _ => {
                    let cost =
                        |claim: &Claim| claim.violation.as_ref().map(|v| (v.kind, v.trace.cost()));
                    assert_eq!(
                        (here.verdict, cost(&here)),
                        (there.verdict, cost(&there)),
                        "{name}"
                    );
                    continue;
                }
            };
            assert_eq!(ours, theirs, "{name}");
            compared.searches += 1;
            compared.violated += u32::from(here.verdict == Verdict::Violated);
            compared.alone += u32::from(!is_exact);
            let is_moved = |note: &String| note.contains("the card was full");
            compared.moved += u32::from(there.notes.iter().any(is_moved));
        }
    }
}

#[test]
fn random_models_have_the_same_rows_beside_a_property() {
    let count = std::env::var("PREEMPT_CARD_MODELS").ok().and_then(|text| text.parse().ok());
    let mut compared = Compared::default();
    for seed in 0..count.unwrap_or(300) {
        let (text, selection) = random_property(seed);
        compare(&text, &selection, seed, &mut compared);
    }
    println!("{compared:?}");
    let Compared { searches, violated, alone, moved, .. } = compared;
    assert!(searches > 100 && violated > 20 && alone > 20 && moved > 20, "{compared:?}");
}

#[test]
fn the_models_have_the_same_rows_beside_their_formulas() {
    let mut compared = Compared::default();
    for path in models() {
        let text = std::fs::read_to_string(&path).expect("a model");
        let Ok(model) = read("model.pml", &text) else { continue };
        let reference = interpreter(&text).expect("a model");
        let Ok(native) = Native::new(&reference) else { continue };
        if search_here(&native, &options(), &mut Budget::unlimited().states(MOST)).stop.is_some() {
            continue;
        }
        for selection in selections(&model) {
            compare(&text, &selection, 1, &mut compared);
        }
    }
    println!("{compared:?}");
    assert!(compared.searches > 40 && compared.searches > compared.alone, "{compared:?}");
}

/// Automata of all kinds: several moves at a time, none, violations at once, ends that repeat.
#[test]
fn automata_of_all_kinds_by_preemptions() {
    let model = "byte x, y;
        active [2] proctype up() {
            do :: x < 3 -> atomic { x++; y = x; x > 2 -> y = 0 } :: y > 0 -> y-- :: x == 3 -> break od
        }\n";
    let mut compared = Compared::default();
    for text in [
        "[] (x < 4)",
        "[] (x < 3)",
        "[] (y < 3 || x == 3)",
        "X (x == 1)",
        "X X X (y == 0)",
        "[] ((x == 2) -> X (x >= 2))",
        "[] (x == 0 -> (x == 0 U y > 0))",
    ] {
        for seed in 0..2 {
            compare(model, &formula(text), seed, &mut compared);
        }
    }
    assert!(compared.searches > 100 && compared.left == 0, "{compared:?}");
}
