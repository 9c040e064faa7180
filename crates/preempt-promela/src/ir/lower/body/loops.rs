//! Loops that the language writes shortly: `for` and `select`.

use super::super::LowerError;
use super::super::element::{Action, Jump, Kind, constant};
use super::{Builder, Node, Open, Source, read, step_by};
use crate::model::{Base, BinaryOp, Expr, ExprKind, LocalId, Place, ReceiveArgument, Stmt, Type};
use crate::syntax::span::Span;

impl Builder<'_, '_> {
    pub(super) fn enter_loop(&mut self) -> u32 {
        let exit = self.loop_count;
        self.loop_count += 1;
        self.exits.push(None);
        self.loops.push(exit);
        exit
    }

    /// `x = from; do :: else -> break :: x <= to -> body; x = x + 1 od`
    pub(super) fn for_loop(
        &mut self,
        variable: &Place,
        from: Expr,
        to: Expr,
        body: &[Stmt],
        source: Source<'_>,
    ) -> Result<Node, LowerError> {
        let span = source.span;
        let exit = self.enter_loop();
        self.assign(variable, from, source);
        self.open.push(Open::default());
        self.at_start = false;
        let guard = compare(variable, BinaryOp::LessEqual, to, span);
        let node = self.basic(Action::Condition(guard), source);
        self.add(node);
        self.end_loop(variable, body, exit, source)
    }

    /// `n = 0; do :: else -> break :: n < len(c) -> c?x; c!x; body; n = n + 1 od`
    pub(super) fn for_channel(
        &mut self,
        variables: &[Place],
        channel: &Place,
        body: &[Stmt],
        source: Source<'_>,
    ) -> Result<Node, LowerError> {
        let span = source.span;
        let Some(process) = self.process else {
            return Err(LowerError::new("`for` outside of a process", span));
        };
        let known = self.lowering.model.proctypes[process].locals.len();
        let counter = Place {
            base: Base::Local(LocalId((known + self.counters) as u32)),
            path: Vec::new(),
            ty: Type::Byte,
            span,
        };
        self.counters += 1;
        let exit = self.enter_loop();
        self.assign(&counter, Expr { kind: ExprKind::Const(0), span }, source);
        self.open.push(Open::default());
        self.at_start = false;
        let length = Expr { kind: ExprKind::Len(channel.clone()), span };
        let guard = compare(&counter, BinaryOp::Less, length, span);
        let node = self.basic(Action::Condition(guard), source);
        self.add(node);
        let receive = Action::Receive {
            channel: channel.clone(),
            random: false,
            copy: false,
            arguments: variables.iter().map(|v| ReceiveArgument::Store(v.clone())).collect(),
        };
        let node = self.basic(receive, source);
        self.add(node);
        let send = Action::Send {
            channel: channel.clone(),
            sorted: false,
            values: variables.iter().map(|v| read(v, span)).collect(),
        };
        let node = self.basic(send, source);
        self.add(node);
        self.end_loop(&counter, body, exit, source)
    }

    /// The rest of a `for`: its body, the step of the counter, and the way out.
    pub(super) fn end_loop(
        &mut self,
        counter: &Place,
        body: &[Stmt],
        exit: u32,
        source: Source<'_>,
    ) -> Result<Node, LowerError> {
        let span = source.span;
        self.statements(body)?;
        let node = self.basic(step_by(counter, BinaryOp::Add, span), source);
        self.add(node);
        let main = self.close(span)?;
        self.open.push(Open::default());
        let node = self.node(Kind::Else, span, "else".into());
        self.add(node);
        let node = self.node(Kind::Goto(Jump::Break(exit)), span, "break".into());
        self.add(node);
        let leave = self.close(span)?;
        let mut node = self.node(Kind::Do, span, "for".into());
        node.options = vec![leave, main];
        node.exit = Some(exit);
        Ok(node)
    }

    /// `x = from; do :: break :: x < to -> x = x + 1 od`, or one option per value where Spin sees
    /// that there are few.
    pub(super) fn select(
        &mut self,
        variable: &Place,
        from: &Expr,
        to: &Expr,
        source: Source<'_>,
    ) -> Result<Node, LowerError> {
        let span = source.span;
        let bounds = self.literal(from).zip(self.literal(to));
        let bounds = bounds.filter(|_| !self.has_underscore(variable));
        if let Some((low, high)) = bounds
            && high.saturating_sub(low) <= 32
        {
            let mut options = Vec::new();
            for value in low..=high {
                self.open.push(Open::default());
                self.at_start = false;
                self.assign(variable, Expr { kind: ExprKind::Const(value), span }, source);
                options.push(self.close(span)?);
            }
            let mut node = self.node(Kind::If, span, "select".into());
            node.options = options;
            return Ok(node);
        }
        self.assign(variable, from.clone(), source);
        self.open.push(Open::default());
        self.at_start = false;
        let guard = compare(variable, BinaryOp::Less, to.clone(), span);
        let node = self.basic(Action::Condition(guard), source);
        self.add(node);
        let exit = self.enter_loop();
        let node = self.basic(step_by(variable, BinaryOp::Add, span), source);
        self.add(node);
        let main = self.close(span)?;
        self.open.push(Open::default());
        let node = self.node(Kind::Goto(Jump::Break(exit)), span, "break".into());
        self.add(node);
        let leave = self.close(span)?;
        let mut node = self.node(Kind::Do, span, "select".into());
        node.options = if bounds.is_some() { vec![main, leave] } else { vec![leave, main] };
        node.exit = Some(exit);
        Ok(node)
    }

    /// Whether the name of a variable has an underscore: Spin then writes `select` as a loop, however few values there are.
    fn has_underscore(&self, variable: &Place) -> bool {
        let model = self.lowering.model;
        let named = match (variable.base, self.process) {
            (Base::Global(id), _) => model.globals.get(id.0 as usize),
            (Base::Local(id), Some(at)) => model.proctypes[at].locals.get(id.0 as usize),
            _ => None,
        };
        named.is_some_and(|variable| variable.name.contains('_'))
    }

    /// The value of a number that stands without parentheses.
    pub(super) fn literal(&self, e: &Expr) -> Option<i32> {
        let value = constant(e).filter(|value| *value >= 0)?;
        let sources = &self.lowering.model.sources;
        let parenthesised = |span: Span| {
            let text = sources.files.get(span.file.0 as usize).map_or("", |f| f.text.as_str());
            let before = text.get(..span.start as usize).unwrap_or("");
            let own = text.get(span.start as usize..).unwrap_or("");
            before.trim_end().ends_with('(') || own.starts_with('(')
        };
        let outside = sources.use_site(e.span);
        (!parenthesised(e.span) && !parenthesised(outside)).then_some(value)
    }
}

fn compare(place: &Place, op: BinaryOp, with: Expr, span: Span) -> Expr {
    let kind = ExprKind::Binary(op, Box::new(read(place, span)), Box::new(with));
    Expr { kind, span }
}
