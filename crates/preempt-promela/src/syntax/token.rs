//! Tokens, shared by the preprocessor and the parser.

use std::sync::Arc;

use super::span::Span;

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier or keyword.
    Name(Arc<str>),
    /// Decimal digits, followed by whatever letters stuck to them.
    Number(Arc<str>),
    /// A character constant, by its value.
    Character(i32),
    /// A string, without its quotes, escapes untouched.
    String(Arc<str>),
    /// Operators and brackets.
    Mark(&'static str),
    /// A piece of C, from its opening to its closing brace.
    Code(Arc<Code>),
    /// Something that is no token; an error once it is known not to lie in skipped text.
    Bad(BadToken),
    /// The end of the text.
    End,
}

/// A piece of C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    /// The precondition in brackets.
    pub(crate) guard: Option<String>,
    /// What stands between the braces.
    pub(crate) text: String,
    /// The line on which the text begins.
    pub(crate) line: u32,
}

/// Why something is no token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BadToken {
    UnterminatedString,
    MalformedCharacter,
    Stray(char),
}

/// A token with its place.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    /// First on its line: a `#` here starts a directive.
    pub(crate) starts_line: bool,
    /// Preceded by white space: says `#define f(x)` from `#define f (x)`.
    pub(crate) after_space: bool,
    /// A macro's name met inside its own expansion: never expanded again.
    pub(crate) frozen: bool,
}

impl Token {
    pub(crate) fn is(&self, mark: &str) -> bool {
        matches!(self.kind, Kind::Mark(m) if m == mark)
    }

    pub(crate) fn name(&self) -> Option<&Arc<str>> {
        match &self.kind {
            Kind::Name(name) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn is_name(&self, name: &str) -> bool {
        self.name().is_some_and(|n| &**n == name)
    }

    /// The token as text, for messages, pasting and stringifying.
    pub(crate) fn text(&self) -> String {
        match &self.kind {
            Kind::Name(text) | Kind::Number(text) => text.to_string(),
            Kind::Character(value) => match u8::try_from(*value) {
                Ok(b'\n') => "'\\n'".into(),
                Ok(b'\t') => "'\\t'".into(),
                Ok(b'\r') => "'\\r'".into(),
                Ok(b'\\') => "'\\\\'".into(),
                Ok(0) => "'\\0'".into(),
                Ok(byte) => format!("'{}'", byte as char),
                Err(_) => value.to_string(),
            },
            Kind::String(text) => format!("\"{text}\""),
            Kind::Mark(mark) => (*mark).into(),
            Kind::Code(code) => {
                let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                match &code.guard {
                    Some(guard) => format!("[{}] {{ {} }}", words(guard), words(&code.text)),
                    None => format!("{{ {} }}", words(&code.text)),
                }
            }
            Kind::Bad(BadToken::Stray(c)) => c.to_string(),
            Kind::Bad(BadToken::UnterminatedString) => "\"".into(),
            Kind::Bad(BadToken::MalformedCharacter) => "'".into(),
            Kind::End => "end of file".into(),
        }
    }
}
