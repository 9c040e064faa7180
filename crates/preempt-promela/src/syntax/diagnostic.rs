//! What went wrong, as data.
//!
//! Every phase appends to one list; nothing is printed here. Text for people is made by
//! [`render`](super::render), explanations by [`codes`](super::codes).

use super::span::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Suspicious, but the model is understood.
    Warning,
    /// The model is refused.
    Error,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// Stable code, such as `P0012`; explained in [`codes`](super::codes).
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// The place it is about.
    pub primary: Span,
    /// Further places, with what they have to do with it.
    pub labels: Vec<(Span, String)>,
    /// Further sentences.
    pub notes: Vec<String>,
    /// What to write instead, in words.
    pub suggestion: Option<String>,
}

impl Diagnostic {
    /// An error.
    pub fn error(code: &'static str, primary: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code,
            message: message.into(),
            primary,
            labels: Vec::new(),
            notes: Vec::new(),
            suggestion: None,
        }
    }

    /// A warning.
    pub fn warning(code: &'static str, primary: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, primary, message) }
    }

    /// Adds a second place.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push((span, text.into()));
        self
    }

    /// Adds a sentence.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Adds what to write instead.
    pub fn suggest(mut self, text: impl Into<String>) -> Diagnostic {
        self.suggestion = Some(text.into());
        self
    }

    /// Whether this refuses the model.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// `1 field`, `2 fields`.
pub(crate) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// `1 is given`, `2 are given`.
pub(crate) fn given(number: usize) -> String {
    if number == 1 { "1 is given".into() } else { format!("{number} are given") }
}

/// More errors than this are not useful in one run.
const MAXIMAL_ERRORS: usize = 20;
/// More warnings than this are not useful in one run.
const MAXIMAL_WARNINGS: usize = 100;

/// Collects findings, with a cap and without repetitions at one place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Diagnostic>,
    errors: usize,
}

impl Findings {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        // A macro or inline used ten times has its errors once.
        let place = |d: &Diagnostic| (d.primary.file, d.primary.start, d.primary.end, d.code);
        let seen = self.list.iter().any(|d| place(d) == place(&diagnostic));
        if seen {
            return;
        }
        if diagnostic.is_error() {
            self.errors += 1;
            if self.errors > MAXIMAL_ERRORS {
                return;
            }
        } else if self.list.len() - self.errors.min(MAXIMAL_ERRORS) >= MAXIMAL_WARNINGS {
            return;
        }
        self.list.push(diagnostic);
    }

    /// Whether any error was found.
    pub(crate) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Whether looking further is pointless.
    pub(crate) fn is_full(&self) -> bool {
        self.errors >= MAXIMAL_ERRORS
    }

    /// All findings: errors first in order of the text, then warnings.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|d| (std::cmp::Reverse(d.severity), d.primary.file, d.primary.start));
        self.list
    }
}
