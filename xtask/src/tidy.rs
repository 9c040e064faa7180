//! The repository's own rules, as a check that also runs as a test.
//!
//! Modules open with a header, no file outgrows one idea, the papers table of ARCHITECTURE.md is
//! in step with the code, the arrows between crates point one way, files do not import each other in
//! circles, and the crates that a user's test depends on have no `let` chains, which their oldest compiler
//! does not know and clippy does not report.

use crate::dependencies;
use crate::excerpts;
use crate::imports::Modules;
use crate::words;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LONGEST_FILE: usize = 600;

/// What the manifest of a crate that others can use has to say.
const PACKAGE: [&str; 8] = [
    "description",
    "documentation",
    "readme",
    "keywords",
    "categories",
    "license",
    "rust-version",
    "[lints]",
];

/// Which workspace crates each crate may name in `[dependencies]`.
const ARROWS: &[(&str, &[&str])] = &[
    ("preempt-core", &[]),
    // For tests: nothing but `[dev-dependencies]` names it.
    ("preempt-testing", &[]),
    ("preempt-ltl", &["preempt-core"]),
    ("preempt-model", &["preempt-core"]),
    ("preempt-report", &["preempt-core"]),
    ("preempt-promela", &["preempt-core", "preempt-ltl"]),
    ("preempt-native", &["preempt-core", "preempt-promela"]),
    ("preempt-check", &["preempt-core", "preempt-ltl"]),
    ("preempt-cluster", &["preempt-check", "preempt-core", "preempt-disk", "preempt-partitioned"]),
    ("preempt-disk", &["preempt-check", "preempt-core", "preempt-partitioned"]),
    ("preempt-partitioned", &["preempt-check", "preempt-core"]),
    ("preempt-embedded", &["preempt-promela"]),
    ("preempt-gpu", &["preempt-check", "preempt-core", "preempt-native", "preempt-promela"]),
    ("preempt-explore", &["preempt-core"]),
    ("preempt-macros", &[]),
    ("preempt", &["preempt-core", "preempt-explore", "preempt-macros", "preempt-report"]),
    ("preempt-loom", &["preempt"]),
    ("preempt-shuttle", &["preempt"]),
    ("preempt-bool", &["preempt-core", "preempt-check"]),
    ("preempt-c-runtime", &["preempt-exchange", "preempt-explore"]),
    ("preempt-cargo", &["preempt-run"]),
    ("preempt-exchange", &[]),
    ("preempt-run", &["preempt-c-runtime", "preempt-core", "preempt-exchange", "preempt-report"]),
    (
        "preempt-verify",
        &[
            "preempt-bool",
            "preempt-check",
            "preempt-core",
            "preempt-ltl",
            "preempt-model",
            "preempt-native",
            "preempt-promela",
        ],
    ),
    (
        "preempt-lsp",
        &[
            "preempt-bool",
            "preempt-core",
            "preempt-launch",
            "preempt-promela",
            "preempt-report",
            "preempt-verify",
        ],
    ),
    ("preempt-launch", &["preempt-core", "preempt-report"]),
    (
        "preempt-serve",
        &[
            "preempt-bool",
            "preempt-core",
            "preempt-launch",
            "preempt-ltl",
            "preempt-model",
            "preempt-promela",
            "preempt-report",
            "preempt-verify",
        ],
    ),
    (
        "preempt-cli",
        &[
            "preempt-cargo",
            "preempt-check",
            "preempt-cluster",
            "preempt-disk",
            "preempt-core",
            "preempt-embedded",
            "preempt-gpu",
            "preempt-lsp",
            "preempt-ltl",
            "preempt-report",
            "preempt-promela",
            "preempt-bool",
            "preempt-run",
            "preempt-serve",
            "preempt-verify",
        ],
    ),
];

/// What a user's test depends on: compiled by compilers that are older than `let` chains.
const FOR_OLD_COMPILERS: &[&str] = &[
    "crates/preempt/",
    "crates/preempt-core/",
    "crates/preempt-explore/",
    "crates/preempt-loom/",
    "crates/preempt-macros/",
    "crates/preempt-report/",
    "crates/preempt-shuttle/",
];

/// Everything that is out of order.
pub(crate) fn complaints(root: &Path) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    let mut with_paper = BTreeSet::new();
    for folder in ["crates", "xtask", "controlled", "lab", "benches"] {
        for file in rust_files(&root.join(folder))? {
            let name = relative(root, &file);
            let text = fs::read_to_string(&file).with_context(|| name.clone())?;
            check_file(&name, &text, &mut complaints);
            complaints.extend(words::complaints(&name, &text));
            if text.lines().any(|line| line.starts_with("//! Paper:")) {
                with_paper.insert(name);
            }
        }
    }
    check_papers_table(root, &with_paper, &mut complaints)?;
    let architecture = fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    check_walk(&architecture, |name| fs::read_to_string(root.join(name)).ok(), &mut complaints);
    check_arrows(root, &mut complaints)?;
    check_circles(root, &mut complaints)?;
    check_unsafe(root, &mut complaints)?;
    complaints.extend(excerpts::complaints(root)?);
    complaints.extend(dependencies::complaints(root)?);
    complaints.extend(long_subjects(root));
    Ok(complaints)
}

/// The longest subject of a commit.
const LONGEST_SUBJECT: usize = 79;

/// Commits since the last tag whose subjects are too long. Without a tag or without git there is nothing to check.
fn long_subjects(root: &Path) -> Vec<String> {
    let git = |words: &[&str]| {
        let output = Command::new("git").args(words).current_dir(root).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let Some(tag) = git(&["describe", "--tags", "--abbrev=0"]) else { return Vec::new() };
    let since = format!("{}..HEAD", tag.trim());
    let log = git(&["log", "--no-merges", "--format=%h %s", &since]).unwrap_or_default();
    log.lines().filter_map(long_subject).collect()
}

fn long_subject(line: &str) -> Option<String> {
    let (commit, subject) = line.split_once(' ')?;
    let length = subject.chars().count();
    (length > LONGEST_SUBJECT).then(|| {
        format!("commit {commit}: a subject of {length} characters, more than {LONGEST_SUBJECT}")
    })
}

fn check_file(name: &str, text: &str, complaints: &mut Vec<String>) {
    let is_test = ["/tests/", "/benches/", "/examples/"].iter().any(|part| name.contains(part));
    if !text.lines().take(3).any(|line| line.starts_with("//!")) {
        complaints.push(format!("{name}: does not open with a //! header"));
    }
    let lines = text.lines().count();
    if lines > LONGEST_FILE && !is_test {
        complaints.push(format!("{name}: {lines} lines, more than {LONGEST_FILE}"));
    }
    let is_old = FOR_OLD_COMPILERS.iter().any(|folder| name.starts_with(folder)) && !is_test;
    for (at, line) in text.lines().enumerate() {
        let code = line.trim_start();
        let chains = code.contains("&& let ") && !code.starts_with("//");
        if is_old && (chains || code.starts_with("if let ") && code.contains(" && ")) {
            complaints.push(format!("{name}:{}: a `let` chain", at + 1));
        }
        if line.ends_with(' ') || line.ends_with('\t') {
            complaints.push(format!("{name}:{}: white space at the end", at + 1));
        }
    }
}

fn check_papers_table(
    root: &Path,
    with_paper: &BTreeSet<String>,
    complaints: &mut Vec<String>,
) -> Result<()> {
    let architecture = fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    for name in with_paper {
        if !architecture.contains(&format!("`{name}`")) {
            complaints.push(format!("ARCHITECTURE.md: the papers table does not name {name}"));
        }
    }
    let rows = architecture.lines().filter(|line| line.starts_with("| ["));
    for name in rows.flat_map(|row| row.split('`').skip(1).step_by(2)) {
        if !root.join(name).is_file() {
            complaints
                .push(format!("ARCHITECTURE.md: the papers table names {name}, which is gone"));
        }
    }
    Ok(())
}

/// The section of ARCHITECTURE.md whose functions must be where it says.
const WALK: &str = "## Follow one state through the house";

/// Every function that the walk names is in the file that it names before it.
fn check_walk(
    architecture: &str,
    read: impl Fn(&str) -> Option<String>,
    complaints: &mut Vec<String>,
) {
    let walk = architecture.lines().skip_while(|line| *line != WALK).skip(1);
    let walk: Vec<&str> = walk.take_while(|line| !line.starts_with("## ")).collect();
    if walk.is_empty() {
        complaints.push(format!("ARCHITECTURE.md: has no section {WALK:?}"));
    }
    let (mut name, mut text) = (String::new(), None);
    for word in walk.iter().flat_map(|line| line.split('`').skip(1).step_by(2)) {
        if word.ends_with(".rs") {
            (name, text) = (word.to_owned(), read(word));
            if text.is_none() {
                complaints.push(format!("ARCHITECTURE.md: the walk names {word}, which is gone"));
            }
        } else if let (Some(function), Some(text)) = (word.strip_suffix("()"), &text) {
            let is_there =
                ["(", "<"].iter().any(|end| text.contains(&format!("fn {function}{end}")));
            if !is_there {
                complaints.push(format!("ARCHITECTURE.md: {name} has no function {function}"));
            }
        }
    }
}

fn check_arrows(root: &Path, complaints: &mut Vec<String>) -> Result<()> {
    let mut folders: Vec<_> = fs::read_dir(root.join("crates"))?.collect::<Result<_, _>>()?;
    folders.sort_by_key(|entry| entry.file_name());
    for folder in folders {
        let name = folder.file_name().to_string_lossy().into_owned();
        let Some((_, allowed)) = ARROWS.iter().find(|(krate, _)| *krate == name) else {
            complaints.push(format!("crates/{name}: not in tidy's table of arrows"));
            continue;
        };
        let manifest = fs::read_to_string(folder.path().join("Cargo.toml"))?;
        for key in PACKAGE {
            if !manifest.lines().any(|line| line.starts_with(key)) {
                complaints.push(format!("crates/{name}/Cargo.toml: no {key}"));
            }
        }
        for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
            if !folder.path().join(file).is_file() {
                complaints.push(format!("crates/{name}: no {file}"));
            }
        }
        for dependency in dependencies(&manifest) {
            let ours = dependency == "preempt" || dependency.starts_with("preempt-");
            if ours && !allowed.contains(&dependency) {
                complaints.push(format!("crates/{name}: must not depend on {dependency}"));
            }
        }
    }
    Ok(())
}

/// A crate without `unsafe` promises to stay so.
fn check_unsafe(root: &Path, complaints: &mut Vec<String>) -> Result<()> {
    let mut folders = vec![root.join("xtask"), root.join("lab")];
    for entry in fs::read_dir(root.join("crates"))? {
        folders.push(entry?.path());
    }
    folders.sort();
    for folder in folders {
        let (mut has_unsafe, mut forbids) = (false, false);
        for file in rust_files(&folder.join("src"))? {
            let text = fs::read_to_string(&file)?;
            has_unsafe |= text.lines().any(is_unsafe);
            forbids |= text.lines().any(|line| line == FORBID);
        }
        let name = relative(root, &folder);
        if !has_unsafe && !forbids {
            complaints.push(format!("{name}: without unsafe code, but without {FORBID}"));
        }
    }
    Ok(())
}

const FORBID: &str = "#![forbid(unsafe_code)]";

/// Whether a line of code has a block, function or implementation that is not safe.
fn is_unsafe(line: &str) -> bool {
    let code = line.trim_start();
    let mut words =
        code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|w| !w.is_empty());
    !code.starts_with("//") && !code.contains('"') && words.any(|word| word == "unsafe")
}

/// Complains about files that import each other in a circle.
fn check_circles(root: &Path, complaints: &mut Vec<String>) -> Result<()> {
    for names in find_circles(root)? {
        complaints.push(format!("import each other in a circle: {}", names.join(", ")));
    }
    Ok(())
}

/// Sets of files that import each other in a circle.
fn find_circles(root: &Path) -> Result<Vec<Vec<String>>> {
    let mut folders: Vec<PathBuf> =
        vec![root.join("xtask"), root.join("controlled"), root.join("lab")];
    for parent in ["crates", "benches"] {
        for entry in fs::read_dir(root.join(parent))? {
            folders.push(entry?.path());
        }
    }
    folders.sort();
    let mut circles = Vec::new();
    for folder in folders {
        let source = folder.join("src");
        let mut texts = Vec::new();
        for file in rust_files(&source)? {
            texts.push((relative(&source, &file), fs::read_to_string(&file)?));
        }
        let modules = Modules::read(texts.iter().map(|(name, text)| (&name[..], &text[..])));
        let named = |file: &String| relative(root, &source.join(file));
        circles.extend(modules.circles().iter().map(|circle| circle.iter().map(named).collect()));
    }
    Ok(circles)
}

/// The names under `[dependencies]`.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    manifest
        .lines()
        .skip_while(|line| line.trim() != "[dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', '=', ' ']).next())
        .filter(|name| !name.is_empty())
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && name != "node_modules" {
                folders.push(path);
            } else if name.ends_with(".rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn relative(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        assert_eq!(complaints(&crate::root()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_file_without_header_is_noticed() {
        let mut complaints = Vec::new();
        check_file("crates/x/src/a.rs", "fn main() {} \n", &mut complaints);
        assert_eq!(
            complaints,
            [
                "crates/x/src/a.rs: does not open with a //! header",
                "crates/x/src/a.rs:1: white space at the end"
            ]
        );
    }

    #[test]
    fn a_walk_past_what_is_gone_is_noticed() {
        let read = |name: &str| (name == "a.rs").then(|| "fn here<T>() {}".to_owned());
        let mut complaints = Vec::new();
        let walk =
            format!("{WALK}\n1. `a.rs`, `here()` and `there()`.\n2. `b.rs`\n## Next\n`c.rs`\n");
        check_walk(&walk, read, &mut complaints);
        check_walk("## Next\n", read, &mut complaints);
        assert_eq!(
            complaints,
            [
                "ARCHITECTURE.md: a.rs has no function there".to_owned(),
                "ARCHITECTURE.md: the walk names b.rs, which is gone".to_owned(),
                format!("ARCHITECTURE.md: has no section {WALK:?}"),
            ]
        );
    }

    #[test]
    fn a_long_subject_is_noticed() {
        assert_eq!(long_subject("abc A change in the user's words"), None);
        assert!(long_subject(&format!("abc {}", "x".repeat(80))).is_some());
    }

    #[test]
    fn only_the_dependency_section_counts() {
        let manifest =
            "[dependencies]\na.workspace = true\nb = \"1\"\n\n[dev-dependencies]\nc = \"1\"\n";
        assert_eq!(dependencies(manifest).collect::<Vec<_>>(), ["a", "b"]);
    }
}
