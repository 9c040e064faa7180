//! Habits from C and other languages: what to write in Promela instead.
//!
//! Nothing here changes what is accepted; it only says more about what is refused, and steps over the
//! whole of a construct that Promela does not have, so that one habit is one error.

use super::super::codes;
use super::super::diagnostic::Diagnostic;
use super::super::token::{Kind, Token};
use super::{Parser, Reported};

/// What to write instead of a word that other languages have.
pub(super) fn for_word(word: &str) -> Option<&'static str> {
    Some(match word {
        "while" | "until" | "loop" | "repeat" => {
            "a loop is `do :: condition -> … :: else -> break od`"
        }
        "switch" | "case" | "elif" | "elsif" | "elseif" | "then" | "endif" => {
            "a choice is `if :: condition -> … :: else -> … fi`"
        }
        "print" | "println" | "puts" | "echo" => "output is `printf(\"…\\n\", …)`",
        "continue" => "put a label in front of the loop and `goto` it",
        "spawn" | "fork" | "start" | "thread" => "a process is started by `run P(…)`",
        "wait" | "await" | "when" => "a condition that stands alone as a statement is waited for",
        "sleep" | "delay" => "there is no time in Promela; processes may wait at any statement",
        "throw" | "raise" | "abort" | "exit" => "`assert(false)` is an error",
        _ => return None,
    })
}

/// What to write instead of a type that other languages have.
pub(super) fn for_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "char" | "uint8" | "uint8_t" | "u8" => "`byte` holds 0 to 255",
        "boolean" | "Boolean" | "_Bool" => "a truth value is a `bool`",
        "int16" | "int16_t" | "i16" => "`short` has 16 bits and a sign",
        "long" | "integer" | "int32" | "int32_t" | "i32" | "size_t" => {
            "`int` has 32 bits and a sign"
        }
        "uint" | "uint16_t" | "uint32_t" | "u16" | "u32" => "`unsigned x : N` has N bits",
        "float" | "double" => "there are whole numbers only",
        "void" | "function" | "def" | "fn" | "func" => {
            "statements under a name are an `inline f(x) { … }`, a process is a `proctype P(…) { … }`"
        }
        "const" | "constexpr" | "static" | "final" => "a constant is `#define N 3`",
        "enum" => "symbolic constants are `mtype = { a, b }`",
        "struct" | "record" | "class" => "a structure is `typedef T { byte a; byte b }`",
        "import" | "use" => "another file comes in by `#include \"file\"`",
        _ => return None,
    })
}

/// What to write instead of an operator that other languages have.
fn for_operator(found: &str) -> Option<&'static str> {
    Some(match found {
        "?" => "a conditional expression is `(condition -> a : b)`",
        "and" => "`&&` is and",
        "or" => "`||` is or",
        "not" => "`!` is not",
        "xor" => "`^` is the exclusive or",
        "mod" => "`%` is the remainder",
        "<>" => "`!=` is unequal",
        _ => return for_word(found),
    })
}

/// Adds what to write instead, if that is known.
pub(super) fn instead(diagnostic: Diagnostic, token: &Token) -> Diagnostic {
    match for_operator(&token.text()) {
        Some(hint) => diagnostic.suggest(hint),
        None => diagnostic,
    }
}

impl Parser<'_> {
    /// `+=` and its like, and `:=`, written without a space.
    pub(super) fn foreign_assignment(&self) -> Option<String> {
        let Kind::Mark(first) = self.token().kind else { return None };
        let follows = self.ahead(1).is("=") && !self.ahead(1).after_space;
        let is_operator =
            matches!(first, "+" | "-" | "*" | "/" | "%" | "&" | "|" | "^" | "<<" | ">>" | ":");
        (follows && is_operator).then(|| format!("{first}="))
    }

    /// Refuses `x += 1` and `x := 1`; `name` is what stands on the left.
    pub(super) fn refuse_assignment(&mut self, operator: &str, name: &str) -> Reported {
        let span = self.span();
        let hint = match operator {
            ":=" => format!("an assignment is `{name} = …`"),
            _ => format!("write `{name} = {name} {} …`", &operator[..operator.len() - 1]),
        };
        let message = format!("there is no operator `{operator}`");
        self.report(Diagnostic::error(codes::UNEXPECTED, span, message).suggest(hint))
    }

    /// An `if` or `do` without options.
    pub(super) fn refuse_without_options(&mut self, close: &str) -> Reported {
        let hint = match close {
            "fi" => "a choice is `if :: condition -> … :: else -> … fi`",
            _ => "a loop is `do :: condition -> … :: else -> break od`",
        };
        let message = format!("expected `::`, found `{}`", self.token().text());
        let span = self.span();
        let reported =
            self.report(Diagnostic::error(codes::UNEXPECTED, span, message).suggest(hint));
        self.skip_past(close);
        reported
    }

    /// `for (x = 0; x < 3; x++) { … }`
    pub(super) fn refuse_for(&mut self) -> Reported {
        let span = self.span();
        let message = format!("expected `:`, found `{}`", self.token().text());
        let diagnostic = Diagnostic::error(codes::UNEXPECTED, span, message).suggest(
            "a loop over numbers is `for (i : 0 .. N - 1) { … }`, with `i` declared before",
        );
        let reported = self.report(diagnostic);
        let mut depth = 1usize;
        while depth > 0 && !self.at_end() {
            let token = self.bump();
            depth += usize::from(token.is("("));
            depth -= usize::from(token.is(")"));
        }
        reported
    }

    /// Goes behind the `fi` or `od` that closes what is open here, if there is one in this block.
    fn skip_past(&mut self, close: &str) {
        let (mut at, mut braces, mut inner) = (self.at, 0usize, 0usize);
        while let Some(token) = self.tokens.get(at) {
            at += 1;
            if token.is("{") {
                braces += 1;
            } else if token.is("}") {
                let Some(left) = braces.checked_sub(1) else { return };
                braces = left;
            } else if token.is_name("if") || token.is_name("do") {
                inner += 1;
            } else if token.is_name("fi") || token.is_name("od") {
                if inner == 0 {
                    if token.is_name(close) {
                        self.at = at.min(self.tokens.len() - 1);
                    }
                    return;
                }
                inner -= 1;
            }
        }
    }
}
