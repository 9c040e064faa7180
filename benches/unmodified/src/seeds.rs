//! Bugs put into published crates, one at a time: every memory order of their sources is weakened to `Relaxed`.
//!
//! An order may be stronger than it has to be, or no test may depend on it: each that is not found has to be read.

use crate::catalogue::Crate;
use crate::sources::Sources;
use anyhow::{Context, Result};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is weakened.
const STRONG: [&str; 4] = ["Release", "Acquire", "AcqRel", "SeqCst"];

struct Place {
    file: PathBuf,
    at: usize,
    order: &'static str,
    line: usize,
}

/// Weakens the orders of a crate one by one, and gives the table.
pub(crate) fn run(
    preempt: &Path,
    sources: &Sources,
    krate: &Crate,
    seconds: u64,
) -> Result<String> {
    let folder = sources.copy(krate)?;
    let mut places = Vec::new();
    collect(&folder.join("src"), &mut places)?;
    let mut table =
        format!("### {}\n\n| place | weakened | found by |\n|---|---|---|\n", sources.label(krate));
    let mut found = 0;
    for place in &places {
        let text = fs::read_to_string(&place.file)?;
        let (before, after) = (&text[..place.at], &text[place.at + place.order.len()..]);
        let path = if before.ends_with("::") { "" } else { "core::sync::atomic::Ordering::" };
        let changed = format!("{before}{path}Relaxed{after}");
        fs::write(&place.file, changed)?;
        let output = Command::new(preempt)
            .args(["cargo", "test"])
            .args(krate.words)
            .args(["--", "--json", "--time", &format!("{seconds}s")])
            .current_dir(&folder)
            .env("CARGO_TARGET_DIR", sources.build_folder())
            .output()
            .context("preempt does not run")?;
        fs::write(&place.file, text)?;
        let said = String::from_utf8_lossy(&output.stdout);
        let tests = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let violated = tests.filter(|test| test["verdict"] == "violated").map(|test| {
            let kind = test["violation"]["kind"].as_str().unwrap_or_default().to_string();
            format!("{} ({kind})", test["test"].as_str().unwrap_or_default())
        });
        let violated: Vec<String> = violated.collect();
        found += usize::from(!violated.is_empty());
        let by = violated.first().cloned().unwrap_or_else(|| match output.status.code() {
            // Some orders cannot be relaxed, such as that of a fence.
            Some(2) => "not compiled".into(),
            _ => "-".into(),
        });
        let file = place.file.strip_prefix(&folder).unwrap_or(&place.file);
        let row = format!("| {}:{} | {} | {by} |", file.display(), place.line, place.order);
        println!("{row}");
        writeln!(table, "{row}")?;
    }
    writeln!(table, "\n{found} of {} are found.", places.len())?;
    Ok(table)
}

fn collect(folder: &Path, places: &mut Vec<Place>) -> Result<()> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, places)?;
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let code = text.find("#[cfg(test)]\nmod").unwrap_or(text.len());
        for order in STRONG {
            let found = text[..code].match_indices(order).map(|(at, _)| at);
            let in_code = found.filter(|&at| {
                let line = &text[text[..at].rfind('\n').map_or(0, |end| end + 1)..at];
                let line = line.trim_start();
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                let after = text[at + order.len()..].chars().next();
                !line.starts_with("//")
                    && !line.starts_with("use ")
                    && !line.ends_with(is_part)
                    && !after.is_some_and(is_part)
            });
            places.extend(in_code.map(|at| Place {
                file: path.clone(),
                at,
                order,
                line: text[..at].lines().count(),
            }));
        }
    }
    Ok(())
}
