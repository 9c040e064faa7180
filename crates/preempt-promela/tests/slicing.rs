//! What is found redundant is: a model without it violates the same assertions, and what properties speak of changes in the same ways.
//!
//! `PREEMPT_SLICED_MODELS` sets how many random models are made, `PREEMPT_SLICED_SEED` the first seed.

mod random;
mod support;

use preempt_core::{Describe, Enabled, FaultKind, Outcome, System};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{ExprId, LowerOptions, Program, lower, redundant};
use random::flow::make_flow;
use random::{Random, make};
use std::collections::{BTreeSet, HashSet};

const STATES: usize = 20_000;

fn program(text: &str) -> Option<Program> {
    let model = support::parse_text(text).model?;
    lower(&model, LowerOptions::plain()).ok()
}

/// The values of everything that properties speak of.
type Values = Vec<Option<i32>>;

/// Which assertions fail, and how the values that properties speak of change.
#[derive(PartialEq, Eq, Debug, Default)]
struct Seen {
    violated: BTreeSet<u32>,
    changes: BTreeSet<(Values, Values)>,
}

/// Explores everything; `None` where that is too much, or something goes wrong that properties do not speak of.
fn explore(program: Program) -> Option<Seen> {
    let mut spoken: Vec<ExprId> = program.propositions.clone();
    spoken.dedup();
    let system = Interpreter::new(program);
    let values = |state: &[u8]| -> Values {
        spoken.iter().map(|one| system.evaluate(state, *one)).collect()
    };
    let mut seen = Seen::default();
    let mut first = Vec::new();
    if system.initial(&mut first) != Outcome::Done {
        return None;
    }
    let mut known = HashSet::from([first.clone()]);
    let mut open = vec![first];
    let mut enabled = Enabled::default();
    while let Some(mut state) = open.pop() {
        if known.len() > STATES {
            return None;
        }
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        let before = values(&state);
        for step in enabled.steps() {
            let mut next = state.clone();
            match system.apply(&mut next, *step) {
                Outcome::Done => {}
                Outcome::Violated(fault) if system.fault(fault).kind == FaultKind::Assertion => {
                    seen.violated.insert(fault);
                }
                Outcome::Violated(_) | Outcome::Broken(_) => return None,
            }
            let after = values(&next);
            if after != before {
                seen.changes.insert((before.clone(), after));
            }
            if known.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    Some(seen)
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

#[test]
fn models_do_the_same_without_what_is_redundant() {
    let first = setting("PREEMPT_SLICED_SEED", 1);
    let (mut compared, mut smaller, mut violated) = (0, 0, 0);
    for seed in first..first + setting("PREEMPT_SLICED_MODELS", 600) {
        let random = &mut Random::new(seed);
        let mut text = if seed % 3 == 0 { make_flow(random) } else { make(random, None) }.text();
        // Each model asserts something about one of its variables, and speaks of another.
        let place = random.below(3);
        text += &format!("\nactive proctype Looks() {{ assert(g != {place}) }}\n");
        if !text.contains("never") && !text.contains("ltl") {
            text += "ltl spoken { [] (h < 3) }\n";
        }
        let Some(mut sliced) = program(&text) else { continue };
        let Ok(found) = redundant(&sliced) else { continue };
        let Some(whole) = explore(sliced.clone()) else { continue };
        found.remove_from(&mut sliced);
        let Some(rest) = explore(sliced) else { continue };
        compared += 1;
        smaller += u32::from(!found.moves.is_empty());
        violated += u32::from(!whole.violated.is_empty());
        assert_eq!(whole, rest, "seed {seed}: {found:?}\n{text}");
    }
    println!("{compared} compared, {smaller} with something redundant, {violated} with violations");
    assert!(3 * smaller > compared && violated > 0, "{compared}, {smaller}, {violated}");
}

/// What is redundant in a model by its statements and names.
fn names(text: &str) -> (Vec<String>, Vec<String>) {
    let program = program(text).expect("a model");
    let found = redundant(&program).expect("not everything matters");
    let moves = found.moves.iter().map(|id| &program.move_of(*id).statements);
    let mut statements: Vec<_> = moves.flatten().map(|one| (one.span.start, &one.text)).collect();
    statements.sort();
    let locals = found.locals.iter().map(|(_, name)| name.clone());
    (
        statements.into_iter().map(|(_, text)| text.clone()).collect(),
        found.globals.iter().cloned().chain(locals).collect(),
    )
}

/// What Spin 6.5.2 says of the same models (`spin -A`), but where that loops or ends.
#[test]
fn examples() {
    let (moves, variables) = names(
        "byte a, b, k; int total; chan c = [2] of { byte, byte }; bool done;
        active proctype P() { byte i, j; do :: i < 3 -> i++; j = j + i; total = total + 1; c!i,j
            :: i == 3 -> break od; done = true }
        active proctype Q() { byte x, y; do :: c?x,y -> a = x; b = y; printf(\"%d\", b)
            :: done -> break od; assert(a <= 3); k = 7 }",
    );
    assert_eq!(moves, ["total = total + 1", "b = y", "k = 7"]);
    // Spin does not name `y`, which is received and goes nowhere.
    assert_eq!(variables, ["b", "k", "total", "y"]);
    let (moves, variables) = names(
        "byte a; int total;
        active proctype P() { a = 1; total++; assert(a == 1) }
        active proctype Q() { total = 3; total > 1 }",
    );
    assert_eq!(moves, ["total++", "total = 3", "total > 1"]);
    assert_eq!(variables, ["total"]);
    // A choice that leads to the same assertion whatever it finds, and one that may wait for ever.
    let (moves, variables) = names(
        "byte a, b, c;
        active proctype P() { if :: b > 1 -> b = 2 :: else fi; (c == 0); assert(a == 0) }
        active proctype Q() { b++; c++ }",
    );
    assert_eq!(moves, ["b > 1", "b = 2", "b++"]);
    assert_eq!(variables, ["b"]);
}
