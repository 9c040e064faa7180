//! Tables in Markdown, and numbers as people write them.

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

/// 1234567 as 1,234,567.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number, or a dash.
pub(crate) fn optional(number: Option<u64>) -> String {
    number.map_or("–".into(), grouped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_three() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
