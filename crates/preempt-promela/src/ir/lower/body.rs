//! Builds the element graph of a body, statement by statement in the order of the text.

use super::element::{
    ATOMIC, Action, Element, Graph, IN_D_STEP, Id, Jump, Kind, LAST_OF_ATOMIC, Sequence,
    SequenceId, constant, skip,
};
use super::{LowerError, Lowering};
use crate::model::{
    Base, BinaryOp, Branch, Expr, ExprKind, Initializer, LocalId, Place, ReceiveArgument, Selector,
    Stmt, StmtKind, Type,
};
use crate::syntax::span::Span;

/// A statement whose parts are laid out, but which has no element yet.
struct Node {
    kind: Kind,
    options: Vec<SequenceId>,
    inner: Option<SequenceId>,
    /// The loop that a `do` closes.
    exit: Option<u32>,
    labels: Vec<(String, Option<crate::syntax::span::ExpansionId>)>,
    span: Span,
    text: String,
}

#[derive(Default)]
struct Open {
    first: Option<Id>,
    last: Option<Id>,
}

pub(super) struct Builder<'l, 'm> {
    lowering: &'l Lowering<'m>,
    process: Option<usize>,
    elements: Vec<Element>,
    sequences: Vec<Sequence>,
    open: Vec<Open>,
    /// Enclosing loops, innermost last.
    loops: Vec<u32>,
    loop_count: u32,
    /// Exit elements of finished loops.
    exits: Vec<Option<Id>>,
    /// Only declarations so far: initialisers run when the process starts.
    at_start: bool,
    late: Vec<u32>,
    /// Counters of loops over channels, kept in extra locals.
    counters: usize,
}

/// Where a statement stands, and how traces show it.
#[derive(Clone, Copy)]
struct Source<'s> {
    span: Span,
    text: &'s str,
}

impl<'s> Source<'s> {
    fn of(stmt: &'s Stmt) -> Self {
        Source { span: stmt.span, text: &stmt.text }
    }
}

impl<'l, 'm> Builder<'l, 'm> {
    pub(super) fn new(lowering: &'l Lowering<'m>, process: Option<usize>) -> Self {
        Builder {
            lowering,
            process,
            elements: Vec::new(),
            sequences: Vec::new(),
            open: Vec::new(),
            loops: Vec::new(),
            loop_count: 0,
            exits: Vec::new(),
            at_start: true,
            late: Vec::new(),
            counters: 0,
        }
    }

    pub(super) fn build(mut self, body: &[Stmt], end: Span) -> Result<Graph, LowerError> {
        self.open.push(Open::default());
        self.statements(body)?;
        let stop = self.node(Kind::Stop, end, "-end-".into());
        self.add(stop);
        let body = self.close(end)?;
        self.resolve_jumps()?;
        Ok(Graph {
            process: self.process,
            elements: self.elements,
            sequences: self.sequences,
            body,
            late: self.late,
            counters: self.counters,
        })
    }

    fn node(&self, kind: Kind, span: Span, text: String) -> Node {
        Node { kind, options: Vec::new(), inner: None, exit: None, labels: Vec::new(), span, text }
    }

    fn basic(&self, action: Action, source: Source<'_>) -> Node {
        self.node(Kind::Basic(action), source.span, source.text.to_string())
    }

    fn statements(&mut self, body: &[Stmt]) -> Result<(), LowerError> {
        for stmt in body {
            match &stmt.kind {
                StmtKind::Declare(locals) => self.declare(locals, Source::of(stmt)),
                StmtKind::ExclusiveReceive(_) | StmtKind::ExclusiveSend(_) => {}
                _ => {
                    let node = self.parse(stmt)?;
                    self.at_start = false;
                    self.add(node);
                }
            }
        }
        Ok(())
    }

    fn sequence(&mut self, body: &[Stmt], span: Span) -> Result<SequenceId, LowerError> {
        self.open.push(Open::default());
        self.at_start = false;
        self.statements(body)?;
        self.close(span)
    }

    fn close(&mut self, span: Span) -> Result<SequenceId, LowerError> {
        match self.open.pop() {
            Some(Open { first: Some(first), last: Some(last) }) => {
                self.sequences.push(Sequence { first, last, extent: last });
                Ok(self.sequences.len() - 1)
            }
            _ => Err(LowerError { message: "a block needs at least one statement".into(), span }),
        }
    }

    /// Declarations after the first statement are steps: the variable gets its value there.
    fn declare(&mut self, locals: &[LocalId], source: Source<'_>) {
        let span = source.span;
        let Some(process) = self.process else { return };
        if self.at_start {
            return;
        }
        for local in locals {
            let variable = &self.lowering.model.proctypes[process].locals[local.0 as usize];
            let mut path = Vec::new();
            if let Some(length) = variable.array {
                let zero = Expr { kind: ExprKind::Const(0), span };
                path.push(Selector::Index(Box::new(zero), length));
            }
            let place = Place {
                base: Base::Local(*local),
                path,
                ty: variable.ty.clone(),
                span: variable.span,
            };
            let zero = Expr { kind: ExprKind::Const(0), span };
            let action = match (&variable.ty, &variable.init) {
                (Type::Struct(_), _) => Action::Nothing,
                (_, None) => Action::Assign(place, zero),
                (_, Some(Initializer::Expr(e))) => {
                    self.late.push(local.0);
                    Action::Assign(place, e.clone())
                }
                (_, Some(_)) => continue,
            };
            let node = self.basic(action, Source { span: variable.span, ..source });
            self.add(node);
        }
    }

    fn parse(&mut self, stmt: &Stmt) -> Result<Node, LowerError> {
        let mut node = self.parse_kind(stmt)?;
        if !matches!(stmt.kind, StmtKind::Unless { .. }) {
            node.labels.extend(stmt.labels.iter().map(|l| (l.name.clone(), l.span.expansion)));
        }
        Ok(node)
    }

    fn parse_kind(&mut self, stmt: &Stmt) -> Result<Node, LowerError> {
        let span = stmt.span;
        let source = Source::of(stmt);
        Ok(match &stmt.kind {
            StmtKind::Condition(e) => self.basic(Action::Condition(e.clone()), source),
            StmtKind::Assign(place, value) => {
                self.basic(Action::Assign(place.clone(), value.clone()), source)
            }
            StmtKind::Increment(place) => self.basic(step_by(place, BinaryOp::Add, span), source),
            StmtKind::Decrement(place) => {
                self.basic(step_by(place, BinaryOp::Subtract, span), source)
            }
            StmtKind::Send { channel, sorted, values } => self.basic(
                Action::Send { channel: channel.clone(), sorted: *sorted, values: values.clone() },
                source,
            ),
            StmtKind::Receive { channel, random, copy, arguments } => self.basic(
                Action::Receive {
                    channel: channel.clone(),
                    random: *random,
                    copy: *copy,
                    arguments: arguments.clone(),
                },
                source,
            ),
            StmtKind::If(branches) => {
                let options = self.options(branches)?;
                let mut node = self.node(Kind::If, span, "if".into());
                node.options = options;
                node
            }
            StmtKind::Do(branches) => {
                let exit = self.enter_loop();
                let options = self.options(branches)?;
                let mut node = self.node(Kind::Do, span, "do".into());
                node.options = options;
                node.exit = Some(exit);
                node
            }
            StmtKind::Break => match self.loops.last() {
                Some(exit) => self.node(Kind::Goto(Jump::Break(*exit)), span, "break".into()),
                None => {
                    return Err(LowerError { message: "`break` outside of a loop".into(), span });
                }
            },
            StmtKind::Goto(label) => self.node(
                Kind::Goto(Jump::Label(label.name.clone(), label.span.expansion)),
                span,
                stmt.text.clone(),
            ),
            StmtKind::Atomic(body) => {
                let inner = self.sequence(body, span)?;
                self.make_atomic(inner, 0);
                let mut node = self.node(Kind::Atomic, span, "atomic".into());
                node.inner = Some(inner);
                node
            }
            StmtKind::DStep(body) => {
                let inner = self.sequence(body, span)?;
                self.make_atomic(inner, IN_D_STEP);
                let mut node = self.node(Kind::DStep, span, "d_step".into());
                node.inner = Some(inner);
                node
            }
            StmtKind::Block(body) => {
                let inner = self.sequence(body, span)?;
                let mut node = self.node(Kind::Block, span, "{".into());
                node.inner = Some(inner);
                node
            }
            StmtKind::Unless { main, escape } => return self.unless(stmt, main, escape),
            StmtKind::ForRange { variable, from, to, body } => {
                let to = to.clone();
                self.for_loop(variable, from.clone(), to, body, source)?
            }
            StmtKind::ForArray { variable, length, body } => {
                let from = Expr { kind: ExprKind::Const(0), span };
                let to = Expr { kind: ExprKind::Const(*length as i32 - 1), span };
                self.for_loop(variable, from, to, body, source)?
            }
            StmtKind::ForChannel { variables, channel, body } => {
                self.for_channel(variables, channel, body, source)?
            }
            StmtKind::Select { variable, from, to } => self.select(variable, from, to, source)?,
            StmtKind::Assert(e) => self.basic(Action::Assert(e.clone()), source),
            StmtKind::Printf { format, arguments } => self.basic(
                Action::Printf { format: format.clone(), arguments: arguments.clone() },
                source,
            ),
            StmtKind::Printm(e) => self.basic(Action::Printm(e.clone()), source),
            StmtKind::Else => self.node(Kind::Else, span, "else".into()),
            StmtKind::SetPriority(pid, value) => {
                self.basic(Action::SetPriority(pid.clone(), value.clone()), source)
            }
            StmtKind::OwnPriority(value) => self.basic(Action::OwnPriority(value.clone()), source),
            StmtKind::ExclusiveReceive(_) | StmtKind::ExclusiveSend(_) | StmtKind::Declare(_) => {
                self.basic(Action::Nothing, source)
            }
        })
    }

    fn enter_loop(&mut self) -> u32 {
        let exit = self.loop_count;
        self.loop_count += 1;
        self.exits.push(None);
        self.loops.push(exit);
        exit
    }

    fn options(&mut self, branches: &[Branch]) -> Result<Vec<SequenceId>, LowerError> {
        let mut options = Vec::new();
        for branch in branches {
            let option = self.sequence(&branch.body, branch.span)?;
            options.push(option);
        }
        if self.process.is_some() {
            for option in &options {
                self.drop_repeated_skips(*option);
            }
        }
        Ok(options)
    }

    /// Of skips in a row (prints count, but stay) only the first is kept.
    fn drop_repeated_skips(&mut self, sequence: SequenceId) {
        let bounds = self.sequences[sequence];
        let mut count = 0;
        let mut previous = None;
        let mut at = Some(bounds.first);
        while let Some(id) = at {
            let element = &self.elements[id];
            let next = if id == bounds.last { None } else { element.next };
            let is_print =
                matches!(&element.kind, Kind::Basic(Action::Printf { .. } | Action::Printm(_)));
            let is_skip = matches!(
                &element.kind,
                Kind::Basic(Action::Condition(e)) if constant(e) == Some(1)
            );
            let mut removed = false;
            if (is_print || is_skip) && element.labels.is_empty() {
                count += 1;
                if count > 1 && is_skip && id != bounds.first && id != bounds.last {
                    if let Some(previous) = previous {
                        let element: &mut Element = &mut self.elements[previous];
                        element.next = next;
                    }
                    removed = true;
                }
            } else {
                count = 0;
            }
            if !removed {
                previous = Some(id);
            }
            at = next;
        }
    }

    fn assign(&mut self, place: &Place, value: Expr, source: Source<'_>) {
        let node = self.basic(Action::Assign(place.clone(), value), source);
        self.add(node);
    }

    /// `x = from; do :: else -> break :: x <= to -> body; x = x + 1 od`
    fn for_loop(
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
    fn for_channel(
        &mut self,
        variables: &[Place],
        channel: &Place,
        body: &[Stmt],
        source: Source<'_>,
    ) -> Result<Node, LowerError> {
        let span = source.span;
        let Some(process) = self.process else {
            return Err(LowerError { message: "`for` outside of a process".into(), span });
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
    fn end_loop(
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
    fn select(
        &mut self,
        variable: &Place,
        from: &Expr,
        to: &Expr,
        source: Source<'_>,
    ) -> Result<Node, LowerError> {
        let span = source.span;
        let bounds = self.literal(from).zip(self.literal(to));
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

    /// The value of a number that stands without parentheses.
    fn literal(&self, e: &Expr) -> Option<i32> {
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

    fn unless(&mut self, stmt: &Stmt, main: &Stmt, escape: &Stmt) -> Result<Node, LowerError> {
        let mut main_node = self.parse(main)?;
        main_node.labels.extend(stmt.labels.iter().map(|l| (l.name.clone(), l.span.expansion)));
        // A `break` in the escape of a loop means the loop around it.
        let inner_loop = main_node.exit.and_then(|_| self.loops.pop());
        let escape_node = self.parse(escape)?;
        self.loops.extend(inner_loop);
        let escape_sequence = match (&escape_node.kind, escape_node.labels.is_empty()) {
            (Kind::Block, true) => escape_node.inner,
            _ => {
                self.open.push(Open::default());
                self.add(escape_node);
                Some(self.close(escape.span)?)
            }
        };
        let labelled_block = !main_node.labels.is_empty()
            && matches!(main_node.kind, Kind::Block | Kind::Atomic | Kind::DStep);
        let mut wrapper = None;
        let main_sequence = match main_node.kind {
            Kind::Block if main_node.labels.is_empty() => main_node.inner,
            _ if labelled_block => {
                wrapper = Some((main_node.kind.clone(), main_node.labels));
                main_node.inner
            }
            _ => {
                self.open.push(Open::default());
                self.add(main_node);
                Some(self.close(main.span)?)
            }
        };
        let mut node = self.node(Kind::Unless, stmt.span, "unless".into());
        node.options.extend(main_sequence);
        node.options.extend(escape_sequence);
        let Some((kind, labels)) = wrapper else { return Ok(node) };
        // `L: { … } unless { … }`: the label belongs to the whole.
        self.open.push(Open::default());
        self.add(node);
        let inner = self.close(stmt.span)?;
        let mut node = self.node(kind, stmt.span, "{".into());
        node.inner = Some(inner);
        node.labels = labels;
        Ok(node)
    }

    fn element(&mut self, kind: Kind, span: Span, text: String) -> Id {
        self.elements.push(Element {
            kind,
            next: None,
            options: Vec::new(),
            inner: None,
            escapes: Vec::new(),
            status: 0,
            labels: Vec::new(),
            span,
            text,
        });
        self.elements.len() - 1
    }

    /// Gives a statement its element (and the joins it needs) at the end of the open sequence.
    fn add(&mut self, node: Node) {
        match node.kind {
            Kind::If | Kind::Do => self.add_selection(node),
            Kind::Unless => self.add_unless(node),
            kind => {
                let id = self.element(kind, node.span, node.text);
                self.elements[id].inner = node.inner;
                self.elements[id].labels = node.labels;
                self.append(id);
            }
        }
    }

    fn add_selection(&mut self, node: Node) {
        let is_loop = matches!(node.kind, Kind::Do);
        let id = self.element(node.kind, node.span, node.text);
        let join = self.element(Kind::Join, node.span, String::new());
        let mut options = node.options;
        // `else` is tried last.
        if let Some(at) = options
            .iter()
            .position(|o| matches!(self.elements[self.sequences[*o].first].kind, Kind::Else))
        {
            let option = options.remove(at);
            options.push(option);
        }
        for option in &options {
            self.append_to(*option, join);
        }
        self.elements[id].options = options;
        self.elements[id].labels = node.labels;
        if is_loop {
            self.append(join);
            self.append(id);
            let exit = self.element(Kind::Exit, node.span, String::new());
            if let Some(number) = node.exit {
                self.exits[number as usize] = Some(exit);
                self.loops.retain(|l| *l != number);
            }
            self.append(exit);
        } else {
            self.append(id);
            self.append(join);
        }
    }

    fn add_unless(&mut self, node: Node) {
        let id = self.element(Kind::Unless, node.span, node.text);
        let join = self.element(Kind::Join, node.span, String::new());
        for option in &node.options {
            self.append_to(*option, join);
        }
        if let [main, escape] = node.options[..] {
            self.attach_escape(main, escape);
        }
        self.elements[id].options = node.options;
        self.elements[id].labels = node.labels;
        self.append(id);
        self.append(join);
    }

    fn append_to(&mut self, sequence: SequenceId, id: Id) {
        let last = self.sequences[sequence].last;
        self.elements[last].next = Some(id);
        self.sequences[sequence].last = id;
    }

    fn append(&mut self, id: Id) {
        // A special label on a jump needs a state to stand at.
        if matches!(self.elements[id].kind, Kind::Goto(_))
            && self.elements[id].labels.iter().any(|(name, _)| is_special(name))
        {
            let span = self.elements[id].span;
            let labels = std::mem::take(&mut self.elements[id].labels);
            let added =
                self.element(Kind::Basic(Action::Condition(skip(span))), span, "skip".into());
            self.elements[added].labels = labels;
            self.link(added);
        }
        self.link(id);
    }

    fn link(&mut self, id: Id) {
        let Some(open) = self.open.last_mut() else { return };
        match open.last {
            Some(last) => self.elements[last].next = Some(id),
            None => open.first = Some(id),
        }
        open.last = Some(id);
    }

    fn attach_escape(&mut self, sequence: SequenceId, escape: SequenceId) {
        let Sequence { first, extent, .. } = self.sequences[sequence];
        let mut at = Some(first);
        let mut budget = self.elements.len();
        while let Some(id) = at {
            self.escape_element(id, escape);
            if id == extent || budget == 0 {
                break;
            }
            budget -= 1;
            at = self.elements[id].next;
        }
    }

    fn escape_element(&mut self, id: Id, escape: SequenceId) {
        if self.elements[id].escapes.contains(&escape) {
            return;
        }
        for inner in self.elements[id].escapes.clone() {
            self.attach_escape(inner, escape);
        }
        self.elements[id].escapes.insert(0, escape);
        let element = &self.elements[id];
        match element.kind {
            Kind::Unless => {
                let main = element.options[0];
                self.attach_escape(main, escape);
            }
            Kind::If | Kind::Do => {
                for option in element.options.clone() {
                    self.attach_escape(option, escape);
                }
            }
            Kind::DStep => {
                if let Some(inner) = element.inner {
                    let first = self.sequences[inner].first;
                    self.escape_element(first, escape);
                }
            }
            Kind::Atomic | Kind::Block => {
                if let Some(inner) = element.inner {
                    self.attach_escape(inner, escape);
                }
            }
            _ => {}
        }
    }

    fn make_atomic(&mut self, sequence: SequenceId, added: u8) {
        self.walk_atomic(sequence, added);
        let last = self.sequences[sequence].last;
        let element = &mut self.elements[last];
        match element.kind {
            Kind::Block | Kind::Atomic => {
                if let Some(inner) = element.inner {
                    self.make_atomic(inner, added);
                }
            }
            Kind::Unless => {
                let main = element.options[0];
                self.make_atomic(main, added);
            }
            _ => {
                element.status &= !ATOMIC;
                element.status |= LAST_OF_ATOMIC;
            }
        }
    }

    fn walk_atomic(&mut self, sequence: SequenceId, added: u8) {
        let Sequence { first, last, .. } = self.sequences[sequence];
        let mut at = Some(first);
        let mut budget = self.elements.len();
        while let Some(id) = at {
            let element = &mut self.elements[id];
            element.status |= ATOMIC | added;
            let inside = match element.kind {
                Kind::Atomic | Kind::Block => true,
                Kind::DStep => added != 0,
                _ => false,
            };
            if inside {
                element.kind = Kind::Block;
                if let Some(inner) = element.inner {
                    self.walk_atomic(inner, added);
                }
            }
            for option in self.elements[id].options.clone() {
                self.walk_atomic(option, added);
            }
            if id == last || budget == 0 {
                break;
            }
            budget -= 1;
            at = self.elements[id].next;
        }
    }

    fn resolve_jumps(&mut self) -> Result<(), LowerError> {
        for id in 0..self.elements.len() {
            let span = self.elements[id].span;
            let Kind::Goto(jump) = &self.elements[id].kind else { continue };
            let target = match jump {
                Jump::To(target) => Some(*target),
                Jump::Break(exit) => self.exits[*exit as usize],
                Jump::Label(name, expansion) => {
                    let with = |same: bool| {
                        self.elements.iter().position(|e| {
                            e.labels.iter().any(|(n, x)| n == name && (!same || x == expansion))
                        })
                    };
                    with(true).or_else(|| with(false))
                }
            };
            match target {
                Some(target) => self.elements[id].kind = Kind::Goto(Jump::To(target)),
                None => {
                    return Err(LowerError { message: "unknown label".into(), span });
                }
            }
        }
        Ok(())
    }
}

fn is_special(label: &str) -> bool {
    ["accept", "end", "progress"].iter().any(|prefix| label.starts_with(prefix))
}

fn read(place: &Place, span: Span) -> Expr {
    Expr { kind: ExprKind::Read(place.clone()), span }
}

fn step_by(place: &Place, op: BinaryOp, span: Span) -> Action {
    let one = Box::new(Expr { kind: ExprKind::Const(1), span });
    let value = ExprKind::Binary(op, Box::new(read(place, span)), one);
    Action::Assign(place.clone(), Expr { kind: value, span })
}

fn compare(place: &Place, op: BinaryOp, with: Expr, span: Span) -> Expr {
    let kind = ExprKind::Binary(op, Box::new(read(place, span)), Box::new(with));
    Expr { kind, span }
}
