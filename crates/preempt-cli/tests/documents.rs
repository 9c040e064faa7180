//! The documents say what the command does: every `console` block is run, tables are compared.
//!
//! In a block fenced as `console`, a line `$ preempt …` is run in a copy of the repository's models; what it must print stands
//! below it (`console`). `$ echo $?` shows the exit code of the command before. The first hours are replayed elsewhere
//! (`first_hour.rs`).

mod c_programs;
mod console;

use console::{blocks, line_matches, matches, root, text, without_fractions};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

/// The README and all chapters of the book.
fn documents() -> Vec<PathBuf> {
    let mut files = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Words as a shell splits them, with quotes but without anything else.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for c in command.chars() {
        match (quote, c) {
            (Some(q), _) if c == q => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn run(folder: &Path, arguments: &[String]) -> Output {
    c_programs::preempt()
        .args(arguments)
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS")
        .current_dir(folder)
        .output()
        .unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

#[test]
fn console_blocks_show_what_is_printed() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("documents");
    copy(&root().join("models"), &folder.join("models"));
    let mut wrong = Vec::new();
    let mut count = 0;
    for document in documents() {
        if document.parent().is_some_and(|folder| folder.ends_with("first-hour")) {
            continue;
        }
        let mut code = None;
        let blocks = blocks(&text(&document));
        let shown = blocks.iter().filter(|block| block.language == "console");
        for entry in shown.flat_map(|block| block.entries()) {
            let place = format!("{}:{}", document.display(), entry.line);
            let words = words(&entry.command);
            let plain: Vec<&str> = words.iter().map(String::as_str).collect();
            let actual = match plain.as_slice() {
                ["preempt", ..] | ["cargo", "quick", ..] => {
                    let skip = if plain[0] == "preempt" { 1 } else { 2 };
                    let output = run(&folder, &words[skip..]);
                    code = output.status.code();
                    let both = [output.stdout, output.stderr].concat();
                    String::from_utf8_lossy(&both).into_owned()
                }
                ["echo", "$?"] => code.map_or(String::new(), |code| code.to_string()),
                _ => {
                    wrong.push(format!("{place}: only preempt can be run in a console block"));
                    continue;
                }
            };
            count += 1;
            if let Err(actual) = entry.compare(&actual) {
                wrong.push(format!("{place}: `{}` prints\n{actual}\n", entry.command));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 20, "only {count} commands were found");
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        let folder = document.parent().unwrap();
        for link in text(&document).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            // A formula such as `[](p -> q)` is no link.
            let is_link = !target.is_empty() && !target.contains(' ');
            if is_link && !target.contains("://") && !folder.join(target).exists() {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_chapter_is_in_the_summary() {
    let summary = text(&root().join("docs/src/SUMMARY.md"));
    let source = root().join("docs/src");
    for document in documents() {
        let Ok(name) = document.strip_prefix(&source) else { continue };
        let name = name.display().to_string();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("({name})")), "{name}");
    }
}

#[test]
fn the_table_of_options_is_complete() {
    let chapter = text(&root().join("docs/src/reference/command-line.md"));
    let commands = [
        "check",
        "run",
        "cargo",
        "serve",
        "simulate",
        "replay",
        "sequentialize",
        "ltl",
        "fmt",
        "merge",
    ];
    let help = commands.map(|command| {
        let help = run(&root(), &[command.into(), "--help".into()]);
        String::from_utf8(help.stdout).unwrap()
    });
    let help = help.join("\n");
    let is_option = |word: &&str| word.starts_with("--") && word.len() > 2;
    let offered = help
        .lines()
        .filter(|line| line.trim_start().starts_with('-'))
        .filter_map(|line| line.split([' ', ',']).find(is_option));
    let mut count = 0;
    for option in offered {
        count += 1;
        let known = [format!("`{option}`"), format!("`{option} "), format!(", {option}`")];
        assert!(known.iter().any(|k| chapter.contains(k)), "{option} is not in the table");
    }
    assert!(count > 50, "{count} options");
    for row in chapter.lines().filter(|line| line.starts_with("| `")) {
        let cell = row.split('|').nth(1).unwrap_or_default();
        for option in cell.split(['`', ' ', ',', '[']).filter(is_option) {
            assert!(help.contains(option), "{option} is in the table but is not offered");
        }
    }
}

#[test]
fn the_map_of_spin_flags_is_the_one_in_use() {
    let chapter = text(&root().join("docs/src/reference/spin-flags.md"));
    let output = run(&root(), &["explain".into(), "spin".into()]);
    let printed = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<(&str, &str)> = printed
        .lines()
        .skip(1)
        .filter_map(|line| line.trim().split_once("  "))
        .map(|(flag, ours)| (flag.trim(), ours.trim()))
        .collect();
    assert!(rows.len() > 20);
    for (flag, ours) in &rows {
        let row = format!("| `{flag}` | {ours} |");
        assert!(chapter.contains(&row), "missing: {row}");
    }
    let table = chapter.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(table, rows.len());
}

#[test]
fn patterns() {
    assert!(line_matches("a ... c", "a b c"));
    assert!(!line_matches("a ... c", "a b"));
    assert!(line_matches("...", ""));
    assert_eq!(without_fractions("1.25 seconds, 3 states, 4."), "# seconds, 3 states, 4.");
    assert_eq!(words("ltl '[] p' -q"), ["ltl", "[] p", "-q"]);
    let lines = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
    assert!(matches(&lines("a\n...\nd"), &lines("a\nb\nc\nd")));
    assert!(!matches(&lines("a\nd"), &lines("a\nb\nd")));
}
