//! The first page of the chapter about Rust tests, done as it says: a new crate beside a clone.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

/// The text of the first block of a language behind a heading.
fn block<'t>(chapter: &'t str, heading: &str, language: &str) -> &'t str {
    let (_, behind) = chapter.split_once(heading).expect("the heading");
    let (_, from) = behind.split_once(&format!("```{language}\n")).expect("a block");
    from.split_once("```").expect("the end of the block").0
}

#[test]
fn a_new_crate_finds_its_first_bug() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let chapter = fs::read_to_string(root.join("docs/src/rust-testing.md")).unwrap();
    let heading = "## From zero to the first bug";
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("first-hour");
    let new = place.join("counters");
    // Nothing is known of an earlier failure.
    let _ = fs::remove_dir_all(new.join("target/preempt"));
    let _ = fs::remove_file(place.join("preempt"));
    fs::create_dir_all(new.join("src")).unwrap();
    fs::create_dir_all(new.join("tests")).unwrap();
    // The clone beside it.
    std::os::unix::fs::symlink(&root, place.join("preempt")).unwrap();
    let package = "[package]\nname = \"counters\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let manifest = format!("{package}\n[workspace]\n\n{}", block(&chapter, heading, "toml"));
    fs::write(new.join("Cargo.toml"), manifest).unwrap();
    fs::write(new.join("src/lib.rs"), "").unwrap();
    fs::write(new.join("tests/counter.rs"), block(&chapter, heading, "rust,ignore")).unwrap();
    // The versions that are here already.
    fs::copy(root.join("Cargo.lock"), new.join("Cargo.lock")).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    // What cargo has set for this test is not meant for that crate.
    let own = std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        (name.starts_with("CARGO") && name != "CARGO_HOME") || name.starts_with("PREEMPT_")
    });
    own.for_each(|(name, _)| _ = cargo.env_remove(name));
    let output = cargo
        .args(["test", "--offline", "--test", "counter"])
        .current_dir(&new)
        .env("RUST_BACKTRACE", "0")
        .output()
        .expect("cargo runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(!output.status.success(), "{said}");
    // What the chapter shows, but for how long it took and for what it leaves out.
    for line in block(&chapter, heading, "text").lines() {
        let line = line.split(" in 0.").next().unwrap_or_default().trim_end();
        let is_printed = line.split('…').all(|part| said.contains(part));
        assert!(is_printed, "not printed: {line}\n{said}");
    }
}
