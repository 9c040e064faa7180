//! Remarks about counterexamples of random models and formulas, against a re-execution by their own changes and
//! against the definition of the logic: a finite prefix is bad if no continuation satisfies the formula, it is
//! reported if there is one, and it is the shortest.
//!
//! `PREEMPT_OBSERVED_MODELS` and `PREEMPT_OBSERVED_SEED` make more of them.

use preempt_core::{
    Claim, Describe, Enabled, ProcessId, Step, System, Trace, Value, ViolationKind,
};
use preempt_ltl::{Formula, Word, holds};
use preempt_testing::Random;
use preempt_verify::promela::{Settings, observed, read};
use preempt_verify::{Control, Request, verify_promela};
use std::collections::HashMap;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

const EXPRESSIONS: [&str; 3] = ["a == 1", "b == 1", "c == 2"];

fn formula(random: &mut Random, depth: usize) -> Formula {
    let pick = random.below(if depth == 0 { 2 } else { 10 });
    let mut below = || formula(random, depth - 1);
    match pick {
        0 => Formula::Prop(random.below(EXPRESSIONS.len()) as u32),
        1 => Formula::Prop(random.below(EXPRESSIONS.len()) as u32).not(),
        2 => below().and(below()),
        3 => below().or(below()),
        4 => below().implies(below()),
        5 => below().eventually(),
        6 | 7 => below().always(),
        8 => below().until(below()),
        _ => below().weak_until(below()),
    }
}

fn statement(random: &mut Random) -> String {
    let plain =
        ["a = 1", "a = 0", "b = 1 - b", "c = (c + 1) % 3", "x = a + c", "c = x % 3", "skip"];
    let guards = ["a == 1", "b == 0", "c != x", "x < 2 || b == 1", "else"];
    let mut plain = || plain[random.below(plain.len())];
    let (first, second) = (plain(), plain());
    match random.below(6) {
        0 => format!("{} -> {first}", guards[random.below(guards.len() - 1)]),
        1 => format!("atomic {{ {first}; {second} }}"),
        2 => format!("d_step {{ {first}; {second} }}"),
        _ => format!("{first}; {second}"),
    }
}

fn model(random: &mut Random) -> String {
    let mut text = String::from("bit a, b; byte c;\n");
    for name in ["P", "Q"] {
        let options: Vec<String> =
            (0..1 + random.below(3)).map(|_| format!(":: {}", statement(random))).collect();
        let first = statement(random);
        text.push_str(&format!(
            "active proctype {name}() {{ byte x; {first}; do {} od }}\n",
            options.join(" ")
        ));
    }
    text
}

/// The values at the start and after each step, by another execution of the same steps that leaves out nothing.
fn values(text: &str, trace: &Trace) -> Vec<HashMap<String, Value>> {
    let model = read("m.pml", text).unwrap();
    let settings = Settings { hide_unread: false, reset_dead: false, ..Settings::default() };
    let system = observed(&model, &settings, &Control::new()).unwrap();
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    system.initial(&mut state);
    let mut all = vec![system.variables(&state).into_iter().collect()];
    for raw in &trace.raw {
        if raw.process != ProcessId::PROPERTY {
            enabled.clear();
            system.enabled(&mut state, &mut enabled);
            system.apply(&mut state, Step { choice: 0, ..*raw });
        }
        all.push(system.variables(&state).into_iter().collect());
    }
    all
}

/// Every continuation up to a size.
fn continuations() -> Vec<(Vec<u64>, Vec<u64>)> {
    let letters = 1_u64 << EXPRESSIONS.len();
    let mut words: Vec<Vec<u64>> = vec![Vec::new()];
    let mut all = words.clone();
    for _ in 0..2 {
        words =
            words.iter().flat_map(|w| (0..letters).map(move |l| [&w[..], &[l]].concat())).collect();
        all.extend(words.clone());
    }
    let cycles = all.iter().filter(|word| !word.is_empty());
    cycles.flat_map(|cycle| all.iter().map(move |stem| (stem.clone(), cycle.clone()))).collect()
}

/// Whether something behind these letters satisfies the formula.
fn can_be_mended(formula: &Formula, letters: &[u64], all: &[(Vec<u64>, Vec<u64>)]) -> bool {
    all.iter().any(|(stem, cycle)| {
        let word = Word { stem: [letters, stem].concat(), cycle: cycle.clone() };
        holds(formula, &word)
    })
}

fn violated(text: &str) -> Option<Claim> {
    let claims = verify_promela("m.pml", text, &Request::default(), &Control::new()).unwrap();
    claims.into_iter().find(|claim| claim.violation.is_some())
}

/// What a step saw is what a re-execution has there. Says how many values were compared.
fn compare_seen(trace: &Trace, values: &[HashMap<String, Value>], text: &str) -> usize {
    let mut compared = 0;
    for (at, seen) in trace.observations.seen.iter().enumerate() {
        for (name, value) in seen {
            let both = [values[at].get(name), values[at + 1].get(name)];
            assert_eq!(both, [Some(value); 2], "step {at}, {name}\n{text}");
            compared += 1;
        }
    }
    compared
}

#[test]
fn prefixes_are_bad_and_the_shortest() {
    let (count, seed) =
        (number("PREEMPT_OBSERVED_MODELS", 120), number("PREEMPT_OBSERVED_SEED", 1));
    let all = continuations();
    let names: Vec<String> = EXPRESSIONS.iter().map(|text| format!("({text})")).collect();
    let (mut bad, mut open, mut compared) = (0, 0, 0);
    for case in seed..seed + count {
        let mut random = Random::linear(case.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let formula = formula(&mut random, 2);
        let text = format!("{}ltl f {{ {} }}\n", model(&mut random), formula.display(&names));
        let Some(claim) = violated(&text) else { continue };
        let Some(violation) = claim.violation.filter(|v| v.kind == ViolationKind::AcceptanceCycle)
        else {
            continue;
        };
        let (trace, observations) = (&violation.trace, &violation.trace.observations);
        if observations.seen.is_empty() {
            continue;
        }
        let values = values(&text, trace);
        compared += compare_seen(trace, &values, &text);
        let truth = |at: usize, expression: &str| {
            let (name, wanted) = expression.split_once(" == ").unwrap();
            values[at].get(name) == Some(&Value::Int(wanted.parse().unwrap()))
        };
        // The expressions along the way, where the property looks.
        let mut letters = Vec::new();
        for at in 0..values.len() {
            let looks =
                observations.propositions.first().is_some_and(|row| row.holds[at].is_some());
            for row in observations.propositions.iter().filter(|_| looks) {
                assert_eq!(
                    row.holds[at],
                    Some(truth(at, &row.name)),
                    "{} at {at}\n{text}",
                    row.name
                );
            }
            let bits =
                EXPRESSIONS.iter().enumerate().map(|(bit, e)| u64::from(truth(at, e)) << bit);
            letters.push(looks.then(|| bits.sum::<u64>()));
        }
        let until = |end: usize| letters[..end].iter().flatten().copied().collect::<Vec<u64>>();
        match observations.bad_prefix {
            Some(at) => {
                assert!(letters[at].is_some(), "decided where the property does not look\n{text}");
                assert!(
                    !can_be_mended(&formula, &until(at + 1), &all),
                    "{at} steps decide nothing\n{text}"
                );
                assert!(
                    at == 0 || can_be_mended(&formula, &until(at), &all),
                    "less than {at} steps decide\n{text}"
                );
                bad += 1;
            }
            None => {
                assert!(
                    can_be_mended(&formula, &until(letters.len()), &all),
                    "decided, and not said\n{text}"
                );
                open += 1;
            }
        }
    }
    println!("{bad} finite prefixes, {open} infinite executions, {compared} values");
    assert!(bad > count / 10 && open > count / 20 && compared > 100, "{bad} {open} {compared}");
}

#[test]
fn reasons_have_the_values_of_a_re_execution() {
    let (count, seed) =
        (number("PREEMPT_OBSERVED_MODELS", 120), number("PREEMPT_OBSERVED_SEED", 1));
    let (mut reasons, mut compared) = (0, 0);
    for case in seed..seed + count {
        let mut random = Random::linear(case.wrapping_mul(0x2545_F491_4F6C_DD1D));
        let conditions =
            ["a == 0 || c != 2", "b + c < 3", "!(a == 1 && b == 1)", "c != 1 || a == b"];
        let condition = conditions[random.below(conditions.len())];
        let text =
            format!("{}active proctype judge() {{ assert({condition}) }}\n", model(&mut random));
        let Some(claim) = violated(&text) else { continue };
        let violation = claim.violation.unwrap();
        let trace = &violation.trace;
        let values = values(&text, trace);
        compared += compare_seen(trace, &values, &text);
        for reason in &trace.observations.reasons {
            let (said, told) = reason.split_once(" is false: ").unwrap();
            assert_eq!(said, condition);
            let last = &values[values.len() - 1];
            for (name, value) in told.split(", ").map(|part| part.split_once(" is ").unwrap()) {
                assert_eq!(last[name].to_string(), value, "{reason}\n{text}");
                reasons += 1;
            }
        }
    }
    println!("{reasons} values in reasons, {compared} seen");
    assert!(reasons > 30 && compared > 30, "{reasons} {compared}");
}
