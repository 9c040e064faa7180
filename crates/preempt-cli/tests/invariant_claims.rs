//! Never claims and formulas with reduction: the verdict is the one without, and no more states are stored.
//!
//! Random models have processes with steps of their own, which reduction leaves out; random claims are of four kinds: made
//! of a formula without `X`, followed to their end, random, and random with repetition allowed in every
//! state. `PREEMPT_CLAIM_CASES` sets the number of models and `PREEMPT_CLAIM_SEED` the first seed.

use preempt_testing::Random;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const STATEMENTS: &[&str] = &[
    "g0 = 1 - g0",
    "g1 = 1 - g1",
    "g0 = 1",
    "g1 = 0",
    "(g0 == 1)",
    "(g1 == 0)",
    "x = 1 - x",
    "y = x",
    "x = y",
    "c!x",
    "c?y",
    "atomic { x = 1 - x; g0 = x }",
];

fn model(random: &mut Random) -> String {
    let mut text = String::from(
        "#define p (g0 == 1)\n#define q (g1 == 1)\nbit g0, g1;\nchan c = [1] of { bit };\n",
    );
    for number in 0..2 + random.below(2) {
        let mut statements =
            || -> Vec<&str> { (0..2 + random.below(4)).map(|_| random.pick(STATEMENTS)).collect() };
        let (first, second) = (statements().join("; "), statements().join("; "));
        let body = match random.below(3) {
            0 => format!("{first}; do :: {second} od"),
            1 => format!("do :: {first} :: {second} od"),
            _ => format!("{first}; if :: {second} :: x = 1 fi"),
        };
        let _ = writeln!(text, "active proctype P{number}() {{ bit x, y; {body} }}");
    }
    text
}

fn formula(random: &mut Random, depth: u32) -> String {
    if depth == 0 {
        return random.pick(&["p", "q", "!p", "!q"]).to_string();
    }
    let (a, b) = (formula(random, depth - 1), formula(random, depth - 1));
    match random.below(7) {
        0 => format!("[] ({a})"),
        1 => format!("<> ({a})"),
        2 => format!("[] <> ({a})"),
        3 => format!("(({a}) U ({b}))"),
        4 => format!("(({a}) -> ({b}))"),
        5 => format!("(({a}) && ({b}))"),
        _ => format!("(({a}) || ({b}))"),
    }
}

const GUARDS: &[&str] = &["p", "q", "!p", "!q", "p && q", "p && !q", "!p && !q", "true"];

/// The violations of a formula, as a claim.
fn of_formula(text: &str) -> String {
    let parsed = preempt_ltl::parse(text).unwrap();
    let automaton = preempt_ltl::translate(&parsed.formula.not()).unwrap();
    preempt_ltl::write_never(&automaton, &parsed.names, text)
}

/// A claim that is completed by some events in their order.
fn followed_to_its_end(random: &mut Random) -> String {
    let mut text = String::from("never {\n");
    for _ in 0..1 + random.below(3) {
        let (event, meanwhile) = (random.pick(GUARDS), random.pick(&["true", "true", "p", "!q"]));
        let _ = writeln!(text, "do :: ({event}) -> break :: ({meanwhile}) od;");
    }
    if random.below(3) == 0 {
        text += "do :: assert(!p || !q) od\n";
    }
    text + "}\n"
}

/// A claim of some states with random moves; `repeats`: each guard may be read again in the state that it leads to.
fn random_claim(random: &mut Random, repeats: bool) -> String {
    let states = 2 + random.below(3);
    let accepting = random.below(states);
    let name = |at: u64| if at == accepting { format!("accept_{at}") } else { format!("n{at}") };
    let entered: Vec<&str> = (0..states).map(|_| random.pick(GUARDS)).collect();
    let mut text = String::from("never {\n");
    for at in 0..states {
        let _ = write!(text, "{}: if", name(at));
        for _ in 0..1 + random.below(3) {
            let target = random.below(states);
            let guard = if repeats { entered[target as usize] } else { random.pick(GUARDS) };
            let _ = write!(text, " :: ({guard}) -> goto {}", name(target));
        }
        if repeats {
            let _ = write!(text, " :: ({}) -> goto {}", entered[at as usize], name(at));
        }
        text += " fi;\n";
    }
    text + "}\n"
}

struct Answer {
    verdict: String,
    states: u64,
    is_reduced: bool,
}

fn check(path: &Path, reduction: &str) -> Answer {
    let mut command = Command::new(env!("CARGO_BIN_EXE_preempt"));
    let output = command.arg("check").arg(path).args(["--json", "--por", reduction]).output();
    let output = output.unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let notes = report["notes"].to_string();
    Answer {
        verdict: report["verdict"].as_str().unwrap().to_string(),
        states: report["states"].as_u64().unwrap(),
        is_reduced: !notes.contains("no partial-order reduction"),
    }
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

#[test]
fn reduction_changes_no_verdict_and_stores_no_more() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("invariant_claims_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("m.pml");
    let first = setting("PREEMPT_CLAIM_SEED", 1);
    let mut wrong = Vec::new();
    let (mut cases, mut violated, mut reduced, mut smaller) = (0, 0, 0, 0);
    for seed in first..first + setting("PREEMPT_CLAIM_CASES", 40) {
        let mut random = Random::new(seed);
        for _ in 0..4 {
            random.below(2);
        }
        let model = model(&mut random);
        let formula = formula(&mut random, 2);
        let properties = [
            of_formula(&formula),
            format!("ltl f {{ {formula} }}\n"),
            followed_to_its_end(&mut random),
            random_claim(&mut random, false),
            random_claim(&mut random, true),
        ];
        for property in properties {
            let text = format!("{model}{property}");
            std::fs::write(&path, &text).unwrap();
            let (full, with) = (check(&path, "off"), check(&path, "on"));
            cases += 1;
            violated += u32::from(full.verdict == "violated");
            reduced += u32::from(with.is_reduced);
            let holds = full.verdict == "holds";
            smaller += u32::from(holds && with.states < full.states);
            if full.verdict != with.verdict || holds && with.states > full.states {
                wrong.push(format!(
                    "seed {seed}: {} with {} states, reduced {} with {}\n{text}",
                    full.verdict, full.states, with.verdict, with.states
                ));
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    println!("{cases} cases, {violated} violated, {reduced} reduced, {smaller} with fewer states");
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(violated > cases / 8 && reduced > cases / 4 && smaller > cases / 20);
}
