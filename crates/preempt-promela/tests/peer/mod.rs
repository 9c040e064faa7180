//! The two sides of a comparison: our interpreter under a simple search, and real Spin.

use crate::naive::{Counts, explore};
use crate::support;
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{LowerOptions, lower};
use preempt_testing::c_compiler;
use std::path::{Path, PathBuf};
use std::process::Command;

const STATE_LIMIT: u64 = 30_000;

/// What came out of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Result {
    Counts(Counts),
    /// Rejected, with the reason.
    Rejected(String),
    /// A step could not be completed, which ends a search; others count on.
    Broken,
    /// Too large, or ended early: nothing to compare.
    Incomplete,
}

/// How the statements may be translated, as Spin's options and as ours.
pub(crate) fn modes() -> [(&'static [&'static str], LowerOptions); 3] {
    let plain = LowerOptions::default();
    [
        (&[], plain),
        (&["-o3"], LowerOptions { merge: false, ..plain }),
        (&["-o1", "-o2", "-o3"], LowerOptions::plain()),
    ]
}

/// Our counts.
pub(crate) fn ours(text: &str, mut options: LowerOptions) -> Result {
    let parsed = support::parse_text(text);
    let Some(model) = parsed.model else {
        return Result::Rejected(format!("{:?}", parsed.diagnostics));
    };
    options.count_claim = !model.claims.is_empty();
    match lower(&model, options) {
        Err(error) => Result::Rejected(error.to_string()),
        Ok(program) => {
            let interpreter = Interpreter::new(program);
            let claim = interpreter.program().claims.first();
            let counts = explore(&interpreter, claim, STATE_LIMIT);
            match counts {
                Counts { broken: true, .. } => Result::Broken,
                Counts { stopped: true, .. } => Result::Incomplete,
                counts => Result::Counts(counts),
            }
        }
    }
}

/// Spin's counts.
pub(crate) fn spins(text: &str, flags: &[&str], folder: &Path) -> Result {
    spins_with(text, flags, "-DSAFETY", folder)
}

/// The same with another switch of the verifier.
pub(crate) fn spins_with(text: &str, flags: &[&str], switch: &str, folder: &Path) -> Result {
    let file = folder.join("m.pml");
    std::fs::write(&file, text).expect("the model can be written");
    let _ = std::fs::remove_file(folder.join("pan.c"));
    let spin = Command::new("spin")
        .args(flags)
        .args(["-a", "m.pml"])
        .current_dir(folder)
        .output()
        .expect("spin runs");
    let said = String::from_utf8_lossy(&spin.stdout).into_owned();
    // Some errors do not keep Spin from writing a verifier; of one it says only that the statement is ignored.
    let refused = !spin.status.success() || said.contains("unless in d_step (ignored)");
    if refused || !folder.join("pan.c").exists() {
        return Result::Rejected(said);
    }
    let gcc = Command::new(c_compiler())
        .args(["-O0", "-w", "-DSAFETY", switch, "-DNOREDUCE", "-o", "pan", "pan.c"])
        .current_dir(folder)
        .output()
        .expect("gcc runs");
    if !gcc.status.success() {
        // Spin's own code is wrong, as for a poll of `??` at the start of a `d_step`.
        return Result::Rejected(String::from_utf8_lossy(&gcc.stderr).into_owned());
    }
    let pan = Command::new("timeout")
        .args(["8", "./pan", "-c0", "-m100000", "-w18", "-n"])
        .current_dir(folder)
        .output()
        .expect("pan runs");
    let report = String::from_utf8_lossy(&pan.stdout).into_owned();
    if report.contains("Search not completed") || report.contains("max search depth too small") {
        return Result::Incomplete;
    }
    let number = |line: &str| line.split_whitespace().next().and_then(|n| n.parse::<f64>().ok());
    let find = |what: &str| report.lines().find(|l| l.contains(what)).and_then(number);
    let errors = report
        .split("errors: ")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|n| n.parse().ok());
    // Breadth-first search also stores states inside of atomic sequences.
    let stored = find("nominal states").or_else(|| find("states, stored"));
    match (stored, find("states, matched"), errors) {
        (Some(stored), Some(matched), Some(errors)) if stored < STATE_LIMIT as f64 => {
            Result::Counts(Counts {
                stored: stored as u64,
                matched: matched as u64,
                errors,
                stopped: false,
                broken: false,
            })
        }
        _ => Result::Incomplete,
    }
}

/// A number from the environment.
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// A folder to make verifiers in; `None` where Spin or a C compiler is missing.
pub(crate) fn workshop(name: &str) -> Option<PathBuf> {
    if !preempt_testing::peers(&["spin", &c_compiler()]) {
        return None;
    }
    let folder = std::env::temp_dir().join(format!("preempt-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    Some(folder)
}
