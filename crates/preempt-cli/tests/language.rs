//! Every function and facility for threads that C, C++ and POSIX have, one small test each: it works, and exactly the outcomes that it
//! should have can be reached, or it is refused by name.
//!
//! The tests are `language/threads.c` and `language/threads.cc`. That no function is forgotten is read off the headers of the
//! system.

mod c_programs;

use c_programs::{compile, folder, has, preempt};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One of the tests in a file.
enum Case {
    /// It holds, and these outcomes can be reached, with these options.
    Works(String, BTreeSet<u32>, Vec<String>),
    /// It ends without a verdict, with a sentence that names this function.
    Refused(String, String),
}

impl Case {
    fn name(&self) -> &str {
        match self {
            Case::Works(name, ..) | Case::Refused(name, _) => name,
        }
    }
}

fn source(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language").join(file)
}

/// The tests in a file: lines such as `WORKS(name, "1 2") {`.
fn cases(text: &str) -> Vec<Case> {
    let case = |line: &str| {
        let (kind, rest) = line.split_once('(')?;
        let (name, rest) = rest.split_once(", \"")?;
        let mut words = rest.split('"').step_by(2);
        let name = name.to_string();
        let word = words.next()?;
        let outcomes = || word.split(' ').map(|word| word.parse().expect("an outcome")).collect();
        match kind {
            "WORKS" => Some(Case::Works(name, outcomes(), Vec::new())),
            "WORKS_WITH" => {
                let options = words.next()?.split(' ').map(str::to_string).collect();
                Some(Case::Works(name, outcomes(), options))
            }
            "REFUSED" => Some(Case::Refused(name, word.into())),
            _ => None,
        }
    };
    text.lines().filter_map(case).collect()
}

/// Compiles the tests of a file into one program.
fn build(file: &str, table: &str, standard: &str) -> (PathBuf, Vec<Case>) {
    let text = std::fs::read_to_string(source(file)).expect("the tests");
    let cases = cases(&text);
    let rows: String =
        cases.iter().map(|case| format!("{{\"{0}\", {0}}},\n", case.name())).collect();
    let rows = format!(
        "static const struct {{ const char *name; void (*run)(void); }} cases[] = {{\n{rows}}};\n"
    );
    std::fs::write(folder().join(table), rows).expect("the table of tests");
    let include = format!("-I{}", folder().display());
    (compile(&source(file), &["-g", "-pthread", standard, &include], ["gcc", "g++"]), cases)
}

/// What is wrong with the answers about a test.
fn judge(program: &Path, case: &Case) -> Option<String> {
    let ask = |options: &[String], words: &[&str]| -> Value {
        let mut command = preempt();
        command
            .args(["run", "--json", "--time", "300s", "--timeouts", "2"])
            .args(options)
            .arg("--")
            .arg(program)
            .args(words);
        let output = command.output().expect("preempt runs");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{words:?}: {error}: {}", String::from_utf8_lossy(&output.stderr))
        })
    };
    match case {
        Case::Refused(name, function) => {
            let report = ask(&[], &[name]);
            let claim = report["claim"].as_str().unwrap_or_default();
            (report["stop"] != "unsupported" || !claim.contains(function.as_str()))
                .then(|| format!("{name} is not refused by its name: {claim}"))
        }
        Case::Works(name, outcomes, options) => {
            // With the bits of all other outcomes set it holds; with the bit of one of these it does not.
            let expected = outcomes.iter().fold(0_u32, |bits, which| bits | 1 << which);
            let fails_at = |bits: u32| ask(options, &[name, &bits.to_string()]);
            let report = fails_at(!expected);
            let verdict = report["verdict"].as_str().unwrap_or_default();
            if !verdict.starts_with("holds") {
                return Some(format!("{name}: {}, {}", report["verdict"], report["claim"]));
            }
            let missed: Vec<_> = outcomes
                .iter()
                .filter(|which| fails_at(1 << **which)["verdict"] != "violated")
                .collect();
            (!missed.is_empty()).then(|| format!("{name}: {missed:?} cannot be reached"))
        }
    }
}

fn check(file: &str, table: &str, standard: &str) {
    let (program, cases) = build(file, table, standard);
    assert!(cases.len() > 30, "{} tests in {file}", cases.len());
    let wrong: Vec<String> = cases.iter().filter_map(|case| judge(&program, case)).collect();
    assert!(wrong.is_empty(), "{file}:\n{}", wrong.join("\n"));
}

#[test]
fn functions_of_c_and_posix_work_or_are_refused() {
    if has("gcc") {
        check("threads.c", "threads.cases", "-std=gnu11");
    }
}

#[test]
fn facilities_of_cxx_work() {
    if has("g++") {
        check("threads.cc", "threads_of_cxx.cases", "-std=c++20");
    }
}

/// What is no function about threads, though its name says so.
const OTHERS: [&str; 1] = ["__pthread"];

#[test]
fn no_function_of_the_headers_is_forgotten() {
    if !has("gcc") {
        return;
    }
    let file = folder().join("headers.c");
    let text =
        "#define _GNU_SOURCE\n#include <pthread.h>\n#include <semaphore.h>\n#include <threads.h>\n";
    std::fs::write(&file, text).expect("a file");
    let output = Command::new("gcc").arg("-E").arg(&file).output().expect("gcc runs");
    let declared = String::from_utf8_lossy(&output.stdout);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let prefixes = ["pthread_", "sem_", "thrd_", "mtx_", "cnd_", "tss_", "call_once"];
    let names: BTreeSet<&str> = declared
        .split_inclusive('(')
        .filter_map(|text| text.strip_suffix('(')?.trim_end().rsplit(|c| !is_word(c)).next())
        .filter(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)))
        .filter(|name| !OTHERS.iter().any(|other| name.starts_with(other)))
        .collect();
    assert!(names.len() > 130, "{names:?}");
    let tests = std::fs::read_to_string(source("threads.c")).expect("the tests");
    let known: BTreeSet<&str> = tests.split(|c| !is_word(c)).collect();
    let forgotten: Vec<_> = names.difference(&known).collect();
    assert!(forgotten.is_empty(), "{forgotten:?}");
}
