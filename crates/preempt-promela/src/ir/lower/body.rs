//! Builds the element graph of a body, statement by statement in the order of the text.

mod escapes;
mod loops;

use super::element::{
    Action, Element, Graph, IN_D_STEP, Id, Jump, Kind, Sequence, SequenceId, Steps, constant, skip,
};
use super::{LowerError, Lowering, jumps};
use crate::model::{
    Base, BinaryOp, Branch, Expr, ExprKind, Initializer, LabelName, LocalId, Place, Selector, Stmt,
    StmtKind, Type,
};
use crate::syntax::span::Span;

/// A statement whose parts are laid out, but which has no element yet.
struct Node {
    kind: Kind,
    options: Vec<SequenceId>,
    inner: Option<SequenceId>,
    /// The loop that a `do` closes.
    exit: Option<u32>,
    steps: Steps,
    labels: Vec<LabelName>,
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
    /// Where the next element stands.
    steps: Steps,
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
            steps: Steps::default(),
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
        Node {
            kind,
            options: Vec::new(),
            inner: None,
            exit: None,
            steps: self.steps,
            labels: Vec::new(),
            span,
            text,
        }
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

    /// The same for what stands in braces: its first statement has no label of its own.
    fn block(&mut self, body: &[Stmt], span: Span) -> Result<SequenceId, LowerError> {
        let block = self.sequence(body, span)?;
        self.refuse_labelled(block, jumps::BLOCK)?;
        Ok(block)
    }

    /// Spin has no state at the start of such a sequence that a jump could lead to.
    fn refuse_labelled(&self, sequence: SequenceId, advice: &str) -> Result<(), LowerError> {
        match self.elements[self.sequences[sequence].first].labels.first() {
            Some(label) => Err(jumps::misplaced_label(label, advice)),
            None => Ok(()),
        }
    }

    fn close(&mut self, span: Span) -> Result<SequenceId, LowerError> {
        match self.open.pop() {
            Some(Open { first: Some(first), last: Some(last) }) => {
                self.sequences.push(Sequence { first, last, extent: last });
                Ok(self.sequences.len() - 1)
            }
            _ => Err(LowerError::new("a block needs at least one statement", span)),
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
            node.labels.extend(stmt.labels.iter().cloned());
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
            StmtKind::Send { channel, sorted, values } => {
                let (channel, values) = (channel.clone(), values.clone());
                self.basic(Action::Send { channel, sorted: *sorted, values }, source)
            }
            StmtKind::Receive { channel, random, copy, arguments } => {
                let (channel, arguments) = (channel.clone(), arguments.clone());
                let (random, copy) = (*random, *copy);
                self.basic(Action::Receive { channel, random, copy, arguments }, source)
            }
            StmtKind::If(branches) => {
                let options = self.options(branches)?;
                Node { options, ..self.node(Kind::If, span, "if".into()) }
            }
            StmtKind::Do(branches) => {
                let exit = Some(self.enter_loop());
                let options = self.options(branches)?;
                Node { options, exit, ..self.node(Kind::Do, span, "do".into()) }
            }
            StmtKind::Break => match self.loops.last() {
                Some(exit) => self.node(Kind::Goto(Jump::Break(*exit)), span, "break".into()),
                None => return Err(LowerError::new("`break` outside of a loop", span)),
            },
            StmtKind::Goto(label) => {
                self.node(Kind::Goto(Jump::Label(label.name.clone())), span, stmt.text.clone())
            }
            StmtKind::Atomic(body) => {
                let inner = self.block(body, span)?;
                self.make_atomic(inner, 0);
                Node { inner: Some(inner), ..self.node(Kind::Atomic, span, "atomic".into()) }
            }
            StmtKind::DStep(body) => self.d_step(body, span)?,
            StmtKind::Block(body) => {
                let inner = Some(self.block(body, span)?);
                Node { inner, ..self.node(Kind::Block, span, "{".into()) }
            }
            StmtKind::Unless { .. } if self.steps.outermost != 0 => {
                return Err(jumps::unless_in_d_step(span));
            }
            StmtKind::Unless { main, escape } => return self.unless(stmt, main, escape),
            StmtKind::ForRange { variable, from, to, body } => {
                self.for_loop(variable, from.clone(), to.clone(), body, source)?
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
            StmtKind::Code(fragment) => self.basic(Action::Code(*fragment), source),
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

    fn d_step(&mut self, body: &[Stmt], span: Span) -> Result<Node, LowerError> {
        let outermost = self.steps.outermost;
        let number = self.elements.len() as u32 + 1;
        let known = if outermost == 0 { number } else { outermost };
        self.steps = Steps { outermost: known, marked: number };
        let inner = self.block(body, span)?;
        self.make_atomic(inner, IN_D_STEP);
        let mut node = self.node(Kind::DStep, span, "d_step".into());
        node.inner = Some(inner);
        node.steps.outermost = outermost;
        self.steps = Steps { outermost, marked: 0 };
        Ok(node)
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

    fn element(&mut self, kind: Kind, span: Span, text: String) -> Id {
        self.elements.push(Element {
            kind,
            next: None,
            options: Vec::new(),
            inner: None,
            escapes: Vec::new(),
            status: 0,
            steps: self.steps,
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
                self.elements[id].steps = node.steps;
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

    fn append_to(&mut self, sequence: SequenceId, id: Id) {
        let last = self.sequences[sequence].last;
        self.elements[last].next = Some(id);
        self.sequences[sequence].last = id;
    }

    fn append(&mut self, id: Id) {
        // A special label on a jump needs a state to stand at.
        if matches!(self.elements[id].kind, Kind::Goto(_))
            && self.elements[id].labels.iter().any(|label| is_special(&label.name))
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

    fn resolve_jumps(&mut self) -> Result<(), LowerError> {
        for id in 0..self.elements.len() {
            let span = self.elements[id].span;
            let Kind::Goto(jump) = &self.elements[id].kind else { continue };
            let target = match jump {
                Jump::To(target) => Some(*target),
                Jump::Break(exit) => self.exits[*exit as usize],
                Jump::Label(name) => {
                    let mut all = self.elements.iter();
                    all.position(|e| e.labels.iter().any(|label| label.name == *name))
                }
            };
            match target {
                Some(target) => self.elements[id].kind = Kind::Goto(Jump::To(target)),
                None => {
                    return Err(LowerError::new("unknown label", span));
                }
            }
        }
        Ok(())
    }
}

fn is_special(label: &str) -> bool {
    ["accept", "end", "progress"].iter().any(|prefix| label.starts_with(prefix))
}

/// Lays out a body.
pub(super) fn build(
    lowering: &Lowering<'_>,
    process: Option<usize>,
    body: &[Stmt],
    end: Span,
) -> Result<Graph, LowerError> {
    let mut graph = Builder::new(lowering, process).build(body, end)?;
    graph.tie_ends();
    jumps::check(&graph)?;
    Ok(graph)
}

fn step_by(place: &Place, op: BinaryOp, span: Span) -> Action {
    let one = Box::new(Expr { kind: ExprKind::Const(1), span });
    let value = ExprKind::Binary(op, Box::new(read(place, span)), one);
    Action::Assign(place.clone(), Expr { kind: value, span })
}

fn read(place: &Place, span: Span) -> Expr {
    Expr { kind: ExprKind::Read(place.clone()), span }
}
