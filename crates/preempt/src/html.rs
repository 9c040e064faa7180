//! The failing execution as a page: `target/preempt/<test>.html`, beside the saved schedule.
//!
//! A failure to write it, or to find a source file, does not fail the test.

use crate::failure::{Failure, FailureKind};
use crate::naming::candidates;
use crate::report::Report;
use preempt_core::{BoundRow, Claim, Statistics, Verdict, Violation, ViolationKind};
use preempt_report::{Page, Source, page};

/// The page that shows a failure.
pub(crate) fn render(name: &str, failure: &Failure, report: &Report) -> String {
    let claim = Claim {
        property: "no execution fails".into(),
        verdict: Verdict::Violated,
        sentence: one_line(&failure.message),
        violation: Some(violation(failure, report)),
        statistics: statistics(report),
        unreached: Vec::new(),
        notes: report.notes.clone(),
    };
    let sources = sources(failure);
    page(&Page { title: name, claim: &claim, trace: None, sources: &sources, drawing: None })
}

fn one_line(message: &str) -> String {
    message.lines().map(str::trim).collect::<Vec<_>>().join("; ").replace(":; ", ": ")
}

fn violation(failure: &Failure, report: &Report) -> Violation {
    let kind = match failure.kind {
        FailureKind::Panic => ViolationKind::Assertion,
        FailureKind::Deadlock => ViolationKind::Deadlock,
        FailureKind::Livelock => ViolationKind::Livelock,
        FailureKind::DataRace => ViolationKind::DataRace,
        FailureKind::Leak => ViolationKind::Leak,
        _ => ViolationKind::Runtime,
    };
    Violation {
        kind,
        message: one_line(&failure.message),
        file: failure.file.clone(),
        line: failure.line,
        trace: failure.trace.clone(),
        simplest: report.samples == 0 && is_simplest(failure, report),
        stale: Some(failure.stale),
    }
}

/// Whether everything with fewer stale choices, or as many and fewer preemptions, was explored.
fn is_simplest(failure: &Failure, report: &Report) -> bool {
    let below = failure.preemptions.checked_sub(1);
    let covers = |row: &crate::Bound| row.stale == failure.stale && Some(row.preemptions) == below;
    let fewer = failure.stale == 0 || report.fewer_stale;
    fewer && (below.is_none() || report.per_bound.iter().any(covers))
}

fn statistics(report: &Report) -> Statistics {
    let row = |bound: &crate::Bound| BoundRow {
        stale: None,
        bound: bound.preemptions,
        states: bound.partial_orders,
        transitions: bound.executions,
        errors: 0,
    };
    Statistics {
        states: report.partial_orders,
        errors: 1,
        seconds: report.time.as_secs_f64(),
        per_bound: report.per_bound.iter().filter(|row| row.stale == 0).map(row).collect(),
        ..Statistics::default()
    }
}

/// The files that the steps refer to. The compiler names them relative to the workspace, while a
/// test runs in the folder of its package.
fn sources(failure: &Failure) -> Vec<Source> {
    let mut files: Vec<&str> = failure.trace.steps.iter().map(|step| step.file.as_str()).collect();
    files.push(&failure.file);
    files.sort_unstable();
    files.dedup();
    let read = |file: &str| {
        let text = candidates(file).iter().find_map(|path| std::fs::read_to_string(path).ok())?;
        Some(Source { file: file.to_string(), text })
    };
    files.into_iter().filter(|file| !file.is_empty()).filter_map(read).collect()
}
