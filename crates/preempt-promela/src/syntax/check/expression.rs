//! Expressions, and the value of constant ones.

use super::super::ast;
use super::super::codes;
use super::super::diagnostic::{Diagnostic, count, given};
use super::super::suggest;
use super::place::{Use, shape_of};
use super::types::Transfer;
use super::{Checked, Checker};
use crate::model::{Base, BinaryOp, Expr, ExprKind, ProctypeId, ReceiveArgument, Type, UnaryOp};

impl Checker<'_> {
    /// An expression that computes one value.
    pub(super) fn expression(&mut self, expression: &ast::Expr) -> Checked<Expr> {
        let span = expression.span;
        let kind = match &expression.kind {
            ast::ExprKind::Const(value) => ExprKind::Const(*value),
            ast::ExprKind::Reference(reference) => return self.read(reference),
            ast::ExprKind::Unary(operator, operand) => {
                let operand = self.expression(operand)?;
                if *operator != UnaryOp::Not {
                    self.demand_number(&operand)?;
                }
                ExprKind::Unary(*operator, Box::new(operand))
            }
            ast::ExprKind::Binary(..) => return self.chain(expression),
            ast::ExprKind::Conditional(condition, then, otherwise) => {
                let condition = self.expression(condition);
                let then = self.expression(then);
                let otherwise = self.expression(otherwise);
                ExprKind::Conditional(Box::new(condition?), Box::new(then?), Box::new(otherwise?))
            }
            ast::ExprKind::Len(channel) => ExprKind::Len(self.channel(channel, Use::Receive)?),
            ast::ExprKind::ChannelTest(test, channel) => {
                ExprKind::ChannelTest(*test, self.channel(channel, Use::Receive)?)
            }
            ast::ExprKind::Poll { channel, random, arguments } => {
                let place = self.channel(channel, Use::Receive)?;
                let arguments = self.arguments(&place, arguments)?;
                ExprKind::Poll { channel: place, random: *random, arguments }
            }
            ast::ExprKind::Run { proctype, arguments, priority } => {
                return self.run(expression, proctype, arguments, priority.as_deref());
            }
            ast::ExprKind::Enabled(process) => {
                self.warn_outside_claim("enabled", expression);
                ExprKind::Enabled(Box::new(self.expression(process)?))
            }
            ast::ExprKind::PcValue(process) => {
                self.warn_outside_claim("pc_value", expression);
                ExprKind::PcValue(Box::new(self.expression(process)?))
            }
            ast::ExprKind::GetPriority(process) => {
                ExprKind::GetPriority(Box::new(self.expression(process)?))
            }
            ast::ExprKind::Code(code) => ExprKind::Code(self.fragment(code, true, span)?),
            ast::ExprKind::Timeout => ExprKind::Timeout,
            ast::ExprKind::NonProgress => {
                if !self.in_claim && !self.in_formula {
                    return Err(self.error(
                        codes::CLAIM_ONLY,
                        span,
                        "`np_` can only be asked in a never claim",
                    ));
                }
                ExprKind::NonProgress
            }
            ast::ExprKind::RemoteLabel { proctype, pid, label } => {
                let id = self.find_proctype(proctype)?;
                let pid = self.optional(pid.as_deref())?;
                self.remote_label(id, label)?;
                ExprKind::RemoteLabel { proctype: id, pid, label: label.name.to_string() }
            }
            ast::ExprKind::RemoteVariable { proctype, pid, variable } => {
                let id = self.find_proctype(proctype)?;
                let pid = self.optional(pid.as_deref())?;
                let place = self.remote_variable(id, variable)?;
                ExprKind::RemoteVariable { proctype: id, pid, place }
            }
            ast::ExprKind::TemporalUnary(..) | ast::ExprKind::TemporalBinary(..) => {
                return Err(self.report(
                    Diagnostic::error(
                        codes::TEMPORAL_OPERAND,
                        span,
                        "a temporal formula has no value that could be compared or computed with",
                    )
                    .suggest("`[]`, `<>` and `X` bind as tightly as `!`: write `[] (x < 3)`, with parentheses"),
                ));
            }
        };
        Ok(Expr { kind, span })
    }

    /// Operators in a row, `a + b + c …`, from the innermost out: such rows are long in generated
    /// models, and recursion would use up the stack.
    fn chain(&mut self, expression: &ast::Expr) -> Checked<Expr> {
        let mut row = Vec::new();
        let mut leftmost = expression;
        while let ast::ExprKind::Binary(operator, left, right) = &leftmost.kind {
            row.push((*operator, &**right, leftmost.span));
            leftmost = left;
        }
        let mut result = self.expression(leftmost);
        for (operator, right, span) in row.into_iter().rev() {
            // Both sides are checked before giving up, to find the errors of both.
            let right = self.expression(right);
            let (Ok(left), Ok(right)) = (result, right) else {
                result = Err(super::Wrong);
                continue;
            };
            let compares = matches!(
                operator,
                BinaryOp::And | BinaryOp::Or | BinaryOp::Equal | BinaryOp::NotEqual
            );
            if !compares {
                self.demand_number(&left)?;
                self.demand_number(&right)?;
            }
            if is_comparison(operator) {
                self.warn_about_comparison(&left, &right);
            }
            result = Ok(Expr {
                kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)),
                span,
            });
        }
        result
    }

    fn optional(&mut self, expression: Option<&ast::Expr>) -> Checked<Option<Box<Expr>>> {
        expression.map(|e| self.expression(e).map(Box::new)).transpose()
    }

    fn warn_outside_claim(&mut self, name: &str, expression: &ast::Expr) {
        if !self.in_claim && !self.in_formula {
            self.findings.push(Diagnostic::warning(
                codes::CLAIM_ONLY,
                expression.span,
                format!("`{name}` is meant for never claims"),
            ));
        }
    }

    /// An operand of arithmetic is no channel.
    fn demand_number(&mut self, operand: &Expr) -> Checked<()> {
        if let ExprKind::Read(place) = &operand.kind
            && place.ty == Type::Chan
        {
            return Err(self.error(
                codes::CHANNEL_ARITHMETIC,
                operand.span,
                "a channel cannot be computed with",
            ));
        }
        Ok(())
    }

    fn read(&mut self, reference: &ast::Reference) -> Checked<Expr> {
        let span = reference.span;
        let name = &reference.parts[0].name;
        if reference.parts.len() == 1 && reference.parts[0].index.is_none() {
            if let Some(index) = self.mtypes.get(&name.name) {
                return Ok(Expr { kind: ExprKind::Mtype(*index), span });
            }
            let special = match &*name.name {
                "_pid" => Some(ExprKind::Pid),
                "_nr_pr" => Some(ExprKind::ProcessCount),
                "_last" => Some(ExprKind::Last),
                "_priority" => Some(ExprKind::Priority),
                _ => None,
            };
            if let Some(kind) = special {
                return Ok(Expr { kind, span });
            }
        }
        let place = self.scalar_place(reference, Use::Value)?;
        if place.base == Base::Scratch && !self.in_trace {
            return Err(self.error(codes::READ_ONLY, span, "`_` can be written, but never read"));
        }
        Ok(Expr { kind: ExprKind::Read(place), span })
    }

    /// An expression that may be a whole structure: then all its scalars.
    pub(super) fn values(&mut self, expression: &ast::Expr, into: &mut Vec<Expr>) -> Checked<()> {
        if let ast::ExprKind::Reference(reference) = &expression.kind {
            let name = &reference.parts[0].name.name;
            let variable = self.body.find(name).is_some() || self.globals.contains_key(name);
            if variable && !self.mtypes.contains_key(name) {
                let place = self.place(reference, Use::Value)?;
                if let Type::Struct(_) = place.ty {
                    let places = self.scalars(place)?;
                    into.extend(
                        places.into_iter().map(|p| Expr { span: p.span, kind: ExprKind::Read(p) }),
                    );
                    return Ok(());
                }
            }
        }
        into.push(self.expression(expression)?);
        Ok(())
    }

    fn run(
        &mut self,
        expression: &ast::Expr,
        name: &ast::Ident,
        arguments: &[ast::Expr],
        priority: Option<&ast::Expr>,
    ) -> Checked<Expr> {
        let proctype = self.find_proctype(name)?;
        let mut values = Vec::new();
        for argument in arguments {
            self.values(argument, &mut values)?;
        }
        if let Some(signature) = &self.signatures[proctype.0 as usize]
            && signature.len() != values.len()
        {
            let wanted = signature.len();
            let declared = self.model.proctypes[proctype.0 as usize].span;
            let message = format!(
                "process type `{}` takes {}, {}",
                name.name,
                count(wanted, "argument"),
                given(values.len())
            );
            return Err(self.report(
                Diagnostic::error(codes::RUN_ARGUMENTS, expression.span, message)
                    .label(declared, "declared here"),
            ));
        }
        let parameters = self.parameters(proctype);
        for (ty, value) in parameters.iter().zip(&values) {
            self.check_fit(ty, value, Transfer::Passed)?;
        }
        let priority = match priority {
            Some(value) => Some(self.constant_within(value, 0, 255, "a priority")? as u32),
            None => None,
        };
        Ok(Expr {
            kind: ExprKind::Run { proctype, arguments: values, priority },
            span: expression.span,
        })
    }

    /// The types of the parameters of a process type, flattened, as far as known by now.
    fn parameters(&self, proctype: ProctypeId) -> Vec<Type> {
        match &self.signatures[proctype.0 as usize] {
            Some(signature) if proctype.0 < self.proctypes_seen => signature.clone(),
            _ => Vec::new(),
        }
    }

    pub(super) fn find_proctype(&mut self, name: &ast::Ident) -> Checked<ProctypeId> {
        if let Some(id) = self.proctypes.get(&name.name) {
            return Ok(*id);
        }
        let near =
            suggest::nearest(&name.name, self.proctypes.keys().map(|n| &**n)).map(str::to_string);
        let mut diagnostic = Diagnostic::error(
            codes::UNKNOWN_PROCTYPE,
            name.span,
            format!("there is no process type named `{}`", name.name),
        );
        if let Some(near) = near {
            diagnostic = diagnostic.suggest(format!("did you mean `{near}`?"));
        }
        Err(self.report(diagnostic))
    }

    fn remote_label(&mut self, id: ProctypeId, label: &ast::Ident) -> Checked<()> {
        let labels = &mut self.labels[id.0 as usize];
        if labels.refer(&label.name) {
            return Ok(());
        }
        let near = suggest::nearest(&label.name, labels.names()).map(str::to_string);
        let owner = self.model.proctypes[id.0 as usize].name.clone();
        let mut diagnostic = Diagnostic::error(
            codes::UNKNOWN_LABEL,
            label.span,
            format!("process type `{owner}` has no label `{}`", label.name),
        );
        if let Some(near) = near {
            diagnostic = diagnostic.suggest(format!("did you mean `{near}`?"));
        }
        Err(self.report(diagnostic))
    }

    fn remote_variable(
        &mut self,
        id: ProctypeId,
        reference: &ast::Reference,
    ) -> Checked<crate::model::Place> {
        let name = &reference.parts[0].name;
        let locals = if self.current == Some(id) {
            &self.body.variables
        } else {
            &self.model.proctypes[id.0 as usize].locals
        };
        let Some(position) = locals.iter().position(|l| l.name == *name.name) else {
            let near = suggest::nearest(&name.name, locals.iter().map(|l| l.name.as_str()))
                .map(str::to_string);
            let owner = self.model.proctypes[id.0 as usize].name.clone();
            let mut diagnostic = Diagnostic::error(
                codes::UNKNOWN_NAME,
                name.span,
                format!("process type `{owner}` has no variable `{}` up to here", name.name),
            );
            if let Some(near) = near {
                diagnostic = diagnostic.suggest(format!("did you mean `{near}`?"));
            }
            return Err(self.report(diagnostic));
        };
        let shape = shape_of(&locals[position]);
        let place =
            self.path(Base::Local(crate::model::LocalId(position as u32)), shape, reference)?;
        self.demand_scalar(&place)?;
        Ok(place)
    }

    /// The arguments of a receive or poll, one per message field where the channel says.
    pub(super) fn arguments(
        &mut self,
        channel: &crate::model::Place,
        arguments: &[ast::Argument],
    ) -> Checked<Vec<ReceiveArgument>> {
        let mut result = Vec::new();
        let mut last_span = channel.span;
        for argument in arguments {
            match argument {
                ast::Argument::Constant(value) => {
                    last_span = value.span;
                    result.push(ReceiveArgument::Match(self.expression(value)?));
                }
                ast::Argument::Eval(value) => {
                    last_span = value.span;
                    result.push(ReceiveArgument::Match(self.expression(value)?));
                }
                ast::Argument::Reference(reference) => {
                    last_span = reference.span;
                    let name = &reference.parts[0].name;
                    if let Some(index) = self.mtypes.get(&name.name) {
                        let constant = Expr { kind: ExprKind::Mtype(*index), span: reference.span };
                        result.push(ReceiveArgument::Match(constant));
                        continue;
                    }
                    if matches!(&*name.name, "_pid" | "_nr_pr" | "_last" | "_priority") {
                        let message = format!("`{}` cannot be received into", name.name);
                        let diagnostic = Diagnostic::error(codes::READ_ONLY, name.span, message)
                            .suggest(format!("write `eval({})` to match its value", name.name));
                        return Err(self.report(diagnostic));
                    }
                    let place = self.place(reference, Use::Store)?;
                    if place.base == Base::Scratch {
                        result.push(ReceiveArgument::Ignore);
                        continue;
                    }
                    let places = self.scalars(place)?;
                    result.extend(places.into_iter().map(ReceiveArgument::Store));
                }
            }
        }
        if let Some(fields) = self.message_fields(channel) {
            let given = result.len();
            self.check_message_length(channel, fields.len(), given, last_span, "received");
            self.check_received(&fields, &result);
        }
        Ok(result)
    }
}

fn is_comparison(operator: BinaryOp) -> bool {
    matches!(
        operator,
        BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual
    )
}
