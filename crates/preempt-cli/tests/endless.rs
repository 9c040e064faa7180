//! Executions that stay inside an `atomic` for ever are judged, with every option; a search of a property keeps
//! its promise about assertions; an answer about nothing says so.

use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// Runs a check; the report.
fn check(name: &str, text: &str, options: &[&str]) -> Value {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("endless_{name}_{}.pml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_preempt"))
        .arg("check")
        .arg(&path)
        .arg("--json")
        .args(options)
        .output()
        .unwrap();
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
        panic!("{text} {options:?}: {}", String::from_utf8_lossy(&output.stderr))
    });
    let _ = std::fs::remove_file(&path);
    report
}

/// The verdict is the same with all of these.
const OPTIONS: &[&[&str]] = &[
    &[],
    &["--por", "off"],
    &["--backend", "interp"],
    &["--store", "tree"],
    &["--threads", "2"],
    &["--threads", "4", "--por", "off"],
    &["--iterate"],
    &["--bound", "0"],
    &["--fair"],
    &["--first"],
    &["--max-errors", "0"],
];

fn expect(name: &str, text: &str, options: &[&str], verdict: &str) {
    let is_finite = options.is_empty() && text.contains("never {");
    // Fairness is about infinite executions.
    for more in OPTIONS.iter().filter(|more| !(is_finite && more.contains(&"--fair"))) {
        let all = [options, more].concat();
        let report = check(name, text, &all);
        let found = report["verdict"].as_str().unwrap_or_default();
        let found = if found == "holds_within_bound" { "holds" } else { found };
        assert_eq!(found, verdict, "{text} {all:?}\n{report}");
    }
}

#[test]
fn formulas_about_what_was_seen_before() {
    let text = "byte g; ltl p { [] (g < 2) }
        active proctype P() { bit x; g = 2; g = 0; atomic { do :: x = 1 - x od } }";
    expect("before", text, &[], "violated");
    let text = "byte g; ltl p { [] (g == 1) }
        active proctype P() { bit x; atomic { do :: x = 1 - x od } }";
    expect("start", text, &[], "violated");
    let text = "byte g; ltl p { <> (g == 1) }
        active proctype P() { bit x; atomic { do :: x = 1 - x od }; g = 1 }";
    expect("after", text, &[], "violated");
}

/// The states inside cannot be seen: what the property reads for ever is the state the sequence began in.
#[test]
fn formulas_do_not_look_inside() {
    let text = "byte g; ltl p { <> (g == 1) }
        active proctype P() { atomic { do :: g = 1 - g od } }";
    expect("inside", text, &[], "violated");
    let text = "byte g; ltl p { [] (g == 0) }
        active proctype P() { atomic { do :: g = 1 - g od } }";
    expect("inside_holds", text, &[], "holds");
}

#[test]
fn a_sequence_that_may_end_may_also_not() {
    let text = "byte g; ltl p { <> (g == 1) }
        active proctype P() { bit x; atomic { do :: x = 1 - x :: g = 1; break od } }";
    expect("may_end", text, &[], "violated");
    let text = "byte g; ltl p { <> (g == 1) } bit b;
        active proctype P() { byte i; atomic { do :: i < 3 -> i++ :: else -> break od }; g = 1 }";
    expect("ends", text, &[], "holds");
    // Whether it ends depends on the other process.
    let text = "byte g; bit b; ltl p { <> (g == 1) }
        active proctype Q() { b = 1 }
        active proctype P() { bit x; atomic { do :: b -> x = 1 - x :: else -> break od }; g = 1 }";
    expect("depends", text, &[], "violated");
}

/// Where a process blocks inside, the sequence is interrupted and others move: that is not endless.
#[test]
fn an_interrupted_sequence_is_not_endless() {
    let text = "byte g; bit b; ltl p { <> (g == 1) }
        active proctype Q() { do :: b == 1 -> b = 0 od }
        active proctype P() { bit x; x = 1; atomic { b = 1; b == 0; g = 1 } }";
    expect("interrupted", text, &[], "holds");
    // `timeout` is not possible inside; the sequence is interrupted there as well.
    let text = "byte g; ltl p { <> (g == 1) }
        active proctype P() { atomic { g = 0; timeout -> g = 1 } }";
    expect("timeout", text, &[], "holds");
    // Control goes from one atomic to the other and back, for ever.
    let text = "chan c = [0] of { bit }; chan d = [0] of { bit }; byte g; ltl p { <> (g == 1) }
        active proctype P() { atomic { do :: c!1; d?_ od } }
        active proctype Q() { atomic { do :: c?_; d!1 od } }
        active proctype R() { g = 1 }";
    expect("handed_over", text, &[], "violated");
}

#[test]
fn labels_inside_an_endless_sequence_count() {
    let model = |label: &str| {
        format!("byte g; active proctype P() {{ bit x; g = 1; atomic {{ x = 1; do :: x = 0; {label} x = 1 od }} }}
            active proctype Q() {{ accept_q: progress_q: g = 2 }}")
    };
    expect("accept", &model("accept_x:"), &["--acceptance"], "violated");
    expect("no_progress", &model(""), &["--non-progress"], "violated");
    expect("progress", &model("progress_x:"), &["--non-progress"], "holds");
    // One label is passed once, the other by a process that is not held up for ever.
    let text = "byte g; active proctype P() { bit x; accept_1: g = 1; accept_2: atomic { do :: x = 1 - x od } }";
    expect("accept_before", text, &["--acceptance"], "holds");
    let text = "byte g; active proctype P() { bit x; progress: atomic { do :: x = 1 - x od } }";
    expect("progress_before", text, &["--non-progress"], "violated");
}

/// Spin sees such a label only if it stands in front of the last statement.
#[test]
fn accept_labels_inside_a_sequence_that_ends_count() {
    for inside in ["x = 1; accept: x = 0; y = 1 - y", "x = 1; y = 1 - y; accept: x = 0"] {
        let text = format!("bit x, y; active proctype P() {{ do :: atomic {{ {inside} }} od }}");
        expect("accept_inside", &text, &["--acceptance"], "violated");
        let text = format!("bit x, y; active proctype P() {{ atomic {{ {inside} }} }}");
        expect("accept_once", &text, &["--acceptance"], "holds");
    }
    let text =
        "bit x, y; active proctype P() { do :: atomic { x = 1; progress: x = 0; y = 1 - y } od }";
    expect("progress_inside", text, &["--non-progress"], "violated");
}

#[test]
fn claims_follow_an_execution_that_never_ends() {
    let endless = "byte g; active proctype P() { bit x; g = 2; atomic { do :: x = 1 - x od } }";
    let claim = "never { n: if :: (g < 2) -> goto n :: (g == 2) -> goto accept fi; accept: if :: (g == 2) -> goto accept fi }";
    expect("claim", &format!("{endless} {claim}"), &["--acceptance"], "violated");
    let claim = "never { do :: (g < 2) :: (g == 2) -> break od; (g == 2); (g == 2) }";
    expect("completed", &format!("{endless} {claim}"), &[], "violated");
}

/// What is shown is an execution of the program, and its cycle is inside the sequence.
#[test]
fn the_cycle_shown_is_inside_the_sequence() {
    let text = "byte g;\nltl p { [] (g < 2) }\nactive proctype P() {\n  bit x;\n  g = 2;\n  g = 0;\n  atomic {\n    g = 1;\n    do\n    :: x = 1 - x;\n       g = 0\n    od\n  }\n}\n";
    let report = check("shown", text, &[]);
    let violation = &report["violation"];
    assert!(
        violation["message"]
            .as_str()
            .unwrap()
            .contains("stays inside an indivisible sequence for ever")
    );
    let start = violation["cycle_start"].as_u64().unwrap() as usize;
    let steps = violation["trace"].as_array().unwrap();
    let lines: Vec<u64> =
        steps[start..].iter().map(|step| step["line"].as_u64().unwrap()).collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| (10..=11).contains(line)), "{report}");
}

const CUT: &str = "byte x; active proctype P() { x = 1; assert(x == 0) }
    never { T0: if :: (x == 0) -> goto accept :: true -> goto T1 fi;
        accept: if :: (x == 0) -> goto accept fi; T1: do :: true od }";

#[test]
fn assertions_are_checked_wherever_the_property_stops() {
    expect("claim_cut", CUT, &["--acceptance"], "violated");
    expect("claim_cut", CUT, &[], "violated");
    let model = "byte x; active proctype P() { x = 1; assert(x == 0) }";
    for formula in ["[] (true)", "<> (x == 0)", "(x == 1)", "[] <> (x == 1)"] {
        let text = format!("{model} ltl p {{ {formula} }}");
        expect("formula_cut", &text, &[], "violated");
        let report = check("no_assert", &text, &["--no-assert"]);
        let claim = report["claim"].as_str().unwrap();
        if report["verdict"] == "holds" {
            assert!(
                claim.contains("neither assertions nor invalid end states included"),
                "{claim}"
            );
        }
    }
    expect(
        "np",
        "byte x; active proctype P() { progress: x = 1; assert(x == 0) }",
        &["--non-progress"],
        "violated",
    );
}

#[test]
fn an_answer_about_nothing_says_so() {
    let text = "byte x; active proctype P() { x = 1 } ltl p { [] (true) }";
    for options in OPTIONS {
        let report = check("nothing", text, options);
        let claim = report["claim"].as_str().unwrap();
        assert!(report["states"] != 0 || claim.contains("every execution whatsoever"), "{claim}");
        assert!(claim.contains("invalid end states not"), "{claim}");
    }
}

/// Spin warns and falls back to safety.
#[test]
fn acceptance_without_labels_is_a_search_for_safety() {
    let deadlock = "bit b; active proctype P() { b == 1 }";
    let report = check("no_labels", deadlock, &["--acceptance"]);
    assert_eq!(report["verdict"], "violated");
    assert_eq!(report["violation"]["kind"], "invalid_end_state");
    let labelled = "bit b; active proctype P() { accept: b = 0; b == 1 }";
    assert_eq!(check("labels", labelled, &["--acceptance"])["verdict"], "holds");
}

/// As in Spin, `_nr_pr` counts what watches: a claim, a formula, the search for progress.
#[test]
fn the_number_of_processes_counts_a_claim() {
    let model = |count: u32| {
        format!(
            "byte r; active proctype P() {{ progress: r = _nr_pr; assert(r == {count}); accept: do :: r = r od }}"
        )
    };
    let verdict = |name: &str, text: &str, options: &[&str]| {
        check(name, text, options)["verdict"].as_str().unwrap_or_default().to_string()
    };
    assert_eq!(verdict("count_safety", &model(1), &[]), "holds");
    assert_eq!(verdict("count_formula", &model(2), &["--formula", "[] (r < 9)"]), "holds");
    let claim = format!("{} never {{ do :: true od }}", model(2));
    assert_eq!(verdict("count_claim", &claim, &[]), "holds");
    assert_eq!(verdict("count_claim_ignored", &claim, &["--no-claim"]), "violated");
    // With `r == 1` the assertion fails first; with `r == 2` the endless loop is what is found.
    let report = check("count_np", &model(2), &["--non-progress"]);
    assert_eq!(report["violation"]["kind"], "non_progress_cycle", "{report}");
    let report = check("count_np", &model(1), &["--non-progress"]);
    assert_eq!(report["violation"]["kind"], "assertion", "{report}");
}
