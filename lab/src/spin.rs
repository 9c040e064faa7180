//! Real Spin, where it and a C compiler are installed: the column beside ours.
//!
//! A verifier is generated and compiled once per model and set of flags, and kept while the lab runs.

use crate::tool;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

/// In seconds.
const LONGEST_COMPILATION: &str = "40";

/// What one run of a verifier printed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Numbers {
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) errors: u64,
    /// Maximal runs of one process in the trail; 0 without a trail.
    pub(crate) blocks: u64,
    /// As the verifier tells, without generating and compiling it.
    pub(crate) seconds: f64,
}

/// Compiles a model (`spin FLAGS -a`, `gcc -O2 FLAGS`) unless that was done before, and runs the
/// verifier. `None` if something is not installed or fails.
pub(crate) fn run(file: &str, spin: &str, gcc: &str, pan: &str) -> Option<Numbers> {
    let folder = verifier(file, spin, gcc)?;
    let name = Path::new(file).file_name()?.to_str()?;
    let trail = folder.join(format!("{name}.trail"));
    let _ = std::fs::remove_file(&trail);
    let output = Command::new("./pan").args(words(pan)).current_dir(&folder).output().ok()?;
    let mut numbers = parse(&String::from_utf8_lossy(&output.stdout))?;
    if let Ok(text) = std::fs::read_to_string(trail) {
        numbers.blocks = blocks(&text);
    }
    Some(numbers)
}

/// As [`run`], with at most so many seconds, and the processor time as `seconds`; also whether the search ended early.
pub(crate) fn timed(file: &str, gcc: &str, pan: &str, limit: u64) -> Option<(Numbers, bool)> {
    let folder = verifier(file, "", gcc)?;
    let limit = limit.to_string();
    let mut command = tool::timed("timeout".as_ref());
    command.args([limit.as_str(), "./pan"]).args(words(pan)).current_dir(&folder);
    let output = command.output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let truncated = ["max search depth too small", "out of memory", "reached -DMEMLIM"];
    let is_truncated =
        output.status.code() == Some(124) || truncated.iter().any(|t| said.contains(t));
    // Nothing is printed by one that is ended from outside.
    let numbers = parse(&said).or_else(|| is_truncated.then(Numbers::default))?;
    Some((Numbers { seconds: tool::processor_seconds(&output.stderr)?, ..numbers }, is_truncated))
}

/// What `spin -a` said.
pub(crate) struct Generated {
    pub(crate) text: String,
    /// Whether anything runs beside the model.
    pub(crate) has_claim: bool,
}

/// Generates a verifier only; `None` if that fails.
pub(crate) fn generate(file: &str) -> Option<Generated> {
    let folder = folder("generated");
    copy_neighbours(Path::new(file), &folder)?;
    let name = Path::new(file).file_name()?.to_str()?;
    let output = Command::new("spin").args(["-a", name]).current_dir(&folder).output().ok()?;
    let source = std::fs::read_to_string(folder.join("pan.h"));
    let _ = std::fs::remove_dir_all(&folder);
    let source = output.status.success().then_some(source.ok()?)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(Generated { text, has_claim: source.contains("define NCLAIMS\t") })
}

/// Where the compiled verifier is.
fn verifier(file: &str, spin: &str, gcc: &str) -> Option<PathBuf> {
    static BUILT: OnceLock<Mutex<HashMap<String, Option<PathBuf>>>> = OnceLock::new();
    let key = format!("{file} {spin} {gcc}");
    let mut built =
        BUILT.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let number = built.len();
    built.entry(key).or_insert_with(|| build(file, spin, gcc, number)).clone()
}

fn build(file: &str, spin: &str, gcc: &str, number: usize) -> Option<PathBuf> {
    let folder = folder(&number.to_string());
    let file = Path::new(file);
    copy_neighbours(file, &folder)?;
    let succeeds = |program: &str, arguments: Vec<&str>| {
        let output = Command::new(program).args(arguments).current_dir(&folder).output();
        output.is_ok_and(|output| output.status.success())
    };
    let mut generate = words(spin);
    generate.extend(["-a", file.file_name()?.to_str()?]);
    // Some verifiers take minutes to compile.
    let mut compile = vec![LONGEST_COMPILATION, "gcc", "-O2", "-w", "-o", "pan", "pan.c"];
    compile.extend(words(gcc));
    (succeeds("spin", generate) && succeeds("timeout", compile)).then_some(folder)
}

/// A folder of this run.
fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("preempt-lab-{}", std::process::id())).join(name)
}

/// Models may include their neighbours.
fn copy_neighbours(file: &Path, folder: &Path) -> Option<()> {
    std::fs::create_dir_all(folder).ok()?;
    for entry in std::fs::read_dir(file.parent()?).ok()?.flatten() {
        if entry.path().is_file() {
            std::fs::copy(entry.path(), folder.join(entry.file_name())).ok()?;
        }
    }
    Some(())
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

fn parse(report: &str) -> Option<Numbers> {
    let before = |label: &str| {
        let line = report.lines().find(|line| line.contains(label))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let errors = report.lines().find_map(|line| line.split_once("errors: "))?.1.trim();
    Some(Numbers {
        states: before("states, stored")?,
        transitions: before("transitions (=")?,
        errors: errors.parse().ok()?,
        blocks: 0,
        seconds: elapsed(report).unwrap_or(0.0),
    })
}

fn elapsed(report: &str) -> Option<f64> {
    report.split_once("elapsed time ")?.1.split_whitespace().next()?.parse().ok()
}

/// A trail has a line `step:process:transition` per step; lines with negative numbers are no steps.
fn blocks(trail: &str) -> u64 {
    let mut movers: Vec<&str> = trail
        .lines()
        .filter_map(|line| {
            let mut cells = line.split(':');
            let (step, process) = (cells.next()?, cells.next()?);
            (!step.starts_with('-') && !process.starts_with('-')).then_some(process)
        })
        .collect();
    movers.dedup();
    movers.len() as u64
}

/// Removes what [`run`] compiled.
pub(crate) fn clean() {
    let folder = std::env::temp_dir().join(format!("preempt-lab-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(folder);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_and_a_trail_are_understood() {
        let report = "State-vector 28 byte, depth reached 5, errors: 1\n\
                      \x20       6 states, stored\n        2 states, matched\n\
                      \x20       8 transitions (= stored+matched)\npan: elapsed time 0.25 seconds\n";
        let expected = Numbers { states: 6, transitions: 8, errors: 1, blocks: 0, seconds: 0.25 };
        assert_eq!(parse(report), Some(expected));
        assert_eq!(blocks("-2:2:-2\n-4:-4:-4\n1:0:3\n2:0:4\n3:1:5\n4:0:6\n"), 3);
    }
}
