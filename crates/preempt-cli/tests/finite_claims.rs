//! `spin -run -safety` and `-bfs` with a claim or formula: what finite executions show of it, beside Spin.
//!
//! Random models have random formulas and random never claims. The verdict is Spin's in all of them; so are the states of violated
//! invariants, and of claims that hold, except where processes and claim are both stuck: there Spin does not store what the claim's last
//! step led to, and this search does. (With a process that can always go on, the states are the same again.) Behind the end of a claim Spin takes one more step and counts an error for each, which
//! this search does not; it counts one for each way in which an invariant is violated; and the automata of other formulas are
//! not Spin's. The models have no assertions: these are checked here also where the claim stops.
//! `PREEMPT_FINITE_CASES` sets the number of models and `PREEMPT_FINITE_SEED` the first seed.

#[path = "../../preempt-promela/tests/random/properties.rs"]
mod properties;

use preempt_testing::Random;
use properties::{claim, formula};
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
    "c!x",
    "c?x",
];

fn model(random: &mut Random) -> String {
    let mut text = String::from(
        "#define p (g0 == 1)\n#define q (g1 == 1)\nbit g0, g1;\nchan c = [1] of { bit };\n",
    );
    for number in 0..2 {
        let mut statements =
            || -> Vec<&str> { (0..2 + random.below(3)).map(|_| random.pick(STATEMENTS)).collect() };
        let (first, second) = (statements().join("; "), statements().join("; "));
        let body = match random.below(3) {
            0 => format!("{first}; do :: {second} od"),
            1 => format!("do :: {first} :: {second} od"),
            _ => format!("{first}; if :: {second} :: x = 1 fi"),
        };
        let _ = writeln!(text, "active proctype P{number}() {{ bit x; {body} }}");
    }
    text
}

/// States and errors as a verifier prints them, all violations counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Numbers {
    states: u64,
    errors: u64,
}

fn numbers(said: &str) -> Option<Numbers> {
    let states = said.lines().find(|line| line.contains("states, stored"))?;
    let (_, errors) = said.lines().find_map(|line| line.split_once("errors: "))?;
    Some(Numbers {
        states: states.split_whitespace().next()?.parse().ok()?,
        errors: errors.trim().parse().ok()?,
    })
}

fn ours(folder: &Path, options: &[&str]) -> (Numbers, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_preempt"));
    let output = command.args(["spin", "-run", "-c0"]).args(options).arg("m.pml");
    let output = output.current_dir(folder).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = numbers(&said).unwrap_or_else(|| {
        panic!("{options:?}: {said}{}", String::from_utf8_lossy(&output.stderr))
    });
    (found, said)
}

/// Spin's, with a verifier for safety compiled so; `None` without Spin.
fn spins_numbers(folder: &Path, switches: &[&str]) -> Option<Numbers> {
    let compiler = preempt_testing::c_compiler();
    if !preempt_testing::peers(&["spin", &compiler]) {
        return None;
    }
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(folder).output();
        output.ok().filter(|output| output.status.success())
    };
    run("spin", &["-a", "m.pml"])?;
    run(&compiler, &[&["-O0", "-w", "-o", "pan", "pan.c"], switches].concat())?;
    numbers(&String::from_utf8_lossy(&run("./pan", &["-c0", "-m100000"])?.stdout))
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

#[test]
fn finite_executions_show_what_they_show_to_spin() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("finite_claims_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let first = setting("PREEMPT_FINITE_SEED", 1);
    let mut wrong = Vec::new();
    let (mut claims, mut formulas, mut same, mut violated) = (0, 0, 0, 0);
    let (mut holding, mut others) = (0, 0);
    for seed in first..first + setting("PREEMPT_FINITE_CASES", 12) {
        let random = &mut Random::new(seed);
        let model = model(random);
        let formula = formula(random, 2);
        for is_claim in [true, false] {
            let property =
                if is_claim { claim(random) } else { format!("ltl f {{ {formula} }}\n") };
            let text = format!("{model}{property}");
            std::fs::write(folder.join("m.pml"), &text).unwrap();
            let (depth_first, said) = ours(&folder, &["-safety", "-noreduce"]);
            let (breadth_first, _) = ours(&folder, &["-bfs", "-noreduce"]);
            let (reduced, _) = ours(&folder, &["-safety"]);
            let mut differs = |what: &str| wrong.push(format!("seed {seed}: {what}\n{text}{said}"));
            if (reduced.errors > 0) != (depth_first.errors > 0)
                || breadth_first.errors != depth_first.errors
            {
                differs(&format!("{depth_first:?} {breadth_first:?} {reduced:?}"));
            }
            violated += u32::from(depth_first.errors > 0);
            let Some(spins) = spins_numbers(&folder, &["-DSAFETY", "-DNOREDUCE"]) else { continue };
            let holds = spins.errors == 0;
            let is_invariant =
                formula.starts_with("[]") && !formula[2..].contains(['[', '<', 'U', 'V']);
            let has_other_states = spins.states != depth_first.states;
            if holds != (depth_first.errors == 0)
                || !is_claim && is_invariant && !holds && has_other_states
            {
                differs(&format!("{depth_first:?}, Spin {spins:?}"));
            }
            match is_claim {
                true => claims += 1,
                false => formulas += 1,
            }
            same += u32::from(spins == depth_first);
            holding += u32::from(is_claim && holds);
            if is_claim && holds && has_other_states {
                others += 1;
                let text = format!(
                    "{model}active proctype Goes() {{ bit y; do :: y = 1 - y od }}\n{property}"
                );
                std::fs::write(folder.join("m.pml"), text).unwrap();
                let (ours, _) = ours(&folder, &["-safety", "-noreduce"]);
                let spins =
                    spins_numbers(&folder, &["-DSAFETY", "-DNOREDUCE"]).expect("Spin is there");
                if (ours.errors == 0) != (spins.errors == 0)
                    || spins.errors == 0 && spins.states != ours.states
                {
                    differs(&format!("with a process that goes on {ours:?}, Spin {spins:?}"));
                }
            }
        }
    }
    println!(
        "{claims} claims, {formulas} formulas, {same} with Spin's numbers, {violated} violated; of {holding} claims that hold {others} have other states"
    );
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(5 * same >= 2 * (claims + formulas));
    let _ = std::fs::remove_dir_all(&folder);
}
