//! What the tests of a crate came to, as a row of a table.

use serde_json::Value;
use std::fmt::Write;
use std::time::Duration;

/// One crate.
pub(crate) struct Row {
    label: String,
    tests: usize,
    alone: usize,
    holds: usize,
    /// The bounds that were finished.
    within: Vec<u64>,
    violated: Vec<(String, String)>,
    /// Out of time before the first bound was finished.
    late: usize,
    /// Everything else that is inconclusive.
    refused: Vec<(String, String)>,
    /// Why there are no tests.
    failure: String,
    time: Duration,
}

impl Row {
    pub(crate) fn new(
        label: String,
        tests: &[Value],
        code: Option<i32>,
        said: &str,
        time: Duration,
    ) -> Self {
        let mut row = Row {
            label,
            tests: 0,
            alone: 0,
            holds: 0,
            within: Vec::new(),
            violated: Vec::new(),
            late: 0,
            refused: Vec::new(),
            failure: String::new(),
            time,
        };
        for test in tests.iter().filter(|test| test["test"].is_string()) {
            row.tests += 1;
            let text = |key: &str| test[key].as_str().unwrap_or_default().to_string();
            let story = || (text("test"), text("claim"));
            match test["verdict"].as_str() {
                Some("holds") if test["executions"] == 1 && test["states"] == 1 => row.alone += 1,
                Some("holds") => row.holds += 1,
                Some("holds_within_bound") => row.within.push(test["bound"].as_u64().unwrap_or(0)),
                Some("violated") => row.violated.push(story()),
                _ if test["stop"] == "time" => row.late += 1,
                _ => row.refused.push(story()),
            }
        }
        if row.tests == 0 {
            row.failure = format!("exit code {code:?} {said}");
        }
        row
    }

    /// The row.
    pub(crate) fn line(&self) -> String {
        let within = match (self.within.iter().min(), self.within.iter().max()) {
            (Some(least), Some(most)) => format!("{} ({least} to {most})", self.within.len()),
            _ => "0".into(),
        };
        format!(
            "| {} | {} | {} | {} | {within} | {} | {} | {} | {:.0} s | {} |",
            self.label,
            self.tests,
            self.alone,
            self.holds,
            self.violated.len(),
            self.late,
            self.refused.len(),
            self.time.as_secs_f64(),
            self.failure
        )
    }
}

/// The whole table, and what was violated or refused.
pub(crate) fn table(rows: &[Row], seconds: u64, miri: bool) -> String {
    let mut text = String::from("# Published crates, unmodified\n\n");
    let how = if miri { ", with `cfg(miri)`" } else { "" };
    let _ = writeln!(
        text,
        "Their own test suites under `preempt cargo test -- --pauses kept`, {seconds} s for each test{how}. *One order*: no second \
         thread, or threads that do not interact. *Time*: not even executions without preemptions were finished.\n"
    );
    text.push_str("| crate | tests | one order | hold | hold within a bound | violated | time | refused | took | |\n");
    text.push_str("|---|---|---|---|---|---|---|---|---|---|\n");
    for row in rows {
        text.push_str(&row.line());
        text.push('\n');
    }
    for (title, pick) in [
        ("Violated", (|row: &Row| &row.violated) as fn(&Row) -> &Vec<(String, String)>),
        ("Refused", |row: &Row| &row.refused),
    ] {
        if rows.iter().any(|row| !pick(row).is_empty()) {
            let _ = writeln!(text, "\n## {title}\n");
        }
        for row in rows {
            for (test, claim) in pick(row) {
                let _ = writeln!(text, "- {} `{test}`: {}", row.label, claim.replace('\n', " "));
            }
        }
    }
    text
}
