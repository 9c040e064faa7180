//! Programs of SV-COMP's category ConcurrencySafety: can `__VERIFIER_error`, `reach_error` or a failed assertion be reached? The
//! verdict stands in a `.yml` file beside the program, or in older versions in the program's name.

use super::page::{Grade, Row, Table};
use super::program::{Outcome, OutcomeKind, Program, check};
use super::{Arguments, show};
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};

const ABOUT: &str = "Reachability of an error in programs of SV-COMP (github.com/symbooglix/sv-benchmarks, the folders `pthread*` and \
    `ldv-races`). Data races are no violations (`--races off`): the property is about errors only. What a program may get from \
    `__VERIFIER_nondet_int` and its relatives is each of 0 to 3; where nothing is found with these, the answer counts as unknown.";

/// A program and its verdict.
#[derive(Debug, PartialEq)]
struct Task {
    source: PathBuf,
    is_safe: bool,
}

pub(super) fn table(arguments: &Arguments, work: &Path) -> Result<Table> {
    let mut table =
        Table { title: "SV-COMP ConcurrencySafety", about: ABOUT.into(), more: &[], rows: None };
    if arguments.sv_comp.is_empty() {
        return Ok(table);
    }
    let mut tasks = Vec::new();
    for folder in &arguments.sv_comp {
        let mut found = Vec::new();
        collect(folder, &mut found)?;
        found.sort_by(|one, other| one.source.cmp(&other.source));
        tasks.extend(found.into_iter().map(|task| (folder, task)));
    }
    let mut rows = Vec::new();
    let mut of_family = 0;
    for (folder, task) in tasks {
        let name = task.source.strip_prefix(folder)?.with_extension("").display().to_string();
        if name.contains("pthread-wmm") {
            of_family += 1;
            if of_family % arguments.each.max(1) != 0 && arguments.only.is_empty() {
                continue;
            }
        }
        if !arguments.is_asked(&name) {
            continue;
        }
        let program = Program {
            sources: vec![task.source.clone()],
            // Functions that are only `inline` are those of the C of their time.
            flags: vec!["-fgnu89-inline".into()],
            arguments: Vec::new(),
            search: format!("--races off --time {}s", arguments.seconds),
        };
        let outcome = check(&program, work)?;
        let grade = grade(&outcome, task.is_safe);
        let note = match grade {
            Grade::Correct => String::new(),
            _ => outcome.sentence.clone(),
        };
        let expected = if task.is_safe { "holds" } else { "error" }.to_owned();
        let row = Row { name, expected, outcome, grade, note, more: Vec::new() };
        show(&row);
        rows.push(row);
    }
    table.rows = Some(rows);
    Ok(table)
}

/// A deadlock and the like are violations of ours, and say nothing about whether an error can be reached.
fn grade(outcome: &Outcome, is_safe: bool) -> Grade {
    let is_error = outcome.kind == OutcomeKind::Violated && outcome.verdict == "assertion";
    match outcome.kind {
        OutcomeKind::NotBuilt => Grade::NotBuilt,
        OutcomeKind::Violated if is_error && !is_safe => Grade::Correct,
        OutcomeKind::Violated if is_error => Grade::Wrong,
        OutcomeKind::Holds if outcome.has_chosen_values => Grade::Unknown,
        OutcomeKind::Holds if is_safe => Grade::Correct,
        OutcomeKind::Holds if outcome.is_partial => Grade::Unknown,
        OutcomeKind::Holds => Grade::Wrong,
        OutcomeKind::Violated | OutcomeKind::Unknown => Grade::Unknown,
    }
}

/// All tasks below a folder.
fn collect(folder: &Path, found: &mut Vec<Task>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, found)?;
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".yml") {
            let task = from_yml(&fs::read_to_string(&path)?);
            found.extend(task.map(|(file, is_safe)| {
                let source = folder.join(file);
                let plain = source.with_extension("c");
                let source = if plain.exists() { plain } else { source };
                Task { source, is_safe }
            }));
        } else if name.ends_with(".c") {
            found.extend(from_name(&name).map(|is_safe| Task { source: path, is_safe }));
        }
    }
    Ok(())
}

/// The verdict in a name of the time before there were `.yml` files.
fn from_name(name: &str) -> Option<bool> {
    let has = |word: &str| name.contains(word);
    match (has("_true-unreach-call"), has("_false-unreach-call")) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

/// The file and the verdict of the property `unreach-call`.
fn from_yml(text: &str) -> Option<(String, bool)> {
    let value = |line: &str| {
        line.split_once(':').map(|(_, value)| value.trim().trim_matches(['\'', '"']).to_owned())
    };
    let starts = |line: &str, key: &str| {
        line.trim_start().trim_start_matches("- ").trim_start().starts_with(key)
    };
    let file = value(text.lines().find(|line| starts(line, "input_files:"))?)?;
    let mut properties = text
        .lines()
        .skip_while(|line| !(starts(line, "property_file:") && line.contains("unreach-call")));
    properties.next()?;
    let verdict = properties
        .take_while(|line| !starts(line, "property_file:"))
        .find(|line| starts(line, "expected_verdict:"))?;
    let is_safe = value(verdict)?.parse().ok()?;
    Some((file, is_safe)).filter(|(file, _)| !file.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_read_from_names() {
        assert_eq!(from_name("lazy01_false-unreach-call.c"), Some(false));
        assert_eq!(from_name("lazy01_true-unreach-call.c"), Some(true));
        assert_eq!(from_name("list_true-termination.c"), None);
    }

    #[test]
    fn verdicts_are_read_from_yml_files() {
        let text = "format_version: '2.0'\ninput_files: 'a b.i'\nproperties:\n  \
            - property_file: ../properties/no-data-race.prp\n    expected_verdict: false\n  \
            - property_file: ../properties/unreach-call.prp\n    expected_verdict: true\n";
        assert_eq!(from_yml(text), Some(("a b.i".into(), true)));
        let other = "input_files: x.c\nproperties:\n  - expected_verdict: false\n    property_file: ../no-overflow.prp\n";
        assert_eq!(from_yml(other), None);
        // A property without a verdict does not take that of the next one.
        let none = "input_files: x.c\n  - property_file: unreach-call.prp\n  - property_file: no-overflow.prp\n    \
            expected_verdict: true\n";
        assert_eq!(from_yml(none), None);
    }
}
