//! Units and declarations.

use std::sync::Arc;

use super::super::ast::*;
use super::super::codes;
use super::super::diagnostic::Diagnostic;
use super::super::span::Span;
use super::super::token::{Code, Kind};
use super::{Parse, Parser, Reported};

impl Parser<'_> {
    /// One unit; `None` for an inline, which leaves nothing in the tree.
    pub(super) fn unit(&mut self) -> Parse<Option<Unit>> {
        let Some(word) = self.token().name().cloned() else {
            return Err(self.unexpected("a declaration or a process"));
        };
        match &*word {
            "active" | "proctype" | "D_proctype" => self.proctype().map(Some),
            "init" => self.init().map(Some),
            "never" => {
                self.bump();
                let name = self.optional_name();
                let body = self.body()?;
                Ok(Some(Unit::Claim { name, body }))
            }
            "trace" | "notrace" => {
                self.bump();
                let body = self.body()?;
                Ok(Some(Unit::Trace { negated: &*word == "notrace", body }))
            }
            "ltl" => self.ltl().map(Some),
            "typedef" => self.typedef().map(Some),
            "inline" => {
                self.inline_definition()?;
                Ok(None)
            }
            "c_code" | "c_decl" => {
                let start = self.bump().span;
                let code = self.code()?;
                let span = self.sources.join(start, self.last_span());
                Ok(Some(Unit::Code { is_declaration: &*word == "c_decl", code, span }))
            }
            "c_state" | "c_track" => self.tracked().map(Some),
            "c_expr" => Err(self.refuse_embedded_c()),
            _ if self.starts_declaration() => match self.declaration()? {
                Declared::Variables(declaration) => Ok(Some(Unit::Variables(declaration))),
                Declared::Mtypes(set) => Ok(Some(Unit::Mtypes(set))),
            },
            _ => {
                if self.ahead(1).name().is_some() {
                    return Err(self.unknown_type());
                }
                Err(self.unexpected("a declaration or a process"))
            }
        }
    }

    fn unknown_type(&mut self) -> Reported {
        let token = self.token().clone();
        let name = token.text();
        let mut known: Vec<&str> = vec![
            "bit", "bool", "byte", "pid", "short", "int", "unsigned", "mtype", "chan", "proctype",
            "active", "init", "inline", "typedef", "never", "ltl", "hidden",
        ];
        known.extend(self.typedefs.iter().map(|n| &**n));
        let near =
            super::suggest::nearest(&name, known).map(|near| format!("did you mean `{near}`?"));
        let near = super::hints::for_type(&name).map(str::to_string).or(near);
        let mut diagnostic = Diagnostic::error(
            codes::UNKNOWN_TYPE,
            token.span,
            format!("there is no type named `{name}`"),
        );
        if let Some(near) = near {
            diagnostic = diagnostic.suggest(near);
        }
        self.report(diagnostic)
    }

    /// The braces of a piece of C, with the precondition in front of them.
    pub(super) fn code(&mut self) -> Parse<Arc<Code>> {
        match self.token().kind.clone() {
            Kind::Code(code) => {
                self.bump();
                Ok(code)
            }
            _ => Err(self.unexpected("a piece of C in braces")),
        }
    }

    /// `c_state` or `c_track` with its two or three strings.
    fn tracked(&mut self) -> Parse<Unit> {
        let word = self.bump();
        let mut strings = Vec::new();
        while let Kind::String(text) = self.token().kind.clone() {
            self.bump();
            strings.push(text);
        }
        let span = self.sources.join(word.span, self.last_span());
        if !(2..=3).contains(&strings.len()) {
            return Err(self.unexpected("two or three strings"));
        }
        Ok(match word.is_name("c_state") {
            true => Unit::CState { strings, span },
            false => Unit::CTrack { strings, span },
        })
    }

    /// Refuses a piece of C where none can stand.
    pub(super) fn refuse_embedded_c(&mut self) -> Reported {
        let token = self.bump();
        let word = token.text();
        let place = match &*word {
            "c_code" => "is a statement and has no value: write `c_expr`",
            "c_expr" => "has a value and can only stand where one is used",
            _ => "can only stand outside of all bodies",
        };
        if matches!(self.token().kind, Kind::Code(_)) {
            self.bump();
        }
        while matches!(self.token().kind, Kind::String(_)) {
            self.bump();
        }
        let message = format!("`{word}` {place}");
        self.report(Diagnostic::error(codes::EMBEDDED_C, token.span, message))
    }

    fn optional_name(&mut self) -> Option<Ident> {
        let name = self.token().name().cloned()?;
        let span = self.bump().span;
        Some(Ident { name, span })
    }

    fn proctype(&mut self) -> Parse<Unit> {
        let start = self.span();
        let mut active = None;
        if self.eat_word("active") {
            active = Some(None);
            if self.eat("[") {
                active = Some(Some(self.expression()?));
                self.expect("]")?;
            }
        }
        let deterministic = self.is_word("D_proctype");
        if !self.eat_word("proctype") && !self.eat_word("D_proctype") {
            return Err(self.unexpected("`proctype`"));
        }
        let name = self.ident("the name of a process type")?;
        self.proctypes.insert(name.name.clone());
        self.expect("(")?;
        let parameters = self.declaration_list(")")?;
        self.expect(")")?;
        let priority = self.optional_priority()?;
        let provided = self.optional_provided()?;
        let mut body = self.body()?;
        body.span = self.sources.join(start, name.span);
        Ok(Unit::Proctype(Proctype {
            name,
            active,
            deterministic,
            parameters,
            priority,
            provided,
            body,
        }))
    }

    fn init(&mut self) -> Parse<Unit> {
        let span = self.bump().span;
        let priority = self.optional_priority()?;
        let provided = self.optional_provided()?;
        let mut body = self.body()?;
        body.span = span;
        let name = Ident { name: ":init:".into(), span };
        Ok(Unit::Proctype(Proctype {
            name,
            active: Some(None),
            deterministic: false,
            parameters: Vec::new(),
            priority,
            provided,
            body,
        }))
    }

    fn optional_priority(&mut self) -> Parse<Option<Expr>> {
        if !self.eat_word("priority") {
            return Ok(None);
        }
        self.primary().map(Some)
    }

    fn optional_provided(&mut self) -> Parse<Option<Expr>> {
        if !self.eat_word("provided") {
            return Ok(None);
        }
        self.expect("(")?;
        let condition = self.expression()?;
        self.expect(")")?;
        Ok(Some(condition))
    }

    pub(super) fn body(&mut self) -> Parse<Body> {
        let span = self.expect("{")?;
        let loops = std::mem::take(&mut self.loops);
        let statements = self.sequence();
        self.loops = loops;
        let end_span = self.close_brace(span)?;
        Ok(Body { statements, span, end_span })
    }

    fn ltl(&mut self) -> Parse<Unit> {
        let start = self.bump().span;
        let name = if self.is("{") { None } else { Some(self.ident("the name of a formula")?) };
        let open = self.expect("{")?;
        self.temporal = true;
        let formula = self.expression();
        self.temporal = false;
        let formula = formula?;
        self.skip_separators();
        let close = self.close_brace(open)?;
        let text = self
            .sources
            .file(open)
            .text
            .get(open.end as usize..close.start as usize)
            .unwrap_or_default()
            .trim()
            .to_string();
        let span = name.as_ref().map_or(start, |n| self.sources.join(start, n.span));
        Ok(Unit::Ltl { name, formula, text, span })
    }

    fn typedef(&mut self) -> Parse<Unit> {
        self.bump();
        let name = self.ident("the name of a structure")?;
        self.expect("{")?;
        let fields = self.declaration_list("}")?;
        self.expect("}")?;
        self.typedefs.insert(name.name.clone());
        Ok(Unit::Typedef(Typedef { name, fields }))
    }

    /// Declarations separated by `;` up to a closing mark, which is left in place.
    fn declaration_list(&mut self, close: &str) -> Parse<Vec<Declaration>> {
        let mut list = Vec::new();
        loop {
            self.skip_separators();
            if self.is(close) {
                return Ok(list);
            }
            if !self.starts_declaration() {
                if self.token().name().is_some() && self.ahead(1).name().is_some() {
                    return Err(self.unknown_type());
                }
                return Err(self.unexpected("a declaration"));
            }
            match self.declaration()? {
                Declared::Variables(declaration) => list.push(declaration),
                Declared::Mtypes(set) => {
                    let span = set.names.first().map_or_else(|| self.span(), |n| n.span);
                    return Err(self.report(Diagnostic::error(
                        codes::UNEXPECTED,
                        span,
                        "symbolic constants cannot be declared here",
                    )));
                }
            }
            if !self.is(close) && !self.is_separator() {
                return Err(self.unexpected(&format!("`;` or `{close}`")));
            }
        }
    }

    /// Whether a declaration starts here.
    pub(super) fn starts_declaration(&self) -> bool {
        let Some(word) = self.token().name() else { return false };
        match &**word {
            "hidden" | "show" | "local" => true,
            "bit" | "bool" | "byte" | "pid" | "short" | "int" | "unsigned" | "mtype" | "chan" => {
                true
            }
            // A variable may carry the name of a structure's field or type; two names in a row
            // are what makes a declaration.
            _ => self.typedefs.contains(word) && self.ahead(1).name().is_some(),
        }
    }

    pub(super) fn declaration(&mut self) -> Parse<Declared> {
        let visibility = match self.token().name().map(|n| &**n) {
            Some("hidden") => Visibility::Hidden,
            Some("show") => Visibility::Show,
            Some("local") => Visibility::Local,
            _ => Visibility::Plain,
        };
        if visibility != Visibility::Plain {
            self.bump();
        }
        let ty = self.type_name()?;
        if let BaseType::Mtype(kind) = &ty.base
            && (self.is("=") || self.is("{"))
        {
            let kind = kind.clone();
            return self.mtype_set(kind).map(Declared::Mtypes);
        }
        let mut variables = vec![self.variable()?];
        while self.eat(",") {
            variables.push(self.variable()?);
        }
        Ok(Declared::Variables(Declaration { visibility, ty, variables }))
    }

    fn mtype_set(&mut self, kind: Option<Ident>) -> Parse<MtypeSet> {
        self.eat("=");
        self.expect("{")?;
        let mut names = Vec::new();
        loop {
            // Spin tolerates missing and doubled commas.
            if self.eat(",") {
                continue;
            }
            if self.is("}") {
                break;
            }
            names.push(self.ident("a symbolic constant")?);
        }
        self.expect("}")?;
        Ok(MtypeSet { kind, names })
    }

    fn type_name(&mut self) -> Parse<TypeName> {
        let Some(word) = self.token().name().cloned() else {
            return Err(self.unexpected("a type"));
        };
        let span = self.span();
        let base = match &*word {
            "bit" => BaseType::Bit,
            "bool" => BaseType::Bool,
            "byte" => BaseType::Byte,
            "pid" => BaseType::Pid,
            "short" => BaseType::Short,
            "int" => BaseType::Int,
            "unsigned" => BaseType::Unsigned,
            "chan" => BaseType::Chan,
            "mtype" => {
                self.bump();
                let mut kind = None;
                if self.eat(":") {
                    let name = self.ident("the name of a set of symbolic constants")?;
                    kind = Some(name);
                }
                return Ok(TypeName { base: BaseType::Mtype(kind) });
            }
            _ if self.typedefs.contains(&word) => BaseType::Named(Ident { name: word, span }),
            _ => return Err(self.unknown_type()),
        };
        self.bump();
        Ok(TypeName { base })
    }

    fn variable(&mut self) -> Parse<Variable> {
        let name = self.ident("the name of a variable")?;
        let mut bits = None;
        let mut size = None;
        if self.eat(":") {
            bits = Some(self.primary()?);
        } else if self.eat("[") {
            size = Some(self.expression()?);
            self.expect("]")?;
        }
        let mut init = None;
        if self.eat("=") {
            init = Some(self.initializer()?);
        }
        Ok(Variable { name, bits, size, init })
    }

    fn initializer(&mut self) -> Parse<Initializer> {
        if self.is("[") {
            let start = self.bump().span;
            let capacity = self.expression()?;
            self.expect("]")?;
            if !self.eat_word("of") {
                return Err(self.unexpected("`of`"));
            }
            self.expect("{")?;
            let mut fields = vec![self.type_name()?];
            while self.eat(",") {
                fields.push(self.type_name()?);
            }
            let end = self.expect("}")?;
            return Ok(Initializer::Channel {
                capacity,
                fields,
                span: self.sources.join(start, end),
            });
        }
        if self.is("{") {
            let start = self.bump().span;
            let mut values = vec![self.expression()?];
            while self.eat(",") {
                values.push(self.expression()?);
            }
            self.skip_separators();
            let end = self.expect("}")?;
            return Ok(Initializer::List(values, self.sources.join(start, end)));
        }
        Ok(Initializer::Expr(self.expression()?))
    }

    /// The closing brace; a missing one is reported where its partner stands.
    pub(super) fn close_brace(&mut self, open: Span) -> Parse<Span> {
        if self.is("}") {
            return Ok(self.bump().span);
        }
        if self.at_end() {
            let span = self.span();
            return Err(self.report(
                Diagnostic::error(codes::UNEXPECTED, span, "the file ends inside a block")
                    .label(open, "this brace is never closed"),
            ));
        }
        Err(self.unexpected("`}`"))
    }
}

/// What a declaration declared.
pub(super) enum Declared {
    Variables(Declaration),
    Mtypes(MtypeSet),
}
