//! Properties beside the model: the claims of a card, of machine code and of the interpreter.

use super::random::{self, Random, properties};
use super::{assert_no_mistake, interpreter, models, options, shared};
use crate::Card;
use crate::evaluate::Evaluator;
use crate::search::Folds;
use preempt_check::{Budget, search_here};
use preempt_core::{Claim, Stop, Verdict};
use preempt_native::Native;
use preempt_promela::model::Model;
use preempt_verify::promela::{
    Backend, Checker, Property, Selection, Settings, beside, read, select,
};
use preempt_verify::{Control, Reduction, Request, Search};
use std::sync::{Arc, PoisonError};

/// More states than this take the evaluator too long.
const MOST: u64 = 600;

/// What the claims have in common.
fn numbers(claim: &Claim) -> impl PartialEq + std::fmt::Debug + use<> {
    let s = &claim.statistics;
    (
        claim.verdict,
        (s.states, s.matched, s.transitions, s.atomic_steps, s.depth, s.errors, s.complete),
        claim.violation.as_ref().map(|violation| (violation.kind, violation.trace.cost())),
        claim.sentence.clone(),
        claim.unreached.clone(),
    )
}

/// How a model was compared.
#[derive(PartialEq, Eq, Debug)]
enum Compared {
    /// On a card; and whether the property is violated.
    OnCard(bool),
    /// The card left it to the processor.
    Left,
    /// It has no such property, or too many states.
    Not,
}

/// Compares the three, with all violations counted and with the first one found.
fn compare(text: &str, selection: &Selection, seed: u64) -> Compared {
    let Ok(mut model) = read("model.pml", text) else { return Compared::Not };
    let Ok(selected) = select(&mut model, selection) else { return Compared::Not };
    let Some(&property) = selected.first() else { return Compared::Not };
    if !matches!(property, Property::BadPrefix(_) | Property::Completion(_)) {
        return Compared::Not;
    }
    let control = &Control::new();
    let plain = Request {
        search: Search::Breadth,
        reduction: Reduction::None,
        max_errors: 0,
        threads: 1,
        ..Request::default()
    };
    let settings = Settings::default();
    let claim = |request: &Request, backend| {
        let settings = &Settings { backend, ..settings };
        let checker = Checker { model: &model, settings, request, control };
        checker.check(property).map(|checked| checked.claim)
    };
    let Ok(here) = claim(&plain, Backend::Native) else { return Compared::Not };
    if here.statistics.states > MOST || here.statistics.states < 3 {
        return Compared::Not;
    }
    let reference = claim(&plain, Backend::Interpreter).expect("the same model");
    assert_eq!(numbers(&here), numbers(&reference), "{text}");
    let mut is_left = false;
    // On a card with room for all, the same up to the first violation, and on one that most states have to leave.
    let states = here.statistics.states;
    let small = 16 * states.next_power_of_two() + states * here.statistics.state_bytes / 3 + 900;
    let larger = small + states * (16 + here.statistics.state_bytes * 2 / 3);
    for (max_errors, memory) in [(0, None), (1, None), (0, Some(small)), (0, Some(larger))] {
        let device = shared(Evaluator::new(seed, 1 << 26));
        let interpreter = beside(&model, &settings, property, control).expect("a model");
        // Folded whether that pays or not, or not at all.
        let folds = if seed.is_multiple_of(2) { Folds::Always } else { Folds::Never };
        let card = Card { few: 1, folds, ..Card::new(device.clone(), interpreter, memory) };
        let request = Request { elsewhere: Some(Arc::new(card)), max_errors, ..plain.clone() };
        let there = claim(&request, Backend::Native).expect("the same model");
        if there.notes.iter().any(|note| note.contains("the card was not used")) {
            let states = (here.statistics.states, there.statistics.states);
            assert!(max_errors == 1 || states.0 == states.1, "{states:?} {text}");
            assert_no_mistake(&there.notes, text);
            is_left = true;
            continue;
        }
        if device.lock().unwrap_or_else(PoisonError::into_inner).launches <= 1 {
            // The processor was done before it looked whether it should be.
            assert!(max_errors == 1 || here.statistics.states < 20, "{text}");
            continue;
        }
        if memory.is_some() && there.verdict == Verdict::Inconclusive(Stop::Memory) {
            // More states were looked at for assertions, without the property.
            continue;
        }
        if max_errors == 0 {
            assert_eq!(numbers(&here), numbers(&there), "seed {seed}: {text}");
        } else {
            let first = claim(&Request { max_errors, ..plain.clone() }, Backend::Native);
            let first = first.expect("the same model");
            let cost = |claim: &Claim| claim.violation.as_ref().map(|v| (v.kind, v.trace.cost()));
            assert_eq!((first.verdict, cost(&first)), (there.verdict, cost(&there)), "{text}");
        }
    }
    match is_left {
        true => Compared::Left,
        false => Compared::OnCard(here.verdict == Verdict::Violated),
    }
}

pub(super) fn formula(text: &str) -> Selection {
    Selection { formula: Some(text.into()), no_acceptance: true, ..Selection::default() }
}

/// What is asked of states, by the random models' variables.
const PROPOSITIONS: &[&str] = &[
    "(g == 1)",
    "(h > 0)",
    "(flag == 1)",
    "(len(c) > 0)",
    "(m == red)",
    "(a[g % 2] > 0)",
    "(empty(d))",
    "(t.x == t.y[1])",
    "(_nr_pr < 4)",
    "(a[h] == 0)",
];

/// A random model with a random formula, every other one an invariant of something, or with a random never claim.
pub(super) fn random_property(seed: u64) -> (String, Selection) {
    let random = &mut Random::new(seed);
    let model = random::make(random, None).text();
    let mut text = format!(
        "#define p {}\n#define q {}\n{model}",
        random.pick(PROPOSITIONS),
        random.pick(PROPOSITIONS)
    );
    let selection = match random.below(3) {
        0 => {
            text.push_str(&properties::claim(random));
            Selection { no_acceptance: true, ..Selection::default() }
        }
        1 => formula(&properties::formula(random, 2)),
        _ => formula(&format!("[] ({})", properties::formula(random, 1))),
    };
    (text, selection)
}

#[test]
fn random_models_have_the_same_claims() {
    let count = std::env::var("PREEMPT_CARD_MODELS").ok().and_then(|text| text.parse().ok());
    let (mut on_card, mut violated, mut left) = (0, 0, 0);
    for seed in 0..count.unwrap_or(1000) {
        let (text, selection) = random_property(seed);
        match compare(&text, &selection, seed) {
            Compared::OnCard(is_violated) => {
                on_card += 1;
                violated += u32::from(is_violated);
            }
            Compared::Left => left += 1,
            Compared::Not => {}
        }
    }
    println!("{on_card} on the card, {violated} of them violated; {left} left to the processor");
    assert!(on_card > 100 && violated > 20 && violated + 20 < on_card);
}

/// A model's own formulas and claims, and two formulas for all models.
pub(super) fn selections(model: &Model) -> Vec<Selection> {
    let formulas = model.formulas.iter().filter_map(|block| block.name.clone());
    let mut selections: Vec<Selection> = formulas
        .map(|name| Selection { ltl: Some(name), no_acceptance: true, ..Selection::default() })
        .collect();
    selections.extend(["[] (_nr_pr < 99)", "[] (_nr_pr > 1 -> X (_nr_pr > 1))"].map(formula));
    if !model.claims.is_empty() {
        selections.push(Selection { no_acceptance: true, ..Selection::default() });
    }
    selections
}

/// The models' own formulas and claims, as far as finite executions show them, and two formulas for all of them.
#[test]
fn the_models_have_the_same_claims() {
    let (mut compared, mut left) = (Vec::new(), Vec::new());
    for path in models() {
        let text = std::fs::read_to_string(&path).expect("a model");
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Ok(model) = read("model.pml", &text) else { continue };
        let reference = interpreter(&text).expect("a model");
        let Ok(native) = Native::new(&reference) else { continue };
        if search_here(&native, &options(), &mut Budget::unlimited().states(MOST)).stop.is_some() {
            continue;
        }
        for selection in selections(&model) {
            match compare(&text, &selection, 1) {
                Compared::OnCard(_) => compared.push(name.clone()),
                Compared::Left => left.push(name.clone()),
                Compared::Not => {}
            }
        }
    }
    println!("{compared:?}, left to the processor: {left:?}");
    assert!(compared.len() > 20 && left.len() < 4, "{compared:?}, {left:?}");
}

/// What automata may do: move in several ways, stop, be violated at once, repeat the last state, rest in a sequence, ask for what
/// has no value.
#[test]
fn automata_of_all_kinds() {
    let model = "byte x, y; byte a[2];
        active [2] proctype up() {
            do :: x < 3 -> atomic { x++; y = x; x > 2 -> y = 0 } :: y > 0 -> y-- :: x == 3 -> break od
        }\n";
    let formulas = [
        ("[] (x < 4)", false),
        ("[] (x < 3)", false),
        ("[] (y < 3 || x == 3)", false),
        ("(x < 2) U (x == 2)", false),
        ("X (x == 1)", false),
        ("X X X (y == 0)", false),
        ("[] ((x == 2) -> X (x >= 2))", false),
        ("[] (x == 0 -> (x == 0 U y > 0))", false),
        ("[] (x < 9) && [] (y < 9) && [] (x + y < 9)", false),
        ("[] (a[x] == 0)", true),
    ];
    for (text, asks) in formulas {
        for seed in 0..3 {
            let found = compare(model, &formula(text), seed);
            match asks {
                true => assert_eq!(found, Compared::Left, "{text}"),
                false => assert!(matches!(found, Compared::OnCard(_)), "{text}: {found:?}"),
            }
        }
    }
}
