//! GenMC's tests: those of the folders that its own driver runs for the model RC11. Where `main` returns, GenMC's other threads go
//! on, so each program is run with a `main` around its own that ends with `pthread_exit`.

use super::page::{Grade, Row, Table};
use super::program::{Outcome, OutcomeKind, Program, check};
use super::{Arguments, show};
use anyhow::Result;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

const ABOUT: &str = "The folders of github.com/MPI-SWS/genmc, `tests/`, that GenMC's own driver runs for the model RC11. GenMC's other \
    threads go on when `main` returns, so a `main` is put around the program's that ends with `pthread_exit`; its hints \
    (`__VERIFIER_final_write`, …) are left out. All variants of a test are run; the row is that of the first, or of the first that \
    differs. *GenMC* is its expected number of executions, *orders* our number of partial orders. Both are graphs of reads-from \
    and coherence. The numbers differ for known reasons: GenMC treats a loop that waits as `assume` and counts what it \
    blocks apart, bounds loops by `-unroll`, takes a pending lock as blocked, and merges executions of symmetric threads; with \
    us a failed comparison and a lock that has to wait are events, which thread gets a mutex first is part of the order, and \
    plain accesses that do not race are no events.";

/// The folders of correct tests, and of wrong ones.
const CORRECT: [&str; 8] =
    ["infr", "litmus", "saver", "ipr", "sr", "liveness", "synthetic", "data-structures"];
const WRONG: [&str; 8] =
    ["safety", "liveness", "infr", "racy", "memory", "locking", "barriers", "helper"];

/// Loops that never end: with GenMC a loop that waits is an assumption, and what it keeps from going on is no execution.
const WAITS: &str = "in some execution this loop waits for ever, or its threads never end; GenMC takes it for an assumption, which \
    blocks that execution";
/// Programs that are not C.
const NO_C: &str = "no valid C, or a header that the suite does not bring";

/// Differences that are understood. (What the notes of loops say was read in each program; the two locks of Linux were run with
/// other orders, too.)
const EXPLAINED: &[(&str, &str)] = &[
    ("litmus/W+JW", "one of its variants joins a thread twice, which POSIX leaves undefined"),
    (
        "ipr/lock-inplace3",
        "a thread takes a lock that it holds: GenMC has no execution to its end, and takes none for correct",
    ),
    ("saver/loop-peel", WAITS),
    ("saver/loop-peel2", WAITS),
    ("saver/spin-2cas", WAITS),
    ("saver/spin-2cas-const", WAITS),
    ("saver/spin-cas-onebranch", WAITS),
    ("saver/spin-cas-res", WAITS),
    ("saver/spin-cas1", WAITS),
    ("saver/spin-fai-fail", WAITS),
    ("saver/spin-fai1", WAITS),
    ("saver/spin-fai2", WAITS),
    ("saver/spin-nonnatural", WAITS),
    ("saver/spin-plain+se", WAITS),
    ("saver/spin-samecas", WAITS),
    ("liveness/lamport-deadlock-safe", WAITS),
    (
        "data-structures/mcs_spinlock N=2",
        "`next` is read relaxed, so nothing orders the release of the lock, `locked = 1`, behind the waiting thread's own \
         `locked = 0`: RC11 allows that this comes last, and the thread waits for ever; GenMC counts no such execution. With \
         `MAKE_ACCESSES_SC` it holds",
    ),
    (
        "data-structures/qspinlock N=2",
        "`smp_acquire__after_ctrl_dep` is `atomic_signal_fence`, which C11 gives no effect between threads; GenMC takes it for \
         `atomic_thread_fence`, and with that it holds",
    ),
    (
        "infr/alloc-invalid-align",
        "`aligned_alloc(3, …)` returns null, as glibc says, and the program does not look at it",
    ),
    ("infr/alloc-invalid-size", "`malloc(-2)` returns null, and the program does not look at it"),
    (
        "helper/final0",
        "the hint `__VERIFIER_final_write` promises something false; hints are left out",
    ),
    ("infr/atomic-ops", NO_C),
    ("infr/memset3", NO_C),
    ("saver/spin-fmutex", NO_C),
    ("liveness/wb-maximals+dsa", NO_C),
];

pub(super) fn table(arguments: &Arguments, work: &Path) -> Result<Table> {
    let mut table =
        Table { title: "GenMC", about: ABOUT.into(), more: &["orders", "GenMC"], rows: None };
    let Some(folder) = &arguments.genmc else { return Ok(table) };
    let tests = folder.join("tests");
    let mut rows = Vec::new();
    for (kind, groups) in [("correct", CORRECT), ("wrong", WRONG)] {
        for group in groups {
            for test in entries(&tests.join(kind).join(group))? {
                let name = test.strip_prefix(&tests)?.display().to_string();
                if arguments.is_asked(&name) {
                    let search = format!("--time {}s", arguments.seconds);
                    add(&test, &name, kind == "correct", &search, work, &mut rows)?;
                }
            }
        }
    }
    table.rows = Some(rows);
    Ok(table)
}

/// The rows of one test, one for each line of arguments.
fn add(
    test: &Path,
    name: &str,
    is_correct: bool,
    search: &str,
    work: &Path,
    rows: &mut Vec<Row>,
) -> Result<()> {
    let read = |file: &str| fs::read_to_string(test.join(file)).unwrap_or_default();
    let cases = cases(&read("args.rc11.mo.in"), &read("expected.rc11.mo.in"), is_correct);
    let is_source = |path: &PathBuf| path.extension().is_some_and(|end| end == "c" || end == "cpp");
    let variants: Vec<PathBuf> =
        entries(&test.join("variants"))?.into_iter().filter(is_source).collect();
    for case in cases {
        let races = if case.has_races { "--races off " } else { "" };
        let search = format!("{races}{search}");
        let mut shown = None;
        for variant in &variants {
            let outcome = run(variant, &case.flags, &search, work)?;
            let grade = grade(&outcome, is_correct);
            let is_first = shown.is_none();
            let is_worse = grade != Grade::Correct;
            if is_first || is_worse {
                shown = Some((outcome, grade));
            }
            if is_worse {
                break;
            }
        }
        let Some((outcome, grade)) = shown else { continue };
        let name = format!("{name}{}", case.suffix);
        let explained = EXPLAINED.iter().find(|(of, _)| name.ends_with(of)).map(|(_, why)| *why);
        let (grade, note) = match (grade, explained) {
            (Grade::Correct, _) => (grade, String::new()),
            (Grade::Wrong, Some(why)) => (Grade::Explained, why.to_owned()),
            (_, Some(why)) => (grade, why.to_owned()),
            (_, None) => (grade, outcome.sentence.clone()),
        };
        let expected = if is_correct { "holds" } else { "bug" }.to_owned();
        let more = vec![outcome.orders.to_string(), case.executions];
        let row = Row { name, expected, outcome, grade, note, more };
        show(&row);
        rows.push(row);
    }
    Ok(())
}

fn grade(outcome: &Outcome, is_correct: bool) -> Grade {
    match (outcome.kind, is_correct) {
        (OutcomeKind::NotBuilt, _) => Grade::NotBuilt,
        (OutcomeKind::Unknown, _) => Grade::Unknown,
        (OutcomeKind::Holds, true) | (OutcomeKind::Violated, false) => Grade::Correct,
        (OutcomeKind::Holds, false) if outcome.is_partial => Grade::Unknown,
        (OutcomeKind::Holds, false) | (OutcomeKind::Violated, true) => Grade::Wrong,
    }
}

/// One way to run a test.
#[derive(Debug, PartialEq)]
struct Case {
    /// Options of the compiler.
    flags: Vec<String>,
    /// GenMC's number of complete executions.
    executions: String,
    /// It has races, which GenMC is told to ignore.
    has_races: bool,
    /// What tells it from the test's other ways.
    suffix: String,
}

/// Each line has options of GenMC, `|`, and those of the compiler; the lines with executions belong to them in order. A wrong
/// test has only options of the compiler.
fn cases(arguments: &str, expected: &str, is_correct: bool) -> Vec<Case> {
    let mut executions = expected.split_whitespace();
    let mut lines: Vec<&str> = arguments.lines().collect();
    if lines.is_empty() {
        lines.push("");
    }
    lines
        .iter()
        .map(|line| {
            let flags = if is_correct { line.split_once('|').unwrap_or_default().1 } else { line };
            let flags: Vec<String> = flags
                .split_whitespace()
                .filter(|word| word.starts_with("-D") || word.starts_with("-I"))
                .map(str::to_owned)
                .collect();
            let defined: Vec<&str> =
                flags.iter().filter_map(|word| word.strip_prefix("-D")).collect();
            let suffix =
                if defined.is_empty() { String::new() } else { format!(" {}", defined.join(" ")) };
            let executions = executions.next().unwrap_or_default().to_owned();
            let has_races = line.contains("-disable-race-detection");
            Case { flags, executions, has_races, suffix }
        })
        .collect()
}

fn run(variant: &Path, flags: &[String], search: &str, work: &Path) -> Result<Outcome> {
    let end = variant.extension().unwrap_or_default();
    let around = work.join("around").with_extension(end);
    fs::write(
        &around,
        format!(
            "#include <genmc.h>\n#include <stdlib.h>\n#define main main_of_the_test\n#include \"{}\"\n#undef main\n\
             int main(int count, char **words) {{ ((int (*)(int, char **))(void *)main_of_the_test)(count, words); pthread_exit(NULL); }}\n",
            variant.display()
        ),
    )?;
    // The suite's own folders are relative to its root.
    let root = variant.ancestors().find(|folder| folder.ends_with("tests")).and_then(Path::parent);
    let inside = |flag: &String| match (flag.strip_prefix("-I"), root) {
        (Some(path), Some(root)) => {
            let path = path.trim_start_matches("../").trim_start_matches("./");
            OsString::from(format!("-I{}", root.join(path).display()))
        }
        _ => flag.into(),
    };
    let mut words = vec![
        OsString::from(format!("-I{}/genmc", env!("CARGO_MANIFEST_DIR"))),
        OsString::from("-fpermissive"),
    ];
    words.extend(flags.iter().map(inside));
    let (arguments, search) = (Vec::new(), search.to_owned());
    let program = Program { sources: vec![around], flags: words, arguments, search };
    check(&program, work)
}

/// What lies in a folder, in order; nothing if there is no such folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_arguments_is_a_case() {
        let found = cases("-unroll=3 | -DN=2 -I./x\n-disable-ipr | -DN=3\n", "8\n50\n", true);
        let case = |flags: &[&str], executions: &str, suffix: &str| Case {
            flags: flags.iter().map(|&word| word.to_owned()).collect(),
            executions: executions.into(),
            has_races: false,
            suffix: suffix.into(),
        };
        assert_eq!(found, [case(&["-DN=2", "-I./x"], "8", " N=2"), case(&["-DN=3"], "50", " N=3")]);
        assert_eq!(cases("", "4", true), [case(&[], "4", "")]);
        assert_eq!(cases("-DN=5", "", false), [case(&["-DN=5"], "", " N=5")]);
    }
}
