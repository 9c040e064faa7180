//! Reports on standard output and in files.

use crate::arguments::{CheckArguments, ReportForm};
use crate::failure::Failure;
use crate::terminal;
use preempt_core::Claim;
use preempt_report::json::{self, Subject};
use preempt_report::spin::{self, Heading};
use preempt_report::{Drawn, Page, SavedTrace, Source, lanes, summary, visible};
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
    /// Options that select the property again, claim by claim; for saved traces.
    pub(crate) selectors: &'a [Vec<String>],
    /// The first counterexample as a trail of Spin, if the saved trace is to be one.
    pub(crate) trail: Option<String>,
    /// The certificate of a Boolean program's answer, or why there is none; a trace certifies that a model is
    /// violated.
    pub(crate) certificate: Option<Result<String, String>>,
    /// The user's drawing along the first counterexample, for the page.
    pub(crate) drawing: Option<&'a Drawn>,
}

/// Steps of one process in a row that are shown in full.
const LONGEST_RUN: usize = 40;

/// Steps of a counterexample that are shown.
const MOST_STEPS: usize = 400;

/// Writes everything that was asked for. A file that cannot be written does not keep the verdict
/// from being shown.
pub(crate) fn report(report: &Report<'_>) -> Result<ExitCode, Failure> {
    let arguments = report.arguments;
    let file = arguments.model.file.to_string_lossy();
    let worst = json::worst(report.claims);
    let mut failed = None;
    let mut written = Vec::new();
    let mut save = |path: &Path, text: &str| match write(path, text) {
        Ok(()) => written.push(path.display().to_string()),
        Err(failure) => _ = failed.get_or_insert(failure),
    };
    let bound = arguments.bounds.reported();
    let machine = || json::report(Subject { file: &file, bound, test: None }, report.claims);
    match &arguments.output.json {
        Some(None) => print_exactly(&(machine() + "\n")),
        Some(Some(path)) => save(path, &(machine() + "\n")),
        None => {}
    }
    if !matches!(arguments.output.json, Some(None)) {
        print(&text(report));
    }
    let violated = report.claims.iter().position(|claim| claim.violation.is_some());
    if let Some(at) = violated {
        let claim = &report.claims[at];
        let mut options = options(arguments);
        options.extend(report.selectors.get(at).into_iter().flatten().cloned());
        let saved = || SavedTrace::of(&file, &options, claim);
        let json = || saved().map_or(String::new(), |saved| saved.to_json());
        if let Some(path) = &arguments.output.trace {
            save(path, &report.trail.clone().unwrap_or_else(json));
        }
        if let (Some(path), None) = (&arguments.output.certificate, &report.certificate) {
            save(path, &json());
        }
    } else if let Some(path) = &arguments.output.trace
        && !arguments.output.quiet
    {
        no_counterexample(path);
    }
    if let Some(path) = &arguments.output.certificate {
        let none = "only a violation of a Promela model has a certificate, its trace";
        match (&report.certificate, violated) {
            (Some(Ok(text)), _) => save(path, text),
            (Some(Err(why)), _) => no_certificate(path, why),
            (None, None) => no_certificate(path, none),
            (None, Some(_)) => {}
        }
    }
    let shown = violated.or((!report.claims.is_empty()).then_some(0)).map(|at| Page {
        title: &file,
        claim: &report.claims[at],
        trace: None,
        sources: report.sources,
        drawing: report.drawing,
    });
    for (format, path) in &arguments.files.0 {
        match shown.as_ref().and_then(|shown| (format.render)(shown)) {
            Some(text) => save(path, &text),
            None if !arguments.output.quiet => no_counterexample(path),
            None => {}
        }
    }
    tell_written(&written, arguments);
    match failed {
        Some(failure) => Err(failure),
        None => Ok(ExitCode::from(worst.exit_code())),
    }
}

/// Says that a file is not there because nothing is violated.
fn no_counterexample(path: &Path) {
    complain(&format!("{} was not written: there is no counterexample", path.display()));
}

/// Says why there is no certificate. One from an earlier answer must not be taken for it.
fn no_certificate(path: &Path, why: &str) {
    complain(&format!("{} was not written: {why}", path.display()));
    if std::fs::metadata(path).is_ok_and(|known| known.is_file()) {
        let _ = std::fs::remove_file(path);
    }
}

/// One line that says where the answer can be found again. Standard output may hold nothing but JSON.
fn tell_written(written: &[String], arguments: &CheckArguments) {
    let line = format!("written: {}", written.join(", "));
    match &arguments.output.json {
        _ if written.is_empty() || arguments.output.quiet => {}
        Some(None) => complain(&line),
        _ => print(&(line + "\n")),
    }
}

/// The time of a claim is that of the whole command, less what went to the claims before it.
pub(crate) fn account_for_time(arguments: &CheckArguments, claim: &mut Claim, before: f64) {
    let numbers = &mut claim.statistics;
    numbers.search_seconds = numbers.seconds;
    numbers.seconds = arguments.given.elapsed().as_secs_f64() - before;
}

/// The options that change what the file means, and what counts as a violation.
fn options(arguments: &CheckArguments) -> Vec<String> {
    let model = &arguments.model;
    let mut options: Vec<String> =
        model.define.iter().flat_map(|define| ["-D".to_string(), define.clone()]).collect();
    for (given, flag) in [
        (model.no_merge, "--no-merge"),
        (model.no_reset, "--no-reset"),
        (model.no_hide, "--no-hide"),
        (arguments.properties.empty_channels, "--empty-channels"),
        (arguments.properties.no_deadlock, "--no-deadlock"),
        (arguments.properties.no_assert, "--no-assert"),
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
            (report.arguments.output.report, report.headings.get(at))
        {
            let trail = report.arguments.output.trace.as_ref().map(|path| path.to_string_lossy());
            text.push_str(&spin::render(claim, heading, trail.as_deref()));
            text.push('\n');
            continue;
        }
        if report.claims.len() > 1 {
            text.push_str(&format!("{}\n", claim.property));
        }
        if report.arguments.output.quiet {
            text.push_str(&summary::sentence(claim, &look));
            text.push('\n');
            continue;
        }
        if let Some(violation) = &claim.violation {
            let look = look.with_collapse(LONGEST_RUN).with_most_steps(MOST_STEPS);
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

/// Prints, and does not mind if the other end of a pipe is closed. Any other obstacle is reported, and makes the
/// command [fail](is_lost) in the end. What comes from a model, a file name or a saved trace may hold
/// control characters; they are made visible, so that nothing but this command moves the user's cursor.
pub(crate) fn print(text: &str) {
    print_exactly(&visible(text, terminal::look().color));
}

/// As [`print()`], for data in a format of its own, which escapes what it has to.
pub(crate) fn print_exactly(text: &str) {
    #[cfg(test)]
    if capture::keep(capture::Stream::Output, text) {
        return;
    }
    let mut stdout = std::io::stdout();
    let printed = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    if let Err(error) = printed
        && error.kind() != std::io::ErrorKind::BrokenPipe
        && !LOST.swap(true, Ordering::Relaxed)
    {
        complain(&format!("error: cannot write to standard output: {error}"));
    }
}

/// Writes lines to standard error; as to control characters, see [`print()`].
pub(crate) fn complain(text: &str) {
    let text = visible(text, terminal::colour_on_stderr());
    #[cfg(test)]
    if capture::keep(capture::Stream::Error, &text) {
        return;
    }
    // With standard error closed there is no place left for a report.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Says why a command ends without a verdict, and gives the exit code.
pub(crate) fn report_failure(failure: &Failure) -> ExitCode {
    match failure {
        Failure::Input(message) => {
            complain(&format!("error: {message}"));
            ExitCode::from(2)
        }
        Failure::Reported => ExitCode::from(2),
        Failure::Bug(message) => {
            complain(&format!("bug in preempt, please report it: {message}"));
            ExitCode::from(101)
        }
    }
}

/// Shows help, the version, or what is wrong with a command line, and gives the exit code.
pub(crate) fn show_usage(error: &clap::Error) -> ExitCode {
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    if let Err(error) = printed
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        complain(&format!("error: cannot write to standard output: {error}"));
        return ExitCode::from(2);
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Whether a part of the answer could not be printed.
pub(crate) fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Writes a file whole or not at all: into a file beside it, which then takes its name. What is no
/// regular file (a device, a pipe) is written to as it is.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    replace(path, text.as_bytes()).map_err(|error| Failure::io("write", path, &error))
}

fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    // A link stays a link.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let known = std::fs::metadata(&target).ok();
    if known.as_ref().is_some_and(|known| !known.is_file()) {
        return std::fs::OpenOptions::new().write(true).open(&target)?.write_all(content);
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut beside = tempfile::Builder::new();
    #[cfg(unix)]
    let beside = {
        use std::os::unix::fs::PermissionsExt;
        // As for any other new file, the user's mask decides.
        beside.permissions(std::fs::Permissions::from_mode(0o666))
    };
    let mut beside = beside.prefix(".preempt-").tempfile_in(folder.unwrap_or(Path::new(".")))?;
    beside.write_all(content)?;
    if let Some(known) = known {
        beside.as_file().set_permissions(known.permissions())?;
    }
    beside.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

/// Text for the tests of this crate instead of the terminal.
#[cfg(test)]
pub(crate) mod capture {
    use std::sync::{Mutex, PoisonError};

    #[derive(Clone, Copy)]
    pub(crate) enum Stream {
        Output,
        Error,
    }

    /// Of all threads: commands may work on several.
    static KEPT: Mutex<Option<[String; 2]>> = Mutex::new(None);

    /// Keeps a text if what is printed is collected.
    pub(super) fn keep(stream: Stream, text: &str) -> bool {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.as_mut() {
            kept[stream as usize].push_str(text);
        }
        kept.is_some()
    }

    fn replace(by: Option<[String; 2]>) -> Option<[String; 2]> {
        std::mem::replace(&mut *KEPT.lock().unwrap_or_else(PoisonError::into_inner), by)
    }

    /// Runs something, and gives back what it printed: standard output, standard error.
    pub(crate) fn capture<R>(run: impl FnOnce() -> R) -> (R, [String; 2]) {
        replace(Some(Default::default()));
        let result = run();
        (result, replace(None).unwrap_or_default())
    }
}
