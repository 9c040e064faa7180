//! `preempt merge FILES`: the reports of the parts of a swarm as one.
//!
//! A violation in one part is a violation; otherwise nothing was found in what all parts together have looked at.

use crate::failure::Failure;
use crate::output;
use preempt_core::grouped;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Larger files are no reports.
const LARGEST: u64 = 256 << 20;

/// Reads the reports and prints what they come to.
pub(crate) fn run(files: &[PathBuf], as_json: bool) -> Result<ExitCode, Failure> {
    let reports: Vec<Value> = files.iter().map(|file| read(file)).collect::<Result<_, _>>()?;
    let merged = merge(files, &reports)?;
    let code = match merged["verdict"].as_str() {
        Some("holds" | "holds_within_bound") => 0,
        Some("violated") => 1,
        _ => 3,
    };
    match as_json {
        true => output::print_exactly(&format!("{merged}\n")),
        false => output::print(&in_words(&merged)),
    }
    Ok(ExitCode::from(code))
}

fn read(file: &Path) -> Result<Value, Failure> {
    let length = std::fs::metadata(file).map_err(|error| Failure::io("read", file, &error))?.len();
    if length > LARGEST {
        return Err(Failure::Input(format!("{} is too large for a report", file.display())));
    }
    let text = std::fs::read(file).map_err(|error| Failure::io("read", file, &error))?;
    let report: Value = serde_json::from_slice(&text)
        .map_err(|error| Failure::Input(format!("{} is not a report: {error}", file.display())))?;
    match (report["schema"].as_u64(), report["verdict"].is_string(), report["file"].is_string()) {
        (Some(1), true, true) => Ok(report),
        _ => Err(Failure::Input(format!("{} is not a report of `preempt check`", file.display()))),
    }
}

/// How bad a verdict is.
fn rank(verdict: &Value) -> u8 {
    match verdict.as_str() {
        Some("holds") => 0,
        Some("holds_within_bound") => 1,
        Some("violated") => 3,
        _ => 2,
    }
}

/// What the reports come to.
fn merge(files: &[PathBuf], reports: &[Value]) -> Result<Value, Failure> {
    let [first, ..] = reports else {
        return Err(Failure::Input("there is nothing to merge".into()));
    };
    for (file, report) in files.iter().zip(reports) {
        for key in ["file", "property"] {
            if report[key] != first[key] {
                return Err(Failure::Input(format!(
                    "{} is about another {key} than {}: {} and {}",
                    file.display(),
                    files[0].display(),
                    report[key],
                    first[key]
                )));
            }
        }
    }
    let sum = |key: &str| reports.iter().filter_map(|report| report[key].as_u64()).sum::<u64>();
    let seconds: f64 = reports.iter().filter_map(|report| report["seconds"].as_f64()).sum();
    let most = |key: &str| reports.iter().filter_map(|report| report[key].as_u64()).max();
    let worst = reports.iter().max_by_key(|report| rank(&report["verdict"])).unwrap_or(first);
    // The simplest counterexample: fewest preemptions, then fewest steps.
    let cost = |report: &Value| {
        let number = |key: &str| report["violation"][key].as_u64().unwrap_or(u64::MAX);
        (number("preemptions"), number("steps"))
    };
    let violated = files.iter().zip(reports).filter(|(_, report)| !report["violation"].is_null());
    let simplest = violated.min_by_key(|(_, report)| cost(report));
    Ok(json!({
        "schema": 1,
        "file": first["file"],
        "property": first["property"],
        "verdict": worst["verdict"],
        "parts": reports.len(),
        "claim": simplest.map_or(&worst["claim"], |(_, report)| &report["claim"]),
        "errors": sum("errors"),
        "states": most("states"),
        "transitions": sum("transitions"),
        "seconds": seconds,
        "part": simplest.map(|(file, _)| file.to_string_lossy()),
        "violation": simplest.map_or(&Value::Null, |(_, report)| &report["violation"]),
    }))
}

fn in_words(merged: &Value) -> String {
    let number = |key: &str| grouped(merged[key].as_u64().unwrap_or(0));
    let text = |key: &str| merged[key].as_str().unwrap_or_default().to_owned();
    let mut lines = vec![text("claim"), format!("property: {}", text("property"))];
    if let Some(part) = merged["part"].as_str() {
        lines.push(format!("found by {part}"));
    }
    lines.push(format!(
        "{} parts, {} transitions in all, {} states in the largest search, {:.1} s of work",
        merged["parts"],
        number("transitions"),
        number("states"),
        merged["seconds"].as_f64().unwrap_or(0.0)
    ));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(verdict: &str, violation: Value) -> Value {
        json!({
            "schema": 1, "file": "a.pml", "property": "p", "verdict": verdict, "claim": verdict,
            "errors": u8::from(!violation.is_null()), "states": 5, "transitions": 7, "seconds": 0.5,
            "violation": violation,
        })
    }

    #[test]
    fn one_violation_is_enough_and_the_simplest_is_shown() {
        let files: Vec<PathBuf> = ["1", "2", "3"].iter().map(PathBuf::from).collect();
        let none = || report("inconclusive", Value::Null);
        let bad =
            |preemptions: u64| report("violated", json!({"preemptions": preemptions, "steps": 9}));
        let merged = merge(&files, &[none(), none(), none()]).expect("they fit");
        assert_eq!(
            (&merged["verdict"], &merged["transitions"]),
            (&json!("inconclusive"), &json!(21))
        );
        let merged = merge(&files, &[bad(4), none(), bad(2)]).expect("they fit");
        assert_eq!((&merged["verdict"], &merged["part"]), (&json!("violated"), &json!("3")));
        assert_eq!(merged["errors"], 2);
        let mut other = none();
        other["file"] = json!("b.pml");
        assert!(merge(&files, &[none(), other]).is_err());
    }
}
