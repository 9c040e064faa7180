//! A report as one line of JSON, for `PREEMPT_REPORT`: written by hand, so that a dev-dependency on
//! preempt needs no serialiser.

use crate::report::{Outcome, Report};
use std::fmt::Write;

impl Report {
    /// One object without line breaks. `asked` is the bound on preemptions that the test sets, if any.
    /// `page` is where a failure is shown.
    pub(crate) fn to_json_line(
        &self,
        name: Option<&str>,
        asked: Option<u32>,
        page: Option<&std::path::Path>,
    ) -> String {
        let mut line = String::from("{");
        if let Some(name) = name.or(std::thread::current().name()) {
            field(&mut line, "name", &quoted(name));
        }
        let verdict = match &self.outcome {
            Outcome::Holds => "holds",
            Outcome::HoldsWithinBound(_) => "holds_within_bound",
            Outcome::Failed(_) => "violated",
            Outcome::Inconclusive(_) => "inconclusive",
        };
        field(&mut line, "verdict", &quoted(verdict));
        let mut first = self.per_bound.iter().filter(|row| row.stale == 0);
        let bound = first.next_back().map(|row| row.preemptions.to_string());
        field(&mut line, "bound", bound.as_deref().unwrap_or("null"));
        let asked = asked.map(|bound| bound.to_string());
        field(&mut line, "asked", asked.as_deref().unwrap_or("null"));
        if let Some(delays) = self.delays {
            field(&mut line, "delays", &delays.to_string());
        }
        field(&mut line, "executions", &self.executions.to_string());
        field(&mut line, "partial_orders", &self.partial_orders.to_string());
        field(&mut line, "seconds", &format!("{:.6}", self.time.as_secs_f64()));
        field(&mut line, "claim", &quoted(&self.covered()));
        if let Some(page) = page {
            field(&mut line, "page", &quoted(&page.display().to_string()));
        }
        if let Outcome::Inconclusive(reason) = &self.outcome {
            field(&mut line, "reason", &quoted(&reason.to_string()));
        }
        if let Some(failure) = self.failure() {
            if let Some(first) = self.first_failure {
                field(&mut line, "first_failure", &first.to_string());
            }
            field(&mut line, "kind", &quoted(&format!("{:?}", failure.kind)));
            field(&mut line, "message", &quoted(&failure.message));
            field(&mut line, "preemptions", &failure.preemptions.to_string());
            field(&mut line, "stale", &failure.stale.to_string());
            field(&mut line, "schedule", &quoted(&failure.schedule));
        }
        line.push('}');
        line
    }
}

fn field(line: &mut String, name: &str, value: &str) {
    if line.len() > 1 {
        line.push(',');
    }
    let _ = write!(line, "\"{name}\":{value}");
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_what_json_cannot_hold() {
        assert_eq!(quoted("a \"b\" \\ c\nd"), r#""a \"b\" \\ c\u000ad""#);
    }

    #[test]
    fn a_report_is_one_object_on_one_line() {
        let report = crate::Check::new().run(|| drop(crate::sync::Mutex::new(0).lock()));
        let line = report.to_json_line(Some("a::b"), Some(2), None);
        let begin = r#"{"name":"a::b","verdict":"holds","bound":0,"asked":2,"executions":1,"#;
        assert!(line.starts_with(begin), "{line}");
        assert!(line.ends_with('}') && !line.contains('\n'), "{line}");
    }
}
