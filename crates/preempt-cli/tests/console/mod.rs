//! What a chapter shows of a terminal, as a list of commands and what they must print.
//!
//! In a block fenced as `console`, a line `$ …` is a command; the lines up to the next `$` are what it must
//! print. `...` stands for anything, within a line or as a line of its own for any number of lines; decimal
//! fractions (times, memory) all count as equal.

// Each test uses some of it.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A fenced block.
pub(crate) struct Block {
    /// The line of the document that its first line is, from 1.
    pub(crate) line: usize,
    /// What stands behind the fence: the language.
    pub(crate) language: String,
    /// The last line of text in front of it.
    pub(crate) above: String,
    pub(crate) lines: Vec<String>,
}

/// The fenced blocks of a document.
pub(crate) fn blocks(document: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut is_open, mut above) = (false, "");
    for (at, line) in document.lines().enumerate() {
        if let Some(language) = line.strip_prefix("```") {
            is_open = !is_open;
            if is_open {
                let (language, above) = (language.trim().to_string(), above.to_string());
                blocks.push(Block { line: at + 2, language, above, lines: Vec::new() });
            }
        } else if is_open {
            blocks.last_mut().expect("a block is open").lines.push(line.to_string());
        } else if !line.trim().is_empty() {
            above = line;
        }
    }
    blocks
}

pub(crate) struct Entry {
    pub(crate) line: usize,
    pub(crate) command: String,
    pub(crate) expected: Vec<String>,
}

impl Block {
    /// The commands of a block of the terminal.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            if let Some(command) = line.strip_prefix("$ ") {
                let (line, command) = (self.line + at, command.to_string());
                entries.push(Entry { line, command, expected: Vec::new() });
            } else if let Some(entry) = entries.last_mut() {
                entry.expected.push(line.clone());
            }
        }
        entries
    }
}

impl Entry {
    /// Whether this is what the chapter says; what was printed otherwise.
    pub(crate) fn compare(&self, printed: &str) -> Result<(), String> {
        let expected = tidy(self.expected.iter().cloned());
        let actual = tidy(printed.lines().map(String::from));
        match matches(&expected, &actual) {
            true => Ok(()),
            false => Err(printed.trim_end().to_string()),
        }
    }
}

/// Every decimal fraction as `#`.
pub(crate) fn without_fractions(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line.trim_end();
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        out += before;
        let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        let after = &from[end..];
        let fraction = after
            .strip_prefix('.')
            .map_or(0, |tail| tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len()));
        if fraction > 0 {
            out.push('#');
            rest = &after[1 + fraction..];
        } else {
            out += &from[..end];
            rest = after;
        }
    }
    out + rest
}

pub(crate) fn line_matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split("...");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

pub(crate) fn matches(expected: &[String], actual: &[String]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((pattern, rest)) if pattern.trim() == "..." => {
            (0..=actual.len()).any(|skip| matches(rest, &actual[skip..]))
        }
        Some((pattern, rest)) => actual
            .split_first()
            .is_some_and(|(line, more)| line_matches(pattern, line) && matches(rest, more)),
    }
}

/// Lines without fractions, without empty lines around.
pub(crate) fn tidy(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = lines.map(|line| without_fractions(&line)).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let empty = lines.iter().take_while(|line| line.is_empty()).count();
    lines.split_off(empty)
}
