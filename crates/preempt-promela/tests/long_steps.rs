//! A `d_step` is one step however long it takes: it ends, it never ends, or it is given up.

mod support;

use preempt_core::{Cancellation, Describe, Enabled, FaultKind, Outcome, Stop, System};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};
use std::sync::Arc;

fn interpreter(text: &str) -> Interpreter {
    let parsed = support::parse_text(text);
    let model = parsed.model.expect("the model is right");
    Interpreter::new(lower(&model, LowerOptions::default()).expect("the model can be lowered"))
}

/// Takes the first step.
fn first_step(system: &Interpreter) -> Outcome {
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    assert_eq!(system.initial(&mut state), Outcome::Done);
    system.enabled(&mut state, &mut enabled);
    system.apply(&mut state, enabled.steps()[0])
}

#[test]
fn a_long_one_ends() {
    let counts =
        "int i; active proctype P() { d_step { do :: i < 1500000 -> i++ :: else -> break od } }";
    assert_eq!(first_step(&interpreter(counts)), Outcome::Done);
}

#[test]
fn an_endless_one_is_reported_as_such() {
    for body in [
        "do :: x = 1 - x od",
        "do :: x < 200 -> x++ :: else -> x = 17 od",
        "x = 0; again: x++; goto again",
        "x = 1; do :: c?x; c!x od",
    ] {
        let system = interpreter(&format!(
            "byte x; chan c = [1] of {{ byte }}; active proctype P() {{ c!1; d_step {{ {body} }} }}"
        ));
        let (mut state, mut enabled) = (Vec::new(), Enabled::new());
        system.initial(&mut state);
        system.enabled(&mut state, &mut enabled);
        assert_eq!(system.apply(&mut state, enabled.steps()[0]), Outcome::Done);
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        let Outcome::Broken(fault) = system.apply(&mut state, enabled.steps()[0]) else {
            panic!("{body}")
        };
        let fault = system.fault(fault);
        assert_eq!(fault.kind, FaultKind::Runtime, "{body}");
        assert_eq!(fault.message, "`d_step` never ends", "{body}");
    }
}

#[test]
fn one_that_counts_for_very_long_is_given_up() {
    let counts = "int i; active proctype P() { d_step { do :: i++ od } }";
    let cancellation = Arc::new(Cancellation::new());
    cancellation.request(Stop::Time);
    let system = interpreter(counts).cancel_by(cancellation);
    let Outcome::Broken(fault) = first_step(&system) else { panic!("it ended") };
    assert_eq!(system.fault(fault).kind, FaultKind::Stopped(Stop::Time));
    // What has no loop is not given up.
    let short = interpreter("int i; active proctype P() { d_step { i++; i++ } }");
    assert_eq!(first_step(&short), Outcome::Done);
}
