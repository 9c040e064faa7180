//! Chores of the repository: `cargo xtask test | bless | tidy | bench`.
//!
//! **Invariant:** continuous integration runs `cargo xtask test` and nothing else, so what a
//! contributor runs is what guards the main branch.

#![forbid(unsafe_code)]

mod against;
mod compiler;
mod dependencies;
mod excerpts;
mod imports;
mod setup;
mod suites;
mod tidy;
mod words;

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const HELP: &str = "\
cargo xtask test    install what the tests need, then run every check and every test
cargo xtask bless   renew the excerpts in the book, accept the present output of all snapshot tests
cargo xtask tidy    check the repository's own rules
cargo xtask bench   run the benchmarks against the peers, write benches/*.md
cargo xtask bench --against REV    compare instructions, memory and answers with those of a revision
";

fn main() -> Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match compiler::is_called(words.first().map(String::as_str)) {
        true => compiler::compile(&words),
        false => chore().map(|()| ExitCode::SUCCESS),
    }
}

fn chore() -> Result<()> {
    let root = root();
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("test") => test(&root),
        Some("bless") => bless(&root),
        Some("tidy") => tidy_or_fail(&root),
        Some("bench") => {
            let arguments: Vec<String> = arguments.collect();
            match arguments.iter().any(|word| word == "--against") {
                true => against::compare(&root, &arguments),
                false => bench(&root, &arguments),
            }
        }
        _ => {
            print!("{HELP}");
            Ok(())
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").into()
}

fn test(root: &Path) -> Result<()> {
    let missing = setup::install_peers(root);
    tidy_or_fail(root)?;
    cargo(root, &["fmt", "--all", "--check"])?;
    // What `cargo quick` builds: only the command's own text differs from what is linted with the tests.
    let parts = ["--no-default-features", "--features", "serve"];
    let lints = ["--", "--no-deps", "-D", "warnings"];
    cargo(root, &[&["clippy", "--bin", "preempt"], &parts[..], &lints].concat())?;
    let skips = std::env::temp_dir().join(format!("preempt-skips-{}", std::process::id()));
    let mut variables = vec![("PREEMPT_SKIPS", skips.clone().into_os_string())];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([setup::assembler_folder(root)]);
    if let Ok(path) = std::env::join_paths(folders) {
        variables.push(("PATH", path));
    }
    if missing.is_empty() {
        variables.push(("PREEMPT_PEERS", "required".into()));
    }
    let tested = suites::run(root, &variables);
    report_skips(&missing, &skips);
    tested
}

/// How many tests were skipped, and for want of what.
fn report_skips(missing: &[&str], skips: &Path) {
    let text = std::fs::read_to_string(skips).unwrap_or_default();
    let _ = std::fs::remove_file(skips);
    let lines: std::collections::BTreeSet<&str> = text.lines().collect();
    if !missing.is_empty() {
        println!("missing: {}", missing.join(", "));
    }
    println!("{} tests were skipped", lines.len());
    for line in lines {
        println!("  {line}");
    }
}

fn bless(root: &Path) -> Result<()> {
    excerpts::renew(root)?;
    run(Command::new("cargo")
        .args(["test", "--workspace"])
        .env("INSTA_UPDATE", "always")
        .current_dir(root))
}

fn bench(root: &Path, arguments: &[String]) -> Result<()> {
    let missing = setup::install_peers(root);
    if !missing.is_empty() {
        println!("missing: {}", missing.join(", "));
    }
    let mut command = vec!["run", "--release", "-p", "bench-models", "--bin", "bench-models", "--"];
    command.extend(arguments.iter().map(String::as_str));
    cargo(root, &command)
}

fn tidy_or_fail(root: &Path) -> Result<()> {
    let complaints = tidy::complaints(root)?;
    for complaint in &complaints {
        eprintln!("tidy: {complaint}");
    }
    if !complaints.is_empty() {
        bail!("{} complaints", complaints.len());
    }
    println!("tidy: no complaints");
    Ok(())
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<()> {
    println!("$ cargo {}", arguments.join(" "));
    run(Command::new("cargo").args(arguments).current_dir(root))
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed ({status})");
    }
    Ok(())
}
