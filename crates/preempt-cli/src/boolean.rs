//! Boolean programs and pushdown systems: `preempt check program.bp`, `preempt check system.pds` and
//! `preempt sequentialize`.

use crate::arguments::{CheckArguments, Method, SequentializeArguments, Switch, Translation};
use crate::deadline;
use crate::failure::Failure;
use crate::output::{self, Report, print};
use crate::terminal::{self, INTERRUPTED};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use preempt_bool::{
    Diagnostic, Dialect, Limits, Machine, Options, Program, Severity, Switches, check, parse,
    parse_pushdown,
};
use preempt_check::{Check, Preemptions, Reduction};
use preempt_report::Source;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// Calls in progress that a search over states follows per thread.
const MOST_FRAMES: usize = 64;
/// How many switches are tried when nothing is said.
const DEFAULT_SWITCHES: u32 = 8;

/// Recursion over diagrams is as deep as there are bits.
const STACK: usize = 256 << 20;

/// Whether a file is read here.
pub(crate) fn reads(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "bp") || is_pushdown(path)
}

fn is_pushdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "pds")
}

/// Checks a program, reports, and gives the exit code.
pub(crate) fn run(arguments: &CheckArguments) -> Result<ExitCode, Failure> {
    deadline::start(arguments);
    std::thread::scope(|scope| {
        let work = std::thread::Builder::new().stack_size(STACK);
        match work.spawn_scoped(scope, || run_here(arguments)) {
            Ok(running) => running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // No room for such a stack: the one we have.
            Err(_) => run_here(arguments),
        }
    })
}

fn run_here(arguments: &CheckArguments) -> Result<ExitCode, Failure> {
    let file = &arguments.model.file;
    let (program, text) = if is_pushdown(file) {
        if arguments.dialect.is_some() {
            let message = "--dialect is for Boolean programs; pushdown systems have none";
            return Err(Failure::Input(message.into()));
        }
        load_pushdown(file, arguments.target.as_deref())?
    } else {
        load(file, arguments.dialect.as_deref(), arguments.quiet)?
    };
    let mut claim = match arguments.bound {
        Some(bound) => within_bound(&program, arguments, bound, &text)?,
        None => within_switches(&program, arguments, &text)?,
    };
    output::account_for_time(arguments, &mut claim, 0.0);
    deadline::answer();
    let sources = [Source { file: file.to_string_lossy().into_owned(), text }];
    output::report(&Report {
        arguments,
        claims: &[claim],
        sources: &sources,
        headings: &[],
        selectors: &[],
        trail: None,
    })
}

/// LMP09's question: at most so many context switches of any kind.
fn within_switches(
    program: &Program,
    arguments: &CheckArguments,
    text: &str,
) -> Result<preempt_core::Claim, Failure> {
    let show = |progress: &preempt_bool::Progress| {
        if std::io::stderr().is_terminal() && !arguments.quiet {
            let _ = write!(
                std::io::stderr(),
                "\r{}: {} switches, {} in memory, {:.0} s\x1b[K",
                progress.method,
                progress.switches,
                preempt_core::grouped(progress.size),
                progress.seconds
            );
        }
    };
    let translation = matches!(arguments.method, Some(Method::Lazy | Method::Eager));
    if arguments.rounds.is_some() && translation {
        let message = "--rounds needs --method direct or explicit: the translations know no rounds";
        return Err(Failure::Input(message.into()));
    }
    let switches = match (arguments.switches, arguments.iterate) {
        _ if arguments.rounds.is_some() => Switches::Rounds(arguments.rounds.unwrap_or(1)),
        (Some(most), None) => Switches::AtMost(most),
        (most, Some(last)) => Switches::Iterate(last.or(most).unwrap_or(DEFAULT_SWITCHES)),
        (None, None) => Switches::Iterate(DEFAULT_SWITCHES),
    };
    let options = Options {
        method: arguments.method.map(method),
        switches,
        // Of a pushdown system, the target is part of the program.
        target: arguments.target.as_deref().filter(|_| !is_pushdown(&arguments.model.file)),
        limits: Limits {
            memory_bytes: arguments.memory,
            time: arguments.time_left(),
            interrupt: Some(&INTERRUPTED),
            progress: Some(&show),
        },
        ..Options::default()
    };
    let answer = check(program, &options);
    if std::io::stderr().is_terminal() {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    let report = answer.map_err(|diagnostic| {
        show_all(&[diagnostic], text);
        Failure::Reported
    })?;
    let mut claim = report.claim;
    claim.notes.insert(0, format!("method {}: {}", report.method.name(), report.why));
    if arguments.threads > 1 {
        claim.notes.push("one thread was used: only --bound uses several here".into());
    }
    Ok(claim)
}

/// At most so many preemptions: a search over states with their stacks.
fn within_bound(
    program: &Program,
    arguments: &CheckArguments,
    bound: u32,
    text: &str,
) -> Result<preempt_core::Claim, Failure> {
    if arguments.switches.is_some() || !matches!(arguments.method, None | Some(Method::Explicit)) {
        let message = "--bound counts preemptions, and states are listed one by one for it: it \
                       goes with neither --switches nor another --method than explicit";
        return Err(Failure::Input(message.into()));
    }
    let target = arguments.target.as_deref().filter(|_| !is_pushdown(&arguments.model.file));
    let machine = Machine::new(program, target, MOST_FRAMES).map_err(|diagnostic| {
        show_all(&[diagnostic], text);
        Failure::Reported
    })?;
    let options = preempt_check::Options {
        property: "no target reached, no assertion violated".into(),
        preemptions: Preemptions::AtMost(bound),
        deadlocks: false,
        reduction: match arguments.por {
            Some(Switch::Off) => Reduction::None,
            _ => Reduction::Full,
        },
        memory: arguments.memory.map(|bytes| bytes as usize),
        time: arguments.time_left(),
        threads: arguments.threads,
        ..preempt_check::Options::default()
    };
    Ok(Check::new(&machine).options(options).interrupt(&INTERRUPTED).run().claim)
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
