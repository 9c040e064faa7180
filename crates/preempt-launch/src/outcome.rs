//! What a search has reported: the JSON of `preempt run` and `preempt cargo test`, and that of tests over the std facade.

use preempt_core::{Claim, Statistics, Stop, Trace, Verdict, Violation, ViolationKind};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A report, as far as it is needed here.
#[derive(Deserialize)]
struct Report {
    verdict: String,
    #[serde(default)]
    test: Option<String>,
    #[serde(default)]
    property: String,
    #[serde(default)]
    claim: String,
    bound: Option<u32>,
    stop: Option<String>,
    #[serde(default)]
    states: u64,
    #[serde(default)]
    executions: Option<u64>,
    #[serde(default)]
    notes: Vec<String>,
    violation: Option<Violated>,
}

#[derive(Deserialize)]
struct Violated {
    kind: String,
    message: String,
    #[serde(default)]
    file: String,
    #[serde(default)]
    line: u32,
    #[serde(default)]
    simplest: bool,
}

/// The report of a test over the facade.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    name: String,
    verdict: String,
    bound: Option<u32>,
    executions: u64,
    partial_orders: u64,
    reason: Option<String>,
    kind: Option<String>,
    message: Option<String>,
    #[serde(default)]
    claim: String,
    page: Option<PathBuf>,
}

/// The claim of a report.
pub(crate) fn of_report(text: &str) -> Result<Claim, String> {
    let report: Report =
        serde_json::from_str(text).map_err(|error| format!("no report: {error}"))?;
    Ok(claim(report))
}

/// The claim about a test, out of the reports of several; where two have its name, the worse one.
pub(crate) fn of_tests(text: &str, name: &str) -> Option<(Claim, Option<PathBuf>)> {
    let reports = text.lines().filter_map(|line| serde_json::from_str::<Report>(line).ok());
    let of_it = reports.filter(|report| is_named(report.test.as_deref().unwrap_or_default(), name));
    worst(of_it.map(|report| (claim(report), None)))
}

/// The same of tests over the facade, with the page that each leaves.
pub(crate) fn of_facade(text: &str, name: &str) -> Option<(Claim, Option<PathBuf>)> {
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
    worst(lines.filter(|line| is_named(&line.name, name)).map(|line| {
        let violation = line.message.map(|message| Violated {
            kind: line.kind.unwrap_or_default(),
            message,
            file: String::new(),
            line: 0,
            simplest: false,
        });
        let report = Report {
            verdict: line.verdict,
            test: Some(line.name),
            property: "no execution fails".into(),
            claim: line.claim,
            bound: line.bound,
            stop: line.reason,
            states: line.partial_orders,
            executions: Some(line.executions),
            notes: Vec::new(),
            violation,
        };
        (claim(report), Some(line.page.unwrap_or_default()))
    }))
}

/// The page of a test among those of a folder, whose names end with that of the test.
pub(crate) fn page_in(folder: &Path, name: &str) -> PathBuf {
    let stem: String = name
        .chars()
        .map(|c| if c.is_alphanumeric() || "-_".contains(c) { c } else { '.' })
        .collect();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut pages = entries.map(|entry| entry.path());
    let is_it = |path: &PathBuf| {
        let found = path.file_stem().unwrap_or_default().to_string_lossy();
        found.strip_suffix(&stem).is_some_and(|rest| rest.ends_with(['-', '.']))
    };
    pages.find(is_it).unwrap_or_default()
}

/// Whether a test that is called `full` is the one that is called `name` from within its crate.
fn is_named(full: &str, name: &str) -> bool {
    full.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
}

fn worst(
    claims: impl Iterator<Item = (Claim, Option<PathBuf>)>,
) -> Option<(Claim, Option<PathBuf>)> {
    claims.min_by_key(|(claim, _)| match claim.verdict {
        Verdict::Violated => 0,
        Verdict::Inconclusive(_) => 1,
        Verdict::Nothing => 2,
        Verdict::HoldsWithinBound(_) => 3,
        Verdict::Holds => 4,
    })
}

fn claim(report: Report) -> Claim {
    let verdict = match (report.verdict.as_str(), report.bound) {
        ("holds", _) => Verdict::Holds,
        ("holds_within_bound", Some(bound)) => Verdict::HoldsWithinBound(bound),
        ("violated", _) => Verdict::Violated,
        ("nothing", _) => Verdict::Nothing,
        _ => Verdict::Inconclusive(match report.stop.as_deref() {
            Some("time") => Stop::Time,
            Some("memory") => Stop::Memory,
            Some("interrupted") => Stop::Interrupted,
            Some("sampling") => Stop::Sampling,
            Some("bound") => Stop::Bound,
            Some("depth") => Stop::Depth,
            _ => Stop::Unsupported,
        }),
    };
    let violation = report.violation.map(|found| Violation {
        kind: kind(&found.kind),
        message: found.message,
        file: found.file,
        line: found.line,
        trace: Trace::default(),
        simplest: found.simplest,
        stale: None,
    });
    Claim {
        property: report.property,
        verdict,
        sentence: report.claim,
        violation,
        statistics: Statistics {
            states: report.states,
            executions: report.executions,
            ..Statistics::default()
        },
        unreached: Vec::new(),
        notes: report.notes,
    }
}

fn kind(name: &str) -> ViolationKind {
    use ViolationKind::*;
    let kinds = [
        Abort,
        Signal,
        Deadlock,
        Livelock,
        DataRace,
        UseAfterFree,
        DoubleFree,
        Leak,
        ExitCode,
        Misuse,
        Runtime,
    ];
    let plain = |name: &str| name.replace('_', "").to_lowercase();
    kinds.into_iter().find(|kind| plain(kind.name()) == plain(name)).unwrap_or(Assertion)
}
