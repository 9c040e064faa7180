//! What can go wrong with text or size. Never a panic.

/// A refusal, with the place in the text where there is one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not in the language.
    #[error("{line}:{column}: {message}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// One sentence.
        message: String,
    },
    /// Valuations are 64 bits wide.
    #[error("{0} propositions, but at most 64 are supported")]
    TooManyPropositions(usize),
    /// A construction passed its size limit.
    #[error("the automaton grows beyond {limit} {unit}; simplify the formula or split it")]
    TooLarge {
        /// The limit that was passed.
        limit: usize,
        /// What is counted.
        unit: &'static str,
    },
    /// The construction needs a stutter-invariant language.
    #[error("the property is not stutter invariant, so it has no SI normal form")]
    NotStutterInvariant,
}

impl Error {
    pub(crate) fn syntax(text: &str, offset: usize, message: impl Into<String>) -> Error {
        let before = &text[..offset.min(text.len())];
        let line = before.matches('\n').count() + 1;
        let line_start = before.rfind('\n').map_or(0, |n| n + 1);
        let column = before[line_start..].chars().count() + 1;
        Error::Syntax { line, column, message: message.into() }
    }
}
