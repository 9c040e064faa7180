//! A card that is too small for the states: the others lie in the machine's memory, and nothing else changes.

use super::random::{self, Random};
use super::{assert_same, counted, interpreter, options, shared};
use crate::Card;
use crate::evaluate::Evaluator;
use crate::search::Folds;
use preempt_check::{Budget, Finding, Options, RemoteSearch, search_here};
use preempt_core::{Outcome, Stop, System, replay};
use preempt_native::Native;
use std::sync::PoisonError;

const COUNTERS: &str = "byte a, b; active [2] proctype p() { do :: d_step { a < 30 -> a++ } :: d_step { b < 30 -> b++ } :: d_step { a > 3 -> a = 0 } od }";

/// What a card with so many bytes finds, the machine having so many.
fn on_card(text: &str, seed: u64, card: u64, machine: usize, options: &Options) -> (Finding, u64) {
    let reference = interpreter(text).expect("a model");
    let native = Native::new(&reference).expect("machine code");
    let device = shared(Evaluator::new(seed, 1 << 26));
    let model = interpreter(text).expect("a model");
    let folds = Folds::Never;
    let card = Card { few: 1, folds, ..Card::new(device.clone(), model, Some(card)) };
    let found = card.safety(&native, options, &mut Budget::unlimited().memory(machine));
    let launches = device.lock().unwrap_or_else(PoisonError::into_inner).launches;
    (found, launches)
}

fn on_processor(text: &str) -> Finding {
    let reference = interpreter(text).expect("a model");
    let native = Native::new(&reference).expect("machine code");
    search_here(&native, &options(), &mut Budget::unlimited())
}

/// Takes the note off that says how many states have left the card.
fn moved(found: &mut Finding) -> bool {
    let before = found.notes.len();
    found.notes.retain(|note| !note.contains("the card was full"));
    found.notes.len() < before
}

#[test]
fn states_that_left_the_card_are_still_known() {
    let here = on_processor(COUNTERS);
    for (seed, memory) in [(1, 19_200), (2, 20_000), (3, 22_000), (4, 26_000), (5, 30_000)] {
        let (mut there, launches) = on_card(COUNTERS, seed, memory, usize::MAX, &options());
        assert!(moved(&mut there), "{memory}");
        assert_same(&format!("{memory} bytes"), &(here.clone(), there, launches));
    }
}

/// When the machine's memory is full as well, or the index takes nearly all of the card, the answer says what was covered.
#[test]
fn a_full_machine_ends_the_search() {
    for (card, machine) in [(20_000, 0), (20_000, 1_000), (20_000, 4_000), (9_000, usize::MAX)] {
        let (mut there, _) = on_card(COUNTERS, 1, card, machine, &options());
        assert_eq!(moved(&mut there), machine > 0, "{machine}");
        assert_eq!(there.stop, Some(Stop::Memory), "{machine}: {:?}", there.notes);
        assert!(there.statistics.states > 100 && !there.statistics.complete, "{machine}");
    }
}

/// The way to a mistake is found back through states that have left the card.
#[test]
fn a_counterexample_leads_through_states_that_left() {
    let text = COUNTERS.replace("a < 30 -> a++", "a < 30 -> a++; assert(a + b < 52)");
    let reference = interpreter(&text).expect("a model");
    let options = Options { max_errors: 1, ..options() };
    let native = Native::new(&reference).expect("machine code");
    let here = search_here(&native, &options, &mut Budget::unlimited());
    let steps = here.counterexample.expect("a mistake").steps.len();
    for seed in 0..3 {
        let (mut there, _) = on_card(&text, seed, 20_000, usize::MAX, &options);
        assert!(moved(&mut there) && there.notes.is_empty(), "{:?}", there.notes);
        let found = there.counterexample.expect("a mistake");
        assert_eq!(found.steps.len(), steps);
        let (_, _, outcome) = replay(&reference, &found.steps).expect("an execution");
        assert!(matches!(outcome, Outcome::Violated(_)));
    }
}

/// Random models on cards that have room for a part of their states.
#[test]
fn random_models_on_small_cards() {
    let count = std::env::var("PREEMPT_CARD_MODELS").ok().and_then(|text| text.parse().ok());
    let (mut compared, mut all_moved) = (0, 0);
    for seed in 0..count.unwrap_or(300) {
        let text = random::make(&mut Random::new(seed), None).text();
        let Some(reference) = interpreter(&text) else { continue };
        let Ok(native) = Native::new(&reference) else { continue };
        let first = native.initial(&mut Vec::new());
        let here = search_here(&native, &options(), &mut Budget::unlimited().states(400));
        if first != Outcome::Done || here.stop.is_some() || here.statistics.states < 24 {
            continue;
        }
        let index = 16 * here.statistics.states.next_power_of_two();
        let states = here.statistics.states * here.statistics.state_bytes / 3;
        let (mut there, launches) = on_card(&text, seed, index + states, usize::MAX, &options());
        let has_moved = moved(&mut there);
        if !there.notes.is_empty() {
            continue;
        }
        if there.stop == Some(Stop::Memory) {
            // The index and the addresses of blocks are too much for the card.
            assert!(there.statistics.states < here.statistics.states, "seed {seed}:\n{text}");
            continue;
        }
        assert_same(&format!("seed {seed}:\n{text}"), &(here, there, launches));
        compared += 1;
        all_moved += u32::from(has_moved);
    }
    println!("{compared} models, {all_moved} of them too large for their cards");
    assert!(compared > 10 && 2 * all_moved > compared);
}

/// The same by preemptions, where more tables grow.
#[test]
fn random_models_by_preemptions_on_small_cards() {
    let count = std::env::var("PREEMPT_CARD_MODELS").ok().and_then(|text| text.parse().ok());
    let (mut compared, mut all_moved) = (0, 0);
    for seed in 0..count.unwrap_or(200) {
        let text = random::make(&mut Random::new(seed), None).text();
        let Some(reference) = interpreter(&text) else { continue };
        let Ok(native) = Native::new(&reference) else { continue };
        let first = native.initial(&mut Vec::new());
        let here = search_here(&native, &options(), &mut Budget::unlimited().states(300));
        if first != Outcome::Done || here.stop.is_some() || here.statistics.states < 24 {
            continue;
        }
        // Room for an index of twice as many slots as needed, for what lies beside so many states, for few states, and for blocks.
        let memory = 34 * here.statistics.states.next_power_of_two() * 8 / 7 + 900;
        for options in counted() {
            let here = search_here(&native, &options, &mut Budget::unlimited());
            let (mut there, launches) = on_card(&text, seed, memory, usize::MAX, &options);
            let has_moved = moved(&mut there);
            if !there.notes.is_empty() || launches <= 1 {
                continue;
            }
            let rows = |finding: &Finding| finding.statistics.per_bound.clone();
            if there.stop == Some(Stop::Memory) {
                // The index and the addresses of blocks are too much for the card.
                assert!(rows(&here).starts_with(&rows(&there)), "seed {seed}:\n{text}");
                continue;
            }
            assert_eq!(rows(&here), rows(&there), "seed {seed}:\n{text}");
            assert_eq!((here.stop, here.bound), (there.stop, there.bound), "seed {seed}:\n{text}");
            compared += 1;
            all_moved += u32::from(has_moved);
        }
    }
    println!("{compared} searches, {all_moved} of them too large for their cards");
    assert!(compared > 20 && 3 * all_moved > compared);
}
