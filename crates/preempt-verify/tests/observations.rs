//! What a reader of a counterexample is told beyond its steps, and warnings about properties that hold for a reason that was
//! not meant.

use preempt_core::{Claim, Observations, Trace, Value, Verdict};
use preempt_verify::{Control, Request, verify_promela};

fn check(text: &str) -> Vec<Claim> {
    verify_promela("m.pml", text, &Request::default(), &Control::new()).unwrap()
}

fn observed(text: &str) -> (Trace, Observations) {
    let claim = check(text).remove(0);
    let trace = claim.violation.unwrap_or_else(|| panic!("{}", claim.sentence)).trace;
    let observations = trace.observations.clone();
    (trace, observations)
}

const LOST_UPDATE: &str = "
    byte counter, done;
    active [2] proctype adder() { byte seen; seen = counter; counter = seen + 1; done++ }
    active proctype judge() { done == 2 -> assert((counter == 2)) }
";

#[test]
fn values_that_a_step_looked_at_are_known_although_nothing_changed() {
    let (trace, observations) = observed(LOST_UPDATE);
    assert_eq!(observations.seen.len(), trace.steps.len());
    let seen = |text: &str, nth: usize| {
        let steps = trace.steps.iter().enumerate().filter(|(_, step)| step.text == text);
        let (at, step) = steps.clone().nth(nth).unwrap();
        let own = format!("{}:", step.process);
        let value = |(name, value): &(String, Value)| {
            format!("{}={value}", name.strip_prefix(&own).unwrap_or(name))
        };
        observations.seen[at].iter().map(value).collect::<Vec<_>>()
    };
    // The second one reads what the first one has not changed yet, and stores what is there already.
    assert_eq!(seen("seen = counter", 0), ["counter=0", "seen=0"]);
    assert_eq!(seen("seen = counter", 1), ["counter=0", "seen=0"]);
    assert_eq!(seen("counter = seen + 1", 0), ["seen=0"]);
    assert_eq!(seen("counter = seen + 1", 1), ["seen=0", "counter=1"]);
    assert_eq!(seen("done == 2", 0), ["done=2"]);
    assert_eq!(observations.reasons, ["counter == 2 is false: counter is 1"]);
}

/// Operands that are not evaluated have nothing to do with the failure.
#[test]
fn a_reason_names_what_was_evaluated() {
    let reasons = |condition: &str| {
        let text = format!(
            "byte a = 1, b = 2, c[3]; active proctype P() {{ c[2] = 7; assert({condition}) }}"
        );
        observed(&text).1.reasons
    };
    assert_eq!(reasons("a == 2 && b == 2"), ["a == 2 && b == 2 is false: a is 1"]);
    assert_eq!(reasons("a == 2 || b == 1"), ["a == 2 || b == 1 is false: a is 1, b is 2"]);
    assert_eq!(reasons("c[a + 1] == 8"), ["c[a + 1] == 8 is false: a is 1, c[2] is 7"]);
    assert_eq!(reasons("false"), Vec::<String>::new());
}

#[test]
fn at_a_deadlock_it_is_known_who_waits_for_whom() {
    let (_, observations) = observed(
        "bool a, b; chan c = [1] of { byte };
         active proctype P() { atomic { !a -> a = true }; !b; a = false; c!5 }
         active proctype Q() { atomic { !b -> b = true }; !a; b = false }
         active proctype R() { c?5 }",
    );
    let waits = |pid: usize| observations.waiting.iter().find(|w| w.pid == pid).unwrap();
    assert_eq!(waits(0).reasons, ["`!b` is false: b is 1"]);
    assert_eq!(waits(0).waits_for, [1], "R does not touch b");
    assert_eq!(waits(1).reasons, ["`!a` is false: a is 1"]);
    assert_eq!(waits(1).waits_for, [0]);
    assert_eq!(waits(2).reasons, ["`c` is empty"]);
    assert_eq!(waits(2).waits_for, [0], "Q does not send");
}

#[test]
fn what_keeps_a_process_at_a_channel_is_named() {
    let keeps = |text: &str| {
        let waiting = observed(text).1.waiting;
        waiting.into_iter().flat_map(|w| w.reasons).collect::<Vec<_>>()
    };
    let full = "chan c = [1] of { byte }; active proctype P() { c!7; c!8 }";
    assert_eq!(keeps(full), ["`c` is full: [7]"]);
    let other = "chan c = [1] of { byte }; active proctype P() { c!7; c?8 }";
    assert_eq!(keeps(other), ["`c?8` does not match what is in `c`: [7]"]);
    let alone = "chan c = [0] of { byte }; active proctype P() { if :: c!1 :: c?2 fi }";
    assert_eq!(keeps(alone), ["no process receives from `c`", "no process sends to `c`"]);
    let own = "active proctype P() { chan c = [1] of { byte }; byte x = 3; c!7; d_step { x == 4 -> x++ } }";
    assert_eq!(keeps(own), ["the condition that the `d_step` begins with is false: x is 3"]);
}

/// One process that counts up to three again and again.
fn counting(formula: &str) -> (Trace, Observations) {
    observed(&format!(
        "byte n; active proctype P() {{ do :: n < 3 -> n++ :: n == 3 -> n = 0 od }}
         ltl f {{ {formula} }}"
    ))
}

#[test]
fn a_safety_formula_is_decided_by_a_finite_prefix() {
    for (formula, name, wrong) in [
        ("[] (n < 3)", "n < 3", false),
        ("(n < 2) W (n > 5)", "n < 2", false),
        ("(n <= 2) U (n == 9)", "n <= 2", false),
        ("!(<> (n == 2))", "n == 2", true),
        ("[] (n < 2) && <> (n == 1)", "n < 2", false),
    ] {
        let (trace, observations) = counting(formula);
        let row = observations.propositions.iter().find(|row| row.name == name);
        let row = row.unwrap_or_else(|| panic!("{formula}: {:?}", observations.propositions));
        // The first state in which the expression is wrong decides, and no earlier one.
        let first = row.holds.iter().position(|holds| *holds == Some(wrong));
        assert_eq!(observations.bad_prefix, first, "{formula}");
        let steps = first.unwrap();
        assert_eq!(trace.decisive().steps.len(), steps, "{formula}");
        assert_eq!(trace.decisive().cycle_start, None);
        assert!(trace.steps.len() > steps && trace.cycle_start.is_some(), "the whole is kept");
        let reason = format!("{name} is {wrong}: n is");
        assert!(observations.reasons.iter().any(|r| r.starts_with(&reason)), "{observations:?}");
    }
}

#[test]
fn other_formulas_are_decided_by_infinite_executions_only() {
    for formula in ["<> (n == 7)", "[] <> (n == 8)", "<> [] (n == 1)", "[] (n == 3 -> <> (n == 9))"]
    {
        let (trace, observations) = counting(formula);
        assert_eq!(observations.bad_prefix, None, "{formula}");
        assert_eq!(trace.decisive().steps.len(), trace.steps.len());
        for row in &observations.propositions {
            assert_eq!(row.holds.len(), trace.steps.len() + 1, "{formula}");
        }
    }
}

/// The property does not look inside an indivisible sequence.
#[test]
fn an_indivisible_sequence_decides_nothing() {
    let (_, observations) = observed(
        "byte n; active proctype P() { do :: atomic { n = 5; n = 1; n = 0 } od }
         ltl f { [] (n < 3) && [] <> (n == 1) }",
    );
    assert_eq!(observations.bad_prefix, None);
    let row = &observations.propositions[0];
    assert!(row.holds.iter().all(|holds| *holds != Some(false)), "{row:?}");
}

fn vacuous(text: &str) -> Vec<String> {
    let claim = check(text).remove(0);
    assert_eq!(claim.verdict, Verdict::Holds, "{}", claim.sentence);
    claim.notes.into_iter().filter(|note| note.starts_with("vacuous")).collect()
}

#[test]
fn an_antecedent_that_is_never_true_is_warned_about() {
    let model = "byte n; bool a; active proctype P() { do :: n < 3 -> n++ :: n == 3 -> n = 0; a = true od }";
    let warned = |formula: &str| vacuous(&format!("{model} ltl f {{ {formula} }}"));
    let of = |text: &str| {
        vec![format!("vacuous: `{text}` is never true, so that what it implies does not matter")]
    };
    assert_eq!(warned("[] (n > 7 -> <> a)"), of("n > 7"));
    assert_eq!(warned("[] ((n == 1 && n > 2) -> X a)"), of("n == 1 && n > 2"));
    assert!(warned("[] (n == 3 -> <> a)").is_empty());
    assert!(warned("[] <> (n == 2)").is_empty());
}

#[test]
fn a_claim_that_accepts_nothing_is_warned_about() {
    let process = "byte n; active proctype P() { do :: n < 3 -> n++ :: else -> n = 0 od }";
    let endless = format!("{process} never {{ do :: n < 3 :: else od }}");
    assert_eq!(vacuous(&endless).len(), 1);
    let accepting = format!("{process} never {{ do :: n > 3 -> break :: else od }}");
    assert!(vacuous(&accepting).is_empty());
}

#[test]
fn a_model_without_assertions_says_so() {
    let note = |text: &str| {
        let claim = check(text).remove(0);
        claim.notes.iter().any(|note| note.starts_with("the model has no assertion"))
    };
    assert!(note("byte n; active proctype P() { n = 1 }"));
    assert!(!note("byte n; active proctype P() { n = 1; assert(n == 1) }"));
}
