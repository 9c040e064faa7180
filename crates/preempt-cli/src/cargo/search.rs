//! The search of one test.

use crate::arguments::CargoArguments;
use crate::failure::Failure;
use crate::run::{search, with_input};
use preempt_cargo::{Program, Std, Test, export};
use preempt_core::{Stop, Verdict, ViolationKind};
use preempt_run::{Answer, Options, SearchOptions, Watch};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How long a test is searched if nothing else is said.
pub(super) const TIME: Duration = Duration::from_secs(10);

/// How to get a std that can be instrumented.
const INSTRUMENTABLE: &str = "toolchains of rustup have what it takes to instrument std; others need ld.lld with an LLVM that is not older than rustc's";

/// What the program of a test is started with, and what is asked of it.
pub(super) fn request(arguments: &CargoArguments, program: &Program, test: &Test) -> Options {
    let words = match test.is_program {
        true => program.arguments.clone(),
        false => vec![OsString::from(&test.name)],
    };
    let mut wanted = with_input(&arguments.search.options);
    wanted.time = wanted.time.or(Some(TIME)).filter(|_| wanted.replay.is_none());
    // A test that is a program of its own says by its exit code that it fails.
    wanted.exit_code |= program.is_test;
    Options {
        program: program.path.clone(),
        arguments: words,
        folder: Some(program.folder.clone()),
        variables: Some(variables(program)),
        budget: true,
        search: wanted,
    }
}

/// What cargo would start it with, and the runtime of this version of preempt. A backtrace would be
/// made by instrumented code, for nothing: reports have their own.
fn variables(program: &Program) -> Vec<(OsString, OsString)> {
    let path = "LD_LIBRARY_PATH";
    let own = ["RUST_BACKTRACE", "RUST_LIB_BACKTRACE", path, "LD_PRELOAD"];
    let mut variables = program.variables.clone();
    let given = variables.iter().find(|(name, _)| name == path).map(|(_, value)| value.clone());
    variables.retain(|(name, _)| !own.iter().any(|own| name == own));
    variables.push((own[0].into(), "0".into()));
    if let Ok(folder) = preempt_run::runtime::folder() {
        let rest = given.unwrap_or_default();
        let folders = std::iter::once(folder).chain(std::env::split_paths(&rest));
        if let Ok(joined) = std::env::join_paths(folders.filter(|f| !f.as_os_str().is_empty())) {
            variables.push((path.into(), joined));
        }
    }
    variables
}

/// The file that keeps a failing schedule of this test.
pub(super) fn exported(program: &Program, test: &Test) -> PathBuf {
    export::path(&program.package_folder(), &program.as_test().name, &test.name)
}

/// Searches: a schedule that was kept first.
pub(super) fn explore(
    arguments: &CargoArguments,
    program: &Program,
    test: &Test,
    watch: Watch<'_>,
) -> Result<(Answer, Options), Failure> {
    let options = request(arguments, program, test);
    if options.search.replay.is_none()
        && let Some(schedule) = export::read(&exported(program, test))
    {
        let kept = (Some(schedule), Some(TIME));
        let search_of_one =
            SearchOptions { replay: kept.0, time: kept.1, ..options.search.clone() };
        let first = Options { search: search_of_one, ..options.clone() };
        if let Ok(mut answer) = search(&first, None)
            && answer.claim.violation.is_some()
        {
            answer.claim.notes.push(format!(
                "found by the schedule in {}, before any search",
                exported(program, test).display()
            ));
            return Ok((answer, first));
        }
    }
    Ok((search(&options, watch)?, options))
}

/// Takes back what cannot be relied on, and says what was left out.
pub(super) fn qualify(answer: &mut Answer, options: &Options, std: &Std, foreign: &[String]) {
    let claim = &mut answer.claim;
    if !options.search.races {
        claim.notes.push("data races were not looked for: only atomic operations are seen".into());
    }
    if answer.threads < 2 {
        return;
    }
    if let Std::Precompiled(why) = std {
        // What its locks and channels do is not seen, so whatever was found may be wrong.
        claim.notes.push(INSTRUMENTABLE.into());
        claim.verdict = Verdict::Inconclusive(Stop::Unsupported);
        claim.violation = None;
        claim.sentence = format!(
            "inconclusive: std is not instrumented ({why}), so how its locks, channels and threads synchronise is not seen"
        );
    }
    if !foreign.is_empty() {
        let names = foreign.join(", ");
        claim.notes.push(format!("libraries that are not instrumented are linked: {names}"));
        let races = |kind| kind == ViolationKind::DataRace;
        if claim.violation.as_ref().is_some_and(|violation| races(violation.kind)) {
            let believed = claim.sentence.clone();
            claim.verdict = Verdict::Inconclusive(Stop::Unsupported);
            claim.violation = None;
            claim.sentence = format!(
                "inconclusive: {believed}, unless a library that is not instrumented orders them ({names})"
            );
        }
    }
}
