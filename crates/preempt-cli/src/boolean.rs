//! Boolean programs and pushdown systems: `preempt check program.bp`, `preempt check system.pds` and
//! `preempt sequentialize`.

use crate::applicability;
#[cfg(feature = "serve")]
use crate::arguments::ServeArguments;
use crate::arguments::{CheckArguments, Method, SequentializeArguments, Subject, Translation};
use crate::deadline;
use crate::failure::Failure;
use crate::output::{self, Report, print};
use crate::promela::drawing;
use crate::request::{self, Watcher};
use crate::terminal;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use preempt_bool::{
    Certificate, Diagnostic, Dialect, Program, Severity, Switches, parse, parse_pushdown,
};
use preempt_report::Source;
use preempt_report::drawing::beside;
use preempt_verify::boolean::{Answer, Settings, check};
use preempt_verify::{Error, Event, Preemptions, Request};
use std::path::Path;
use std::process::ExitCode;

/// How many switches are tried when nothing is said.
const DEFAULT_SWITCHES: u32 = 8;

fn is_pushdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "pds")
}

/// Checks a program, reports, and gives the exit code.
pub(crate) fn run(arguments: &CheckArguments) -> Result<ExitCode, Failure> {
    applicability::check(arguments, Subject::Boolean)?;
    deadline::start(arguments);
    let file = &arguments.model.file;
    let (program, text) = if is_pushdown(file) {
        if arguments.boolean.dialect.is_some() {
            let message = "--dialect is for Boolean programs; pushdown systems have none";
            return Err(Failure::Input(message.into()));
        }
        load_pushdown(file, arguments.boolean.target.as_deref())?
    } else {
        load(file, arguments.boolean.dialect.as_deref(), arguments.output.quiet)?
    };
    let settings = Settings {
        method: arguments.boolean.method.map(method),
        switches: match (arguments.boolean.switches, arguments.bounds.iterate) {
            _ if arguments.boolean.rounds.is_some() => {
                Switches::Rounds(arguments.boolean.rounds.unwrap_or(1))
            }
            (Some(most), None) => Switches::AtMost(most),
            (most, Some(last)) => Switches::Iterate(last.or(most).unwrap_or(DEFAULT_SWITCHES)),
            (None, None) => Switches::Iterate(DEFAULT_SWITCHES),
        },
        // Of a pushdown system, the target is part of the program.
        target: arguments.boolean.target.as_deref().filter(|_| !is_pushdown(file)),
        certificate: arguments.output.certificate.is_some(),
    };
    let request = Request {
        // Without a bound on preemptions, `--iterate` counts switches.
        preemptions: arguments.bounds.bound.map_or(Preemptions::Any, Preemptions::AtMost),
        ..arguments.request()
    };
    let watcher = Watcher::new(arguments.output.quiet);
    let listener = |event: Event<'_>| watcher.see(event);
    let control = request::control(arguments, &listener);
    let answer = check(&program, &settings, &request, &control);
    let Answer { mut claim, certificate } = answer.map_err(|error| match error {
        Error::Boolean(diagnostics) => {
            show_all(&diagnostics, &text);
            Failure::Reported
        }
        Error::Bug(message) => Failure::Bug(message),
        other => Failure::Input(other.to_string()),
    })?;
    output::account_for_time(arguments, &mut claim, 0.0);
    deadline::answer();
    let drawing = claim
        .violation
        .as_ref()
        .and_then(|found| Some(drawing::read(&beside(file))?.of_variables(&found.trace)));
    let sources = [Source { file: file.to_string_lossy().into_owned(), text }];
    output::report(&Report {
        arguments,
        claims: &[claim],
        sources: &sources,
        headings: &[],
        selectors: &[],
        trail: None,
        certificate: certificate.map(|made| {
            let dialect = (!is_pushdown(file))
                .then(|| arguments.boolean.dialect.as_deref().unwrap_or("slam"));
            made.map(|made| made.about(dialect, arguments.boolean.target.as_deref()).to_json())
        }),
        drawing: drawing.as_ref(),
    })
}

fn method(method: Method) -> preempt_bool::Method {
    match method {
        Method::Lazy => preempt_bool::Method::Lazy,
        Method::Eager => preempt_bool::Method::Eager,
        Method::Direct => preempt_bool::Method::Direct,
        Method::Explicit => preempt_bool::Method::Explicit,
    }
}

/// Runs `preempt sequentialize`.
pub(crate) fn sequentialize(arguments: &SequentializeArguments) -> Result<ExitCode, Failure> {
    let (program, text) = if is_pushdown(&arguments.file) {
        load_pushdown(&arguments.file, None)?
    } else {
        load(&arguments.file, arguments.dialect.as_deref(), true)?
    };
    let method = match arguments.method {
        Translation::Lazy => preempt_bool::Method::Lazy,
        Translation::Eager => preempt_bool::Method::Eager,
    };
    let sequential = preempt_bool::sequentialize(&program, method, arguments.switches, None)
        .map_err(|diagnostic| {
            show_all(&[diagnostic], &text);
            Failure::Reported
        })?;
    print(&sequential);
    Ok(ExitCode::SUCCESS)
}

/// What a certificate proves about a program, or why it proves nothing.
pub(crate) fn certified(
    certificate: &Path,
    path: &Path,
    interrupted: &dyn Fn() -> bool,
) -> Result<Result<String, String>, Failure> {
    let text = std::fs::read_to_string(certificate)
        .map_err(|error| Failure::io("read", certificate, &error))?;
    let certificate = Certificate::from_json(&text)
        .map_err(|error| Failure::Input(format!("{}: {error}", certificate.display())))?;
    let (program, _) = match is_pushdown(path) {
        true => load_pushdown(path, certificate.target.as_deref())?,
        false => load(path, certificate.dialect.as_deref(), true)?,
    };
    Ok(certificate.check(&program, interrupted))
}

/// Opens a program for `preempt serve`.
#[cfg(feature = "serve")]
pub(crate) fn origin(
    file: &Path,
    arguments: &ServeArguments,
) -> Result<Box<dyn preempt_serve::Origin>, Failure> {
    let refuse = |what: &str| Err(Failure::Input(format!("{}: {what}", file.display())));
    if is_pushdown(file) {
        return refuse("pushdown systems can be checked, but not explored in the browser");
    }
    if !arguments.define.is_empty() || arguments.no_merge {
        return refuse("-D and --no-merge are for Promela models");
    }
    Ok(Box::new(preempt_serve::BooleanFile::new(file.to_path_buf())))
}

fn load(path: &Path, dialect: Option<&str>, quiet: bool) -> Result<(Program, String), Failure> {
    let dialect = match dialect {
        None | Some("slam") => Dialect::Slam,
        Some("boppo") => Dialect::Boppo,
        Some("bopp") => Dialect::Bopp,
        Some(other) => {
            return Err(Failure::Input(format!(
                "there is no dialect `{other}`: choose slam, boppo or bopp"
            )));
        }
    };
    let bytes = std::fs::read(path).map_err(|error| Failure::io("read", path, &error))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match parse(&text, &path.to_string_lossy(), dialect) {
        Ok((program, warnings)) => {
            if !quiet {
                show_all(&warnings, &text);
            }
            Ok((program, text))
        }
        Err(errors) => {
            show_all(&errors, &text);
            Err(Failure::Reported)
        }
    }
}

/// A pushdown system starts as the file beside it with the ending `init` says; its target is the one
/// that is given, or that in the file with the ending `spec`.
fn load_pushdown(path: &Path, target: Option<&str>) -> Result<(Program, String), Failure> {
    let read = |path: &Path| -> Result<String, Failure> {
        let bytes = std::fs::read(path).map_err(|error| Failure::io("read", path, &error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let beside = |ending: &str| -> Result<Option<String>, Failure> {
        let path = path.with_extension(ending);
        if path.exists() { read(&path).map(Some) } else { Ok(None) }
    };
    let text = read(path)?;
    let initial = beside("init")?;
    let target = match target {
        Some(target) => Some(target.to_string()),
        None => beside("spec")?,
    };
    let file = path.to_string_lossy();
    parse_pushdown(&text, &file, initial.as_deref(), target.as_deref())
        .map(|program| (program, text.clone()))
        .map_err(|errors| {
            show_all(&errors, &text);
            Failure::Reported
        })
}

fn show_all(diagnostics: &[Diagnostic], text: &str) {
    for diagnostic in diagnostics {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code);
        let span = boundary(text, diagnostic.span.start)..boundary(text, diagnostic.span.end);
        let snippet = Snippet::source(text)
            .path(diagnostic.file.as_str())
            .line_start(1)
            .annotation(AnnotationKind::Primary.span(span));
        let mut group = Group::with_title(title).element(snippet);
        for note in &diagnostic.notes {
            group = group.element(Level::NOTE.message(note.as_str()));
        }
        let colour = terminal::colour_on_stderr();
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        output::complain(&format!("{}\n", renderer.render(&[group])));
    }
}

/// The nearest place at or before `at` where a character begins.
fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
