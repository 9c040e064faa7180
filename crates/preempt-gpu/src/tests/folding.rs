//! States that are folded when the card is full: nothing else changes.

use super::random::{self, Random};
use super::{assert_no_mistake, assert_same, interpreter, options, shared};
use crate::Card;
use crate::evaluate::Evaluator;
use crate::search::Folds;
use preempt_check::{Budget, Finding, Options, RemoteSearch, search_here};
use preempt_core::{Outcome, Stop, System, replay};
use preempt_native::Native;
use std::sync::PoisonError;

/// Three processes with data of their own: many states, of few parts.
const PARTS: &str = "
byte turn;
active [3] proctype p() {
    int own[4];
    byte i;
    do :: i < 4 -> own[i] = 1000 + 7 * i; i++ :: i == 4 -> i = 0; own[0] = 0; own[1] = 0; turn = (turn + 1) % 3 od
}";

/// What a card with so many bytes finds, the machine having so many.
fn on_card(
    text: &str,
    seed: u64,
    (card, machine): (u64, usize),
    folds: Folds,
    options: &Options,
) -> (Finding, u64) {
    let reference = interpreter(text).expect("a model");
    let native = Native::new(&reference).expect("machine code");
    let device = shared(Evaluator::new(seed, 1 << 26));
    let model = interpreter(text).expect("a model");
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

/// Takes the notes off that say that states are folded, and that they have left the card.
fn notes(found: &mut Finding) -> (bool, bool) {
    let mut take = |words: &str| {
        let before = found.notes.len();
        found.notes.retain(|note| !note.contains(words));
        found.notes.len() < before
    };
    (take("are folded"), take("in the machine's memory"))
}

#[test]
fn folded_states_are_still_known() {
    let here = on_processor(PARTS);
    let (mut folded, mut roots_moved, mut ended) = (0, 0, 0);
    for (seed, memory) in (0..).zip((40_000..160_000).step_by(12_000)) {
        for machine in [0, usize::MAX] {
            let room = (memory, machine);
            let (mut there, launches) = on_card(PARTS, seed, room, Folds::IfItPays, &options());
            let (is_folded, has_moved) = notes(&mut there);
            folded += u32::from(is_folded);
            roots_moved += u32::from(is_folded && has_moved);
            assert!(machine > 0 || !has_moved, "{memory}");
            if there.stop == Some(Stop::Memory) {
                assert!(there.statistics.states < here.statistics.states, "{memory}");
                ended += 1;
                continue;
            }
            assert_same(&format!("{memory} bytes"), &(here.clone(), there, launches));
        }
    }
    println!("{folded} folded, {roots_moved} with roots that moved, {ended} ended");
    assert!(folded > 8 && roots_moved > 0 && ended > 0);
}

/// The way to a mistake is found back through folded states.
#[test]
fn a_counterexample_leads_through_folded_states() {
    let text = PARTS.replace("turn = ", "assert(turn < 2); turn = ");
    let reference = interpreter(&text).expect("a model");
    let options = Options { max_errors: 1, ..options() };
    let native = Native::new(&reference).expect("machine code");
    let here = search_here(&native, &options, &mut Budget::unlimited());
    let steps = here.counterexample.expect("a mistake").steps.len();
    let mut folded = 0;
    for (seed, memory) in [(0, 60_000), (1, 90_000), (2, 120_000)] {
        let room = (memory, usize::MAX);
        let (mut there, _) = on_card(&text, seed, room, Folds::IfItPays, &options);
        folded += u32::from(notes(&mut there).0);
        assert!(there.notes.is_empty(), "{:?}", there.notes);
        let found = there.counterexample.expect("a mistake");
        assert_eq!(found.steps.len(), steps);
        let (_, _, outcome) = replay(&reference, &found.steps).expect("an execution");
        assert!(matches!(outcome, Outcome::Violated(_)));
    }
    assert!(folded > 0);
}

/// Random models on cards that have room for a part of their states, which are folded whether that pays or not.
#[test]
fn random_models_folded() {
    let count = std::env::var("PREEMPT_CARD_MODELS").ok().and_then(|text| text.parse().ok());
    let (mut compared, mut folded, mut all_moved) = (0, 0, 0);
    for seed in 0..count.unwrap_or(300) {
        let text = random::make(&mut Random::new(seed), None).text();
        let Some(reference) = interpreter(&text) else { continue };
        let Ok(native) = Native::new(&reference) else { continue };
        let first = native.initial(&mut Vec::new());
        let here = search_here(&native, &options(), &mut Budget::unlimited().states(400));
        if first != Outcome::Done || here.stop.is_some() || here.statistics.states < 24 {
            continue;
        }
        let statistics = &here.statistics;
        let index = 8 * statistics.states.next_power_of_two();
        let parts = 2 + seed % 4;
        let room =
            (index + statistics.states * (statistics.state_bytes + 40) * parts / 4, usize::MAX);
        let (mut there, launches) = on_card(&text, seed, room, Folds::Always, &options());
        let (is_folded, has_moved) = notes(&mut there);
        if !there.notes.is_empty() {
            assert_no_mistake(&there.notes, &text);
            continue;
        }
        if there.stop == Some(Stop::Memory) {
            assert!(there.statistics.states < here.statistics.states, "seed {seed}:\n{text}");
            continue;
        }
        assert_same(&format!("seed {seed}:\n{text}"), &(here, there, launches));
        compared += 1;
        folded += u32::from(is_folded);
        all_moved += u32::from(has_moved);
    }
    println!("{compared} models, {folded} folded, {all_moved} moved");
    assert!(compared > 10 && 3 * folded > compared && all_moved > 0);
}
