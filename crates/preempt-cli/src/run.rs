//! `preempt run`: the schedules of a C or C++ program.

use crate::arguments::{self, Command, ProgramArguments, ReplayArguments, RunArguments};
use crate::failure::Failure;
use crate::output::{print, print_exactly, write};
use crate::terminal::{self, INTERRUPTED, ProgressLine};
use preempt_core::{Claim, Statistics, Verdict, counted, grouped};
use preempt_report::json::{self, Subject};
use preempt_report::{Page, SavedTrace, Source, lanes, summary};
use preempt_run::{
    Answer, Memory, Options, Search, SearchOptions, Std, Watch, answer, runtime, symbols::Symbols,
};
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Steps of one thread in a row that are shown in full.
const LONGEST_RUN: usize = 40;

/// Searches, reports, and gives the exit code.
pub(crate) fn run(arguments: &RunArguments) -> Result<ExitCode, Failure> {
    check(&arguments.search.options)?;
    let mut words = arguments.command.iter().cloned();
    let program = PathBuf::from(words.next().unwrap_or_default());
    let options = Options {
        program,
        arguments: words.collect(),
        folder: None,
        variables: None,
        budget: false,
        search: with_input(&arguments.search.options),
    };
    let line = RefCell::new(ProgressLine::new(arguments.search.quiet));
    let watch = |progress| line.borrow_mut().show_program(progress);
    let answer = search(&options, Some(&watch));
    line.borrow_mut().clear();
    let answer = answer?;
    let repeat = answer.schedule.as_ref().map(|schedule| {
        let command: Vec<_> = arguments.command.iter().map(|word| word.to_string_lossy()).collect();
        let given: String = given(&options).iter().map(|word| format!("{word} ")).collect();
        format!("preempt run --replay {schedule} {given}--output -- {}", command.join(" "))
    });
    report(&arguments.search, &options, &answer, repeat.as_deref())
}

/// Whether the options can be combined.
pub(crate) fn check(options: &SearchOptions) -> Result<(), Failure> {
    if options.seed.is_some() && options.search != Search::Random {
        return Err(Failure::Input("--seed needs --search random".into()));
    }
    let is_bounded =
        options.bound.is_some() || options.iterate.is_some() || options.stale.is_some();
    if options.search == Search::Random && is_bounded {
        return Err(Failure::Input(
            "--search random samples all executions: it keeps no --bound, --iterate or --stale"
                .into(),
        ));
    }
    if let Some(path) = &options.input
        && let Err(error) = std::fs::File::open(path)
    {
        return Err(Failure::Input(format!("{}: {error}", path.display())));
    }
    if options.threads > 1 && options.search != Search::Orders {
        return Err(Failure::Input(
            "--threads is for --search orders; for more random schedules at a time start the \
             command several times, each with its own --seed"
                .into(),
        ));
    }
    if options.threads > preempt_run::MOST_THREADS {
        let most = preempt_run::MOST_THREADS;
        return Err(Failure::Input(format!("at most {most} processes can search together")));
    }
    if options.stale.is_some_and(|most| most > 0) {
        if options.memory == Memory::Sc {
            return Err(Failure::Input("--memory-model sc has no stale choices".into()));
        }
        if options.search == Search::Schedules {
            return Err(Failure::Input("--search schedules makes no stale choices".into()));
        }
    }
    Ok(())
}

/// Searches the schedules of a program.
pub(crate) fn search(options: &Options, watch: Watch<'_>) -> Result<Answer, Failure> {
    let found =
        preempt_run::run(options, &INTERRUPTED, watch).map_err(|failure| match failure {
            preempt_run::Failure::Input(message) => Failure::Input(message),
            preempt_run::Failure::Bug(message) => Failure::Bug(message),
            // `run` gives an answer instead.
            preempt_run::Failure::Killed(how) => Failure::Input(how),
        })?;
    let symbols = Symbols::read(&options.program, &found.modules);
    Ok(answer(options, &found, &symbols))
}

/// Repeats the failing execution of a program that `run --trace` has saved.
pub(crate) fn replay(
    arguments: &ReplayArguments,
    saved: &SavedTrace,
    schedule: &str,
) -> Result<ExitCode, Failure> {
    if arguments.interactive {
        let message = "--interactive is for models; programs are stepped through in a debugger \
                       (preempt run --replay … --debugger gdb)";
        return Err(Failure::Input(message.into()));
    }
    let mut words: Vec<OsString> = ["preempt", "run", "--replay", schedule].map(Into::into).into();
    if arguments.json {
        words.push("--json".into());
    }
    if let Some(path) = &arguments.html {
        words.extend(["--html".into(), path.into()]);
    }
    let split = saved.options.iter().position(|word| word == "--");
    let (given, own) = saved.options.split_at(split.unwrap_or(saved.options.len()));
    words.extend(given.iter().map(Into::into));
    words.extend(["--".into(), arguments.model.file.clone().into()]);
    words.extend(own.iter().skip(1).map(Into::into));
    match arguments::parse(words).map_err(|error| Failure::Input(error.to_string()))?.command {
        Command::Run(arguments) => run(&arguments),
        _ => Err(Failure::Bug("a saved trace led to another command".into())),
    }
}

/// The file that a shell has redirected the standard input to. A pipe can be read only once, so it is none.
fn redirected() -> Option<PathBuf> {
    let path = std::fs::read_link("/proc/self/fd/0").ok()?;
    path.is_file().then_some(path)
}

/// The options, with the input that a shell has redirected if none was given. Programs may run in another folder.
pub(crate) fn with_input(options: &SearchOptions) -> SearchOptions {
    let given = options.input.as_ref();
    let given = given.map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
    SearchOptions { input: given.or_else(redirected), ..options.clone() }
}

fn report(
    arguments: &ProgramArguments,
    options: &Options,
    answer: &Answer,
    repeat: Option<&str>,
) -> Result<ExitCode, Failure> {
    let claim = &answer.claim;
    let file = options.program.to_string_lossy();
    let mut failed = None;
    let mut keep = |result: Result<(), Failure>| {
        if let Err(failure) = result {
            failed.get_or_insert(failure);
        }
    };
    let subject = Subject { file: &file, bound: options.search.most_preemptions(), test: None };
    let machine = || json::report(subject, std::slice::from_ref(claim));
    match &arguments.json {
        Some(None) => print(&(machine() + "\n")),
        Some(Some(path)) => keep(write(path, &(machine() + "\n"))),
        None => {}
    }
    let sources = sources(claim);
    let shown = Page { title: &file, claim, trace: None, sources: &sources, drawing: None };
    if !matches!(arguments.json, Some(None)) {
        print(&text(arguments, answer, repeat));
        if !arguments.quiet && claim.violation.is_some() {
            let name = options.program.file_stem().unwrap_or_default();
            link_to(&runtime::base().join("pages").join(name).with_extension("html"), &shown);
        }
    }
    if let (Some(path), Some(saved)) =
        (&arguments.trace, SavedTrace::of(&file, &words(options), claim))
    {
        let saved = SavedTrace { schedule: answer.schedule.clone(), ..saved };
        keep(write(path, &saved.to_json()));
    }
    for (format, path) in &arguments.files.0 {
        if let Some(text) = (format.render)(&shown) {
            keep(write(path, &text));
        }
    }
    match failed {
        Some(failure) => Err(failure),
        None => Ok(ExitCode::from(code(options, claim))),
    }
}

/// Keeps the page of a failing execution, and shows where it is. Where it cannot be kept, nothing points to it.
pub(crate) fn link_to(path: &Path, page: &Page<'_>) {
    let folder = path.parent().unwrap_or(Path::new("."));
    if std::fs::create_dir_all(folder).is_ok() && write(path, &preempt_report::page(page)).is_ok() {
        print_exactly(&preempt_report::links(path, terminal::has_links()));
    }
}

/// A schedule that was replayed without a violation ends well; everything else by its verdict.
pub(crate) fn code(options: &Options, claim: &Claim) -> u8 {
    match claim.verdict {
        Verdict::Inconclusive(preempt_core::Stop::Sampling) if options.search.replay.is_some() => 0,
        verdict => verdict.exit_code(),
    }
}

/// What decides how an execution goes, besides the arguments of the program.
pub(crate) fn given(options: &Options) -> Vec<String> {
    let mut words = Vec::new();
    if !options.search.races {
        words.extend(["--races".to_string(), "off".to_string()]);
    }
    if options.search.memory == Memory::Sc {
        words.extend(["--memory-model".to_string(), "sc".to_string()]);
    }
    if let Some(path) = &options.search.input {
        words.extend(["--input".to_string(), path.to_string_lossy().into_owned()]);
    }
    if options.search.keeps_pauses() {
        words.extend(["--pauses".to_string(), "kept".to_string()]);
    }
    if options.search.std == Std::Steps {
        words.extend(["--std".to_string(), "steps".to_string()]);
    }
    if options.search.values != (0, 3) {
        let (low, high) = options.search.values;
        words.extend(["--values".to_string(), format!("{low}..{high}")]);
    }
    words
}

/// What was asked of the program, and its arguments.
pub(crate) fn words(options: &Options) -> Vec<String> {
    let mut words = given(options);
    for (given, flag) in [
        (options.search.leaks, "--leaks"),
        (options.search.exit_code, "--exit-code"),
        (options.search.unjoined, "--unjoined"),
    ] {
        if given {
            words.push(flag.to_string());
        }
    }
    words.push("--".into());
    words.extend(options.arguments.iter().map(|word| word.to_string_lossy().into_owned()));
    words
}

/// The whole answer, for people.
pub(crate) fn text(arguments: &ProgramArguments, answer: &Answer, repeat: Option<&str>) -> String {
    let look = terminal::look();
    let claim = &answer.claim;
    if arguments.quiet {
        return summary::sentence(claim, &look) + "\n";
    }
    let mut text = String::new();
    if let Some(violation) = &claim.violation {
        let look = look.with_collapse(LONGEST_RUN);
        text.push_str(&lanes::render(&violation.trace, Some(violation), &look));
        text.push('\n');
    }
    text.push_str(&summary::sentence(claim, &look));
    text.push_str(&format!("\nproperty: {}\n", claim.property));
    for note in &claim.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text.push_str(&numbers(&claim.statistics, arguments.options.search));
    if let Some(repeat) = repeat {
        text.push_str(&format!("repeat it:  {repeat}\n"));
    }
    text
}

/// What was covered, a line for each number of stale choices, and what it took.
fn numbers(statistics: &Statistics, search: Search) -> String {
    let total = |orders: u64, executions: u64| match search {
        Search::Orders => {
            counted(orders, "partial order") + ", " + &counted(executions, "execution")
        }
        _ => counted(executions, "execution"),
    };
    let mut text = String::new();
    for rows in statistics.per_bound.chunk_by(|row, next| row.stale == next.stale) {
        let (first, last) = (&rows[0], &rows[rows.len() - 1]);
        let stale = match first.stale {
            None => String::new(),
            Some(0) => "no stale choice and ".into(),
            Some(1) => "at most 1 stale choice and ".into(),
            Some(stale) => format!("at most {stale} stale choices and "),
        };
        let bounds = match rows.len() {
            1 => counted(last.bound, "preemption"),
            _ => format!("{} to {}", first.bound, counted(last.bound, "preemption")),
        };
        let fewer: String = rows[..rows.len() - 1]
            .iter()
            .map(|row| match search {
                Search::Orders => format!("{}, ", grouped(row.states)),
                _ => format!("{}, ", grouped(row.transitions)),
            })
            .collect();
        let most = total(last.states, last.transitions);
        text.push_str(&format!("{stale}at most {bounds}: {fewer}{most}\n"));
    }
    let all = total(statistics.states, statistics.executions.unwrap_or(0));
    text.push_str(&format!("in all: {all}, {:.2} s\n", statistics.seconds));
    text
}

/// The files that the steps refer to.
pub(crate) fn sources(claim: &Claim) -> Vec<Source> {
    let Some(violation) = &claim.violation else { return Vec::new() };
    let mut files: Vec<&str> =
        violation.trace.steps.iter().map(|step| step.file.as_str()).collect();
    files.push(&violation.file);
    files.sort_unstable();
    files.dedup();
    files
        .into_iter()
        .filter(|file| !file.is_empty())
        .filter_map(|file| {
            let text = std::fs::read_to_string(Path::new(file)).ok()?;
            Some(Source { file: file.to_string(), text })
        })
        .collect()
}
