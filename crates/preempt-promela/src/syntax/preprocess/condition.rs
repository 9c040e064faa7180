//! The expressions of `#if` and `#elif`.

use super::super::codes;
use super::super::span::Span;
use super::super::token::{Kind, Token};
use super::Preprocessor;

const MAXIMAL_DEPTH: usize = 100;

impl Preprocessor<'_> {
    /// Whether the condition holds; a malformed one is reported and does not.
    pub(super) fn condition(&mut self, tokens: &[Token], span: Span) -> bool {
        let resolved = self.resolve_defined(tokens);
        let expanded = self.expand_all(resolved);
        let mut parser = Condition { tokens: &expanded, at: 0, depth: 0 };
        match parser.ternary() {
            Some(value) if parser.at == expanded.len() => value != 0,
            _ => {
                let place = expanded.get(parser.at).map_or(span, |t| t.span);
                let message = if expanded.is_empty() {
                    "this condition is empty"
                } else {
                    "this condition is not an integer expression"
                };
                self.error(codes::BAD_CONDITION, place, message);
                false
            }
        }
    }

    /// Replaces `defined X` and `defined(X)` by 0 or 1, before anything is expanded.
    fn resolve_defined(&self, tokens: &[Token]) -> Vec<Token> {
        let mut result = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let token = &tokens[at];
            if token.is_name("defined") {
                let (name, length) = match &tokens[at + 1..] {
                    [open, name, close, ..] if open.is("(") && close.is(")") => (name.name(), 4),
                    [name, ..] => (name.name(), 2),
                    [] => (None, 1),
                };
                if let Some(name) = name {
                    let value = if self.macros.contains_key(name) { "1" } else { "0" };
                    result.push(Token { kind: Kind::Number(value.into()), ..token.clone() });
                    at += length;
                    continue;
                }
            }
            result.push(token.clone());
            at += 1;
        }
        result
    }
}

struct Condition<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
}

const LEVELS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", "<=", ">", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Condition<'_> {
    fn eat(&mut self, mark: &str) -> bool {
        let hit = self.tokens.get(self.at).is_some_and(|t| t.is(mark));
        self.at += usize::from(hit);
        hit
    }

    fn ternary(&mut self) -> Option<i64> {
        let condition = self.binary(0)?;
        if !self.eat("?") {
            return Some(condition);
        }
        let then = self.ternary()?;
        if !self.eat(":") {
            return None;
        }
        let otherwise = self.ternary()?;
        Some(if condition != 0 { then } else { otherwise })
    }

    fn binary(&mut self, level: usize) -> Option<i64> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) =
            operators.iter().find(|o| self.tokens.get(self.at).is_some_and(|t| t.is(o)))
        {
            self.at += 1;
            let right = self.binary(level + 1)?;
            left = match *operator {
                "||" => i64::from(left != 0 || right != 0),
                "&&" => i64::from(left != 0 && right != 0),
                "|" => left | right,
                "^" => left ^ right,
                "&" => left & right,
                "==" => i64::from(left == right),
                "!=" => i64::from(left != right),
                "<" => i64::from(left < right),
                "<=" => i64::from(left <= right),
                ">" => i64::from(left > right),
                ">=" => i64::from(left >= right),
                "<<" => left.wrapping_shl(right as u32),
                ">>" => left.wrapping_shr(right as u32),
                "+" => left.wrapping_add(right),
                "-" => left.wrapping_sub(right),
                "*" => left.wrapping_mul(right),
                // `A != 0 && B / A` must not fail on the side that does not count.
                "/" => left.checked_div(right).unwrap_or(0),
                _ => left.checked_rem(right).unwrap_or(0),
            };
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > MAXIMAL_DEPTH {
            return None;
        }
        let value = if self.eat("!!") {
            i64::from(self.unary()? != 0)
        } else if self.eat("!") {
            i64::from(self.unary()? == 0)
        } else if self.eat("-") {
            self.unary()?.wrapping_neg()
        } else if self.eat("+") {
            self.unary()?
        } else if self.eat("~") {
            !self.unary()?
        } else if self.eat("(") {
            let value = self.ternary()?;
            if !self.eat(")") {
                return None;
            }
            value
        } else {
            let token = self.tokens.get(self.at)?;
            self.at += 1;
            match &token.kind {
                Kind::Name(_) => 0,
                Kind::Number(text) => number(text)?,
                Kind::Character(value) => i64::from(*value),
                _ => {
                    self.at -= 1;
                    return None;
                }
            }
        };
        self.depth -= 1;
        Some(value)
    }
}

/// A number as C writes it: decimal, octal, hexadecimal, with suffixes.
fn number(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    if let Some(hexadecimal) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return i64::from_str_radix(hexadecimal, 16).ok();
    }
    if digits.len() > 1 && digits.starts_with('0') {
        return i64::from_str_radix(digits, 8).ok();
    }
    digits.parse().ok()
}
