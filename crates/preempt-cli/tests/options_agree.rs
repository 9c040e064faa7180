//! Random models of processes that share a channel and some variables, checked by every kind of search that the command
//! line offers: threads, stores, files, processes, checkpoints, with and without bounds and reduction. All of them have to
//! say what one thread says.
//!
//! `PREEMPT_OPTIONS_MODELS` sets how many models are made, `PREEMPT_OPTIONS_SEED` the first seed.

#[path = "../../preempt-check/tests/chance/mod.rs"]
mod chance;

use chance::Random;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// Larger models are passed over, so that each costs about the same.
const MOST_STATES: u64 = 100_000;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// A model: processes that send what they count, receive what others sent, and wait for their turns.
fn model(random: &mut Random) -> String {
    let (processes, rounds, capacity) = (2 + random.below(2), 1 + random.below(2), random.below(3));
    let guard = random.of(&["turn == _pid", "sum < 9", "true", "busy == 0"]);
    let send = match random.below(5) {
        0 => format!("atomic {{ {guard} -> busy = 1 }}; c!_pid; busy = 0"),
        1 => format!("{guard} -> c!i; sum = sum + i"),
        2 => format!("d_step {{ {guard}; sum++ }}; c!_pid"),
        3 => format!("atomic {{ {guard} -> c!i; busy = 1 - busy }}"),
        _ => format!("{guard}; if :: full(c) -> sum++ :: nfull(c) -> c!!v fi"),
    };
    let receive = match random.below(6) {
        0 => "c?v -> sum = sum + v",
        1 => "atomic { c?v -> turn = v; i = 0 }",
        2 if capacity > 0 => "c?[v] -> sum = 0",
        3 if capacity > 0 => "nempty(c) -> c?v",
        4 if capacity > 0 => "c??1 -> v = 1",
        5 => "timeout -> turn = 0; break",
        _ => "d_step { c?v; sum = v }",
    };
    // A rendezvous may not be polled.
    let send = if capacity == 0 {
        send.replace("full(c)", "busy").replace("nbusy", "!busy")
    } else {
        send
    };
    let assertion =
        random.of(&["", "assert(sum < 60);", "assert(busy == 0 || i > 0);", "progress: "]);
    format!(
        "chan c = [{capacity}] of {{ byte }}; byte turn, sum; bit busy;\n\
         active [{processes}] proctype P() {{ byte i; byte v;\n\
         do :: i < {rounds} -> {send}; i++; {assertion} turn = (turn + 1) % {processes}\n\
         :: {receive} :: i >= {rounds} -> break od }}\n"
    )
}

/// What a command says of a model.
fn check(model: &Path, options: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_preempt"))
        .arg("check")
        .arg(model)
        .args(options)
        .args(["--json", "--time", "20s"])
        .env_remove("PREEMPT_SECRET")
        .stdin(Stdio::null())
        .output()
        .expect("preempt runs");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error} with {options:?}: {output:?}"))
}

/// Verdict and, of finite executions, what has to be the same in all searches: the counts of a whole one, and the fewest
/// preemptions to a violation within a bound.
fn answer(report: &Value, is_finite: bool) -> Vec<Value> {
    let verdict = report["verdict"].clone();
    match (is_finite, is_violated(report)) {
        (false, _) => vec![verdict],
        (true, true) => vec![verdict, least_preemptions(report)],
        (true, false) => {
            let keys = ["states", "transitions", "per_bound"];
            std::iter::once(verdict).chain(keys.map(|key| report[key].clone())).collect()
        }
    }
}

fn is_violated(report: &Value) -> bool {
    report["verdict"] == "violated"
}

/// Of a violation found within a bound.
fn least_preemptions(report: &Value) -> Value {
    match report["per_bound"].as_array() {
        Some(rows) if !rows.is_empty() => report["violation"]["preemptions"].clone(),
        _ => Value::Null,
    }
}

/// The kinds of searches, with files in this folder.
fn searches(folder: &str) -> Vec<Vec<&str>> {
    vec![
        vec![],
        vec!["--threads", "3"],
        vec!["--threads", "2", "--store", "tree"],
        vec!["--store", "tree"],
        vec!["--disk", folder, "--memory", "8M"],
        vec!["--processes", "2", "--threads", "1"],
    ]
}

/// Compares all kinds of searches with one thread; says whether the model is violated, if it is small enough.
fn compare(model: &Path, folder: &str, asked: &[&str]) -> Option<bool> {
    let text = std::fs::read_to_string(model).expect("it was written");
    let full = [asked, &["--por", "off"]].concat();
    let one = check(model, &[&full[..], &["--threads", "1"]].concat());
    if one["stop"] == "time" || one["states"].as_u64().is_none_or(|states| states > MOST_STATES) {
        return None;
    }
    let is_finite = asked.contains(&"--no-claim");
    for more in searches(folder) {
        let found = check(model, &[&full[..], &more].concat());
        // Where infinite executions are searched for level by level, nothing is found before everything was reached.
        if !is_finite && is_violated(&one) && found["stop"] == "time" {
            continue;
        }
        let (ours, expected) = (answer(&found, is_finite), answer(&one, is_finite));
        assert_eq!(ours, expected, "{full:?} with {more:?} of\n{text}{found}");
        // Within a bound a reduced search may not see that there is nothing beyond it.
        let reduced = check(model, &[asked, &more].concat());
        if !is_finite && is_violated(&one) && reduced["stop"] == "time" {
            continue;
        }
        let what = format!("{asked:?} with {more:?} of\n{text}{reduced}");
        assert_eq!(is_violated(&reduced), is_violated(&one), "{what}");
    }
    Some(is_violated(&one))
}

fn compare_models(
    usual: u64,
    least: u64,
    mut asked: impl FnMut(&mut Random) -> Vec<Vec<&'static str>>,
) {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, files) = (folder.path().join("random.pml"), folder.path().join("files"));
    let (mut compared, mut violated) = (0, 0);
    let (count, first) =
        (setting("PREEMPT_OPTIONS_MODELS", usual), setting("PREEMPT_OPTIONS_SEED", 1));
    for seed in first..first + count {
        let mut random = Random::new(seed);
        std::fs::write(&file, model(&mut random)).expect("there is room");
        for options in asked(&mut random) {
            let found = compare(&file, files.to_str().expect("a plain name"), &options);
            compared += u64::from(found.is_some());
            violated += u64::from(found == Some(true));
        }
    }
    println!("{compared} searches compared, {violated} of them violated");
    assert!(compared >= count && violated >= least && compared - violated >= least);
}

const BOUNDS: [[&str; 2]; 4] =
    [["--bound", "0"], ["--bound", "1"], ["--bound", "2"], ["--bound", "3"]];

#[test]
fn searches_for_assertions_and_deadlocks_agree() {
    compare_models(14, 3, |random| {
        let mut plain = vec!["--no-claim"];
        if random.below(5) < 3 {
            plain.push("--no-deadlock");
        }
        let bound = BOUNDS[random.below(4)];
        vec![plain.clone(), [&plain[..], &bound].concat()]
    });
}

#[test]
fn searches_for_infinite_executions_agree() {
    compare_models(8, 2, |random| {
        let formula = random.of(&[
            "",
            "[]<>(turn == 0)",
            "<>(sum > 3)",
            "[](busy == 1 -> <>(busy == 0))",
            "<>[](len(c) == 0)",
            "(sum < 2) U (turn == 1)",
        ]);
        let mut options = match formula {
            "" => vec!["--no-deadlock", "--non-progress"],
            _ => vec!["--no-deadlock", "--formula", formula],
        };
        match random.below(4) {
            0 | 1 => options.push("--fair"),
            2 => options.extend(BOUNDS[random.below(4)]),
            _ => {}
        }
        vec![options]
    });
}
