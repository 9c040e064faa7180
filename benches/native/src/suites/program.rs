//! One program of a suite: compiled as `preempt cc` compiles it, searched, and what was said of it.

use crate::speed::seconds_of_children;
use anyhow::{Context, Result};
use clap::Parser;
use preempt_core::Verdict;
use preempt_run::symbols::Symbols;
use preempt_run::{Failure, Language, Options, SearchOptions, compile, runtime};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What is built, and how it is searched.
pub(crate) struct Program {
    /// Its source files.
    pub(crate) sources: Vec<PathBuf>,
    /// Options of the compiler besides `-g -pthread`.
    pub(crate) flags: Vec<OsString>,
    /// The arguments that it is started with.
    pub(crate) arguments: Vec<OsString>,
    /// Options of the search, as on the command line.
    pub(crate) search: String,
}

/// What a search said.
#[derive(Default)]
pub(crate) struct Outcome {
    /// The verdict in a word or two, or the kind of the violation.
    pub(crate) verdict: String,
    /// What it amounts to.
    pub(crate) kind: OutcomeKind,
    /// Executions.
    pub(crate) executions: u64,
    /// Partial orders.
    pub(crate) orders: u64,
    /// Preemptions in the violating execution.
    pub(crate) preemptions: Option<u32>,
    /// Seconds of processor time, of all processes that searched.
    pub(crate) seconds: f64,
    /// Not every value of those that may be any was tried.
    pub(crate) has_chosen_values: bool,
    /// It holds of what was searched, which the sentence says is not all.
    pub(crate) is_partial: bool,
    /// The sentence of the verdict.
    pub(crate) sentence: String,
}

/// What a verdict amounts to.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum OutcomeKind {
    /// It does not compile or link.
    NotBuilt,
    /// No execution is wrong.
    Holds,
    /// An execution is wrong.
    Violated,
    /// A limit, or something that is refused.
    #[default]
    Unknown,
}

/// Builds and searches a program; `work` is a folder for what is built.
pub(crate) fn check(program: &Program, work: &Path) -> Result<Outcome> {
    // What is known of a program is kept by its name.
    static BUILT: AtomicUsize = AtomicUsize::new(0);
    let number = BUILT.fetch_add(1, Ordering::Relaxed);
    let executable = work.join(format!("program-{number}"));
    if let Err(message) = build(program, &executable)? {
        let verdict = "not built".into();
        return Ok(Outcome {
            verdict,
            kind: OutcomeKind::NotBuilt,
            sentence: message,
            ..Outcome::default()
        });
    }
    let options = options(&executable, program)?;
    let before = seconds_of_children();
    let found = preempt_run::run(&options, &AtomicBool::new(false), None);
    let seconds = seconds_of_children() - before;
    let found = match found {
        Ok(found) => found,
        Err(Failure::Input(message) | Failure::Bug(message) | Failure::Killed(message)) => {
            let verdict = "no report".into();
            return Ok(Outcome { verdict, seconds, sentence: message, ..Outcome::default() });
        }
    };
    let symbols = Symbols::read(&executable, &found.modules);
    let claim = preempt_run::answer(&options, &found, &symbols).claim;
    std::fs::remove_file(&executable)?;
    let (verdict, kind) = match (&claim.verdict, &claim.violation) {
        (Verdict::Violated, Some(violation)) => {
            (violation.kind.name().replace('_', " "), OutcomeKind::Violated)
        }
        (Verdict::Holds, _) => ("holds".into(), OutcomeKind::Holds),
        (Verdict::HoldsWithinBound(bound), _) => {
            (format!("holds within {bound}"), OutcomeKind::Unknown)
        }
        (Verdict::Inconclusive(stop), _) => (format!("inconclusive: {stop}"), OutcomeKind::Unknown),
        (_, _) => ("nothing was checked".into(), OutcomeKind::Unknown),
    };
    Ok(Outcome {
        verdict,
        kind,
        executions: found.executions,
        orders: found.graphs,
        preemptions: claim.violation.as_ref().map(|violation| violation.trace.cost().preemptions),
        seconds,
        has_chosen_values: found.unexplored.iter().any(|words| words.contains("--values")),
        is_partial: !found.unexplored.is_empty(),
        sentence: claim.sentence,
    })
}

fn options(executable: &Path, program: &Program) -> Result<Options> {
    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Words {
        #[command(flatten)]
        search: SearchOptions,
    }
    let Words { search } = Words::try_parse_from(program.search.split_whitespace())?;
    Ok(Options {
        program: executable.to_path_buf(),
        arguments: program.arguments.clone(),
        folder: None,
        variables: None,
        budget: false,
        search,
    })
}

/// Compiles the program; otherwise gives what the compiler says first.
fn build(program: &Program, executable: &Path) -> Result<Result<(), String>> {
    let is_cxx = |source: &PathBuf| source.extension().is_some_and(|end| end != "c" && end != "i");
    let language =
        if program.sources.iter().any(is_cxx) { Language::CPlusPlus } else { Language::C };
    let mut arguments: Vec<OsString> =
        ["-g", "-w", "-pthread"].into_iter().map(OsString::from).collect();
    arguments.extend(program.flags.iter().cloned());
    // Programs print `__FILE__` into buffers of fixed sizes, so they are compiled where they are.
    let at = program.sources.first().and_then(|source| source.parent()).context("no source")?;
    arguments.extend(
        program.sources.iter().map(|source| source.strip_prefix(at).unwrap_or(source).into()),
    );
    arguments.extend(["-lm".into(), "-o".into(), executable.into()]);
    let folder = runtime::folder().context("the runtime cannot be unpacked")?;
    let mut command = compile(language, &arguments, &folder).map_err(anyhow::Error::msg)?;
    let output = command.current_dir(at).output()?;
    if output.status.success() {
        return Ok(Ok(()));
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let said = text.lines().find(|line| line.contains("error") || line.contains("undefined"));
    Ok(Err(said.unwrap_or("it does not compile").to_owned()))
}
