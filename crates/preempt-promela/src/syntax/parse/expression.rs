//! Expressions and formulas, by binding power.
//!
//! As in Spin, `[]`, `<>` and `X` bind as tightly as `!`, and `U`, `W`, `V` tighter than `&&`. All
//! infix operators are left-associative, even `->`.

use super::super::ast::*;
use super::super::codes;
use super::super::diagnostic::Diagnostic;
use super::super::span::Span;
use super::super::token::Kind;
use super::{MAXIMAL_HEIGHT, Parse, Parser, Reported};

/// An infix operator.
#[derive(Clone, Copy)]
enum Infix {
    Plain(BinaryOp),
    Temporal(TemporalBinary),
}

impl Parser<'_> {
    /// An expression of any kind; in an `ltl` block a formula.
    pub(super) fn expression(&mut self) -> Parse<Expr> {
        self.binary(0)
    }

    fn binary(&mut self, minimum: u8) -> Parse<Expr> {
        self.nested(|this| {
            let left = this.unary()?;
            this.binary_after(left, minimum)
        })
    }

    fn binary_after(&mut self, mut left: Expr, minimum: u8) -> Parse<Expr> {
        while let Some((operator, power)) = self.infix() {
            if power < minimum {
                break;
            }
            self.bump();
            // All infix operators are left-associative, as in Spin's grammar.
            let right = self.binary(power + 1)?;
            let span = self.sources.join(left.span, right.span);
            let height = left.height.max(right.height) + 1;
            self.check_height(height, span)?;
            let (a, b) = (Box::new(left), Box::new(right));
            let kind = match operator {
                Infix::Plain(op) => ExprKind::Binary(op, a, b),
                Infix::Temporal(op) => ExprKind::TemporalBinary(op, a, b),
            };
            left = Expr { kind, span, height };
        }
        Ok(left)
    }

    fn infix(&self) -> Option<(Infix, u8)> {
        use BinaryOp as B;
        use TemporalBinary as T;
        let token = self.token();
        match &token.kind {
            Kind::Mark(mark) => {
                let plain = |op, power| Some((Infix::Plain(op), power));
                match *mark {
                    "->" if self.temporal => Some((Infix::Temporal(T::Implies), 1)),
                    "<->" if self.temporal => Some((Infix::Temporal(T::Equivalent), 1)),
                    "||" | "\\/" => plain(B::Or, 2),
                    "&&" | "/\\" => plain(B::And, 3),
                    "|" => plain(B::BitOr, 7),
                    "^" => plain(B::BitXor, 8),
                    "&" => plain(B::BitAnd, 9),
                    "==" => plain(B::Equal, 10),
                    "!=" => plain(B::NotEqual, 10),
                    // `c?<x>`: the closing bracket is none of ours when a receive is being read;
                    // its arguments are no full expressions, so there is no clash.
                    "<" => plain(B::Less, 11),
                    "<=" => plain(B::LessEqual, 11),
                    ">" => plain(B::Greater, 11),
                    ">=" => plain(B::GreaterEqual, 11),
                    "<<" => plain(B::ShiftLeft, 12),
                    ">>" => plain(B::ShiftRight, 12),
                    "+" => plain(B::Add, 13),
                    "-" => plain(B::Subtract, 13),
                    "*" => plain(B::Multiply, 14),
                    "/" => plain(B::Divide, 14),
                    "%" => plain(B::Remainder, 14),
                    _ => None,
                }
            }
            Kind::Name(name) if self.temporal => {
                let temporal = |op, power| Some((Infix::Temporal(op), power));
                match &**name {
                    "U" | "until" | "stronguntil" => temporal(T::Until, 5),
                    "W" | "weakuntil" => temporal(T::WeakUntil, 5),
                    "V" | "R" | "release" => temporal(T::Release, 5),
                    "implies" => temporal(T::Implies, 1),
                    "equivalent" => temporal(T::Equivalent, 1),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn check_height(&mut self, height: u32, span: Span) -> Parse<()> {
        if height <= MAXIMAL_HEIGHT {
            return Ok(());
        }
        Err(self.report(Diagnostic::error(
            codes::NESTED_TOO_DEEPLY,
            span,
            format!("an expression with more than {MAXIMAL_HEIGHT} operators in a row"),
        )))
    }

    fn temporal_prefix(&self) -> Option<(TemporalUnary, usize)> {
        if !self.temporal {
            return None;
        }
        let token = self.token();
        if token.is("[") && self.ahead(1).is("]") {
            return Some((TemporalUnary::Always, 2));
        }
        if token.is("<>") {
            return Some((TemporalUnary::Eventually, 1));
        }
        match token.name().map(|n| &**n) {
            Some("always") => Some((TemporalUnary::Always, 1)),
            Some("eventually") => Some((TemporalUnary::Eventually, 1)),
            Some("next") => Some((TemporalUnary::Next, 1)),
            Some("X") => {
                // A variable may be called X, too: it is one unless an operand follows.
                let next = self.ahead(1);
                let operand = match &next.kind {
                    Kind::Name(name) => !matches!(
                        &**name,
                        "U" | "V" | "W" | "R" | "until" | "weakuntil" | "release" | "implies"
                    ),
                    Kind::Number(_) | Kind::Mark("(" | "!" | "<>" | "~") => true,
                    Kind::Mark("[") => self.ahead(2).is("]"),
                    _ => false,
                };
                operand.then_some((TemporalUnary::Next, 1))
            }
            _ => None,
        }
    }

    fn unary(&mut self) -> Parse<Expr> {
        let start = self.span();
        if let Some((operator, length)) = self.temporal_prefix() {
            for _ in 0..length {
                self.bump();
            }
            let operand = self.nested(|this| this.unary())?;
            let span = self.sources.join(start, operand.span);
            let height = operand.height + 1;
            return Ok(Expr {
                kind: ExprKind::TemporalUnary(operator, Box::new(operand)),
                span,
                height,
            });
        }
        let operator = if self.is("!") {
            UnaryOp::Not
        } else if self.is("-") {
            UnaryOp::Negate
        } else if self.is("~") {
            UnaryOp::Complement
        } else if self.is("!!") {
            return Err(self.report(
                Diagnostic::error(
                    codes::UNEXPECTED,
                    start,
                    "`!!` is the sorted send, not a double negation",
                )
                .suggest("put a space between the two, or leave both out"),
            ));
        } else {
            return self.primary();
        };
        self.bump();
        let operand = self.nested(|this| this.unary())?;
        let span = self.sources.join(start, operand.span);
        let height = operand.height + 1;
        Ok(Expr { kind: ExprKind::Unary(operator, Box::new(operand)), span, height })
    }

    pub(super) fn primary(&mut self) -> Parse<Expr> {
        let token = self.token().clone();
        let span = token.span;
        match &token.kind {
            Kind::Number(text) => {
                self.bump();
                let value = self.number(text, span)?;
                Ok(leaf(ExprKind::Const(value), span))
            }
            Kind::Character(value) => {
                self.bump();
                Ok(leaf(ExprKind::Const(*value), span))
            }
            Kind::Mark("(") => self.parenthesised(),
            Kind::Mark("-") => self.unary(),
            Kind::Name(name) => self.named(name.clone().as_ref()),
            Kind::String(_) => Err(self.report(Diagnostic::error(
                codes::UNEXPECTED,
                span,
                "a string can only stand in printf",
            ))),
            _ => Err(self.unexpected("an expression")),
        }
    }

    fn number(&mut self, text: &str, span: Span) -> Parse<i32> {
        if !text.bytes().all(|b| b.is_ascii_digit()) {
            let mut diagnostic = Diagnostic::error(
                codes::BAD_NUMBER,
                span,
                format!("`{text}` is not a number: Promela's numbers are decimal"),
            );
            let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
            if let Some(value) = hexadecimal.and_then(|h| i64::from_str_radix(h, 16).ok()) {
                diagnostic = diagnostic.suggest(format!("write `{value}`"));
            }
            return Err(self.report(diagnostic));
        }
        let value = text.parse::<i64>().unwrap_or(i64::MAX);
        if value > 1 << 31 {
            self.findings.push(Diagnostic::warning(
                codes::NUMBER_TOO_LARGE,
                span,
                format!("`{text}` does not fit into 32 bits; its value here is {}", value as i32),
            ));
        }
        Ok(value as i32)
    }

    fn parenthesised(&mut self) -> Parse<Expr> {
        let start = self.bump().span;
        let inner = self.expression()?;
        if self.is("->") {
            self.bump();
            let then = self.expression()?;
            return self.conditional(start, inner, then);
        }
        if self.is(":") {
            // In a formula `->` was read as an implication.
            if let ExprKind::TemporalBinary(TemporalBinary::Implies, condition, then) = inner.kind {
                return self.conditional(start, *condition, *then);
            }
        }
        let end = self.close_parenthesis(start)?;
        Ok(Expr { span: self.sources.join(start, end), ..inner })
    }

    fn conditional(&mut self, start: Span, condition: Expr, then: Expr) -> Parse<Expr> {
        self.expect(":")?;
        let otherwise = self.expression()?;
        let end = self.close_parenthesis(start)?;
        let height = condition.height.max(then.height).max(otherwise.height) + 1;
        let kind = ExprKind::Conditional(Box::new(condition), Box::new(then), Box::new(otherwise));
        Ok(Expr { kind, span: self.sources.join(start, end), height })
    }

    fn close_parenthesis(&mut self, open: Span) -> Parse<Span> {
        if self.is(")") {
            return Ok(self.bump().span);
        }
        let found = self.token().text();
        let span = self.span();
        let diagnostic =
            Diagnostic::error(codes::UNEXPECTED, span, format!("expected `)`, found `{found}`"))
                .label(open, "this parenthesis is not closed");
        let diagnostic = super::hints::instead(diagnostic, self.token());
        Err(self.report(diagnostic))
    }

    /// What starts with a name or keyword.
    fn named(&mut self, word: &str) -> Parse<Expr> {
        let span = self.span();
        let test = match word {
            "full" => Some(ChannelTest::Full),
            "nfull" => Some(ChannelTest::NotFull),
            "empty" => Some(ChannelTest::Empty),
            "nempty" => Some(ChannelTest::NotEmpty),
            _ => None,
        };
        if let Some(test) = test {
            self.bump();
            self.expect("(")?;
            let channel = self.reference()?;
            let end = self.expect(")")?;
            return Ok(leaf(ExprKind::ChannelTest(test, channel), self.sources.join(span, end)));
        }
        match word {
            "true" | "skip" => {
                self.bump();
                Ok(leaf(ExprKind::Const(1), span))
            }
            "false" => {
                self.bump();
                Ok(leaf(ExprKind::Const(0), span))
            }
            "timeout" => {
                self.bump();
                Ok(leaf(ExprKind::Timeout, span))
            }
            "np_" => {
                self.bump();
                Ok(leaf(ExprKind::NonProgress, span))
            }
            "len" => {
                self.bump();
                self.expect("(")?;
                let channel = self.reference()?;
                let end = self.expect(")")?;
                Ok(leaf(ExprKind::Len(channel), self.sources.join(span, end)))
            }
            "enabled" | "pc_value" | "get_priority" => {
                self.bump();
                self.expect("(")?;
                let argument = self.expression()?;
                let end = self.expect(")")?;
                let height = argument.height + 1;
                let argument = Box::new(argument);
                let kind = match word {
                    "enabled" => ExprKind::Enabled(argument),
                    "pc_value" => ExprKind::PcValue(argument),
                    _ => ExprKind::GetPriority(argument),
                };
                Ok(Expr { kind, span: self.sources.join(span, end), height })
            }
            "run" => self.run(),
            "c_expr" => {
                self.bump();
                let code = self.code()?;
                Ok(leaf(ExprKind::Code(code), self.sources.join(span, self.last_span())))
            }
            "c_code" => Err(self.refuse_embedded_c()),
            "else" => Err(self.report(Diagnostic::error(
                codes::UNEXPECTED,
                span,
                "`else` stands alone as the guard of an option and cannot be part of an expression",
            ))),
            _ => self.reference_expression(),
        }
    }

    fn run(&mut self) -> Parse<Expr> {
        let start = self.bump().span;
        let proctype = self.ident("a process type")?;
        self.expect("(")?;
        let mut arguments = Vec::new();
        if !self.is(")") {
            arguments.push(self.expression()?);
            while self.eat(",") {
                arguments.push(self.expression()?);
            }
        }
        let mut end = self.expect(")")?;
        let mut priority = None;
        if self.eat_word("priority") {
            let value = self.primary()?;
            end = value.span;
            priority = Some(Box::new(value));
        }
        let height = arguments.iter().map(|a| a.height).max().unwrap_or(0) + 1;
        Ok(Expr {
            kind: ExprKind::Run { proctype, arguments, priority },
            span: self.sources.join(start, end),
            height,
        })
    }

    fn reference_expression(&mut self) -> Parse<Expr> {
        let reference = self.reference()?;
        self.after_reference(reference)
    }

    /// A variable, a poll or a remote reference: decided by what follows the name.
    pub(super) fn after_reference(&mut self, reference: Reference) -> Parse<Expr> {
        let span = reference.span;
        if (self.is("?") || self.is("??")) && self.ahead(1).is("[") {
            let random = self.bump().is("??");
            self.bump();
            let mut arguments = Vec::new();
            self.receive_arguments(&mut arguments)?;
            let end = self.expect("]")?;
            return Ok(leaf(
                ExprKind::Poll { channel: reference, random, arguments },
                self.sources.join(span, end),
            ));
        }
        let single = reference.parts.len() == 1;
        if single && self.is("@") {
            self.bump();
            let label = self.ident("a label")?;
            let span = self.sources.join(span, label.span);
            let (proctype, pid) = process_of(reference);
            return Ok(leaf(ExprKind::RemoteLabel { proctype, pid, label }, span));
        }
        if single && self.is(":") && self.known_proctypes.contains(&reference.parts[0].name.name) {
            self.bump();
            let variable = self.reference()?;
            let span = self.sources.join(span, variable.span);
            let (proctype, pid) = process_of(reference);
            return Ok(leaf(ExprKind::RemoteVariable { proctype, pid, variable }, span));
        }
        let height = reference_height(&reference) + 1;
        self.check_height(height, span)?;
        Ok(Expr { kind: ExprKind::Reference(reference), span, height })
    }

    /// `a.b[i].c`
    pub(super) fn reference(&mut self) -> Parse<Reference> {
        let mut parts = Vec::new();
        let start = self.span();
        let mut end;
        loop {
            let name = self.ident("the name of a variable")?;
            end = name.span;
            let mut index = None;
            // `X []p`: an empty index is the temporal operator.
            if self.is("[") && !(self.temporal && self.ahead(1).is("]")) {
                self.bump();
                index = Some(Box::new(self.expression()?));
                end = self.expect("]")?;
            }
            parts.push(Part { name, index });
            if !self.eat(".") {
                break;
            }
        }
        if parts.len() > MAXIMAL_HEIGHT as usize {
            self.check_height(parts.len() as u32, start)?;
        }
        Ok(Reference { parts, span: self.sources.join(start, end) })
    }

    /// The arguments of a receive or poll: `a,b`, `a(b,c)` or `(a,b)`.
    pub(super) fn receive_arguments(&mut self, list: &mut Vec<Argument>) -> Parse<()> {
        self.nested(|this| {
            if this.eat("(") {
                this.receive_arguments(list)?;
                this.expect(")")?;
                return Ok(());
            }
            loop {
                list.push(this.receive_argument()?);
                if this.eat("(") {
                    this.receive_arguments(list)?;
                    this.expect(")")?;
                    return Ok(());
                }
                if !this.eat(",") {
                    return Ok(());
                }
            }
        })
    }

    fn receive_argument(&mut self) -> Parse<Argument> {
        if self.eat_word("eval") {
            self.expect("(")?;
            let value = self.expression()?;
            self.expect(")")?;
            return Ok(Argument::Eval(value));
        }
        let constant = match &self.token().kind {
            Kind::Number(_) | Kind::Character(_) | Kind::Mark("-") => true,
            Kind::Name(name) => matches!(&**name, "true" | "false" | "skip"),
            _ => false,
        };
        if constant {
            return self.primary().map(Argument::Constant);
        }
        self.reference().map(Argument::Reference)
    }

    /// Reports a channel test used as an operand of something other than `&&` and `||`.
    pub(super) fn refuse_negated_test(&mut self, test: ChannelTest, span: Span) -> Reported {
        let (wrong, right) = match test {
            ChannelTest::Full => ("full", "nfull"),
            ChannelTest::NotFull => ("nfull", "full"),
            ChannelTest::Empty => ("empty", "nempty"),
            ChannelTest::NotEmpty => ("nempty", "empty"),
        };
        self.report(
            Diagnostic::error(
                codes::NEGATED_CHANNEL_TEST,
                span,
                format!("`{wrong}` cannot be negated or compared"),
            )
            .suggest(format!("use `{right}` for the opposite")),
        )
    }
}

fn leaf(kind: ExprKind, span: Span) -> Expr {
    Expr { kind, span, height: 1 }
}

fn process_of(mut reference: Reference) -> (Ident, Option<Box<Expr>>) {
    let part = reference.parts.remove(0);
    (part.name, part.index)
}

fn reference_height(reference: &Reference) -> u32 {
    reference.parts.iter().filter_map(|p| p.index.as_ref()).map(|i| i.height).max().unwrap_or(0)
}
