//! The rows of a suite, its table, and its summary.

use super::program::Outcome;
use std::fmt::Write as _;

/// What a verdict is worth beside the suite's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Grade {
    Correct,
    /// Another one, for a reason that is known.
    Explained,
    Wrong,
    Unknown,
    NotBuilt,
}

/// One program.
pub(crate) struct Row {
    pub(crate) name: String,
    /// What the suite says.
    pub(crate) expected: String,
    pub(crate) outcome: Outcome,
    pub(crate) grade: Grade,
    /// What is to be said about it.
    pub(crate) note: String,
    /// The cells of columns that only this suite has.
    pub(crate) more: Vec<String>,
}

/// A suite's programs.
pub(crate) struct Table {
    pub(crate) title: &'static str,
    /// Where the programs come from, and how verdicts are compared.
    pub(crate) about: String,
    /// The names of columns that only this suite has.
    pub(crate) more: &'static [&'static str],
    /// The rows; `None` if the suite's folder is not given.
    pub(crate) rows: Option<Vec<Row>>,
}

impl Table {
    fn count(&self, grade: Grade) -> usize {
        self.rows.iter().flatten().filter(|row| row.grade == grade).count()
    }
}

/// The summary of all suites, as a table.
pub(crate) fn summary(tables: &[Table]) -> String {
    let mut text = String::from(
        "| suite | correct | different, explained | wrong | unknown | not built | CPU seconds |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    for table in tables.iter().filter(|table| table.rows.is_some()) {
        let seconds: f64 = table.rows.iter().flatten().map(|row| row.outcome.seconds).sum();
        let [correct, explained, wrong, unknown, not_built] =
            [Grade::Correct, Grade::Explained, Grade::Wrong, Grade::Unknown, Grade::NotBuilt]
                .map(|grade| table.count(grade));
        let title = table.title;
        let _ = writeln!(
            text,
            "| {title} | {correct} | {explained} | {wrong} | {unknown} | {not_built} | {seconds:.0} |"
        );
    }
    text
}

/// One suite, as a section.
pub(crate) fn section(table: &Table) -> String {
    let mut text = format!("\n## {}\n\n{}\n", table.title, table.about);
    let Some(rows) = &table.rows else {
        text.push_str("\nThe folder of this suite was not given, so nothing was run.\n");
        return text;
    };
    let more: String = table.more.iter().map(|name| format!(" {name} |")).collect();
    let lines: String = table.more.iter().map(|_| "---:|").collect();
    let _ = writeln!(
        text,
        "\n| program | expected | ours | executions | preemptions | CPU seconds |{more} note |\n\
         |---|---|---|---:|---:|---:|{lines}---|"
    );
    for row in rows {
        text.push_str(&line(row));
    }
    text
}

/// One row, as a line of the table.
pub(crate) fn line(row: &Row) -> String {
    let Outcome { verdict, executions, preemptions, seconds, .. } = &row.outcome;
    let mark = match row.grade {
        Grade::Wrong => "**",
        _ => "",
    };
    let preemptions = preemptions.map_or(String::new(), |number| number.to_string());
    let more: String = row.more.iter().map(|cell| format!(" {cell} |")).collect();
    let note = row.note.replace('|', "\\|").replace('\n', " ");
    format!(
        "| {} | {} | {mark}{verdict}{mark} | {executions} | {preemptions} | {seconds:.2} |{more} {note} |\n",
        row.name, row.expected
    )
}
