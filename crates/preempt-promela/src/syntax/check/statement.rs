//! Statements.

use super::super::ast;
use super::super::codes;
use super::super::diagnostic::{Diagnostic, count};
use super::super::suggest;
use super::place::{Use, shape_of};
use super::types::Transfer;
use super::{Checked, Checker};
use crate::model::{Branch, ExprKind, LabelName, Place, Selector, Stmt, StmtKind, Type};

impl Checker<'_> {
    /// The statements of one block; what is wrong is left out.
    pub(super) fn sequence(&mut self, statements: &[ast::Stmt]) -> Vec<Stmt> {
        statements.iter().filter_map(|s| self.statement(s).ok().flatten()).collect()
    }

    fn block(&mut self, statements: &[ast::Stmt]) -> Vec<Stmt> {
        self.body.push();
        let result = self.sequence(statements);
        self.body.pop();
        result
    }

    /// One statement; `None` for a declaration that leaves nothing behind.
    fn statement(&mut self, statement: &ast::Stmt) -> Checked<Option<Stmt>> {
        let labels = self.labels_of(statement);
        self.body.started |= !matches!(statement.kind, ast::StmtKind::Declare(_));
        let Some(kind) = self.statement_kind(statement)? else { return Ok(None) };
        Ok(Some(Stmt { labels, kind, span: statement.span, text: statement.text.clone() }))
    }

    fn labels_of(&mut self, statement: &ast::Stmt) -> Vec<LabelName> {
        for label in &statement.labels {
            let name = &label.ident.name;
            let variable = match (self.body.find(name), self.globals.get(name)) {
                (Some(id), _) => Some(self.body.variables[id.0 as usize].span),
                (None, Some(id)) => Some(self.model.globals[id.0 as usize].span),
                (None, None) => None,
            };
            if let Some(declared) = variable {
                let message = format!("label `{name}` has the name of a variable");
                let diagnostic = Diagnostic::error(codes::REDECLARED, label.ident.span, message)
                    .label(declared, "declared here");
                self.report(diagnostic);
            }
        }
        let name = |label| LabelName { name: self.defined_label(label), span: label.ident.span };
        statement.labels.iter().map(name).collect()
    }

    fn statement_kind(&mut self, statement: &ast::Stmt) -> Checked<Option<StmtKind>> {
        Ok(Some(match &statement.kind {
            ast::StmtKind::Condition(condition) => {
                let condition = self.expression(condition)?;
                if !matches!(condition.kind, ExprKind::Run { .. }) {
                    self.refuse_run(&condition)?;
                }
                StmtKind::Condition(condition)
            }
            ast::StmtKind::Assign(target, value) if is_own_priority(target) => {
                StmtKind::OwnPriority(self.expression(value)?)
            }
            ast::StmtKind::Assign(target, value) => self.assign(target, value)?,
            ast::StmtKind::Increment(target) => StmtKind::Increment(self.counter(target)?),
            ast::StmtKind::Decrement(target) => StmtKind::Decrement(self.counter(target)?),
            ast::StmtKind::Send { channel, sorted, values } => {
                self.send(channel, *sorted, values)?
            }
            ast::StmtKind::Receive { channel, random, copy, arguments } => {
                let channel = self.channel(channel, Use::Receive)?;
                let arguments = self.arguments(&channel, arguments)?;
                self.refuse_repeated(&arguments)?;
                StmtKind::Receive { channel, random: *random, copy: *copy, arguments }
            }
            ast::StmtKind::If(branches) => StmtKind::If(self.branches(branches)?),
            ast::StmtKind::Do(branches) => StmtKind::Do(self.branches(branches)?),
            ast::StmtKind::Break => StmtKind::Break,
            ast::StmtKind::Goto(label) => StmtKind::Goto(self.goto(label)?),
            ast::StmtKind::Atomic(body) => StmtKind::Atomic(self.block(body)),
            ast::StmtKind::DStep(body) => StmtKind::DStep(self.block(body)),
            ast::StmtKind::Block(body) => StmtKind::Block(self.block(body)),
            ast::StmtKind::Unless(main, escape) => return self.unless(main, escape),
            ast::StmtKind::ForRange { variable, from, to, body } => {
                let variable = self.counter(variable);
                let from = self.expression(from);
                let to = self.expression(to);
                let body = self.block(body);
                StmtKind::ForRange { variable: variable?, from: from?, to: to?, body }
            }
            ast::StmtKind::ForIn { variable, over, body } => self.for_in(variable, over, body)?,
            ast::StmtKind::Select { variable, from, to } => {
                let variable = self.counter(variable);
                let from = self.expression(from);
                let to = self.expression(to);
                StmtKind::Select { variable: variable?, from: from?, to: to? }
            }
            ast::StmtKind::Assert(condition) => StmtKind::Assert(self.expression(condition)?),
            ast::StmtKind::Printf { format, arguments } => {
                let values = arguments.iter().map(|argument| self.expression(argument));
                let values = values.collect::<Checked<Vec<_>>>()?;
                self.check_format(format, values.len(), statement.span);
                StmtKind::Printf { format: format.to_string(), arguments: values }
            }
            ast::StmtKind::Printm(value) => StmtKind::Printm(self.expression(value)?),
            ast::StmtKind::Code(code) => {
                StmtKind::Code(self.fragment(code, false, statement.span)?)
            }
            ast::StmtKind::Else => StmtKind::Else,
            ast::StmtKind::ExclusiveReceive(channels) => {
                StmtKind::ExclusiveReceive(self.exclusive(channels, Use::Receive)?)
            }
            ast::StmtKind::ExclusiveSend(channels) => {
                StmtKind::ExclusiveSend(self.exclusive(channels, Use::Send)?)
            }
            ast::StmtKind::SetPriority(process, value) => {
                let process = self.expression(process);
                let value = self.expression(value);
                StmtKind::SetPriority(process?, value?)
            }
            ast::StmtKind::Declare(declaration) => {
                StmtKind::Declare(self.local_declaration(declaration))
            }
            ast::StmtKind::DeclareMtypes(set) => {
                self.mtype_set(set.clone());
                return Ok(None);
            }
        }))
    }

    fn assign(&mut self, target: &ast::Reference, value: &ast::Expr) -> Checked<StmtKind> {
        let place = self.target(target);
        let value = self.expression(value);
        let (place, value) = (place?, value?);
        let is_field = place.path.iter().any(|s| matches!(s, Selector::Field(..)));
        let transfer = if is_field { Transfer::InField } else { Transfer::Assigned };
        self.check_fit(&place.ty, &value, transfer)?;
        Ok(StmtKind::Assign(place, value))
    }

    /// `None` if either is a declaration.
    fn unless(&mut self, main: &ast::Stmt, escape: &ast::Stmt) -> Checked<Option<StmtKind>> {
        let main = self.statement(main);
        let escape = self.statement(escape);
        let (Some(main), Some(escape)) = (main?, escape?) else { return Ok(None) };
        Ok(Some(StmtKind::Unless { main: Box::new(main), escape: Box::new(escape) }))
    }

    /// The model's name of a label that stands here.
    fn defined_label(&self, label: &ast::Label) -> String {
        match (&self.body.labels, self.current) {
            (Some(labels), _) => labels.defined(label),
            (None, Some(id)) => self.labels[id.0 as usize].defined(label),
            (None, None) => label.ident.name.to_string(),
        }
    }

    fn goto(&mut self, label: &ast::Label) -> Checked<LabelName> {
        let labels = match (&mut self.body.labels, self.current) {
            (Some(labels), _) => labels,
            (None, Some(id)) => &mut self.labels[id.0 as usize],
            (None, None) => return Err(super::Wrong),
        };
        let span = label.ident.span;
        if let Some(name) = labels.resolve(label) {
            return Ok(LabelName { name, span });
        }
        let near = suggest::nearest(&label.ident.name, labels.names()).map(str::to_string);
        let mut diagnostic = Diagnostic::error(
            codes::UNKNOWN_LABEL,
            span,
            format!("there is no label `{}` here", label.ident.name),
        );
        if let Some(near) = near {
            diagnostic = diagnostic.suggest(format!("did you mean `{near}`?"));
        }
        Err(self.report(diagnostic))
    }

    /// A place to count with.
    fn counter(&mut self, reference: &ast::Reference) -> Checked<Place> {
        let place = self.target(reference)?;
        if place.ty == Type::Chan {
            return Err(self.error(
                codes::CHANNEL_ARITHMETIC,
                place.span,
                "a channel cannot be computed with",
            ));
        }
        Ok(place)
    }

    fn exclusive(&mut self, channels: &[ast::Reference], purpose: Use) -> Checked<Vec<Place>> {
        let mut places = Vec::new();
        for channel in channels {
            places.push(self.channel(channel, purpose)?);
        }
        Ok(places)
    }

    fn send(
        &mut self,
        channel: &ast::Reference,
        sorted: bool,
        values: &[ast::Expr],
    ) -> Checked<StmtKind> {
        let place = self.channel(channel, Use::Send)?;
        let mut flat = Vec::new();
        for value in values {
            self.values(value, &mut flat)?;
        }
        if let Some(fields) = self.message_fields(&place) {
            let last = values.last().map_or(place.span, |v| v.span);
            self.check_message_length(&place, fields.len(), flat.len(), last, "sent");
            for (field, value) in fields.iter().zip(&flat) {
                self.check_fit(field, value, Transfer::Sent)?;
            }
        }
        Ok(StmtKind::Send { channel: place, sorted, values: flat })
    }

    fn branches(&mut self, branches: &[ast::Branch]) -> Checked<Vec<Branch>> {
        let mut result = Vec::new();
        let mut first_else = None;
        for branch in branches {
            let starts_with_else =
                branch.body.first().is_some_and(|s| matches!(s.kind, ast::StmtKind::Else));
            if starts_with_else {
                let span = branch.body[0].span;
                if let Some(first) = first_else {
                    self.report(
                        Diagnostic::error(
                            codes::DUPLICATE_ELSE,
                            span,
                            "a second `else` among these options",
                        )
                        .label(first, "the first one"),
                    );
                }
                first_else = Some(span);
            }
            let body = self.sequence(&branch.body);
            if !body.is_empty() {
                result.push(Branch { body, span: branch.span });
            }
        }
        if let Some(place) = first_else {
            let message = branches.iter().filter_map(|b| b.body.first()).find(|s| {
                matches!(s.kind, ast::StmtKind::Send { .. } | ast::StmtKind::Receive { .. })
            });
            if let Some(message) = message {
                self.report(
                    Diagnostic::warning(
                        codes::ELSE_WITH_MESSAGES,
                        place,
                        "`else` beside an option that starts with a send or receive",
                    )
                    .label(message.span, "this one")
                    .suggest("ask the channel first, as in `nempty(c) -> c?x`"),
                );
            }
        }
        self.warn_about_options(&result);
        Ok(result)
    }

    fn for_in(
        &mut self,
        variable: &ast::Reference,
        over: &ast::Reference,
        body: &[ast::Stmt],
    ) -> Checked<StmtKind> {
        // An array is named without an index here, which no other place allows.
        let last = &over.parts[over.parts.len() - 1];
        if last.index.is_none()
            && let Some(length) = self.array_of(over)
        {
            let variable = self.counter(variable);
            let body = self.block(body);
            return Ok(StmtKind::ForArray { variable: variable?, length, body });
        }
        let channel = self.place(over, Use::Receive)?;
        if channel.ty != Type::Chan {
            return Err(self.error(
                codes::BAD_FOR,
                over.span,
                "`for (… in …)` goes over an array or the messages of a channel; this is neither",
            ));
        }
        let place = self.place(variable, Use::Value)?;
        if !matches!(place.ty, Type::Struct(_)) {
            return Err(self.error(
                codes::BAD_FOR,
                variable.span,
                "the messages of a channel need a structure to be put into",
            ));
        }
        let variables = self.scalars(place)?;
        if let Some(fields) = self.message_fields(&channel)
            && fields.len() != variables.len()
        {
            let message = format!(
                "messages of this channel have {}, the structure has {}",
                count(fields.len(), "field"),
                variables.len()
            );
            return Err(self.error(codes::MESSAGE_LENGTH, variable.span, message));
        }
        let body = self.block(body);
        Ok(StmtKind::ForChannel { variables, channel, body })
    }

    /// Length of an array that is named as a whole.
    fn array_of(&mut self, reference: &ast::Reference) -> Option<u32> {
        let name = &reference.parts[0].name.name;
        let (base, shape) = if let Some(id) = self.body.find(name) {
            self.body.usage[id.0 as usize].used = true;
            (crate::model::Base::Local(id), shape_of(&self.body.variables[id.0 as usize]))
        } else {
            let id = *self.globals.get(name)?;
            self.usage[id.0 as usize].used = true;
            (crate::model::Base::Global(id), shape_of(&self.model.globals[id.0 as usize]))
        };
        if reference.parts.len() == 1 {
            return shape.0;
        }
        let (last, front) = reference.parts.split_last()?;
        let owner = ast::Reference { parts: front.to_vec(), span: reference.span };
        let place = self.path(base, shape, &owner).ok()?;
        let Type::Struct(id) = place.ty else { return None };
        let fields = &self.model.typedefs[id.0 as usize].fields;
        fields.iter().find(|f| f.name == *last.name.name)?.array
    }
}

/// `_priority = n`, which is no assignment to a variable.
fn is_own_priority(target: &ast::Reference) -> bool {
    target.parts.len() == 1 && &*target.parts[0].name.name == "_priority"
}
