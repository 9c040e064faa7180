//! `local` is believed where one process alone uses a variable, and nowhere else.

use std::process::Command;

/// States, whether an assertion is violated, and the notes.
fn check(name: &str, text: &str, options: &[&str]) -> (u64, bool, String) {
    let path = std::env::temp_dir().join(format!("preempt-{}-{name}.pml", std::process::id()));
    std::fs::write(&path, text).expect("the model can be written");
    let output = Command::new(env!("CARGO_BIN_EXE_preempt"))
        .args(["check", "--json"])
        .args(options)
        .arg(&path)
        .output()
        .expect("the command runs");
    let _ = std::fs::remove_file(&path);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let states = report["states"].as_u64().expect("a number of states");
    (states, report["verdict"] == "violated", report["notes"].to_string())
}

const OPTIONS: [&[&str]; 4] =
    [&["--por", "on"], &["--por", "off"], &["--por", "on", "--no-merge"], &["--iterate"]];

#[test]
fn a_broken_promise_hides_no_violation() {
    let models = [
        // Merged into one step, or taken alone, the value 1 would never be seen.
        "local byte a; active proctype P() { a = 1; a = 2 } active proctype Q() { assert(a != 1) }",
        "local byte a; byte z; active proctype P() { a = 1; z = 1; a = 2; z = 2 }
         active proctype Q() { assert(a != 1) }",
        // Several processes of one type.
        "local byte a; active [2] proctype P() { byte t; t = a; a = t + 1; assert(a != 1 || t == 0); assert(a < 2) }",
        "local byte a; proctype P() { a++; a--; assert(a == 0) }
         init { byte i; do :: i < 2 -> run P(); i++ :: else -> break od }",
        "local byte a; proctype P() { a++; a--; assert(a == 0) } init { run P(); run P() }",
        "local byte a; byte i; proctype P() { a++; a--; assert(a == 0) }
         init { again: run P(); i++; if :: i < 2 -> goto again :: else fi }",
        // The process that starts another reads it for the other.
        "local byte a; proctype P() { byte x = a; assert(x != 1) }
         active proctype Q() { a = 1; a = 2 } active proctype R() { run P() }",
    ];
    for (at, text) in models.iter().enumerate() {
        for options in OPTIONS {
            let (_, violated, notes) = check(&format!("broken-{at}"), text, options);
            assert!(violated, "{options:?} {text}");
            assert!(notes.contains("`a` is declared `local`"), "{options:?} {text}: {notes}");
        }
    }
}

#[test]
fn a_promise_that_is_kept_is_believed() {
    let body = |name: &str, variable: &str| {
        format!(
            "proctype {name}() {{ byte i; do :: i < 20 -> {variable}++; {variable} = {variable} % 7; i++ \
             :: else -> break od; z++ }}\n"
        )
    };
    let actives = format!("byte z; active {}active {}", body("P", "a"), body("Q", "b"));
    let started = format!(
        "byte z; {}{}init {{ atomic {{ run P(); run Q() }} }}",
        body("P", "a"),
        body("Q", "b")
    );
    for (at, rest) in [actives, started].iter().enumerate() {
        let (plain, _, notes) =
            check(&format!("plain-{at}"), &format!("byte a, b; {rest}"), &["--por", "off"]);
        assert!(!notes.contains("declared `local`"));
        let (kept, violated, notes) =
            check(&format!("kept-{at}"), &format!("local byte a, b; {rest}"), &["--por", "on"]);
        assert!(!violated && !notes.contains("declared `local`"), "{notes}");
        assert!(kept * 5 < plain, "{kept} states of {plain}");
    }
}
