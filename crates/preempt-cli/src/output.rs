//! Reports on standard output and in files.

use crate::arguments::{CheckArguments, ReportForm};
use crate::failure::Failure;
use crate::terminal;
use preempt_core::Claim;
use preempt_report::json::{self, Subject};
use preempt_report::spin::{self, Heading};
use preempt_report::{Page, SavedTrace, Source, chart, lanes, page, summary};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a check came to.
pub(crate) struct Report<'a> {
    pub(crate) arguments: &'a CheckArguments,
    pub(crate) claims: &'a [Claim],
    pub(crate) sources: &'a [Source],
    /// What was asked, claim by claim; for reports in Spin's form.
    pub(crate) headings: &'a [Heading],
    /// The first counterexample as a trail of Spin, if the saved trace is to be one.
    pub(crate) trail: Option<String>,
}

/// Steps of one process in a row that are shown in full.
const LONGEST_RUN: usize = 40;

/// Writes everything that was asked for. A file that cannot be written does not keep the verdict
/// from being shown.
pub(crate) fn report(report: &Report<'_>) -> Result<ExitCode, Failure> {
    let arguments = report.arguments;
    let file = arguments.model.file.to_string_lossy();
    let worst = json::worst(report.claims);
    let mut failed = None;
    let mut keep = |result: Result<(), Failure>| {
        if let Err(failure) = result {
            failed.get_or_insert(failure);
        }
    };
    let bound = arguments.bound.or(arguments.iterate.flatten());
    let machine = || json::report(Subject { file: &file, bound }, report.claims);
    match &arguments.json {
        Some(None) => print(&(machine() + "\n")),
        Some(Some(path)) => keep(write(path, &(machine() + "\n"))),
        None => {}
    }
    if !matches!(arguments.json, Some(None)) {
        print(&text(report));
    }
    if let Some(claim) = report.claims.iter().find(|claim| claim.violation.is_some()) {
        if let Some(path) = &arguments.trace {
            let saved = || SavedTrace::of(&file, &options(arguments), claim);
            let json = || saved().map_or(String::new(), |saved| saved.to_json());
            keep(write(path, &report.trail.clone().unwrap_or_else(json)));
        }
        if let Some(path) = &arguments.msc {
            let svg = claim.violation.as_ref().map(|violation| chart::svg(&violation.trace));
            keep(write(path, &svg.unwrap_or_default()));
        }
    }
    if let Some(path) = &arguments.html {
        let claim = report.claims.iter().find(|claim| claim.violation.is_some());
        if let Some(claim) = claim.or(report.claims.first()) {
            let html = page(&Page { title: &file, claim, trace: None, sources: report.sources });
            keep(write(path, &html));
        }
    }
    match failed {
        Some(failure) => Err(failure),
        None => Ok(ExitCode::from(worst.exit_code())),
    }
}

/// The options that change what the file means.
pub(crate) fn options(arguments: &CheckArguments) -> Vec<String> {
    let model = &arguments.model;
    let mut options: Vec<String> =
        model.define.iter().flat_map(|define| ["-D".to_string(), define.clone()]).collect();
    for (given, flag) in [
        (model.no_merge, "--no-merge"),
        (model.no_reset, "--no-reset"),
        (model.no_hide, "--no-hide"),
    ] {
        if given {
            options.push(flag.to_string());
        }
    }
    options
}

fn text(report: &Report<'_>) -> String {
    let look = terminal::look();
    let mut text = String::new();
    for (at, claim) in report.claims.iter().enumerate() {
        if let (ReportForm::Spin, Some(heading)) =
            (report.arguments.report, report.headings.get(at))
        {
            let trail = report.arguments.trace.as_ref().map(|path| path.to_string_lossy());
            text.push_str(&spin::render(claim, heading, trail.as_deref()));
            text.push('\n');
            continue;
        }
        if report.claims.len() > 1 {
            text.push_str(&format!("{}\n", claim.property));
        }
        if report.arguments.quiet {
            text.push_str(&summary::sentence(claim, &look));
            text.push('\n');
            continue;
        }
        if let Some(violation) = &claim.violation {
            let look = look.with_collapse(LONGEST_RUN);
            text.push_str(&lanes::render(&violation.trace, Some(violation), &look));
            text.push('\n');
        }
        text.push_str(&summary::render(claim, &look));
        text.push('\n');
    }
    text
}

/// Whether something could not be printed.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints, and does not mind if nobody listens any more. Any other obstacle is told, and makes the
/// command [fail](is_lost) in the end.
pub(crate) fn print(text: &str) {
    let mut stdout = std::io::stdout();
    let printed = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    if let Err(error) = printed
        && error.kind() != std::io::ErrorKind::BrokenPipe
        && !LOST.swap(true, Ordering::Relaxed)
    {
        anstream::eprintln!("error: cannot write to standard output: {error}");
    }
}

/// Whether a part of the answer could not be printed.
pub(crate) fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Writes a file whole.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::io("write", path, &error))
}
