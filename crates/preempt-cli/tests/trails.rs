//! Trails go both ways: Spin follows ours, and we follow Spin's. Skipped where `spin` or a C compiler is
//! missing. `PREEMPT_CC` names another compiler than gcc.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Models with a violation, and the violation's words in Spin's report. They use what makes the numbering
/// of statements difficult: selections in each other, jumps, escapes, merged statements, `d_step`,
/// inlines, claims in front of process types.
const MODELS: [(&str, &str, &str); 7] = [
    (
        "choices",
        "byte x, y; chan q = [0] of { byte };
         active proctype P() { byte l;
           do :: x < 2 -> x++ :: atomic { x == 2 -> y = 1; x = 0 } :: y == 1 -> break od;
           q!3; d_step { x = 1; y = 2 };
           if :: x == 1 -> goto L :: else -> skip fi;
         L: assert(y != 2) }
         active proctype Q() { byte z; q?z; z = 0 }",
        "assertion violated",
    ),
    (
        "deadlock",
        "chan a = [0] of { byte, bool }; chan b = [1] of { byte };
         proctype P(byte n) { byte x; if :: a!n, 1; b?x :: a?x, _; b?x :: b!n; a?x, _ fi }
         init { atomic { run P(1); run P(2) } }",
        "invalid end state",
    ),
    (
        "escapes",
        "byte x; active proctype P() { { do :: x < 5 -> x++ :: x > 2 -> x-- od } unless { x == 4 -> x = 9 }; assert(x != 9) }
         active proctype Q() { byte i; for (i : 0 .. 2) { x = x + 1 } }",
        "assertion violated",
    ),
    (
        "inlines",
        "byte x; inline twice(v) { v++; if :: v > 3 -> v = 0 :: else fi; v++ }
         inline thrice(v) { twice(v); byte t = v; v = t + 1 }
         active [2] proctype P() { thrice(x); twice(x); atomic { x < 9; x = x + 10 }; assert(x < 10) }",
        "assertion violated",
    ),
    (
        "claim first",
        "byte x; never { do :: x < 3 :: x == 3 -> break od }
         active proctype P() { do :: x < 3 -> x++ :: break od } active proctype Q() { x = x + 1 }",
        "end state in claim reached",
    ),
    (
        "cycle",
        "byte x; ltl p { <> (x == 7) } active proctype P() { do :: x = (x + 1) % 3 :: x == 1 -> skip od }",
        "acceptance cycle",
    ),
    (
        "timeouts",
        "byte x; chan q = [2] of { mtype, byte }; mtype = { ping, pong };
         active proctype P() { end: do :: q??pong(x) :: timeout -> q!ping, 1 :: full(q) -> break od; assert(false) }",
        "assertion violated",
    ),
];

fn compiler() -> String {
    std::env::var("PREEMPT_CC").unwrap_or_else(|_| "gcc".into())
}

/// A folder with the model in it.
fn folder(name: &str, text: &str) -> PathBuf {
    let name = format!("preempt-trails-{}-{}", std::process::id(), name.replace(' ', "-"));
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).expect("a folder can be made");
    fs::write(folder.join("m.pml"), text).expect("a model can be written");
    folder
}

fn run(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

const PREEMPT: &str = env!("CARGO_BIN_EXE_preempt");

#[test]
fn spin_follows_our_trails() {
    if !preempt_testing::peers(&["spin"]) {
        return;
    }
    for (name, text, words) in MODELS {
        let folder = folder(name, text);
        let mut line = vec!["spin", "-run", "m.pml"];
        if words.contains("cycle") {
            line.insert(2, "-a");
        }
        let said = run(&folder, PREEMPT, &line);
        assert!(said.contains(words), "{name}: {said}");
        let trail = fs::read_to_string(folder.join("m.pml.trail")).expect("a trail is saved");
        let steps = trail.lines().filter(|line| !line.starts_with('-')).count();
        let followed = run(&folder, "spin", &["-t", "-p", "m.pml"]);
        assert!(!followed.contains("no matching stmnt"), "{name}: {trail}\n{followed}");
        assert!(
            followed.contains(&format!("trail ends after {steps} steps")),
            "{name}: {followed}"
        );
        if words == "assertion violated" {
            assert!(followed.contains(words), "{name}: {trail}\n{followed}");
        }
        // And so do we.
        let again = run(&folder, PREEMPT, &["replay", "m.pml", "m.pml.trail"]);
        if words != "end state in claim reached" {
            assert!(again.contains("violated: "), "{name}: {again}");
        }
        let _ = fs::remove_dir_all(&folder);
    }
}

#[test]
fn we_follow_spins_trails() {
    if !preempt_testing::peers(&["spin", &compiler()]) {
        return;
    }
    for (name, text, words) in MODELS {
        let folder = folder(&format!("spin {name}"), text);
        run(&folder, "spin", &["-a", "m.pml"]);
        run(&folder, &compiler(), &["-w", "-O0", "-o", "pan", "pan.c"]);
        let said = run(&folder, "./pan", if words.contains("cycle") { &["-a"] } else { &[] });
        assert!(said.contains("wrote m.pml.trail"), "{name}: {said}");
        let trail = fs::read_to_string(folder.join("m.pml.trail")).expect("Spin saves a trail");
        let followed = run(&folder, PREEMPT, &["spin", "-t", "m.pml"]);
        assert!(!followed.contains("error"), "{name}: {trail}\n{followed}");
        if words == "assertion violated" {
            assert!(followed.contains("assert("), "{name}: {followed}");
        }
        // A trail of another model is refused at its line.
        fs::write(folder.join("m.pml"), "active proctype X() { end: false }").expect("written");
        let refused = run(&folder, PREEMPT, &["replay", "m.pml", "m.pml.trail"]);
        assert!(refused.contains("line "), "{name}: {refused}");
        let _ = fs::remove_dir_all(&folder);
    }
}
