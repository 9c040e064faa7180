//! `preempt cargo test`, `preempt cargo nextest run` and `preempt cargo run`: the schedules of a Rust crate's own tests and programs.
//!
//! One test after the other is searched to its own verdict, within its own time (`search.rs`), and shown in a
//! list (`list.rs`); a test that cannot be searched and makes no thread is run as it is (`plain.rs`).

mod list;
mod plain;
mod search;

use crate::arguments::CargoArguments;
use crate::failure::Failure;
use crate::output::{complain, print};
use crate::terminal::INTERRUPTED;
use list::List;
use preempt_cargo::nextest::{self, Asked};
use preempt_cargo::{Built, Kind, Line, Program, Project, Races, Selection, Test, Toolchain};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// Builds, searches, reports, and gives the exit code.
pub(crate) fn run(words: &[OsString]) -> Result<ExitCode, Failure> {
    let asks = |word: &OsString| word == "--help" || word == "-h";
    if words.is_empty() || words.iter().take_while(|word| *word != "--").any(asks) {
        let help = CargoArguments::read(&["--help".into()]).map(drop).unwrap_err();
        print(&help.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    if words.first().is_some_and(|word| word == nextest::IN_FRONT[1]) {
        return next_test(&words[1..]);
    }
    let line = preempt_cargo::split(words).map_err(Failure::Input)?;
    let arguments = CargoArguments::read(&line.own).unwrap_or_else(|error| error.exit());
    check(&line, &arguments)?;
    if !preempt_run::runtime::is_supported() {
        let message = "Rust programs can be run on x86-64 Linux with the GNU C library only";
        return Err(Failure::Input(message.into()));
    }
    let folder = line.manifest.as_deref().and_then(Path::parent).filter(|f| f.is_dir());
    let mut begin = || {
        if !arguments.search.quiet {
            complain("preparing this Rust toolchain, once: the harness and an instrumented std");
        }
    };
    let toolchain =
        Toolchain::find(folder.unwrap_or(Path::new(".")), &mut begin).map_err(Failure::Input)?;
    let std = toolchain.std.clone();
    let races = if arguments.search.options.races { Races::On } else { Races::Off };
    let (kind, only_build, command) = (line.kind, line.only_build, line.for_cargo());
    let selection = selection(&line, &arguments);
    let own = line.own.clone();
    let project = Project::find(line, toolchain, races).map_err(said)?;
    if kind == Kind::Nextest {
        return project.nextest(&own).map(ExitCode::from).map_err(said);
    }
    let built = project.build(arguments.search.quiet).map_err(said)?;
    for note in &built.notes {
        complain(&format!("note: {note}"));
    }
    if only_build {
        return Ok(ExitCode::SUCCESS);
    }
    let mut list = List::new(&arguments, command, built.foreign.clone(), std);
    match kind {
        Kind::Test => all(&built, &selection, &arguments, &mut list)?,
        Kind::Run | Kind::Nextest => program(&built, &arguments, &mut list)?,
    }
    list.end()
}

/// Lists the tests of a program for nextest, or searches one of them.
fn next_test(words: &[OsString]) -> Result<ExitCode, Failure> {
    let (program, test) = match nextest::asked(words).map_err(Failure::Input)? {
        Asked::List(text) => {
            print(&text);
            return Ok(ExitCode::SUCCESS);
        }
        Asked::Search(program, test) => (program, test),
    };
    let given = nextest::given();
    let arguments = CargoArguments::read(&given.own).unwrap_or_else(|error| error.exit());
    let toolchain = Toolchain::find(&program.folder, &mut || {}).map_err(Failure::Input)?;
    let package = program.package().map_or(String::new(), |package| format!(" -p {package}"));
    let command = format!("test{package}");
    let mut list = List::new(&arguments, command, given.foreign, toolchain.std);
    list.test(&program, &test)?;
    list.end()
}

/// What cargo has said needs no more words.
fn said(failure: preempt_cargo::Failure) -> Failure {
    match failure {
        preempt_cargo::Failure::Said => Failure::Reported,
        preempt_cargo::Failure::Sentence(message) => Failure::Input(message),
    }
}

fn check(line: &Line, arguments: &CargoArguments) -> Result<(), Failure> {
    crate::run::check(&arguments.search.options)?;
    let wrong = |message: &str| Err(Failure::Input(message.into()));
    match line.kind {
        Kind::Test if !arguments.program.is_empty() => {
            wrong("tests take no arguments; there is nothing for a second --")
        }
        Kind::Nextest if !arguments.program.is_empty() || !arguments.filters.is_empty() => {
            wrong("nextest selects tests by what comes before --")
        }
        Kind::Nextest if arguments.search.options.replay.is_some() => {
            wrong("`preempt cargo test` repeats schedules")
        }
        Kind::Run if !arguments.filters.is_empty() => {
            wrong("arguments of the program come after a second --")
        }
        Kind::Run if arguments.exact || arguments.ignored || arguments.include_ignored => {
            wrong("--exact, --ignored and --include-ignored are for tests")
        }
        Kind::Run if !arguments.skip.is_empty() => wrong("--skip is for tests"),
        _ => Ok(()),
    }
}

fn selection(line: &Line, arguments: &CargoArguments) -> Selection {
    Selection {
        filters: line.filters.iter().chain(&arguments.filters).cloned().collect(),
        skip: arguments.skip.clone(),
        exact: arguments.exact,
        only_ignored: arguments.ignored,
        with_ignored: arguments.include_ignored,
    }
}

/// Every test that is wanted.
fn all(
    built: &Built,
    selection: &Selection,
    arguments: &CargoArguments,
    list: &mut List<'_>,
) -> Result<(), Failure> {
    let mut wanted: Vec<(&Program, Vec<Test>)> = Vec::new();
    for program in &built.programs {
        let tests = program.tests().map_err(Failure::Input)?;
        wanted.push((program, tests.into_iter().filter(|test| selection.names(test)).collect()));
    }
    let run: usize = wanted
        .iter()
        .map(|(_, tests)| tests.iter().filter(|test| selection.runs(test)).count())
        .sum();
    if arguments.search.options.replay.is_some() && run != 1 {
        return Err(Failure::Input(format!(
            "a schedule belongs to one test, but {run} tests are selected; name it with --exact"
        )));
    }
    for (program, tests) in wanted {
        if tests.is_empty() {
            continue;
        }
        list.program(program, tests.len());
        for test in tests {
            if INTERRUPTED.load(Ordering::Relaxed) {
                return Ok(());
            }
            if selection.runs(&test) {
                list.test(program, &test)?;
            } else {
                list.ignored(&test);
            }
        }
    }
    Ok(())
}

/// The one program of `cargo run`.
fn program(built: &Built, arguments: &CargoArguments, list: &mut List<'_>) -> Result<(), Failure> {
    let Some(program) = built.programs.first() else {
        return Err(Failure::Input("cargo has started no program".into()));
    };
    let mut program = program.clone();
    program.arguments.extend(arguments.program.iter().cloned());
    let test = program.as_test();
    list.test(&program, &test)
}
