//! Text to tokens: one lexer for the preprocessor and for Promela.
//!
//! Comments and continued lines vanish here. What is no token becomes [`Kind::Bad`], reported only
//! where it is used, because skipped conditional text may contain anything.

use super::codes;
use super::diagnostic::{Diagnostic, Findings};
use super::span::{FileId, Span};
use super::token::{BadToken, Kind, Token};

/// Longest first, so that the first match is the longest.
const MARKS: &[&str] = &[
    "-->", "<->", "...", "::", "->", "..", "!!", "!=", "??", "++", "--", "<<", "<=", "<>", ">>",
    ">=", "==", "&&", "||", "/\\", "\\/", "##", "#", "@", "~", "^", ":", "-", ".", "!", "?", "+",
    "<", ">", "=", "&", "|", "/", "*", "%", "(", ")", "[", "]", "{", "}", ";", ",",
];

/// All tokens of one file, without the end mark.
pub(crate) fn lex(file: FileId, text: &str, findings: &mut Findings) -> Vec<Token> {
    let mut lexer = Lexer { file, text, bytes: text.as_bytes(), at: 0 };
    let mut tokens = Vec::new();
    let mut starts_line = true;
    let mut after_space = false;
    while let Some(&byte) = lexer.bytes.get(lexer.at) {
        match byte {
            b'\n' => {
                lexer.at += 1;
                starts_line = true;
                after_space = true;
            }
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c => {
                lexer.at += 1;
                after_space = true;
            }
            b'\\' if lexer.continues_line() => after_space = true,
            b'/' if lexer.peek(1) == Some(b'*') => {
                let start = lexer.at;
                match text[start + 2..].find("*/") {
                    Some(length) => lexer.at = start + 2 + length + 2,
                    None => {
                        let span = lexer.span(start, start + 2);
                        findings.push(Diagnostic::error(
                            codes::UNTERMINATED_COMMENT,
                            span,
                            "this comment is never closed",
                        ));
                        lexer.at = text.len();
                    }
                }
                after_space = true;
            }
            b'/' if lexer.peek(1) == Some(b'/') => {
                while lexer.bytes.get(lexer.at).is_some_and(|b| *b != b'\n') {
                    if !lexer.continues_line() {
                        lexer.at += 1;
                    }
                }
                after_space = true;
            }
            _ => {
                let start = lexer.at;
                let kind = lexer.token();
                let span = lexer.span(start, lexer.at);
                tokens.push(Token { kind, span, starts_line, after_space, frozen: false });
                starts_line = false;
                after_space = false;
            }
        }
    }
    tokens
}

struct Lexer<'a> {
    file: FileId,
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl Lexer<'_> {
    fn span(&self, start: usize, end: usize) -> Span {
        Span { file: self.file, start: start as u32, end: end as u32, expansion: None }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    /// Steps over a backslash with the line end behind it, if that is what stands here.
    fn continues_line(&mut self) -> bool {
        let rest = &self.bytes[self.at..];
        let length = if rest.starts_with(b"\\\n") {
            2
        } else if rest.starts_with(b"\\\r\n") {
            3
        } else {
            return false;
        };
        self.at += length;
        true
    }

    fn token(&mut self) -> Kind {
        let start = self.at;
        let byte = self.bytes[start];
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                self.skip_word();
                Kind::Name(self.text[start..self.at].into())
            }
            b'0'..=b'9' => {
                self.skip_word();
                Kind::Number(self.text[start..self.at].into())
            }
            b'"' => self.string(),
            b'\'' => self.character(),
            _ => {
                let rest = &self.text[start..];
                if let Some(mark) = MARKS.iter().find(|m| rest.starts_with(**m)) {
                    self.at += mark.len();
                    // Spin reads the long arrow as the short one.
                    return Kind::Mark(if *mark == "-->" { "->" } else { mark });
                }
                let stray = rest.chars().next().unwrap_or('\u{fffd}');
                self.at += stray.len_utf8();
                Kind::Bad(BadToken::Stray(stray))
            }
        }
    }

    fn skip_word(&mut self) {
        while self.peek(0).is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_') {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Kind {
        self.at += 1;
        let start = self.at;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'"' => {
                    let text = self.text[start..self.at].replace("\\\r\n", "").replace("\\\n", "");
                    self.at += 1;
                    return Kind::String(text.into());
                }
                b'\\' if self.continues_line() => {}
                b'\\' if self.peek(1).is_some_and(|b| b.is_ascii() && b != b'\n') => self.at += 2,
                b'\n' => break,
                _ => self.at += 1,
            }
        }
        Kind::Bad(BadToken::UnterminatedString)
    }

    fn character(&mut self) -> Kind {
        let rest = &self.bytes[self.at..];
        let (value, length) = match rest {
            [_, b'\\', escape, b'\'', ..] => {
                let value = match escape {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'0' => 0,
                    other => *other,
                };
                (value, 4)
            }
            [_, plain, b'\'', ..] if *plain != b'\n' && *plain != b'\\' => (*plain, 3),
            _ => {
                self.at += 1;
                return Kind::Bad(BadToken::MalformedCharacter);
            }
        };
        self.at += length;
        Kind::Character(i32::from(value))
    }
}
