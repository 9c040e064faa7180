//! The words and marks of a text, for colours, names and formatting.
//!
//! The compiler's lexer drops what an editor needs: comments, directives, texts that do not compile. This one
//! keeps everything and never fails. **Invariant:** tokens are in order, do not overlap and lie on boundaries of
//! characters; what is between them is white space.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A name or keyword.
    Word,
    /// A number or character.
    Number,
    /// A string.
    String,
    /// A comment.
    Comment,
    /// `#define` and the like: the `#` with the word behind it.
    Directive,
    /// Everything else, operators as a whole.
    Mark,
}

/// A token with its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) range: Range<usize>,
    /// It stands in a line (with its continuations) that begins with a directive.
    pub(crate) in_directive: bool,
}

impl Token {
    pub(crate) fn text<'t>(&self, text: &'t str) -> &'t str {
        &text[self.range.clone()]
    }
}

/// Longest first.
const MARKS: &[&str] = &[
    "<->", "-->", "::", "->", "..", "!!", "!=", "??", "++", "--", "<<", "<=", "<>", ">>", ">=",
    "==", "&&", "||", ":=",
];

/// All tokens of a text.
pub(crate) fn scan(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let (mut at, mut tokens) = (0, Vec::new());
    let (mut directive, mut starts_line) = (false, true);
    while at < bytes.len() {
        let start = at;
        let rest = &text[at..];
        let until = |length: usize| start + length;
        let word = |from: usize| {
            let is_letter = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
            from + bytes[from..].iter().take_while(|b| is_letter(b)).count()
        };
        let kind = match bytes[at] {
            b'\n' => {
                (at, directive, starts_line) = (at + 1, false, true);
                continue;
            }
            b'\\' if rest.starts_with("\\\n") || rest.starts_with("\\\r\n") => {
                at += rest.find('\n').map_or(1, |length| length + 1);
                continue;
            }
            byte if byte.is_ascii_whitespace() || byte == 0x0b => {
                at += 1;
                continue;
            }
            b'/' if rest.starts_with("/*") => {
                at = rest[2..].find("*/").map_or(text.len(), |length| until(length + 4));
                Kind::Comment
            }
            b'/' if rest.starts_with("//") => {
                at = rest.find('\n').map_or(text.len(), until);
                Kind::Comment
            }
            b'"' => {
                let mut end = at + 1;
                while end < bytes.len() && bytes[end] != b'"' && bytes[end] != b'\n' {
                    end += if bytes[end] == b'\\' { 2 } else { 1 };
                }
                at = (end + usize::from(bytes.get(end) == Some(&b'"'))).min(text.len());
                while !text.is_char_boundary(at) {
                    at += 1;
                }
                Kind::String
            }
            b'\'' => {
                let inside = if rest.starts_with("'\\") { 2 } else { 1 };
                let close =
                    rest.char_indices().skip(inside).find(|(_, c)| *c == '\'' || *c == '\n');
                at = match close {
                    Some((length, '\'')) => until(length + 1),
                    _ => at + 1,
                };
                Kind::Number
            }
            b'#' if starts_line => {
                directive = true;
                let blanks = rest[1..].bytes().take_while(|b| *b == b' ' || *b == b'\t').count();
                at = word(at + 1 + blanks);
                Kind::Directive
            }
            byte if byte.is_ascii_digit() => {
                at = word(at);
                Kind::Number
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                at = word(at);
                Kind::Word
            }
            _ => {
                let known =
                    MARKS.iter().find(|mark| rest.starts_with(**mark)).map(|mark| mark.len());
                at += known.unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8));
                Kind::Mark
            }
        };
        starts_line = starts_line && kind == Kind::Comment;
        tokens.push(Token { kind, range: start..at, in_directive: directive });
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_in_order_whatever_the_text() {
        let pieces = [
            "#define x",
            "/*",
            "*/",
            "//",
            "\"",
            "'",
            "\\\n",
            "\\",
            "é",
            "😀",
            "\n",
            " ",
            "ab",
            "12",
            "->",
            "::",
        ];
        let mut random = 1_u32;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..12 {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                text.push_str(pieces[(random >> 16) as usize % pieces.len()]);
            }
            let mut end = 0;
            for token in scan(&text) {
                assert!(
                    token.range.start >= end && token.range.end > token.range.start,
                    "{text:?}"
                );
                assert!(text.get(token.range.clone()).is_some(), "{text:?}");
                let between =
                    text[end..token.range.start].replace("\\\r\n", "").replace("\\\n", "");
                assert!(between.trim().is_empty(), "{text:?}");
                end = token.range.end;
            }
        }
    }
}
