//! Trails go both ways: Spin follows ours, and we follow Spin's. Skipped where `spin` or a C compiler is
//! missing.

use preempt_testing::c_compiler;
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
    if !preempt_testing::peers(&["spin", &c_compiler()]) {
        return;
    }
    for (name, text, words) in MODELS {
        let folder = folder(&format!("spin {name}"), text);
        run(&folder, "spin", &["-a", "m.pml"]);
        run(&folder, &c_compiler(), &["-w", "-O0", "-o", "pan", "pan.c"]);
        let said = run(&folder, "./pan", if words.contains("cycle") { &["-a"] } else { &[] });
        assert!(said.contains("wrote m.pml.trail"), "{name}: {said}");
        let trail = fs::read_to_string(folder.join("m.pml.trail")).expect("Spin saves a trail");
        let followed = run(&folder, PREEMPT, &["spin", "-t", "m.pml"]);
        assert!(!followed.contains("error:"), "{name}: {trail}\n{followed}");
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

/// What Spin and we print of a trail, without the statements: everything but the text of an assertion,
/// which Spin writes its own way, and a remark on the time of files is the same.
fn printed(text: &str) -> Vec<&str> {
    let differs =
        |line: &&str| line.contains("text of failed assertion") || line.contains("is newer than");
    text.lines().filter(|line| !differs(line)).collect()
}

/// A test generator's way: all trails, then what each prints.
#[test]
fn all_trails_are_saved_and_print_what_spin_prints() {
    if !preempt_testing::peers(&["spin", &c_compiler()]) {
        return;
    }
    let model = "byte x, y; chan q = [2] of { byte, bool }; mtype = { low, high }; mtype m = low;
         proctype p(byte k) { x = x + k; printf(\"@@@ %d STEP %d\\n\", _pid, x);
           if :: q!k, true :: y++ fi; printf(\"left\"); printf(\" %e\\n\", m) }
         init { atomic { run p(1); run p(2) }; _nr_pr == 1 -> m = high; assert(x + y + len(q) == 9) }";
    let folder = folder("every", model);
    let said = run(&folder, PREEMPT, &["spin", "-run", "-noreduce", "-E", "-c0", "-e", "m.pml"]);
    run(&folder, "spin", &["-a", "m.pml"]);
    run(&folder, &c_compiler(), &["-w", "-O0", "-DNOREDUCE", "-o", "pan", "pan.c"]);
    let spins = run(&folder, "./pan", &["-E", "-c0"]);
    let errors = |text: &str| {
        text.split("errors: ").nth(1).map(|rest| rest.lines().next().unwrap_or("").to_string())
    };
    assert_eq!(errors(&said), errors(&spins));
    let count: usize = errors(&spins).and_then(|n| n.trim().parse().ok()).expect("a number");
    assert!(count > 3, "{spins}");
    assert!(!folder.join(format!("m.pml{}.trail", count + 1)).exists());
    for number in 1..=count {
        assert!(folder.join(format!("m.pml{number}.trail")).exists(), "{number} of {count}");
        for letters in ["-T", "-v"] {
            let words = [letters, &format!("-t{number}"), "m.pml"];
            let output =
                Command::new(PREEMPT).arg("spin").args(words).current_dir(&folder).output();
            let output = output.expect("it runs");
            assert_eq!(output.status.code(), Some(0));
            let ours = String::from_utf8_lossy(&output.stdout).into_owned();
            let plain = if letters == "-T" { &words[..] } else { &words[1..] };
            assert_eq!(printed(&ours), printed(&run(&folder, "spin", plain)), "{number}");
        }
    }
    let _ = fs::remove_dir_all(&folder);
}

/// As many trails as Spin saves, in its order and its words, with and without reduction: a generator of tests takes each by its
/// number. What it relies on besides is that the command ends well, and that there is a verifier to remove.
#[test]
fn the_trails_of_all_violations_are_spins() {
    if !preempt_testing::peers(&["spin", &c_compiler()]) {
        return;
    }
    let models = [
        "byte x, y; chan q = [2] of { byte };
         proctype p(byte k) { byte l; l = k; x = x + l; l++; if :: q!l :: y++; l = 0 fi; assert(x != 3 || y != 1) }
         init { byte n; do :: n < 2 -> n++ :: break od; atomic { run p(1); run p(2) }; _nr_pr == 1; assert(false) }",
        "mtype = { a, b }; chan c = [0] of { mtype, byte }; byte done;
         active [2] proctype S() { byte i; do :: i < 2 -> c!a(i); i++ :: i > 0 -> c!b(_pid); break od; done++ }
         active proctype R() { byte v, w; end: do :: c?a(v) -> w = w + v :: c?b(v) -> assert(w != v); w = 0 od }
         active proctype T() { done == 2; assert(false) }",
    ];
    for (number, model) in models.into_iter().enumerate() {
        for (ours, theirs) in [(&[][..], "-DREDUCE"), (&["-noreduce"], "-DNOREDUCE")] {
            let name = format!("all {number}{theirs}");
            let (mine, spins) = (folder(&name, model), folder(&(name + " of Spin"), model));
            let line = [&["spin", "-run", "-E", "-c0", "-e"][..], ours, &["m.pml"]].concat();
            let output = Command::new(PREEMPT).args(line).current_dir(&mine).output().unwrap();
            assert_eq!(output.status.code(), Some(0));
            assert!(mine.join("pan").exists());
            run(&spins, "spin", &["-a", "m.pml"]);
            run(&spins, &c_compiler(), &["-w", "-O0", "-DSAFETY", theirs, "-o", "pan", "pan.c"]);
            run(&spins, "./pan", &["-E", "-c0", "-e"]);
            let trail = |folder: &Path, at: usize| {
                fs::read_to_string(folder.join(format!("m.pml{at}.trail"))).ok()
            };
            let count = (1..).take_while(|at| trail(&spins, *at).is_some()).count();
            assert!(count > 2, "{count}");
            for at in 1..=count + 1 {
                assert_eq!(trail(&mine, at), trail(&spins, at), "{at} of {count}: {model}");
            }
            let _ = (fs::remove_dir_all(&mine), fs::remove_dir_all(&spins));
        }
    }
}

/// Trails of all example models that are violated, both ways.
#[test]
fn example_models_are_followed_both_ways() {
    if !preempt_testing::peers(&["spin"]) {
        return;
    }
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut followed = 0;
    for entry in fs::read_dir(models).expect("the examples").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "pml") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a model");
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = folder(&format!("example {name}"), &text);
        run(&folder, PREEMPT, &["spin", "-run", "m.pml"]);
        let trail = fs::read_to_string(folder.join("m.pml.trail")).unwrap_or_default();
        // What Spin does not understand is another matter, and so is a cycle, which it follows beside its claim.
        if !trail.is_empty() && !trail.contains("-1:-1:-1") {
            let steps = trail.lines().filter(|line| !line.starts_with('-')).count();
            let words = ["-t", "-T", "m.pml"];
            let spins = run(&folder, "spin", &words);
            let wanted = format!("trail ends after {steps} steps");
            assert!(spins.contains(&wanted), "{name}: {spins}");
            let ours = run(&folder, PREEMPT, &[&["spin"], &words[..]].concat());
            assert!(ours.contains(&wanted), "{name}: {ours}");
            followed += 1;
        }
        let _ = fs::remove_dir_all(&folder);
    }
    assert!(followed >= 3, "{followed}");
}

/// A never claim in a file of its own takes the place of the model's claims.
#[test]
fn a_claim_from_a_file_is_the_only_one() {
    let text = "byte x; ltl never_two { [] (x != 2) } active proctype p() { do :: x < 3 -> x++ :: else -> break od }";
    let folder = folder("claim file", text);
    fs::write(folder.join("three.never"), "never { do :: x < 3 :: x == 3 -> break od }")
        .expect("written");
    fs::write(folder.join("four.never"), "never { do :: x < 4 :: x == 4 -> break od }")
        .expect("written");
    fs::write(folder.join("none.never"), "byte y;").expect("written");
    let said = run(&folder, PREEMPT, &["spin", "-N", "three.never", "-run", "m.pml"]);
    assert!(said.contains("errors: 1") && said.contains("end state in claim"), "{said}");
    let said = run(&folder, PREEMPT, &["spin", "-N", "four.never", "-run", "m.pml"]);
    assert!(said.contains("errors: 0") && !said.contains("never_two"), "{said}");
    let said = run(&folder, PREEMPT, &["spin", "-run", "-ltl", "never_two", "m.pml"]);
    assert!(said.contains("errors: 1"), "{said}");
    let said = run(&folder, PREEMPT, &["spin", "-N", "none.never", "-run", "m.pml"]);
    assert!(said.contains("contains no never claim"), "{said}");
    let said = run(&folder, PREEMPT, &["check", "m.pml", "--claim-file", "missing.never"]);
    assert!(said.contains("cannot read missing.never"), "{said}");
    let _ = fs::remove_dir_all(&folder);
}
