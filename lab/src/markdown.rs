//! Tables in Markdown.

use preempt_core::grouped;
use std::fmt::Write;

/// Rows under a head; every row has as many cells as the head.
pub(crate) struct Rows {
    text: String,
}

impl Rows {
    pub(crate) fn new(head: &[&str]) -> Self {
        let mut rows = Rows { text: String::new() };
        rows.push(head);
        rows.push(&vec!["---"; head.len()]);
        rows
    }

    pub(crate) fn push<S: AsRef<str>>(&mut self, cells: &[S]) {
        let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
        let _ = writeln!(self.text, "| {} |", cells.join(" | "));
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// A number, or a dash.
pub(crate) fn optional(number: Option<u64>) -> String {
    number.map_or("–".into(), grouped)
}
