//! Building a crate's tests and running them one by one, each in a process of its own.

use crate::row::{Outcome, Row};
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How to run.
pub(crate) struct Options {
    pub(crate) seconds: u64,
    pub(crate) ignored_too: bool,
}

/// Which tests of a package.
pub(crate) enum Tests {
    /// Those in its library.
    Library,
    /// One integration test.
    One(&'static str),
    /// All integration tests.
    All,
}

/// What to build.
pub(crate) struct Target<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) cfg: &'a str,
    pub(crate) features: &'a [&'a str],
    pub(crate) tests: Tests,
    pub(crate) release: bool,
    /// Whether to run those tests that compile if others do not.
    pub(crate) keep_going: bool,
}

/// Both tools are optimised in either profile, and assertions of the crates are on.
const SETTINGS: [&str; 9] = [
    "profile.dev.debug=0",
    "profile.dev.package.preempt.opt-level=2",
    "profile.dev.package.preempt-explore.opt-level=2",
    "profile.dev.package.corosensei.opt-level=2",
    "profile.dev.package.rustc-hash.opt-level=2",
    "profile.dev.package.loom.opt-level=2",
    "profile.dev.package.generator.opt-level=2",
    "profile.release.debug-assertions=true",
    "profile.release.opt-level=2",
];

/// Builds the tests; returns the executables with the names of their targets.
pub(crate) fn build(workspace: &Workspace, target: &Target<'_>) -> Result<Vec<(String, PathBuf)>> {
    let mut command = Command::new("cargo");
    match target.keep_going {
        // `cargo test` has no such option.
        true => command.args(["build", "--keep-going"]),
        false => command.args(["test", "--no-run"]),
    };
    command.args(["--message-format", "json"]);
    if target.release {
        command.arg("--release");
    }
    for setting in SETTINGS {
        command.args(["--config", setting]);
    }
    match target.tests {
        Tests::Library => command.arg("--lib"),
        Tests::One(test) => command.args(["--test", test]),
        Tests::All => command.args(["--test", "*"]),
    };
    if !target.features.is_empty() {
        command.args(["--features", &target.features.join(",")]);
    }
    let output = command
        .current_dir(target.folder)
        .env("RUSTFLAGS", format!("--cfg {} --cap-lints allow", target.cfg))
        .env("CARGO_TARGET_DIR", workspace.build_folder())
        .output()
        .context("cargo test --no-run")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut executables = Vec::new();
    let mut errors = String::new();
    for line in text.lines() {
        let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        if message["reason"] == "compiler-artifact"
            && let Some(path) = message["executable"].as_str()
        {
            let name = message["target"]["name"].as_str().unwrap_or_default().to_string();
            executables.push((name, PathBuf::from(path)));
        }
        if message["message"]["level"] == "error" {
            errors.push_str(message["message"]["rendered"].as_str().unwrap_or_default());
        }
    }
    if !output.status.success() && target.keep_going {
        eprintln!("{errors}{}", String::from_utf8_lossy(&output.stderr));
    } else if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let tail: Vec<&str> = stderr.lines().rev().take(8).collect();
        bail!(
            "does not compile:\n{errors}{}",
            tail.into_iter().rev().collect::<Vec<_>>().join("\n")
        );
    }
    Ok(executables)
}

/// The names of the tests in an executable.
pub(crate) fn list(executable: &Path) -> Result<Vec<String>> {
    let output = Command::new(executable).args(["--list", "--format", "terse"]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(String::from).collect())
}

/// Runs one test and returns what its models did.
pub(crate) fn run(
    workspace: &Workspace,
    executable: &Path,
    folder: &Path,
    test: &str,
    options: &Options,
) -> Result<Vec<Row>> {
    let report = workspace.report_file();
    let _ = fs::remove_file(&report);
    let log = report.with_extension("log");
    let mut command = Command::new(executable);
    command.args(["--exact", test, "--nocapture", "--test-threads", "1"]);
    if options.ignored_too {
        command.arg("--include-ignored");
    }
    let (begin, used) = (Instant::now(), processor_time_of_children());
    let mut child = command
        .current_dir(folder)
        .env("PREEMPT_REPORT", &report)
        .env("LOOM_MAX_DURATION", options.seconds.to_string())
        .env("LOOM_CHECKPOINT_INTERVAL", "64")
        // To find the names of functions takes longer than most tests, if a panic that a test expects has a backtrace.
        .env("RUST_BACKTRACE", "0")
        .stdout(fs::File::create(&log)?)
        .stderr(Stdio::from(fs::File::options().append(true).open(&log)?))
        .spawn()?;
    // Many models may be in one test; a model may overrun its time by one execution.
    let limit = Duration::from_secs(options.seconds * 8 + 30);
    let (mut models, mut last) = (0, begin);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        let done = fs::metadata(&report).map_or(0, |file| file.len());
        if done != models {
            (models, last) = (done, Instant::now());
        }
        if last.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let passed = status.is_some_and(|status| status.success());
    let text = fs::read_to_string(&report).unwrap_or_default();
    let lines = text.lines();
    let mut rows: Vec<Row> =
        lines.filter_map(|line| row(test, line, passed, options.seconds)).collect();
    let processor = processor_time_of_children() - used;
    let total: f64 = rows.iter().map(|row| row.seconds).sum();
    for row in &mut rows {
        row.processor = if total > 0.0 { processor * row.seconds / total } else { 0.0 };
    }
    let failed = rows.iter().any(|row| matches!(row.outcome, Outcome::Failed { .. }));
    let (executions, seconds) = (0, begin.elapsed().as_secs_f64());
    let outcome = match status {
        _ if passed && rows.is_empty() => Outcome::Passed,
        _ if passed || failed => return Ok(rows),
        None => Outcome::Crashed("did not end".to_string()),
        Some(status) => match status.signal() {
            Some(signal) => Outcome::Crashed(format!("signal {signal}")),
            None => Outcome::TestFailed,
        },
    };
    // What its models concluded does not matter if the test as a whole failed.
    if outcome == Outcome::TestFailed {
        rows.clear();
    }
    rows.push(Row { test: test.into(), outcome, executions, seconds, processor });
    Ok(rows)
}

/// Seconds that the processes which have ended so far have used.
fn processor_time_of_children() -> f64 {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    // SAFETY: a plain system call on a zeroed structure of the right type.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}

/// What a model reports in a line. One that took all of its time did not finish.
fn row(test: &str, line: &str, passed: bool, limit: u64) -> Option<Row> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    let seconds = value["seconds"].as_f64()?;
    let outcome = match value["verdict"].as_str()? {
        "holds" => Outcome::Holds,
        "violated" => Outcome::Failed {
            kind: value["kind"].as_str().unwrap_or("panic").to_string(),
            preemptions: value["preemptions"].as_u64(),
            expected: passed,
        },
        _ => match value["bound"].as_u64() {
            Some(bound)
                if value["asked"].as_u64() == Some(bound)
                    && value["verdict"] != "inconclusive"
                    && seconds < limit as f64 =>
            {
                Outcome::AskedBound(bound)
            }
            bound => Outcome::WithinBound(bound),
        },
    };
    // What follows a failure in search of a simpler one is not needed to find it.
    let first = value["first_failure"].as_u64();
    let executions = first.or_else(|| value["executions"].as_u64())?;
    Some(Row { test: test.to_string(), outcome, executions, seconds, processor: 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(line: &str) -> Option<Outcome> {
        row("t", line, true, 3).map(|row| row.outcome)
    }

    /// Only a bound that the test itself sets makes a model that was explored within it complete.
    #[test]
    fn bounds_that_are_asked_for_and_bounds_that_time_allowed() {
        let timed = |verdict: &str, asked: &str, seconds: &str| {
            let rest = format!("\"executions\":7,\"seconds\":{seconds}");
            format!("{{\"verdict\":\"{verdict}\",\"bound\":2,\"asked\":{asked},{rest}}}")
        };
        let line = |verdict: &str, asked: &str| timed(verdict, asked, "0.1");
        assert_eq!(outcome(&line("holds", "null")), Some(Outcome::Holds));
        assert_eq!(outcome(&line("holds_within_bound", "2")), Some(Outcome::AskedBound(2)));
        for asked in ["null", "3"] {
            let within = Some(Outcome::WithinBound(Some(2)));
            assert_eq!(outcome(&line("holds_within_bound", asked)), within);
        }
        assert_eq!(outcome(&line("inconclusive", "2")), Some(Outcome::WithinBound(Some(2))));
        // With stale choices the bound may be done for some numbers of them only.
        let late = outcome(&timed("holds_within_bound", "2", "3.0"));
        assert_eq!(late, Some(Outcome::WithinBound(Some(2))));
        assert_eq!(outcome("no line of a report"), None);
    }
}
