//! Messages with another number of fields than their channel, and polls of rendezvous channels, are
//! run-time errors, as in Spin.

mod naive;
mod support;

use naive::explore;
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};

/// How many errors there are in all executions, merged and unmerged.
fn errors(text: &str) -> u64 {
    let parsed = support::parse_text(text);
    let model = parsed.model.unwrap_or_else(|| panic!("{text}: {:?}", parsed.diagnostics));
    let count = |options| {
        let program = lower(&model, options).expect("the model can be lowered");
        explore(&Interpreter::new(program), None, 10_000).errors
    };
    let (merged, plain) = (count(LowerOptions::default()), count(LowerOptions::plain()));
    assert_eq!(merged, plain, "{text}");
    merged
}

#[test]
fn another_number_of_fields_is_an_error() {
    // Each model with the errors that Spin counts (`-c0`).
    let models = [
        ("chan q = [1] of { byte, byte }; byte x; init { q!1; q?x, _ }", 1),
        ("chan q = [1] of { byte, byte }; byte x; init { q!1, 2; q?x }", 1),
        ("chan q = [1] of { byte, byte }; byte x; init { q!1; q?x }", 2),
        ("chan q = [1] of { byte, byte }; byte x; init { q!1, 2; q?1 }", 1),
        ("chan q = [2] of { byte, byte }; byte x; init { q!!1; q??x, _ }", 1),
        ("chan q = [1] of { byte, byte }; byte x; init { d_step { q!1; q?x, _ } }", 1),
        ("chan q = [1] of { byte, byte }; byte x; init { atomic { q!1, 2; q?x } }", 1),
        // Too many. (Spin sends no more fields than the widest channel has.)
        ("chan q = [1] of { byte }; byte x, y; init { q!1; q?x, y }", 1),
        ("chan q = [1] of { byte }; byte x, y; init { q!1; q?x, y; assert(y == 0) }", 1),
        ("chan q = [1] of { byte }; byte x, y; init { q!1; q?x, 0; assert(false) }", 2),
        ("chan q = [1] of { byte }; byte x, y; init { q!1; q?x, 1; assert(false) }", 1),
        ("chan q = [1] of { byte }; byte x, y; init { d_step { q!1; q?x, y }; assert(false) }", 2),
        (
            "chan q = [1] of { byte }; chan p = [1] of { byte, byte }; byte x; init { q!1, 2; q?x }",
            1,
        ),
        ("chan q = [1] of { byte }; byte x, y; init { q!1; q?[x, y]; q?<x, y>; q?x }", 0),
        ("chan q = [1] of { byte }; byte x, y; init { if :: q?x, y :: else -> skip fi }", 0),
        // What stays in the channel may be looked at in part.
        ("chan q = [1] of { byte, byte }; byte x; init { q!1, 2; q?<x>; q?[x]; q?x, _ }", 0),
    ];
    for (text, expected) in models {
        assert_eq!(errors(text), expected, "{text}");
    }
}

#[test]
fn an_offer_with_too_few_fields_is_an_error_even_if_nobody_answers() {
    let offers = "chan q = [0] of { byte, byte }; byte x; active proctype P() { end: q!1 }";
    assert_eq!(errors(offers), 1);
    let answered = "active proctype Q() { q?x, _ }";
    assert_eq!(errors(&format!("{offers} {answered}")), 1);
    let receives = "chan q = [0] of { byte, byte }; byte x; active proctype P() { end: q!1, 2 }";
    assert_eq!(errors(&format!("{receives} active proctype Q() {{ q?x }}")), 1);
    assert_eq!(errors(&format!("{receives} active proctype Q() {{ d_step {{ q?x; x = 1 }} }}")), 1);
}

#[test]
fn a_channel_that_is_found_at_run_time_counts() {
    let text = |sent: &str| {
        format!(
            "chan q = [1] of {{ byte, byte }}; chan r = [1] of {{ byte }}; chan k = [1] of {{ chan }};
             byte x; init {{ chan c; k!{sent}; k?c; c!1; c?x }}"
        )
    };
    assert_eq!(errors(&text("r")), 0);
    assert_eq!(errors(&text("q")), 2);
}

#[test]
fn polling_a_rendezvous_channel_is_an_error() {
    let channel = "chan q = [0] of { byte }; byte x; active proctype P() { end: q!1 }";
    for poll in ["q?[x]", "q??[1]", "q?<x>", "!q?[1]", "x = q?[1]"] {
        let text = format!("{channel} active proctype Q() {{ end: {poll}; q?x }}");
        assert!(errors(&text) > 0, "{text}");
    }
    for test in ["len(q) == 0", "empty(q)", "nfull(q)"] {
        assert_eq!(
            errors(&format!("{channel} active proctype Q() {{ {test}; q?x }}")),
            0,
            "{test}"
        );
    }
}
