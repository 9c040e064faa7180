//! Statements and sequences, with recovery from errors.

use super::super::ast::*;
use super::super::codes;
use super::super::diagnostic::Diagnostic;
use super::super::suggest;
use super::super::token::Kind;
use super::declaration::Declared;
use super::{Parse, Parser, Reported, hints};

impl Parser<'_> {
    /// Statements up to `}`, `::`, `fi`, `od` or the end, which is left in place.
    pub(super) fn sequence(&mut self) -> Vec<Stmt> {
        let mut statements = Vec::new();
        let first = self.span();
        if self.is_separator() {
            self.unexpected("a statement");
        }
        loop {
            self.skip_separators();
            if self.at_sequence_end() || self.findings.is_full() {
                break;
            }
            let before = self.at;
            match self.nested(|this| this.step()) {
                Ok(statement) => {
                    statements.push(statement);
                    self.expect_separator(&statements);
                }
                Err(Reported) => {
                    if self.at == before && !self.at_sequence_end() {
                        self.bump();
                    }
                    self.recover();
                    self.lose(before);
                }
            }
        }
        if statements.is_empty() && !self.findings.has_errors() {
            self.report(
                Diagnostic::error(
                    codes::EMPTY_SEQUENCE,
                    first,
                    "at least one statement must stand here",
                )
                .suggest("write `skip` to do nothing"),
            );
        }
        statements
    }

    fn at_sequence_end(&self) -> bool {
        self.at_end() || self.is("}") || self.is("::") || self.is_word("fi") || self.is_word("od")
    }

    /// Between two statements: a separator, unless the first ended in `}` or was `else`.
    fn expect_separator(&mut self, statements: &[Stmt]) {
        if self.is_separator() || self.at_sequence_end() {
            return;
        }
        let after_brace = self.at > 0 && {
            let last = &self.tokens[self.at - 1];
            last.is("}") || matches!(last.kind, Kind::Code(_))
        };
        let last = statements.last();
        let after_else = last.is_some_and(|s| matches!(s.kind, StmtKind::Else));
        let after_inline = last.is_some_and(|s| matches!(s.kind, StmtKind::Block(_)));
        if after_brace || after_else || after_inline {
            return;
        }
        let span = self.span();
        let found = self.token().text();
        let mut diagnostic = Diagnostic::error(
            codes::MISSING_SEPARATOR,
            span,
            format!("expected `;` or `->` between statements, found `{found}`"),
        );
        if let Some(last) = last {
            diagnostic = diagnostic.label(last.span, "this statement ends here");
        }
        let hinted = hints::instead(diagnostic.clone(), self.token());
        let is_foreign = hinted != diagnostic;
        self.report(hinted);
        let starts_statement = matches!(self.token().kind, Kind::Name(_) | Kind::Mark("{"));
        // What follows a word of another language is a part of the same mistake.
        if !starts_statement || is_foreign {
            self.recover();
        }
    }

    /// Steps over the rest of a broken statement, with the blocks it contains.
    fn recover(&mut self) {
        let mut depth = 0usize;
        while !self.at_end() {
            if depth == 0 && (self.is_separator() || self.at_sequence_end()) {
                return;
            }
            let token = self.bump();
            if token.is("{") || token.is_name("if") || token.is_name("do") {
                depth += 1;
            } else if token.is("}") || token.is_name("fi") || token.is_name("od") {
                depth = depth.saturating_sub(1);
            }
        }
    }

    fn step(&mut self) -> Parse<Stmt> {
        let (start, first) = (self.span(), self.at);
        if self.starts_declaration() {
            let kind = match self.declaration()? {
                Declared::Variables(declaration) => StmtKind::Declare(declaration),
                Declared::Mtypes(set) => StmtKind::DeclareMtypes(set),
            };
            let (span, text) = (self.sources.join(start, self.last_span()), self.text_since(first));
            return Ok(Stmt { labels: Vec::new(), kind, span, text });
        }
        if self.is_word("xr") || self.is_word("xs") {
            let receive = self.bump().is_name("xr");
            let mut channels = vec![self.reference()?];
            while self.eat(",") {
                channels.push(self.reference()?);
            }
            let kind = if receive {
                StmtKind::ExclusiveReceive(channels)
            } else {
                StmtKind::ExclusiveSend(channels)
            };
            let (span, text) = (self.sources.join(start, self.last_span()), self.text_since(first));
            return Ok(Stmt { labels: Vec::new(), kind, span, text });
        }
        let main = self.statement()?;
        if !self.eat_word("unless") {
            return Ok(main);
        }
        let escape = self.statement()?;
        let span = self.sources.join(main.span, escape.span);
        let kind = StmtKind::Unless(Box::new(main), Box::new(escape));
        Ok(Stmt { labels: Vec::new(), kind, span, text: String::new() })
    }

    fn label(&mut self) -> Parse<Label> {
        let ident = self.ident("a label")?;
        Ok(Label { ident, inline_use: self.open_inlines.last().map_or(0, |open| open.number) })
    }

    fn at_label(&self) -> bool {
        let Some(name) = self.token().name() else { return false };
        self.ahead(1).is(":")
            && (!self.ahead(2).is("=") || self.ahead(2).after_space)
            && !super::KEYWORDS.contains(&&**name)
            && !self.proctypes.contains(name)
    }

    /// A statement with its labels.
    pub(super) fn statement(&mut self) -> Parse<Stmt> {
        let mut labels = Vec::new();
        while self.at_label() {
            labels.push(self.label()?);
            self.bump();
        }
        if !labels.is_empty() {
            if self.starts_declaration() || self.is_word("xr") || self.is_word("xs") {
                let span = labels[0].ident.span;
                return Err(self.report(
                    Diagnostic::error(
                        codes::LABELLED_DECLARATION,
                        span,
                        "a declaration cannot have a label",
                    )
                    .suggest(
                        "put the label in front of the first statement after it, or of a `skip`",
                    ),
                ));
            }
            if self.at_sequence_end() || self.is_separator() {
                let span = labels[labels.len() - 1].ident.span;
                let skip = Expr { kind: ExprKind::Const(1), span, height: 1 };
                let kind = StmtKind::Condition(skip);
                return Ok(Stmt { labels, kind, span, text: "skip".into() });
            }
        }
        let (start, first) = (self.span(), self.at);
        let kind = self.nested(|this| this.unlabelled())?;
        let text = match &kind {
            StmtKind::If(_)
            | StmtKind::Do(_)
            | StmtKind::Atomic(_)
            | StmtKind::DStep(_)
            | StmtKind::Block(_) => String::new(),
            StmtKind::ForRange { .. } | StmtKind::ForIn { .. } => self.head_since(first),
            _ => self.text_since(first),
        };
        let span = self.sources.join(start, self.last_span());
        Ok(Stmt { labels, kind, span, text })
    }

    fn unlabelled(&mut self) -> Parse<StmtKind> {
        if self.is("{") {
            return Ok(StmtKind::Block(self.block()?));
        }
        let Some(word) = self.token().name().cloned() else { return self.condition() };
        let span = self.span();
        match &*word {
            "if" => Ok(StmtKind::If(self.options("fi")?)),
            "do" => {
                self.loops += 1;
                let options = self.options("od");
                self.loops -= 1;
                Ok(StmtKind::Do(options?))
            }
            "break" => {
                self.bump();
                if self.loops == 0 {
                    self.report(Diagnostic::error(
                        codes::MISPLACED_BREAK,
                        span,
                        "`break` outside of any loop",
                    ));
                }
                Ok(StmtKind::Break)
            }
            "goto" => {
                self.bump();
                Ok(StmtKind::Goto(self.label()?))
            }
            "atomic" => {
                self.bump();
                Ok(StmtKind::Atomic(self.block()?))
            }
            "d_step" => {
                self.bump();
                Ok(StmtKind::DStep(self.block()?))
            }
            "for" => self.for_loop(),
            "select" => self.select(),
            "assert" => {
                self.bump();
                Ok(StmtKind::Assert(self.checked_expression()?))
            }
            "printf" => self.printf(),
            "printm" => {
                self.bump();
                self.expect("(")?;
                let value = self.expression()?;
                self.expect(")")?;
                Ok(StmtKind::Printm(value))
            }
            "else" => {
                self.bump();
                Ok(StmtKind::Else)
            }
            "set_priority" => {
                self.bump();
                self.expect("(")?;
                let process = self.expression()?;
                self.expect(",")?;
                let value = self.expression()?;
                self.expect(")")?;
                Ok(StmtKind::SetPriority(process, value))
            }
            "return" => self.return_statement(),
            "c_code" => {
                self.bump();
                Ok(StmtKind::Code(self.code()?))
            }
            "c_decl" | "c_state" | "c_track" => Err(self.refuse_embedded_c()),
            _ if self.is_inline_use(0) => self.inline_use(None).map(|s| s.kind),
            _ if super::KEYWORDS.contains(&&*word) => self.condition(),
            _ if self.ahead(1).is("(") => Err(self.unknown_inline()),
            _ => self.starting_with_reference(),
        }
    }

    /// `return` in an inline, as the assignment that its use asks for.
    fn return_statement(&mut self) -> Parse<StmtKind> {
        let span = self.span();
        self.bump();
        let value = self.checked_expression()?;
        match self.open_inlines.last().map(|open| open.target.clone()) {
            Some(Some(target)) => Ok(StmtKind::Assign(target, value)),
            // The value of an inline used as a plain statement goes nowhere.
            Some(None) => {
                Ok(StmtKind::Condition(Expr { kind: ExprKind::Const(1), span, height: 1 }))
            }
            None => {
                let message = "`return` outside of any inline";
                Err(self.report(Diagnostic::error(codes::MISPLACED_RETURN, span, message)))
            }
        }
    }

    fn unknown_inline(&mut self) -> Reported {
        let token = self.token().clone();
        let name = token.text();
        let keywords = super::KEYWORDS.iter().copied();
        let near = suggest::nearest(&name, self.inlines.keys().map(|n| &**n).chain(keywords))
            .map(str::to_string);
        let mut diagnostic = if self.proctypes.contains(&*name) {
            Diagnostic::error(
                codes::UNKNOWN_INLINE,
                token.span,
                format!("`{name}` is a process type"),
            )
            .suggest(format!("start it with `run {name}(…)`"))
        } else {
            Diagnostic::error(
                codes::UNKNOWN_INLINE,
                token.span,
                format!("there is no inline or macro named `{name}` up to here"),
            )
        };
        if let Some(near) = near {
            diagnostic = diagnostic.suggest(format!("did you mean `{near}`?"));
        }
        let diagnostic = hints::instead(diagnostic, &token);
        self.report(diagnostic)
    }

    fn block(&mut self) -> Parse<Vec<Stmt>> {
        let open = self.expect("{")?;
        let statements = self.sequence();
        self.close_brace(open)?;
        Ok(statements)
    }

    fn options(&mut self, close: &str) -> Parse<Vec<Branch>> {
        let open = self.bump().span;
        let mut branches = Vec::new();
        self.skip_separators();
        if !self.is("::") {
            return Err(self.refuse_without_options(close));
        }
        while self.is("::") {
            let start = self.bump().span;
            let body = self.sequence();
            let span = body.last().map_or(start, |last| self.sources.join(start, last.span));
            branches.push(Branch { body, span });
        }
        if self.eat_word(close) {
            return Ok(branches);
        }
        let found = self.token().text();
        let span = self.span();
        if self.is_word("fi") || self.is_word("od") {
            self.bump();
        }
        Err(self.report(
            Diagnostic::error(
                codes::UNEXPECTED,
                span,
                format!("expected `::` or `{close}`, found `{found}`"),
            )
            .label(open, format!("to be closed by `{close}`")),
        ))
    }

    fn for_loop(&mut self) -> Parse<StmtKind> {
        self.bump();
        self.expect("(")?;
        if self.starts_declaration() {
            return Err(self.refuse_for());
        }
        let variable = self.reference()?;
        if self.is("=") {
            return Err(self.refuse_for());
        }
        if self.eat_word("in") {
            let over = self.reference()?;
            self.expect(")")?;
            let body = self.for_body()?;
            return Ok(StmtKind::ForIn { variable, over, body });
        }
        self.expect(":")?;
        let from = self.expression()?;
        self.expect("..")?;
        let to = self.expression()?;
        self.expect(")")?;
        let body = self.for_body()?;
        Ok(StmtKind::ForRange { variable, from, to, body })
    }

    fn for_body(&mut self) -> Parse<Vec<Stmt>> {
        self.skip_separators();
        self.loops += 1;
        let body = self.block();
        self.loops -= 1;
        body
    }

    fn select(&mut self) -> Parse<StmtKind> {
        self.bump();
        self.expect("(")?;
        let variable = self.reference()?;
        self.expect(":")?;
        let from = self.expression()?;
        self.expect("..")?;
        let to = self.expression()?;
        self.expect(")")?;
        Ok(StmtKind::Select { variable, from, to })
    }

    fn printf(&mut self) -> Parse<StmtKind> {
        self.bump();
        self.expect("(")?;
        let Kind::String(format) = self.token().kind.clone() else {
            return Err(self.unexpected("a string"));
        };
        self.bump();
        let mut arguments = Vec::new();
        while self.eat(",") {
            arguments.push(self.expression()?);
        }
        self.expect(")")?;
        Ok(StmtKind::Printf { format, arguments })
    }

    fn starting_with_reference(&mut self) -> Parse<StmtKind> {
        let start = self.at;
        let reference = self.reference()?;
        let Kind::Mark(mark) = self.token().kind else {
            self.at = start;
            return self.condition();
        };
        if let Some(operator) = self.foreign_assignment() {
            let name = self.text_since(start);
            return Err(self.refuse_assignment(&operator, &name));
        }
        match mark {
            "=" => {
                self.bump();
                if self.is_inline_use(0) {
                    return self.inline_use(Some(reference)).map(|s| s.kind);
                }
                let value = self.checked_expression()?;
                Ok(StmtKind::Assign(reference, value))
            }
            "++" => {
                self.bump();
                Ok(StmtKind::Increment(reference))
            }
            "--" => {
                self.bump();
                Ok(StmtKind::Decrement(reference))
            }
            "!" | "!!" => {
                self.bump();
                let mut values = vec![self.expression()?];
                if self.eat("(") {
                    values.push(self.expression()?);
                    while self.eat(",") {
                        values.push(self.expression()?);
                    }
                    self.expect(")")?;
                } else {
                    while self.eat(",") {
                        values.push(self.expression()?);
                    }
                }
                Ok(StmtKind::Send { channel: reference, sorted: mark == "!!", values })
            }
            "?" | "??" if !self.ahead(1).is("[") => {
                self.bump();
                let mut arguments = Vec::new();
                let copy = self.eat("<");
                self.receive_arguments(&mut arguments)?;
                if copy {
                    self.expect(">")?;
                }
                Ok(StmtKind::Receive { channel: reference, random: mark == "??", copy, arguments })
            }
            _ => {
                self.at = start;
                self.condition()
            }
        }
    }

    fn condition(&mut self) -> Parse<StmtKind> {
        self.checked_expression().map(StmtKind::Condition)
    }

    /// An expression whose channel tests stand only under `&&` and `||`, as Spin demands.
    fn checked_expression(&mut self) -> Parse<Expr> {
        let expression = self.expression()?;
        match misplaced_test(&expression, true) {
            Some((test, span)) => Err(self.refuse_negated_test(test, span)),
            None => Ok(expression),
        }
    }
}

/// The first channel test that is an operand of something else than `&&` and `||`.
fn misplaced_test(expression: &Expr, allowed: bool) -> Option<(ChannelTest, super::Span)> {
    match &expression.kind {
        ExprKind::ChannelTest(test, _) if !allowed => Some((*test, expression.span)),
        ExprKind::Binary(BinaryOp::And | BinaryOp::Or, a, b) => {
            misplaced_test(a, allowed).or_else(|| misplaced_test(b, allowed))
        }
        ExprKind::Unary(_, a) => misplaced_test(a, false),
        ExprKind::Binary(_, a, b) => misplaced_test(a, false).or_else(|| misplaced_test(b, false)),
        ExprKind::Conditional(a, b, c) => {
            [a, b, c].into_iter().find_map(|e| misplaced_test(e, false))
        }
        _ => None,
    }
}
