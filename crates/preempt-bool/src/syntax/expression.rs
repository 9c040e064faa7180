//! Expressions: precedence climbing, with the table of the dialect.
//!
//! Later passes walk trees recursively, so a chain of `&`, `|` or `^` becomes a flat tree, and the
//! depth of everything else is counted here, once.

use super::Dialect;
use super::ast::{Expr, ExprKind, Operator};
use super::lexer::Token;
use super::parser::{Parser, Refused};

/// Deepest expression that is read.
const MAX_DEPTH: usize = 1500;

const OPERATORS: &[(&str, Operator)] = &[
    ("&", Operator::And),
    ("|", Operator::Or),
    ("^", Operator::Xor),
    ("=>", Operator::Implies),
    ("=", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<", Operator::Less),
    ("<=", Operator::LessEqual),
    (">", Operator::Greater),
    (">=", Operator::GreaterEqual),
    ("+", Operator::Plus),
    ("-", Operator::Minus),
];

/// How tightly an operator binds, and whether it groups to the right.
pub(crate) fn binding(operator: Operator, dialect: Dialect) -> (u8, bool) {
    use Operator::*;
    match (dialect, operator) {
        (_, Plus | Minus) => (9, false),
        (_, Less | LessEqual | Greater | GreaterEqual) => (8, false),
        (Dialect::Slam, Equal | Unequal) => (7, false),
        (Dialect::Slam, And) => (6, false),
        (Dialect::Slam, Xor) => (5, false),
        (Dialect::Slam, Or) => (4, false),
        (Dialect::Slam, Implies) => (3, false),
        (_, And) => (6, false),
        (_, Or) => (5, false),
        (_, Xor) => (4, false),
        (_, Equal | Unequal | Implies) => (3, true),
    }
}

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Result<Expr, Refused> {
        Ok(self.climb(0)?.0)
    }

    fn operator(&self) -> Option<Operator> {
        let Token::Sign(sign) = self.peek() else { return None };
        OPERATORS.iter().find(|(text, _)| text == sign).map(|(_, operator)| *operator)
    }

    /// The expression and its depth.
    fn climb(&mut self, least: u8) -> Result<(Expr, usize), Refused> {
        let (mut left, mut depth) = self.unary()?;
        while let Some(operator) = self.operator() {
            let (power, to_the_right) = binding(operator, self.dialect);
            if power < least {
                break;
            }
            let inner = if to_the_right { power } else { power + 1 };
            let chains = matches!(operator, Operator::And | Operator::Or | Operator::Xor);
            self.warn_about_grouping(operator, &left);
            let mut operands = vec![left];
            while self.operator() == Some(operator) && (chains || operands.len() == 1) {
                self.advance();
                let (right, right_depth) = self.nested(|parser| parser.climb(inner))?;
                self.warn_about_grouping(operator, &right);
                depth = depth.max(right_depth);
                operands.push(right);
            }
            depth += operands.len().next_power_of_two().trailing_zeros() as usize;
            left = match Expr::chain(operator, operands) {
                Some(tree) => tree,
                None => return Err(self.unexpected("an expression")),
            };
            if depth > MAX_DEPTH {
                return Err(self.refuse(
                    "B0003",
                    &left.span,
                    "this expression is nested too deeply",
                ));
            }
        }
        Ok((left, depth))
    }

    fn unary(&mut self) -> Result<(Expr, usize), Refused> {
        let span = self.span();
        let kind = match self.peek().clone() {
            Token::Sign("!") => {
                self.advance();
                let (inner, depth) = self.nested(Self::unary)?;
                let span = span.start..inner.span.end;
                return Ok((Expr { kind: ExprKind::Not(Box::new(inner)), span }, depth + 1));
            }
            Token::Sign("(") => {
                self.advance();
                let (mut inner, depth) = self.nested(|parser| parser.climb(0))?;
                self.expect(")")?;
                // The parentheses belong to it: this is how a grouping warning knows of them.
                inner.span = span.start..self.last_end();
                return Ok((inner, depth + 1));
            }
            Token::Sign("*") => ExprKind::Nondet,
            Token::Sign("'") => {
                self.advance();
                let name = self.name("a variable after `'`")?;
                let span = span.start..name.span.end;
                return Ok((Expr { kind: ExprKind::Next(name.text), span }, 1));
            }
            Token::Number(value) => ExprKind::Int(value),
            Token::Word(word) => match word.as_str() {
                "T" | "true" => ExprKind::Bool(true),
                "F" | "false" => ExprKind::Bool(false),
                "schoose" | "choose" => return self.choice(),
                _ => ExprKind::Variable(self.name("an expression")?.text),
            },
            _ => return Err(self.unexpected("an expression")),
        };
        if !matches!(kind, ExprKind::Variable(_)) {
            self.advance();
        }
        Ok((Expr { kind, span }, 1))
    }

    fn choice(&mut self) -> Result<(Expr, usize), Refused> {
        let start = self.span().start;
        self.advance();
        self.expect("[")?;
        let (positive, a) = self.nested(|parser| parser.climb(0))?;
        self.expect(",")?;
        let (negative, b) = self.nested(|parser| parser.climb(0))?;
        self.expect("]")?;
        let span = start..self.last_end();
        let kind = ExprKind::Choose(Box::new(positive), Box::new(negative));
        Ok((Expr { kind, span }, a.max(b) + 1))
    }

    /// Warns where the other family of tools would read `outer` and the operator of `inner`
    /// the other way round.
    fn warn_about_grouping(&mut self, outer: Operator, inner: &Expr) {
        let ExprKind::Binary(operator, ..) = inner.kind else { return };
        if self.source[inner.span.clone()].starts_with('(') && self.is_wrapped(inner) {
            return;
        }
        let is_equality = |o| matches!(o, Operator::Equal | Operator::Unequal);
        let is_connective = |o| matches!(o, Operator::And | Operator::Or | Operator::Xor);
        if is_equality(outer) && is_connective(operator)
            || is_connective(outer) && is_equality(operator)
        {
            let message = "`=` beside `&`, `|` or `^`: tools group this differently";
            let warning = self
                .lines
                .error("B0101", &inner.span, message)
                .note("add parentheses, or choose the dialect the file was written for")
                .warning();
            self.warnings.push(warning);
        }
    }

    /// Whether the parentheses at both ends of the text of `expr` belong to each other.
    fn is_wrapped(&self, expr: &Expr) -> bool {
        let text = &self.source[expr.span.clone()];
        let mut depth = 0usize;
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at + 1 == text.len();
            }
        }
        false
    }
}
