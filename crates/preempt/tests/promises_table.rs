//! The page that says what std promises of every operation: what it names exists, and it names everything.

#[path = "fine_print"]
mod fine_print {
    use preempt::{sync, thread, thread_local};
    fn pause() {}
    #[allow(dead_code, reason = "for the table")]
    #[path = "programs.rs"]
    pub(super) mod programs;
}

use fine_print::programs::PROGRAMS;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    fs::read_to_string(project().join("docs/src/reference/std-facade.md")).unwrap()
}

/// The texts between backticks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn is_test_name(word: &str) -> bool {
    let lower = |c: char| c.is_ascii_lowercase() || c == '_';
    word.chars().all(lower) && word.contains('_')
}

/// The rows of a table with such a heading, cell by cell.
fn rows<'a>(page: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let (_, table) = page.split_once(heading).unwrap_or_else(|| panic!("no table {heading}"));
    let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    lines.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

#[test]
fn every_test_that_is_named_exists() {
    let page = page();
    let mut tests = String::new();
    for file in code(&page).filter(|word| word.ends_with(".rs") && word.starts_with("crates/")) {
        let path = project().join(file);
        tests += &fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    tests += &fs::read_to_string(project().join("crates/preempt/tests/std_orders.rs")).unwrap();
    let mut named = 0;
    for heading in ["| operations | order | test |", "| operation | what std promises | test |"] {
        for row in rows(&page, heading) {
            for test in code(row[2]).filter(|word| is_test_name(word)) {
                named += 1;
                assert!(tests.contains(&format!("fn {test}()")), "there is no test {test}");
            }
            let other = row[2].contains("the same") || row[2].contains("all of them");
            assert!(
                other || row[2].contains(".rs") || code(row[2]).any(is_test_name),
                "{row:?} names no test"
            );
        }
    }
    assert!(named >= 15, "{named}");
}

#[test]
fn every_promise_that_is_tested_is_in_the_table() {
    let page = page();
    let words: BTreeSet<&str> = code(&page).collect();
    for file in ["std_orders.rs", "std_promises.rs"] {
        let text = fs::read_to_string(project().join("crates/preempt/tests").join(file)).unwrap();
        for function in text.split("#[test]\nfn ").skip(1) {
            let (name, _) = function.split_once('(').unwrap();
            assert!(words.contains(name), "{file}: {name} is not in the table");
        }
    }
    let rows = rows(&page, "| operation | what std promises | program | outcomes |");
    for (name, _, outcomes) in PROGRAMS {
        let row = rows.iter().find(|row| row[2] == *name);
        let row = row.unwrap_or_else(|| panic!("{name} is not in the table"));
        assert_eq!(row[3], outcomes.replace('|', ", "), "{name}");
    }
    for row in rows {
        assert!(PROGRAMS.iter().any(|(name, ..)| *name == row[2]), "{row:?}: no such program");
    }
}

/// The names of public functions, and of types, in a file; those that are hidden from users apart.
fn public_names(text: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut hidden = false;
    for line in text.lines().map(str::trim) {
        let Some(item) = line.strip_prefix("pub ") else {
            hidden = line == "#[doc(hidden)]" || (hidden && line.starts_with("#["));
            continue;
        };
        let mut words = item.split(|c: char| !c.is_alphanumeric() && c != '_');
        let kind = words.find(|word| !matches!(*word, "const" | "unsafe" | "async")).unwrap();
        if matches!(kind, "fn" | "struct" | "enum" | "trait") && !hidden {
            names.extend(words.next().filter(|name| !name.is_empty()));
        }
        hidden = false;
    }
    names
}

#[test]
fn every_operation_of_the_facade_is_in_the_table() {
    let page = page();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words: BTreeSet<&str> = code(&page).flat_map(|code| code.split(|c| !is_part(c))).collect();
    let source = project().join("crates/preempt/src");
    let mut folders = vec![source.join("sync"), source.join("thread")];
    let mut files: Vec<PathBuf> =
        ["cell.rs", "future.rs", "hint.rs", "time.rs"].map(|name| source.join(name)).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { &mut folders } else { &mut files }.push(path);
        }
    }
    let mut found = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for name in public_names(&text) {
            found += 1;
            assert!(words.contains(name), "{}: {name} is not in the table", file.display());
        }
    }
    assert!(found > 150, "{found}");
}
