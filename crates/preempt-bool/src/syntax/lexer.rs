//! Splits the text of a Boolean program into tokens.
//!
//! Written by hand because the dialects disagree on what an identifier is, and `{any text}` is one.

use super::Dialect;
use super::ast::Span;
use crate::diagnostic::{Diagnostic, Lines};

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// An identifier or keyword; braces of a SLAM identifier are part of it.
    Word(String),
    Number(u64),
    /// Punctuation and operators, normalised: `&&` is `&`, `~` is `!`, `?` is `*`.
    Sign(&'static str),
    End,
}

/// Words that name nothing.
pub(super) const KEYWORDS: &[&str] = &[
    "decl",
    "begin",
    "end",
    "if",
    "then",
    "else",
    "elsif",
    "fi",
    "while",
    "do",
    "od",
    "skip",
    "goto",
    "return",
    "assume",
    "assert",
    "void",
    "bool",
    "int",
    "call",
    "enforce",
    "constrain",
    "dead",
    "abortif",
    "start_thread",
    "end_thread",
    "atomic_begin",
    "atomic_end",
    "thread_local",
    "T",
    "F",
    "true",
    "false",
    "schoose",
    "choose",
    "print",
];

const SIGNS: &[(&str, &str)] = &[
    (":=", ":="),
    ("<=>", "="),
    ("=>", "=>"),
    ("==", "="),
    ("!=", "!="),
    ("<=", "<="),
    (">=", ">="),
    ("&&", "&"),
    ("||", "|"),
    ("&", "&"),
    ("|", "|"),
    ("^", "^"),
    ("=", "="),
    ("<", "<"),
    (">", ">"),
    ("+", "+"),
    ("-", "-"),
    ("!", "!"),
    ("~", "!"),
    ("*", "*"),
    ("?", "*"),
    ("(", "("),
    (")", ")"),
    ("[", "["),
    ("]", "]"),
    (",", ","),
    (";", ";"),
    (":", ":"),
    ("'", "'"),
];

/// The tokens with their places; characters that start none are reported and passed over.
pub(super) fn tokens(
    source: &str,
    dialect: Dialect,
    lines: &Lines,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<(Token, Span)> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &source[at..];
        let start = at;
        if bytes[at].is_ascii_whitespace() {
            at += 1;
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            match rest.find("*/") {
                Some(end) => at += end + 2,
                None => {
                    let span = start..start + 2;
                    diagnostics.push(lines.error("B0001", &span, "this comment has no end"));
                    at = bytes.len();
                }
            }
        } else if bytes[at] == b'{' {
            match brace_length(rest) {
                Some(length) => {
                    at += length;
                    tokens.push((Token::Word(rest[..length].into()), start..at));
                }
                None => {
                    let span = start..start + 1;
                    diagnostics.push(lines.error("B0001", &span, "this `{` has no `}`"));
                    at = bytes.len();
                }
            }
        } else if bytes[at].is_ascii_digit() {
            at += rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let value = source[start..at].parse().unwrap_or_else(|_| {
                let message = "this number is too large: at most 32 bits are supported";
                diagnostics.push(lines.error("B0004", &(start..at), message));
                0
            });
            tokens.push((Token::Number(value), start..at));
        } else if starts_word(bytes[at]) {
            while at < bytes.len() && continues_word(bytes, at, dialect) {
                at += 1;
            }
            tokens.push((Token::Word(source[start..at].into()), start..at));
        } else if let Some((text, sign)) = SIGNS.iter().find(|(text, _)| rest.starts_with(text)) {
            at += text.len();
            tokens.push((Token::Sign(sign), start..at));
        } else {
            let character = rest.chars().next().unwrap_or(' ');
            at += character.len_utf8();
            let message = format!("`{character}` has no meaning here");
            diagnostics.push(lines.error("B0001", &(start..at), message));
        }
    }
    tokens.push((Token::End, bytes.len()..bytes.len()));
    tokens
}

fn starts_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$')
}

fn continues_word(bytes: &[u8], at: usize, dialect: Dialect) -> bool {
    let byte = bytes[at];
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'$')
        || dialect != Dialect::Slam
            && (byte == b'#'
                // `a-1` stays a subtraction: a name goes on only with a letter.
                || byte == b'-' && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic))
}

/// Length of `{…}`, with braces inside paired.
fn brace_length(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b'\n' => return None,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}
