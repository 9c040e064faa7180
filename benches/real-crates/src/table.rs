//! The table of both tools' executions and times, in Markdown.

use crate::row::{Outcome, Row};
use std::fmt::Write;

/// A section of the table: one crate.
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) remark: &'static str,
    pub(crate) ours: Result<Vec<Row>, String>,
    pub(crate) theirs: Result<Vec<Row>, String>,
}

/// How many models ended how.
#[derive(Default)]
struct Totals {
    exhausted: usize,
    bounded: usize,
    expected: usize,
    failed: usize,
    crashed: usize,
    executions: u64,
    processor: f64,
}

impl Totals {
    fn of(rows: &[Row]) -> Self {
        let mut totals = Totals::default();
        for row in rows {
            totals.executions += row.executions;
            totals.processor += row.processor;
            match &row.outcome {
                Outcome::Holds | Outcome::AskedBound(_) => totals.exhausted += 1,
                Outcome::WithinBound(_) => totals.bounded += 1,
                Outcome::Failed { expected: true, .. } => totals.expected += 1,
                Outcome::Failed { .. } | Outcome::TestFailed => totals.failed += 1,
                Outcome::Passed => totals.exhausted += 1,
                Outcome::Crashed(_) => totals.crashed += 1,
            }
        }
        totals
    }

    fn cells(&self) -> [String; 8] {
        let Totals { exhausted, bounded, expected, failed, crashed, executions, processor } = self;
        let models = exhausted + bounded + expected + failed + crashed;
        let [a, b, c, d, e, f] = [models, *exhausted, *bounded, *expected, *failed, *crashed]
            .map(|count| count.to_string());
        [a, b, c, d, e, f, executions.to_string(), format!("{processor:.1}")]
    }
}

/// What is said above a table.
pub(crate) struct Head<'a> {
    pub(crate) title: &'a str,
    pub(crate) command: &'a str,
    pub(crate) seconds: u64,
    pub(crate) release: bool,
    pub(crate) note: &'a str,
}

/// All sections, with a summary first.
pub(crate) fn render(sections: &[Section], head: &Head<'_>) -> String {
    let Head { title, command, seconds, release, note } = *head;
    let profile = if release {
        "release build with debug assertions"
    } else {
        "dev build, both tools optimised"
    };
    let mut text = format!(
        "# {title}\n\nWritten by `{command}`; {seconds} s per model \
         for either tool, {profile}. *Original* is the tool that the tests are written for: loom, or shuttle where it is \
         named. The crates are as published; only the dependency line that names it differs. *Exhausted*: every execution was explored, or every one within the bound that \
         the test itself sets. *Bounded*: time was up (ours then says up to how many preemptions all executions without a stale choice were \
         explored). *Expected*: \
         fails, as `#[should_panic]` asks. The last two numbers of a model are seconds and processor seconds. \
         {note}\n\n\
         | crate | models: ours | original | exhausted: ours | original | bounded: ours | original | \
         expected: ours | original | failed: ours | original | crashed: ours | original | \
         executions: ours | original | cpu s: ours | original |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
    );
    for section in sections {
        let title = &section.title;
        let side = |rows: &Result<Vec<Row>, String>| match rows {
            Ok(rows) => Totals::of(rows).cells(),
            Err(error) => {
                let word = error.lines().next().unwrap_or_default();
                std::array::from_fn(|at| if at == 0 { word.to_string() } else { "–".to_string() })
            }
        };
        let (ours, theirs) = (side(&section.ours), side(&section.theirs));
        let pairs: Vec<String> =
            ours.iter().zip(&theirs).map(|(a, b)| format!("{a} | {b}")).collect();
        let _ = writeln!(text, "| {title} | {} |", pairs.join(" | "));
    }
    for section in sections {
        let empty = Vec::new();
        let (ours, theirs) =
            (section.ours.as_ref().unwrap_or(&empty), section.theirs.as_ref().unwrap_or(&empty));
        let remark = match section.remark {
            "" => String::new(),
            remark => format!("{remark}\n\n"),
        };
        let _ = writeln!(
            text,
            "\n## {}\n\n{remark}| model | ours | executions | s | cpu s | original | executions | s | cpu s |\n\
             |---|---|---|---|---|---|---|---|---|",
            section.title
        );
        for (name, a, b) in paired(ours, theirs) {
            let _ = writeln!(text, "| {name} | {} | {} |", cells(a), cells(b));
        }
    }
    text
}

/// The head of the table of bugs.
pub(crate) const SEEDS: &str = "# Bugs in real crates\n\nWritten by `cargo run -p bench-real-crates -- --release --seeds`. The crates' own \
    tests are to find each bug, as published but for it. A cell has what the model that needs the fewest executions \
    says, and how many of the models that were tried find it.\n\nWhat is not found: the values of burstq are in memory behind raw pointers, which neither tool \
    sees. Where loom's process dies in maitake-sync it does so without the bug, too: threads that wait reach its limit of branches.\n\n| crate | bug | preempt | original |\n|---|---|---|---|\n";

/// Whether a bug was found, by the model that needs the fewest executions.
pub(crate) fn finding(rows: &[Row]) -> String {
    let found = |row: &&Row| matches!(row.outcome, Outcome::Failed { .. } | Outcome::Crashed(_));
    let count = rows.iter().filter(found).count();
    let Some(row) = rows.iter().filter(found).min_by_key(|row| row.executions) else {
        return format!("**not found** by {} models", rows.len());
    };
    let what = match &row.outcome {
        Outcome::Crashed(how) => return format!("the process died: {how}"),
        Outcome::Failed { kind, preemptions: Some(preemptions), .. } => {
            format!("{kind}, {preemptions} preemptions")
        }
        _ => "found".to_string(),
    };
    let Row { executions, seconds, .. } = row;
    format!("{what}, {executions} executions, {seconds:.3} s; {count} of {} models", rows.len())
}

/// Rows of both sides by test, in the order of their models.
fn paired<'a>(
    ours: &'a [Row],
    theirs: &'a [Row],
) -> Vec<(&'a str, Option<&'a Row>, Option<&'a Row>)> {
    let mut names: Vec<&str> = ours.iter().chain(theirs).map(|row| row.test.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut pairs = Vec::new();
    for name in names {
        let mut a = ours.iter().filter(|row| row.test == name);
        let mut b = theirs.iter().filter(|row| row.test == name);
        loop {
            let pair = (a.next(), b.next());
            if pair == (None, None) {
                break;
            }
            pairs.push((name, pair.0, pair.1));
        }
    }
    pairs
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

fn cells(row: Option<&Row>) -> String {
    let Some(row) = row else { return "– | – | – | –".to_string() };
    let outcome = match &row.outcome {
        Outcome::Holds => "holds".to_string(),
        Outcome::AskedBound(bound) => format!("≤ {bound}, all the test asks for"),
        Outcome::WithinBound(Some(bound)) => format!("≤ {bound} done"),
        Outcome::WithinBound(None) => "time up".to_string(),
        Outcome::Failed { kind, preemptions, expected } => {
            let word = if *expected { "fails as expected" } else { "**FAILED**" };
            match preemptions {
                Some(preemptions) => format!("{word}: {kind}, {preemptions} preemptions"),
                None => format!("{word}: {kind}"),
            }
        }
        Outcome::TestFailed => "**test failed**".to_string(),
        Outcome::Passed => "passes".to_string(),
        Outcome::Crashed(how) => format!("**CRASHED**: {how}"),
    };
    // Rows that an older version kept do not know it.
    let processor =
        if row.processor > 0.0 { format!("{:.3}", row.processor) } else { "–".to_string() };
    format!("{outcome} | {} | {:.3} | {processor}", row.executions, row.seconds)
}
