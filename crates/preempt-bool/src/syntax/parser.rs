//! Reads tokens into a tree by recursive descent.
//!
//! After an error inside a statement the parser goes on behind the next `;`, so that one run
//! reports several mistakes.

use super::Dialect;
use super::ast::*;
use super::lexer::{KEYWORDS, Token, tokens};
use crate::diagnostic::{Diagnostic, Lines};

/// Deepest nesting of blocks and parentheses.
const MAX_NESTING: usize = 200;
/// Errors after which reading stops.
const MAX_ERRORS: usize = 20;

/// The diagnostic is recorded; the construct could not be read.
pub(super) struct Refused;

pub(super) struct Parser<'a> {
    pub(super) source: &'a str,
    pub(super) dialect: Dialect,
    pub(super) lines: &'a Lines,
    pub(super) warnings: Vec<Diagnostic>,
    tokens: Vec<(Token, Span)>,
    at: usize,
    nesting: usize,
    errors: Vec<Diagnostic>,
    init_seen: bool,
}

/// The tree with warnings, or the errors.
pub(crate) fn parse_module(
    source: &str,
    dialect: Dialect,
    lines: &Lines,
) -> Result<(Module, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut parser = Parser::new(source, dialect, lines);
    let module = parser.module();
    if parser.errors.is_empty() { Ok((module, parser.warnings)) } else { Err(parser.errors) }
}

/// An expression that stands alone.
pub(crate) fn parse_expression(
    source: &str,
    dialect: Dialect,
    lines: &Lines,
) -> Result<Expr, Vec<Diagnostic>> {
    let mut parser = Parser::new(source, dialect, lines);
    let expression = parser.expression();
    if expression.is_ok() && *parser.peek() != Token::End {
        let _ = parser.unexpected("the end of the expression");
    }
    match expression {
        Ok(expression) if parser.errors.is_empty() => Ok(expression),
        _ => Err(parser.errors),
    }
}

/// Words that end a list of statements.
const CLOSING: &[&str] = &["end", "fi", "od", "else", "elsif"];

/// Labels that start threads begin with this.
const ASYNC: &str = "ASYNC_";

/// The label that stands for such a label when the thread start is a statement of its own: a printed
/// program must not start the thread again.
fn without_async(label: Name) -> Name {
    let Some(rest) = label.text.strip_prefix(ASYNC) else { return label };
    Name { text: format!("async_{rest}"), span: label.span }
}

impl<'a> Parser<'a> {
    fn new(source: &'a str, dialect: Dialect, lines: &'a Lines) -> Self {
        let mut errors = Vec::new();
        let tokens = tokens(source, dialect, lines, &mut errors);
        let warnings = Vec::new();
        Parser {
            source,
            dialect,
            lines,
            warnings,
            tokens,
            at: 0,
            nesting: 0,
            errors,
            init_seen: false,
        }
    }
}

impl Parser<'_> {
    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn peek_second(&self) -> &Token {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].0
    }

    pub(super) fn span(&self) -> Span {
        self.tokens[self.at].1.clone()
    }

    pub(super) fn last_end(&self) -> usize {
        self.tokens[self.at.saturating_sub(1)].1.end
    }

    pub(super) fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(w) if w == word)
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(s) if *s == sign)
    }

    fn accept(&mut self, text: &str) -> bool {
        let found = self.is_word(text) || self.is_sign(text);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<(), Refused> {
        if self.accept(text) { Ok(()) } else { Err(self.unexpected(&format!("`{text}`"))) }
    }

    pub(super) fn refuse(&mut self, code: &'static str, span: &Span, message: &str) -> Refused {
        self.errors.push(self.lines.error(code, span, message));
        Refused
    }

    pub(super) fn unexpected(&mut self, wanted: &str) -> Refused {
        let found = match self.peek() {
            Token::Word(word) => format!("`{word}`"),
            Token::Number(number) => format!("`{number}`"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end of the file".into(),
        };
        let span = self.span();
        self.refuse("B0002", &span, &format!("expected {wanted}, found {found}"))
    }

    /// Runs a reader one level deeper, or refuses when that is too deep.
    pub(super) fn nested<R>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<R, Refused>,
    ) -> Result<R, Refused> {
        if self.nesting >= MAX_NESTING {
            let span = self.span();
            return Err(self.refuse("B0003", &span, "this is nested too deeply"));
        }
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        result
    }

    pub(super) fn name(&mut self, wanted: &str) -> Result<Name, Refused> {
        match self.peek() {
            Token::Word(word) if !KEYWORDS.contains(&word.as_str()) => {
                let name = Name { text: word.clone(), span: self.span() };
                self.advance();
                Ok(name)
            }
            _ => Err(self.unexpected(wanted)),
        }
    }

    fn module(&mut self) -> Module {
        let mut module = Module::default();
        while *self.peek() != Token::End && self.errors.len() < MAX_ERRORS {
            let start = self.at;
            let read = if self.is_word("decl") || self.is_word("thread_local") {
                let late = self.init_seen && self.dialect == Dialect::Slam;
                self.declaration().map(|mut declaration| {
                    declaration.private |= late;
                    module.globals.push(declaration);
                })
            } else {
                self.function().map(|function| module.functions.push(function))
            };
            if read.is_err() {
                self.recover_to_item(start);
            }
        }
        module
    }

    /// Skips to what looks like the next declaration or function.
    fn recover_to_item(&mut self, start: usize) {
        self.nesting = 0;
        if self.at == start {
            self.advance();
        }
        while *self.peek() != Token::End {
            if self.accept("end") {
                return;
            }
            if ["decl", "void", "thread", "thread_local"].iter().any(|w| self.is_word(w)) {
                return;
            }
            self.advance();
        }
    }

    fn declaration(&mut self) -> Result<Declaration, Refused> {
        let private = self.accept("thread_local");
        self.expect("decl")?;
        let private = self.accept("thread_local") || private;
        let ty = if self.is_type() { self.ty()? } else { Type::Bool };
        let mut names = Vec::new();
        loop {
            let name = self.name("a variable name")?;
            let value = if self.accept(":=") { Some(self.expression()?) } else { None };
            names.push((name, value));
            if !self.accept(",") {
                break;
            }
        }
        self.expect(";")?;
        Ok(Declaration { ty, names, private, comment: String::new() })
    }

    fn is_type(&self) -> bool {
        self.is_word("bool") || self.is_word("int")
    }

    fn ty(&mut self) -> Result<Type, Refused> {
        if self.accept("bool") {
            return Ok(Type::Bool);
        }
        let start = self.span();
        self.expect("int")?;
        if !self.accept("<") {
            let message = "`int` without a width: 8 bits are taken; write `int<n>` to choose";
            let warning = self.lines.error("B0102", &start, message).warning();
            self.warnings.push(warning);
            return Ok(Type::Int(8));
        }
        let (width, span) = self.number("a width")?;
        self.expect(">")?;
        match u8::try_from(width) {
            Ok(width @ 1..=32) => Ok(Type::Int(width)),
            _ => Err(self.refuse("B0004", &span, "the width of an integer is 1 to 32 bits")),
        }
    }

    fn number(&mut self, wanted: &str) -> Result<(u64, Span), Refused> {
        match *self.peek() {
            Token::Number(value) => {
                let span = self.span();
                self.advance();
                Ok((value, span))
            }
            _ => Err(self.unexpected(wanted)),
        }
    }

    fn function(&mut self) -> Result<FunctionDef, Refused> {
        if self.dialect != Dialect::Slam {
            self.accept("dfs");
        }
        let mut thread = None;
        let mut returns = Vec::new();
        if self.is_word("thread") && matches!(self.peek_second(), Token::Word(_)) {
            self.advance();
            thread = Some(1);
        } else {
            returns = self.return_types()?;
        }
        let name = self.name("the name of a function")?;
        if thread.is_some() && self.accept("[") {
            let (count, span) = self.number("how many threads")?;
            self.expect("]")?;
            match u32::try_from(count) {
                Ok(count @ 1..=1000) => thread = Some(count),
                _ => return Err(self.refuse("B0004", &span, "the number of threads is 1 to 1000")),
            }
        }
        self.expect("(")?;
        let mut params = Vec::new();
        while !self.is_sign(")") {
            let ty = if self.is_type() { self.ty()? } else { Type::Bool };
            params.push((self.name("a parameter")?, ty));
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")")?;
        self.init_seen |= name.text == "init";
        self.expect("begin")?;
        let mut locals = Vec::new();
        while self.is_word("decl") {
            locals.push(self.declaration()?);
        }
        let mut enforce = None;
        while self.accept("enforce") {
            let condition = self.expression()?;
            self.expect(";")?;
            enforce = Some(match enforce {
                None => condition,
                Some(other) => Expr::binary(Operator::And, other, condition),
            });
        }
        let body = self.block(&["end"]);
        let end = self.span();
        self.expect("end")?;
        self.accept(";");
        let comment = String::new();
        Ok(FunctionDef { name, params, returns, locals, enforce, body, thread, comment, end })
    }

    fn return_types(&mut self) -> Result<Vec<Type>, Refused> {
        if self.accept("void") {
            return Ok(Vec::new());
        }
        if self.accept("(") {
            let mut types = vec![self.ty()?];
            while self.accept(",") {
                types.push(self.ty()?);
            }
            self.expect(")")?;
            return Ok(types);
        }
        if self.accept("bool") {
            if !self.accept("<") {
                return Ok(vec![Type::Bool]);
            }
            let (count, span) = self.number("the number of values")?;
            self.expect(">")?;
            if count > 1000 {
                return Err(self.refuse("B0004", &span, "a function returns at most 1000 values"));
            }
            return Ok(vec![Type::Bool; count as usize]);
        }
        if self.is_word("int") {
            return Ok(vec![self.ty()?]);
        }
        Err(self.unexpected("a declaration or a function"))
    }

    fn block(&mut self, ends: &[&str]) -> Vec<Statement> {
        let mut statements = Vec::new();
        while !ends.iter().any(|end| self.is_word(end)) && *self.peek() != Token::End {
            if self.errors.len() >= MAX_ERRORS {
                break;
            }
            let nesting = self.nesting;
            match self.nested(Self::statement) {
                Ok(statement) => statements.push(statement),
                Err(Refused) => {
                    self.nesting = nesting;
                    while *self.peek() != Token::End && !self.is_sign(";") && !self.is_word("end") {
                        self.advance();
                    }
                    self.accept(";");
                }
            }
        }
        statements
    }

    fn statement(&mut self) -> Result<Statement, Refused> {
        let mut statement = self.labelled()?;
        let mut inner = &statement.kind;
        while let StatementKind::StartThread(started) = inner {
            inner = &started.kind;
        }
        let compound = matches!(inner, StatementKind::If { .. } | StatementKind::While { .. });
        // Between statements in one family of tools, behind each statement in the other.
        let last = CLOSING.iter().any(|word| self.is_word(word));
        if compound || last {
            self.accept(";");
        } else {
            self.expect(";")?;
        }
        statement.span.end = self.last_end();
        Ok(statement)
    }

    /// A statement with its labels, without what separates it from the next.
    ///
    /// `ASYNC_n:` is Boppo's `start_thread`: labels behind it belong to what the thread runs.
    fn labelled(&mut self) -> Result<Statement, Refused> {
        let mut labels: Vec<Name> = Vec::new();
        let start = self.span();
        while *self.peek_second() == Token::Sign(":") {
            let label = match self.peek().clone() {
                Token::Number(number) => {
                    let label = Name { text: number.to_string(), span: self.span() };
                    self.advance();
                    label
                }
                _ => self.name("a label")?,
            };
            self.expect(":")?;
            let starts_thread = label.text.starts_with(ASYNC);
            let label = without_async(label);
            if !labels.iter().any(|known| known.text == label.text) {
                labels.push(label);
            }
            if starts_thread {
                let started = self.nested(Self::labelled)?;
                let kind = StatementKind::StartThread(Box::new(started));
                return Ok(Statement { labels, kind, span: start.start..self.last_end() });
            }
        }
        let start = self.span();
        let kind = self.statement_kind()?;
        Ok(Statement { labels, kind, span: start.start..self.last_end() })
    }

    fn statement_kind(&mut self) -> Result<StatementKind, Refused> {
        let Token::Word(word) = self.peek().clone() else {
            return Err(self.unexpected("a statement"));
        };
        Ok(match word.as_str() {
            "skip" => {
                self.advance();
                StatementKind::Skip
            }
            "print" => {
                self.advance();
                self.expect("(")?;
                while !self.accept(")") {
                    self.expression()?;
                    self.accept(",");
                }
                StatementKind::Skip
            }
            "assume" | "constrain" => {
                self.advance();
                StatementKind::Assume(self.expression()?)
            }
            "assert" => {
                self.advance();
                StatementKind::Assert(self.expression()?)
            }
            "abortif" => {
                self.advance();
                StatementKind::AbortIf(self.expression()?)
            }
            "dead" => {
                self.advance();
                StatementKind::Dead(self.names()?)
            }
            "goto" => {
                self.advance();
                StatementKind::Goto(self.targets()?)
            }
            "return" => {
                self.advance();
                StatementKind::Return(self.returned()?)
            }
            "start_thread" => {
                self.advance();
                StatementKind::StartThread(Box::new(self.nested(Self::labelled)?))
            }
            "end_thread" => {
                self.advance();
                StatementKind::EndThread
            }
            "atomic_begin" => {
                self.advance();
                StatementKind::AtomicBegin
            }
            "atomic_end" => {
                self.advance();
                StatementKind::AtomicEnd
            }
            "if" => {
                self.advance();
                self.if_rest()?
            }
            "while" => {
                self.advance();
                let condition = self.expression()?;
                self.expect("do")?;
                let body = self.block(&["od"]);
                self.expect("od")?;
                StatementKind::While { condition, body }
            }
            "call" => {
                self.advance();
                let function = self.name("the function to call")?;
                StatementKind::Call { lhs: Vec::new(), function, args: self.arguments()? }
            }
            _ => self.assignment_or_call()?,
        })
    }

    /// What stands behind `return`.
    fn returned(&mut self) -> Result<Vec<Expr>, Refused> {
        let mut values = Vec::new();
        while !self.is_sign(";") && !CLOSING.iter().any(|word| self.is_word(word)) {
            values.push(self.expression()?);
            if !self.accept(",") {
                break;
            }
        }
        Ok(values)
    }

    /// What stands behind `goto`.
    fn targets(&mut self) -> Result<Vec<Name>, Refused> {
        let mut targets = vec![self.label()?];
        while self.accept(",") {
            targets.push(self.label()?);
        }
        Ok(targets)
    }

    fn label(&mut self) -> Result<Name, Refused> {
        if let Token::Number(number) = *self.peek() {
            let name = Name { text: number.to_string(), span: self.span() };
            self.advance();
            return Ok(name);
        }
        self.name("a label").map(without_async)
    }

    fn names(&mut self) -> Result<Vec<Name>, Refused> {
        let mut names = vec![self.name("a variable")?];
        while self.accept(",") {
            names.push(self.name("a variable")?);
        }
        Ok(names)
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, Refused> {
        self.expect("(")?;
        let mut args = Vec::new();
        while !self.is_sign(")") {
            args.push(self.expression()?);
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(args)
    }

    /// After `if` or `elsif`. A long chain of `elsif` is a list in the text and a deep tree here,
    /// hence the count of levels.
    fn if_rest(&mut self) -> Result<StatementKind, Refused> {
        let condition = self.expression()?;
        self.expect("then")?;
        let then = self.block(&["elsif", "else", "fi", "end"]);
        let start = self.span();
        if self.accept("elsif") {
            let kind = self.nested(Self::if_rest)?;
            let span = start.start..self.last_end();
            let otherwise = vec![Statement { labels: Vec::new(), kind, span }];
            return Ok(StatementKind::If { condition, then, otherwise });
        }
        let otherwise = if self.accept("else") { self.block(&["fi", "end"]) } else { Vec::new() };
        self.expect("fi")?;
        Ok(StatementKind::If { condition, then, otherwise })
    }

    fn assignment_or_call(&mut self) -> Result<StatementKind, Refused> {
        if *self.peek_second() == Token::Sign("(") {
            let function = self.name("a statement")?;
            return Ok(StatementKind::Call { lhs: Vec::new(), function, args: self.arguments()? });
        }
        let lhs = self.names()?;
        self.expect(":=")?;
        self.accept("call");
        let calls = matches!(self.peek(), Token::Word(w) if !KEYWORDS.contains(&w.as_str()))
            && *self.peek_second() == Token::Sign("(");
        if calls {
            let function = self.name("a function")?;
            return Ok(StatementKind::Call { lhs, function, args: self.arguments()? });
        }
        let mut rhs = vec![self.expression()?];
        while self.accept(",") {
            rhs.push(self.expression()?);
        }
        let constrain = if self.accept("constrain") { Some(self.expression()?) } else { None };
        Ok(StatementKind::Assign { lhs, rhs, constrain })
    }
}
