//! Properties that cannot be checked, or not as wished: clear messages and exit codes. And what is said
//! about those that can.

use std::path::PathBuf;
use std::process::{Command, Output};

fn file(name: &str, text: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("liveness_input");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn check(path: &PathBuf, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_preempt"))
        .arg("check")
        .arg(path)
        .args(arguments)
        .output()
        .unwrap()
}

fn report(path: &PathBuf, arguments: &[&str]) -> serde_json::Value {
    let output = check(path, &[arguments, &["--json"]].concat());
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)))
}

const FLIP: &str = "bit p;\nactive proctype P() { bit x; do :: p = 1 - p :: x = 1 - x od }\n\
                    active proctype Q() { bit y; do :: y = 1 - y od }\n";

#[test]
fn an_unknown_proposition_is_named() {
    let path = file("flip.pml", FLIP);
    let output = check(&path, &["--formula", "[] <> nowhere"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("nowhere"), "{text}");
}

/// The length that is reported is that of the longest state, also where processes are started on the way.
#[test]
fn states_get_longer_on_the_way() {
    let text = "byte left = 3;\nproctype P() { int x; x = 1; left-- }\n\
                init { run P(); run P(); run P() }\nltl f { <> (left == 0) }\n";
    let path = file("longer.pml", text);
    let length = |more: &[&str]| report(&path, more)["state_bytes"].clone();
    let longest = length(&["--no-claim", "--por", "off", "--threads", "1"]);
    for threads in ["1", "2"] {
        for por in ["on", "off"] {
            let found = length(&["--ltl", "f", "--por", por, "--threads", threads]);
            assert_eq!(found, longest, "{threads} threads, reduction {por}");
        }
    }
}

#[test]
fn a_local_variable_in_an_ltl_block_is_refused() {
    let path = file("local.pml", &format!("{FLIP}ltl f {{ [] <> (x == 0) }}\n"));
    let output = check(&path, &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("`x`") || text.contains(" x"), "{text}");
    assert!(text.contains("local.pml:4"), "{text}");
}

#[test]
fn a_claim_that_counts_steps_is_checked_without_reduction() {
    // Accepts if p is false in exactly the first state.
    let claim = "never { !p; p; accept: do :: true od }\n";
    let path = file("counts.pml", &format!("{FLIP}{claim}"));
    let answer = report(&path, &["--acceptance"]);
    assert_eq!(answer["verdict"], "violated");
    let notes = answer["notes"].to_string();
    assert!(notes.contains("no partial-order reduction"), "{notes}");
    assert!(notes.contains("stutter invariant"), "{notes}");
}

#[test]
fn accept_labels_of_a_claim_are_looked_for_without_being_asked() {
    // p is 0 again and again.
    let claim = "never { T0: if :: p == 0 -> goto accept :: true -> goto T0 fi; accept: if :: true -> goto T0 fi }\n";
    let path = file("accepting.pml", &format!("{FLIP}{claim}"));
    let answer = report(&path, &[]);
    assert_eq!(answer["verdict"], "violated");
    assert!(answer["notes"].to_string().contains("--no-acceptance"), "{}", answer["notes"]);
    assert_eq!(report(&path, &["--acceptance"])["verdict"], "violated");
    // What was not searched is not claimed.
    let finite = report(&path, &["--no-acceptance"]);
    assert_eq!(finite["verdict"], "holds");
    let sentence = finite["claim"].as_str().unwrap();
    assert!(sentence.starts_with("holds for finite executions"), "{sentence}");
    // Behind its last accept state this claim can only be completed.
    let safety = "never { do :: p == 2 -> break :: else od; accept_all: skip }\n";
    let path = file("completed.pml", &format!("{FLIP}{safety}"));
    assert_eq!(report(&path, &["--search", "bfs"])["verdict"], "holds");
    let both = check(&path, &["--acceptance", "--no-acceptance"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn a_claim_that_is_completed_is_found_whatever_comes_first() {
    // Reduction would run P1 first, and the claim would miss the moment.
    let text = "bit p;\nactive proctype P0() { p = 1 }\n\
                active proctype P1() { bit x; x = 1; x = 0; x = 1; p = p }\nnever { !p; p }\n";
    let path = file("moment.pml", text);
    assert_eq!(report(&path, &[])["verdict"], "violated");
    assert_eq!(report(&path, &["--por", "off"])["verdict"], "violated");
}

#[test]
fn formulas_that_say_nothing_or_too_much() {
    let path = file("flip2.pml", FLIP);
    let valid = report(&path, &["--formula", "[] p || <> !p"]);
    assert_eq!(valid["verdict"], "holds");
    let valid = report(&path, &["--formula", "true"]);
    assert_eq!(valid["verdict"], "holds");
    assert!(valid["notes"].to_string().contains("any model"), "{}", valid["notes"]);
    let impossible = report(&path, &["--formula", "false"]);
    assert_eq!(impossible["verdict"], "violated");
}

#[test]
fn accept_labels_count_for_claims_and_not_for_formulas() {
    let text = "bit p;\nactive proctype P() { accept: do :: p = 1 - p od }\n\
                active proctype Q() { bit x; do :: x = 1 - x od }\n";
    let path = file("labels.pml", text);
    assert_eq!(report(&path, &["--acceptance"])["verdict"], "violated");
    assert_eq!(report(&path, &["--formula", "[] (p < 2)", "--acceptance"])["verdict"], "holds");
    let path = file("labels_claim.pml", &format!("{text}never {{ do :: true od }}\n"));
    let answer = report(&path, &["--acceptance"]);
    assert_eq!(answer["verdict"], "violated");
    assert!(answer["notes"].to_string().contains("accept labels"), "{}", answer["notes"]);
}

#[test]
fn counterexamples_are_short_and_say_what_they_mean() {
    // The way in needs one preemption at most, and one step repeats.
    let text = "bit stop;\nbyte n;\n\
                active proctype P() { do :: n < 50 -> n++ :: stop -> break od; do :: n = n od }\n\
                active proctype Q() { stop = 1 }\n";
    let path = file("short.pml", text);
    let answer = report(&path, &["--formula", "<> (n == 50)"]);
    assert_eq!(answer["verdict"], "violated");
    let violation = &answer["violation"];
    assert_eq!(violation["message"], "an infinite execution violates `<> (n == 50)`");
    // Without a preemption Q runs to its end (two steps), P leaves its first loop, and one step of the
    // second repeats; nothing else ends the first loop before n is 50.
    assert_eq!(violation["steps"], 4, "{violation}");
    assert_eq!(violation["preemptions"], 0, "{violation}");
    let stuck = report(
        &file("stuck.pml", "bit p; active proctype P() { false; p = 1 }\n"),
        &["--formula", "<> p"],
    );
    let message = stuck["violation"]["message"].to_string();
    assert!(message.contains("stays in its last state for ever"), "{message}");
}

#[test]
fn bounds_and_infinite_executions() {
    // Both must move again and again for p to change again and again: a preemption each time.
    let text = "bit p, q;\nactive proctype P() { do :: p = 1 - p od }\n\
                active proctype Q() { do :: q = 1 - q od }\n";
    let path = file("both.pml", text);
    let formula = "!([] <> p && [] <> !p && [] <> q && [] <> !q)";
    let bounded = report(&path, &["--formula", formula, "--bound", "2"]);
    assert_eq!(bounded["verdict"], "holds_within_bound");
    assert!(bounded["notes"].to_string().contains("infinite executions"), "{}", bounded["notes"]);
    let iterated = report(&path, &["--formula", formula, "--iterate"]);
    assert_eq!(iterated["verdict"], "violated");
    assert!(iterated["notes"].to_string().contains("preempts again"), "{}", iterated["notes"]);
    let once = report(&path, &["--formula", "[] !(p && <> [] q)", "--iterate"]);
    assert_eq!(once["verdict"], "violated");
    assert!(once["per_bound"].as_array().is_some_and(|rows| !rows.is_empty()));
    let holds = report(&path, &["--formula", "[] (p < 2)", "--iterate"]);
    assert_eq!(holds["verdict"], "holds");
}

#[test]
fn an_expression_without_a_value_is_a_violation_where_it_matters() {
    let model =
        "byte n; byte x = 5; byte a[2]; chan q;\nactive proctype p() { n = 1; n = 2; n = 0 }\n";
    let path = file("values.pml", model);
    for (formula, expected) in [
        ("[] (n == 0 || x / n < 9)", None),
        ("[] (x / n < 9)", Some("division by zero")),
        ("[] (n == 2 || a[n] == 0)", None),
        ("<> (a[n] == 1)", Some("index")),
        ("[] ((len(q) < 2) -> (len(q) > 0))", Some("uninitialised channel")),
    ] {
        for backend in ["native", "interp"] {
            let answer = report(&path, &["--formula", formula, "--backend", backend]);
            let verdict = if expected.is_some() { "violated" } else { "holds" };
            assert_eq!(answer["verdict"], verdict, "{formula}");
            let message = answer["violation"]["message"].as_str().unwrap_or_default();
            assert!(message.contains(expected.unwrap_or_default()), "{formula}: {message}");
        }
    }
}

/// Reduction relies on `xs` within a bound as it does without.
#[test]
fn a_broken_promise_is_reported_within_a_bound() {
    let text = "chan c = [2] of { byte };\n\
                active proctype S() { xs c; c!1 }\nactive proctype T() { c!2 }\n";
    let path = file("promise.pml", text);
    for arguments in [
        &[][..],
        &["--bound", "1"],
        &["--iterate"],
        &["--bound", "1", "--threads", "2"],
        &["--bound", "1", "--search", "dfs"],
    ] {
        assert_eq!(report(&path, arguments)["verdict"], "violated", "{arguments:?}");
        let off = report(&path, &[arguments, &["--por", "off"]].concat());
        assert_ne!(off["verdict"], "violated", "{arguments:?}");
    }
}
