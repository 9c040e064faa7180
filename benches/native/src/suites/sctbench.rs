//! SCTBench: 52 programs with a known bug, and correct ones, from "Concurrency testing using controlled schedulers: an empirical
//! study" (Thomson, Donaldson, Betts, ACM Transactions on Parallel Computing 2016). The suite's own results of its tool MapleAlg
//! and its counts of threads are read from its files.

use super::page::{Grade, Row, Table};
use super::program::{Outcome, OutcomeKind, Program, check};
use super::{Arguments, show};
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};

const ABOUT: &str = "The suite's bugs (github.com/mc-imperial/sctbench), then its correct programs. Data races are no violations here \
    (`--races off`), as in the study, which makes racing accesses scheduling points. *Threads* is the suite's count, *MapleAlg* \
    its own tool's result: the number of executions up to the bug, or `-` where it was not found. Programs with a `-` for our \
    verdict are whole applications that need their own build, files or a network.";

/// A benchmark of the suite's list.
#[derive(Debug, PartialEq)]
struct Listed {
    folder: String,
    name: String,
    threads: String,
}

pub(super) fn table(arguments: &Arguments, work: &Path) -> Result<Table> {
    let mut table = Table {
        title: "SCTBench",
        about: ABOUT.into(),
        more: &["threads", "MapleAlg"],
        rows: None,
    };
    let Some(folder) = &arguments.sctbench else { return Ok(table) };
    let folder = folder.join("benchmarks");
    let published = fs::read_to_string(folder.join("mapleRes.txt"))?;
    let mut rows = Vec::new();
    for listed in listed(&fs::read_to_string(folder.join("buggy.txt"))?) {
        let name = format!("{}/{}", listed.folder, listed.name);
        if !arguments.is_asked(&name) {
            continue;
        }
        let outcome = match sources(&folder, &listed) {
            Some(sources) => hunt(&sources, arguments, work)?,
            None => {
                Outcome { verdict: "-".into(), kind: OutcomeKind::NotBuilt, ..Outcome::default() }
            }
        };
        let grade = match outcome.kind {
            OutcomeKind::Violated => Grade::Correct,
            OutcomeKind::Holds if outcome.is_partial => Grade::Unknown,
            OutcomeKind::Holds => Grade::Wrong,
            OutcomeKind::Unknown => Grade::Unknown,
            OutcomeKind::NotBuilt => Grade::NotBuilt,
        };
        let more = vec![listed.threads.clone(), maple(&published, &listed)];
        rows.push(row(name, "bug", outcome, grade, more));
    }
    for source in correct(&folder)? {
        let name = source.strip_prefix(&folder)?.with_extension("").display().to_string();
        if !arguments.is_asked(&name) {
            continue;
        }
        let outcome = run(&[source], "", arguments.seconds, work)?;
        let grade = match outcome.kind {
            OutcomeKind::Violated => Grade::Wrong,
            OutcomeKind::Holds => Grade::Correct,
            OutcomeKind::Unknown => Grade::Unknown,
            OutcomeKind::NotBuilt => Grade::NotBuilt,
        };
        rows.push(row(name, "correct", outcome, grade, vec![String::new(), String::new()]));
    }
    table.rows = Some(rows);
    Ok(table)
}

fn row(name: String, expected: &str, outcome: Outcome, grade: Grade, more: Vec<String>) -> Row {
    let is_silent = grade == Grade::Correct && outcome.kind != OutcomeKind::Violated;
    let note = if is_silent { String::new() } else { outcome.sentence.clone() };
    let row = Row { name, expected: expected.into(), outcome, grade, note, more };
    show(&row);
    row
}

/// The suite's list: folder, name, threads and scheduling points; some lines are commented out.
fn listed(text: &str) -> Vec<Listed> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut words = line.trim_start_matches('#').split_whitespace().map(str::to_owned);
        if let (Some(folder), Some(name), Some(threads)) =
            (words.next(), words.next(), words.next())
        {
            found.push(Listed { folder, name, threads });
        }
    }
    found
}

/// MapleAlg's executions up to the bug: folder, name, whether it was found, executions, seconds.
fn maple(text: &str, listed: &Listed) -> String {
    let mut lines = text.lines().map(|line| line.trim_start_matches('#').split_whitespace());
    let words = lines.find_map(|mut words| {
        let is_this = words.next() == Some(&listed.folder) && words.next() == Some(&listed.name);
        is_this.then_some(words)
    });
    let Some(mut words) = words else { return String::new() };
    let is_found = words.next() == Some("1");
    words.next().filter(|_| is_found).unwrap_or("-").to_owned()
}

/// The files of those programs that are their own build.
fn sources(folder: &Path, listed: &Listed) -> Option<Vec<PathBuf>> {
    let inside = folder.join(&listed.folder);
    let sources = match (listed.folder.as_str(), listed.name.as_str()) {
        ("concurrent-software-benchmarks" | "inspect_examples" | "inspect_benchmarks", name) => {
            vec![inside.join(format!("{name}.c"))]
        }
        ("chess", name) => vec![inside.join(format!("{name}.cpp"))],
        ("conc-bugs", name @ "stringbuffer-jdk1.4") => {
            ["main.cpp", "stringbuffer.cpp"].map(|file| inside.join(name).join(file)).into()
        }
        ("safestack", _) => vec![inside.join("SafeStack.cpp")],
        _ => return None,
    };
    sources.iter().all(|source| source.exists()).then_some(sources)
}

/// Programs without a bug.
fn correct(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder.join("concurrent-software-benchmarks"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with("_ok.c") || name.ends_with("_unsat.c") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Looks for a bug in the usual order, and where that does not get to it at random.
fn hunt(sources: &[PathBuf], arguments: &Arguments, work: &Path) -> Result<Outcome> {
    let usual = run(sources, "", arguments.bug_seconds, work)?;
    if usual.kind != OutcomeKind::Unknown || arguments.random_seconds == 0 {
        return Ok(usual);
    }
    let mut random = run(sources, "--search random", arguments.random_seconds, work)?;
    random.sentence = format!("by `--search random`: {}", random.sentence);
    Ok(random)
}

fn run(sources: &[PathBuf], way: &str, seconds: u64, work: &Path) -> Result<Outcome> {
    let text = fs::read_to_string(&sources[0]).unwrap_or_default();
    let program = Program {
        arguments: arguments_in(&text).into_iter().map(Into::into).collect(),
        sources: sources.to_vec(),
        flags: vec!["-fpermissive".into()],
        search: format!("--races off {way} --time {seconds}s"),
    };
    check(&program, work)
}

/// The suite gives the arguments of a program in its first line, with two threads.
fn arguments_in(text: &str) -> Vec<String> {
    let first = text.lines().next().unwrap_or_default();
    let Some((_, words)) = first.split_once("args:") else { return Vec::new() };
    words.replace("{NUMTHREADS}", "2").split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_and_the_results_of_the_suite_are_read() {
        let listed = listed("chess WorkStealQueue 3 161\n#radbench bug4 3 330\n");
        assert_eq!(listed.len(), 2);
        assert_eq!(listed[1].name, "bug4");
        let results = "chess WorkStealQueue 0 12 12\n#radbench bug4 1 5 8\n";
        assert_eq!(maple(results, &listed[0]), "-");
        assert_eq!(maple(results, &listed[1]), "5");
    }

    #[test]
    fn arguments_stand_in_the_first_line() {
        assert_eq!(
            arguments_in("//args:-n 32 -h {NUMTHREADS} -v\nint x;"),
            ["-n", "32", "-h", "2", "-v"]
        );
        assert!(arguments_in("int x;\n//args: 3").is_empty());
    }
}
