//! The whole search against an evaluator of its kernels, beside the search of the processor.

#[path = "../../preempt-promela/tests/random/mod.rs"]
#[allow(dead_code)]
mod random;

mod beside;
mod beside_by_preemptions;
mod eviction;
mod folding;

use crate::evaluate::Evaluator;
use crate::{Card, Driver};
use preempt_check::RemoteSearch;
use preempt_check::{Budget, Finding, Options, Preemptions, Reduction, Search, search_here};
use preempt_core::{Outcome, Stop, System, replay};
use preempt_native::Native;
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};
use preempt_promela::syntax::{ParseOptions, parse};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

fn shared(evaluator: Evaluator) -> Arc<Mutex<Evaluator>> {
    Arc::new(Mutex::new(evaluator))
}

fn options() -> Options {
    Options {
        search: Search::Breadth,
        reduction: Reduction::None,
        max_errors: 0,
        threads: 1,
        ..Options::default()
    }
}

fn interpreter(source: &str) -> Option<Interpreter> {
    let loader = |_: &str, _: &str| Err(std::io::ErrorKind::NotFound.into());
    let options = ParseOptions { defines: Vec::new(), loader: &loader };
    let parsed = parse("model.pml", source.into(), &options);
    Some(Interpreter::new(lower(&parsed.model?, LowerOptions::default()).ok()?))
}

/// The processor may be asked for what a card cannot do, but not because of what a card got wrong.
fn assert_no_mistake(notes: &[String], text: &str) {
    let is_mistake = |note: &&String| {
        ["did not agree", "be followed", "does not find"].iter().any(|words| note.contains(words))
    };
    assert_eq!(notes.iter().find(is_mistake), None, "{text}");
}

/// What both say, and how often the card was asked.
fn both(make: impl Fn() -> Interpreter, seed: u64, memory: u64) -> (Finding, Finding, u64) {
    let reference = make();
    let native = Native::new(&reference).expect("machine code");
    let here = search_here(&native, &options(), &mut Budget::unlimited());
    let card = Card { few: 1, ..Card::new(shared(Evaluator::new(seed, memory)), make(), None) };
    let there = card.safety(&native, &options(), &mut Budget::unlimited());
    let launches = card.device.lock().unwrap_or_else(PoisonError::into_inner).launches;
    (here, there, launches)
}

/// The same of searches by preemptions: rows, and what the last one leaves.
fn assert_same_buckets(
    name: &str,
    make: impl Fn() -> Interpreter,
    seed: u64,
    options: &Options,
) -> bool {
    let reference = make();
    let native = Native::new(&reference).expect("machine code");
    let here = search_here(&native, options, &mut Budget::unlimited());
    let card = Card { few: 1, ..Card::new(shared(Evaluator::new(seed, 1 << 26)), make(), None) };
    let there = card.safety(&native, options, &mut Budget::unlimited());
    let launches = card.device.lock().unwrap_or_else(PoisonError::into_inner).launches;
    if launches <= 1 || there.notes.iter().any(|note| note.contains("timeout")) {
        return false;
    }
    assert!(there.notes.is_empty(), "{name}: {:?}", there.notes);
    let numbers = |finding: &Finding| {
        let s = &finding.statistics;
        (s.states, s.transitions, s.matched, s.errors, s.complete, finding.bound, finding.stop)
    };
    assert_eq!(here.statistics.per_bound, there.statistics.per_bound, "{name}");
    assert_eq!(numbers(&here), numbers(&there), "{name}");
    assert_eq!(here.unreached, there.unreached, "{name}");
    assert_eq!(here.counterexample.is_some(), there.counterexample.is_some(), "{name}");
    true
}

/// Searches by preemptions: all bounds, and up to a small one.
fn counted() -> [Options; 3] {
    [
        Preemptions::Iterate { last: None },
        Preemptions::AtMost(1),
        Preemptions::Iterate { last: Some(2) },
    ]
    .map(|preemptions| Options { preemptions, ..options() })
}

fn assert_same(name: &str, (here, there, launches): &(Finding, Finding, u64)) {
    assert!(*launches > 1, "{name}: {:?}", there.notes);
    assert!(there.notes.is_empty(), "{name}: {:?}", there.notes);
    let numbers = |finding: &Finding| {
        let s = &finding.statistics;
        (s.states, s.matched, s.transitions, s.atomic_steps, s.depth, s.errors, s.complete)
    };
    assert_eq!(numbers(here), numbers(there), "{name}");
    assert_eq!(here.unreached, there.unreached, "{name}");
    assert_eq!(here.stop, there.stop, "{name}");
    assert_eq!(here.counterexample.is_some(), there.counterexample.is_some(), "{name}");
}

fn models() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the models")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pml"))
        .collect();
    found.sort();
    found
}

/// The evaluator takes about a minute for so many states.
const MOST: u64 = 2_000;

#[test]
fn the_models_have_the_same_states_and_mistakes() {
    let mut compared = 0;
    for path in models() {
        let source = std::fs::read_to_string(&path).expect("a model");
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let make = || interpreter(&source).expect("a model");
        let reference = make();
        let Ok(native) = Native::new(&reference) else { continue };
        let mut few = Budget::unlimited().states(MOST);
        if search_here(&native, &options(), &mut few).stop.is_some() {
            continue;
        }
        let found = both(make, 1, 1 << 28);
        assert_same(&name, &found);
        compared += 1;
    }
    assert!(compared >= 8, "only {compared} models were compared");
}

#[test]
fn the_models_have_the_same_rows() {
    let mut compared = 0;
    for path in models() {
        let source = std::fs::read_to_string(&path).expect("a model");
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let make = || interpreter(&source).expect("a model");
        let reference = make();
        let Ok(native) = Native::new(&reference) else { continue };
        let mut few = Budget::unlimited().states(MOST / 2);
        if search_here(&native, &options(), &mut few).stop.is_some() {
            continue;
        }
        for options in counted() {
            let name = format!("{name}, {:?}", options.preemptions);
            compared += u32::from(assert_same_buckets(&name, make, 1, &options));
        }
    }
    assert!(compared >= 20, "only {compared} searches were compared");
}

/// So many random models by preemptions, each with another order of the threads.
#[test]
fn random_models_have_the_same_rows() {
    let count = std::env::var("PREEMPT_CARD_MODELS").ok().and_then(|text| text.parse().ok());
    let mut compared = 0;
    for seed in 0..count.unwrap_or(60) {
        let text = random::make(&mut random::Random::new(seed), None).text();
        let Some(reference) = interpreter(&text) else { continue };
        let Ok(native) = Native::new(&reference) else { continue };
        let here = search_here(&native, &options(), &mut Budget::unlimited().states(300));
        let is_small = here.stop.is_none() && here.statistics.states > 1;
        if native.initial(&mut Vec::new()) != Outcome::Done || !is_small {
            continue;
        }
        let notes = both(|| interpreter(&text).expect("a model"), seed, 1 << 26).1.notes;
        if !notes.is_empty() {
            assert_no_mistake(&notes, &text);
            continue;
        }
        for options in counted() {
            let make = || interpreter(&text).expect("a model");
            let name = format!("seed {seed}, {:?}:\n{text}", options.preemptions);
            compared += u32::from(assert_same_buckets(&name, make, seed, &options));
        }
    }
    assert!(compared >= 20, "only {compared} searches were compared");
}

/// So many random models, each with another order of the threads.
#[test]
fn random_models_have_the_same_states_and_mistakes() {
    let count = std::env::var("PREEMPT_CARD_MODELS").ok().and_then(|text| text.parse().ok());
    let (mut compared, mut left) = (0, 0);
    for seed in 0..count.unwrap_or(60) {
        let text = random::make(&mut random::Random::new(seed), None).text();
        let Some(reference) = interpreter(&text) else { continue };
        let Ok(native) = Native::new(&reference) else { continue };
        let mut few = Budget::unlimited().states(400);
        let first = native.initial(&mut Vec::new());
        let here = search_here(&native, &options(), &mut few);
        if first != Outcome::Done || here.stop.is_some() || here.statistics.states < 2 {
            continue;
        }
        let found = both(|| interpreter(&text).expect("a model"), seed, 1 << 26);
        match found.1.notes.is_empty() {
            // The processor was done before it looked whether it should be.
            true if found.2 <= 1 => {}
            true => {
                assert_same(&format!("seed {seed}:\n{text}"), &found);
                compared += 1;
            }
            false => {
                assert_no_mistake(&found.1.notes, &text);
                left += 1;
            }
        }
    }
    assert!(compared > left, "{compared} models were compared, {left} left to the processor");
}

/// Mutual exclusion by a flag that is tested and set in two steps.
const BROKEN_LOCK: &str = "
byte flag, inside;
active [3] proctype user() {
    do :: flag == 0 -> flag = 1; inside++; assert(inside == 1); inside--; flag = 0 od
}";

/// Whichever thread is first, states are counted once, and the number of a state that loses a race is dead.
#[test]
fn races_for_slots_and_numbers_come_out_the_same() {
    for seed in 0..12 {
        let make = || interpreter(BROKEN_LOCK).expect("a model");
        assert_same(&format!("seed {seed}"), &both(make, seed, 1 << 24));
    }
}

/// The first mistake has as few steps as on the processor, and is an execution.
#[test]
fn a_counterexample_is_found_back() {
    let reference = interpreter(BROKEN_LOCK).expect("a model");
    let native = Native::new(&reference).expect("machine code");
    let options = Options { max_errors: 1, ..options() };
    let here = search_here(&native, &options, &mut Budget::unlimited());
    for seed in 0..6 {
        let interpreter = interpreter(BROKEN_LOCK).expect("a model");
        let card =
            Card { few: 1, ..Card::new(shared(Evaluator::new(seed, 1 << 24)), interpreter, None) };
        let there = card.safety(&native, &options, &mut Budget::unlimited());
        let (ours, theirs) = (here.counterexample.as_ref(), there.counterexample.as_ref());
        let (ours, theirs) = (ours.expect("a mistake"), theirs.expect("a mistake"));
        assert_eq!((ours.kind, ours.steps.len()), (theirs.kind, theirs.steps.len()));
        let (_, _, outcome) = replay(&reference, &theirs.steps).expect("an execution");
        assert!(matches!(outcome, Outcome::Violated(_)));
    }
}

/// A card that is full says what was covered, and is no proof.
#[test]
fn a_full_card_is_no_proof() {
    let source = "byte a, b; active [2] proctype p() { do :: a < 255 -> a++ :: b < 255 -> b++ od }";
    let reference = interpreter(source).expect("a model");
    let native = Native::new(&reference).expect("machine code");
    for memory in [60_000, 100_000, 200_000] {
        let evaluator = Evaluator::new(1, 1 << 24);
        let interpreter = interpreter(source).expect("a model");
        let card = Card { few: 1, ..Card::new(shared(evaluator), interpreter, Some(memory)) };
        let found = card.safety(&native, &options(), &mut Budget::unlimited().memory(0));
        assert_eq!(found.stop, Some(Stop::Memory), "{memory}: {:?}", found.notes);
        assert!(found.statistics.states > 500 && !found.statistics.complete);
    }
}

/// Processes that are created and end: states become longer than there was room for, and shorter.
#[test]
fn states_that_grow_start_again_with_more_room() {
    let source = "
byte n;
proctype child(byte depth) { int own = depth; if :: depth < 3 -> run child(depth + 1) :: n < 2 -> n++ fi; own = 0 }
init { atomic { run child(0); run child(1) }; n = 7 }";
    let make = || interpreter(source).expect("a model");
    assert_same("children", &both(make, 3, 1 << 26));
    // They grow further than any walk looks ahead.
    let source = "
short n;
proctype child() { int own[20]; own[3] = 1 }
init { do :: n < 700 -> n++ :: else -> break od; run child(); run child() }";
    let make = || interpreter(source).expect("a model");
    assert_same("late children", &both(make, 3, 1 << 26));
}

/// States of any length are hashed, compared, copied and written in another way each.
#[test]
fn long_states_are_whole() {
    // Blocks of 64 bytes, and each remainder of one, in loops and without.
    for ints in [1, 7, 26, 30, 34, 38, 42, 46, 60, 66, 70, 74, 150] {
        let source = format!(
            "int far[{ints}]; short odd; byte i; active [2] proctype p() {{ byte j; \
             do :: far[i] = far[i] + 70000; odd = odd - 300; i = (i + 1) % {ints}; j++; if :: j > 2 -> break :: else fi od; \
             assert(odd < 0) }}"
        );
        let make = || interpreter(&source).expect("a model");
        assert_same(&format!("{ints} numbers"), &both(make, ints, 1 << 26));
    }
}

/// A process type with many control states, also where it waits for messages and inside sequences; and so many moves that states are
/// copied by a function.
#[test]
fn process_types_with_many_control_states() {
    let line = |at: u32| match at % 4 {
        0 => format!("x = (x + {at}) % 3; "),
        1 => format!("c!{at}; c?y; "),
        2 => format!("atomic {{ x > 0 -> x = 0; y = {at} }}; "),
        _ => "if :: x = 1 :: y > 3 -> x = 2 fi; ".into(),
    };
    let body: String = (0..160).map(line).collect();
    let source = format!(
        "byte x, y; chan c = [1] of {{ byte }}; active proctype p() {{ {body} }} active proctype q() {{ x = 2; y = 1 }}"
    );
    let make = || interpreter(&source).expect("a model");
    assert_same("many control states", &both(make, 1, 1 << 26));
}

/// A step that takes too long for limits to be kept is left to the processor.
#[test]
fn a_very_long_step_needs_the_processor() {
    let source = "byte g; active proctype p() { int n; d_step { do :: n < 300000 -> n++ :: else -> break od }; g = 1 }";
    let (here, there, launches) = both(|| interpreter(source).expect("a model"), 1, 1 << 24);
    assert!(launches > 1);
    assert!(there.notes[0].contains("a step needs the interpreter"), "{:?}", there.notes);
    assert_eq!(here.statistics.states, there.statistics.states);
}

/// The benchmark of long states, with fewer marks.
#[test]
fn the_long_benchmark_is_the_same() {
    let text = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/bench_long.pml"),
    );
    let source = text.expect("the model").replace("#define MARKS 20", "#define MARKS 2");
    let make = || interpreter(&source).expect("a model");
    assert_same("bench_long", &both(make, 1, 1 << 26));
}

#[test]
fn a_machine_without_a_card_says_so() {
    if let Err(trouble) = Driver::open() {
        assert!(!trouble.0.is_empty());
    }
}
