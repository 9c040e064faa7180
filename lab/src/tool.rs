//! The `preempt` command as a table's author sees it: arguments in, one JSON report out.
//!
//! Tables ask the shipped binary and not the engines, so that a reader can repeat every number by
//! hand with the command that is printed.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The numbers of one run.
pub(crate) struct Run(Value);

impl Run {
    /// A number of the report; 0 if there is none.
    pub(crate) fn number(&self, key: &str) -> u64 {
        self.0[key].as_u64().unwrap_or(0)
    }

    /// A number of the counterexample, if there is one.
    pub(crate) fn violation(&self, key: &str) -> Option<u64> {
        self.0["violation"][key].as_u64()
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.0["seconds"].as_f64().unwrap_or(0.0)
    }

    pub(crate) fn verdict(&self) -> &str {
        self.0["verdict"].as_str().unwrap_or("?")
    }

    /// States after each bound, from 0 on.
    pub(crate) fn states_per_bound(&self) -> Vec<u64> {
        let rows = self.0["per_bound"].as_array().map(Vec::as_slice).unwrap_or_default();
        rows.iter().map(|row| row["states"].as_u64().unwrap_or(0)).collect()
    }
}

/// The repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Runs `preempt check FILE ARGUMENTS --json` in the repository.
pub(crate) fn check(file: &str, arguments: &str) -> Result<Run> {
    let mut command = Command::new(binary()?);
    let output = command.args(checking(file, arguments)).current_dir(root()).output()?;
    understand(&output, (file, arguments))
}

/// Runs `preempt WORDS` in the repository with some variables set, and gives what it says: why not, if it fails.
pub(crate) fn preempt(words: &[&str], variables: &[(&str, &str)]) -> Result<String> {
    let mut command = Command::new(binary()?);
    command.args(words).envs(variables.iter().copied()).current_dir(root());
    let output = command.output()?;
    let said = if output.status.success() { output.stdout } else { output.stderr };
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// As [`check`], and its processor seconds.
pub(crate) fn timed_check(file: &str, arguments: &str) -> Result<(Run, f64)> {
    let mut command = timed(binary()?.as_os_str());
    let output = command.args(checking(file, arguments)).current_dir(root()).output()?;
    let seconds = processor_seconds(&output.stderr).context("the shell has not told the time")?;
    Ok((understand(&output, (file, arguments))?, seconds))
}

/// A program; the shell will tell its processor time, on standard error.
pub(crate) fn timed(program: &OsStr) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "\"$0\" \"$@\"; code=$?; times >&2; exit $code"]).arg(program);
    command
}

/// What `times` said of a shell's children, at the end.
pub(crate) fn processor_seconds(said: &[u8]) -> Option<f64> {
    let said = String::from_utf8_lossy(said);
    let of = |time: &str| {
        let (minutes, seconds) = time.strip_suffix('s')?.split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    said.lines().last()?.split_whitespace().map(of).sum()
}

fn checking<'a>(file: &'a str, arguments: &'a str) -> Vec<&'a str> {
    let mut words = vec!["check", file];
    words.extend(arguments.split_whitespace());
    words.push("--json");
    words
}

fn understand(output: &Output, (file, arguments): (&str, &str)) -> Result<Run> {
    if !matches!(output.status.code(), Some(0 | 1 | 3)) {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("preempt check {file} {arguments}: {complaint}");
    }
    let report: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("preempt check {file} {arguments}"))?;
    let one = report["results"].get(0).cloned();
    Ok(Run(one.unwrap_or(report)))
}

/// The binary: the one that `LAB_PREEMPT` names, or ours, built with optimization if it is not yet.
fn binary() -> Result<&'static Path> {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    if let Some(path) = BINARY.get() {
        return Ok(path);
    }
    if let Some(path) = std::env::var_os("LAB_PREEMPT") {
        return Ok(BINARY.get_or_init(|| path.into()));
    }
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--bin", "preempt"])
        .current_dir(root())
        .status()?;
    if !status.success() {
        bail!("cannot build the preempt binary");
    }
    let here = std::env::current_exe()?;
    let target = here.parent().and_then(Path::parent).context("where is the target folder?")?;
    Ok(BINARY.get_or_init(|| target.join("release/preempt")))
}
