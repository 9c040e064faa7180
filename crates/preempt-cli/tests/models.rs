//! Every model under `models/` says in its first comment what to expect; here it is checked.
//!
//! ```text
//! expect: holds
//! expect: violated kind=assertion preemptions=1
//! options: -D N=3 --ltl p1
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

struct Expectation {
    file: PathBuf,
    verdict: String,
    kind: Option<String>,
    preemptions: Option<u64>,
    options: Vec<String>,
}

fn expectation(file: PathBuf) -> Expectation {
    let text = std::fs::read_to_string(&file).unwrap();
    let mut expected = Expectation {
        file,
        verdict: String::new(),
        kind: None,
        preemptions: None,
        options: Vec::new(),
    };
    for line in text.lines().take(6) {
        let line = line.trim_start_matches(['/', '*', ' ']).trim_end_matches(['/', '*', ' ']);
        if let Some(words) = line.strip_prefix("expect:") {
            for word in words.split_whitespace() {
                match word.split_once('=') {
                    Some(("kind", kind)) => expected.kind = Some(kind.to_string()),
                    Some(("preemptions", n)) => expected.preemptions = n.parse().ok(),
                    _ => expected.verdict = word.to_string(),
                }
            }
        }
        if let Some(words) = line.strip_prefix("options:") {
            expected.options = words.split_whitespace().map(String::from).collect();
        }
    }
    expected
}

fn check(expected: &Expectation) -> Result<(), String> {
    let output = Command::new(env!("CARGO_BIN_EXE_preempt"))
        .arg("check")
        .arg(&expected.file)
        .args(&expected.options)
        .arg("--json")
        .output()
        .unwrap();
    let name = expected.file.display();
    let text = String::from_utf8_lossy(&output.stdout);
    let report: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| format!("{name}: {error}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let complain = |what: &str, seen: &serde_json::Value| Err(format!("{name}: {what} is {seen}"));
    if report["verdict"] != expected.verdict.as_str() {
        return complain("verdict", &report["verdict"]);
    }
    // With several properties, the first that is violated.
    let violation = match report["results"].as_array() {
        Some(results) => results.iter().map(|r| &r["violation"]).find(|v| !v.is_null()),
        None => Some(&report["violation"]),
    };
    let violation = violation.unwrap_or(&serde_json::Value::Null);
    if expected.kind.as_ref().is_some_and(|kind| violation["kind"] != kind.as_str()) {
        return complain("kind", &violation["kind"]);
    }
    if expected.preemptions.is_some_and(|n| violation["preemptions"] != n) {
        return complain("preemptions", &violation["preemptions"]);
    }
    let code = if expected.verdict == "violated" { 1 } else { 0 };
    if output.status.code() != Some(code) {
        return Err(format!("{name}: exit code {:?}", output.status.code()));
    }
    Ok(())
}

#[test]
fn every_model_is_as_its_header_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "pml"))
        .collect();
    files.sort();
    assert!(files.len() >= 10);
    let mut wrong = Vec::new();
    for file in files {
        let expected = expectation(file);
        if expected.verdict.is_empty() {
            wrong.push(format!("{}: no `expect:` line", expected.file.display()));
        } else if let Err(complaint) = check(&expected) {
            wrong.push(complaint);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
