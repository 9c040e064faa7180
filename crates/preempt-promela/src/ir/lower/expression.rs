//! Expressions and places of the model as expressions and places of the intermediate form.

use super::storage::{Home, element_kind, kind_of};
use super::{LowerError, Lowering, POLLED_RENDEZVOUS};
use crate::ir::{
    BinaryOp, ChannelRef, Expr, ExprId, Index, Pattern, PatternRange, Pc, Place, ProctypeIndex,
    Space,
};
use crate::model::{self, Base, ExprKind, ReceiveArgument, Selector};
use crate::syntax::span::Span;
use preempt_core::FaultKind;

/// Where a place of the model ended up.
enum Target {
    Place(Place),
    /// Not in the state; the indices are still evaluated.
    Hidden(Vec<ExprId>),
    /// A channel that never changes: its index, plus a checked index into an array of them.
    Fixed(u32, Option<Index>),
}

impl Lowering<'_> {
    /// Translates an expression of a process type (or of no process).
    pub(super) fn value(
        &mut self,
        e: &model::Expr,
        process: Option<usize>,
    ) -> Result<ExprId, LowerError> {
        let expr = match &e.kind {
            ExprKind::Const(value) => Expr::Const(*value),
            ExprKind::Mtype(index) => {
                Expr::Const(i32::from(self.model.mtypes[*index as usize].value))
            }
            ExprKind::Read(place) => return self.read(place, process),
            ExprKind::Unary(op, a) => Expr::Unary(*op, self.value(a, process)?),
            ExprKind::Binary(op, a, b) => {
                let a = self.value(a, process)?;
                let b = self.value(b, process)?;
                self.binary(*op, a, b, e.span)
            }
            ExprKind::Conditional(a, b, c) => Expr::Conditional(
                self.value(a, process)?,
                self.value(b, process)?,
                self.value(c, process)?,
            ),
            ExprKind::Len(channel) => Expr::Length(self.channel(channel, process)?),
            ExprKind::ChannelTest(test, channel) => {
                Expr::ChannelTest(*test, self.channel(channel, process)?)
            }
            ExprKind::Poll { channel, random, arguments } => {
                let channel = self.channel(channel, process)?;
                let pattern = self.pattern(arguments, process)?;
                let fault = self.fault(FaultKind::Runtime, POLLED_RENDEZVOUS, e.span);
                Expr::Poll { channel, random: *random, pattern, fault }
            }
            // The process that `run` makes gets this id.
            ExprKind::Run { .. } => Expr::ProcessCount,
            ExprKind::Enabled(pid) => {
                self.note_question(e.span);
                Expr::Enabled(self.value(pid, process)?)
            }
            ExprKind::PcValue(pid) => Expr::PcValue(self.value(pid, process)?),
            ExprKind::GetPriority(pid) => Expr::PriorityOf(self.value(pid, process)?),
            ExprKind::Code(fragment) => Expr::Fragment(self.fragment(*fragment, e.span)),
            ExprKind::Timeout => Expr::Timeout,
            ExprKind::NonProgress => Expr::NonProgress,
            ExprKind::Pid => Expr::Pid,
            ExprKind::ProcessCount if self.options.count_claim => {
                let count = self.expr(Expr::ProcessCount);
                let one = self.constant(1);
                Expr::Binary(BinaryOp::Add, count, one)
            }
            ExprKind::ProcessCount => Expr::ProcessCount,
            ExprKind::Last => Expr::LastMover,
            ExprKind::Priority => {
                let me = self.expr(Expr::Pid);
                Expr::PriorityOf(me)
            }
            ExprKind::RemoteLabel { proctype, pid, label } => {
                let pid = pid.as_ref().map(|pid| self.value(pid, process)).transpose()?;
                let pc = self.label_pc(proctype.0 as usize, label);
                Expr::At { proctype: ProctypeIndex(proctype.0 as u8), pid, pc }
            }
            ExprKind::RemoteVariable { proctype, pid, place } => {
                let pid = pid.as_ref().map(|pid| self.value(pid, process)).transpose()?;
                let owner = proctype.0 as usize;
                let proctype = ProctypeIndex(proctype.0 as u8);
                match self.target(place, Some(owner), process)? {
                    Target::Place(place) => Expr::RemoteLoad { proctype, pid, place },
                    _ => Expr::Const(0),
                }
            }
        };
        Ok(self.expr(expr))
    }

    /// Translates several, in this order.
    pub(super) fn values(
        &mut self,
        expressions: &[model::Expr],
        process: Option<usize>,
    ) -> Result<Vec<ExprId>, LowerError> {
        expressions.iter().map(|e| self.value(e, process)).collect()
    }

    /// Makes the fault of a process that asks `enabled` about itself; the first question is its place.
    fn note_question(&mut self, span: Span) {
        if self.program.circular_question.is_none() {
            let message = "`enabled` is asked about the process that asks";
            let fault = self.fault(FaultKind::Runtime, message, span);
            self.program.circular_question = Some(fault);
        }
    }

    fn binary(&mut self, op: model::BinaryOp, a: ExprId, b: ExprId, span: Span) -> Expr {
        use model::BinaryOp as M;
        let op = match op {
            M::Divide | M::Remainder => {
                let fault = self.fault(FaultKind::Runtime, "division by zero", span);
                return Expr::Divide {
                    dividend: a,
                    divisor: b,
                    remainder: op == M::Remainder,
                    fault,
                };
            }
            M::Add => BinaryOp::Add,
            M::Subtract => BinaryOp::Subtract,
            M::Multiply => BinaryOp::Multiply,
            M::ShiftLeft => BinaryOp::ShiftLeft,
            M::ShiftRight => BinaryOp::ShiftRight,
            M::BitAnd => BinaryOp::BitAnd,
            M::BitOr => BinaryOp::BitOr,
            M::BitXor => BinaryOp::BitXor,
            M::And => BinaryOp::And,
            M::Or => BinaryOp::Or,
            M::Equal => BinaryOp::Equal,
            M::NotEqual => BinaryOp::NotEqual,
            M::Less => BinaryOp::Less,
            M::LessEqual => BinaryOp::LessEqual,
            M::Greater => BinaryOp::Greater,
            M::GreaterEqual => BinaryOp::GreaterEqual,
        };
        Expr::Binary(op, a, b)
    }

    /// The control state of a label; nowhere if no process can rest at it.
    fn label_pc(&self, proctype: usize, label: &str) -> Pc {
        let number = self.labels[proctype].iter().find(|(name, _)| name == label).map(|(_, n)| *n);
        let pc = number.and_then(|n| self.pcs[proctype].get(&n).copied());
        Pc(pc.unwrap_or(u16::MAX))
    }

    fn read(&mut self, place: &model::Place, process: Option<usize>) -> Result<ExprId, LowerError> {
        let expr = match self.target(place, process, process)? {
            Target::Place(place) => Expr::Load(place),
            Target::Hidden(_) => Expr::Const(0),
            Target::Fixed(first, None) => Expr::Const(first as i32 + 1),
            Target::Fixed(first, Some(index)) => {
                let base = self.constant(first as i32 + 1);
                let offset = self.expr(Expr::Bounded(index));
                Expr::Binary(BinaryOp::Add, base, offset)
            }
        };
        Ok(self.expr(expr))
    }

    /// A place to store to; `None` if nothing is kept there.
    pub(super) fn store_place(
        &mut self,
        place: &model::Place,
        process: Option<usize>,
    ) -> Result<Result<Place, Vec<ExprId>>, LowerError> {
        Ok(match self.target(place, process, process)? {
            Target::Place(place) => Ok(place),
            Target::Hidden(indices) => Err(indices),
            Target::Fixed(..) => Err(Vec::new()),
        })
    }

    /// Finds a place. `owner` has the variable, `reader` evaluates the indices.
    fn target(
        &mut self,
        place: &model::Place,
        owner: Option<usize>,
        reader: Option<usize>,
    ) -> Result<Target, LowerError> {
        let (space, home, variable) = match (place.base, owner) {
            (Base::Global(id), _) => {
                let at = id.0 as usize;
                (Space::Global, self.storage.globals[at], self.model.globals[at].clone())
            }
            (Base::Local(id), Some(owner)) => {
                let at = id.0 as usize;
                (Space::Local, self.storage.locals[owner][at], self.locals[owner][at].clone())
            }
            (Base::Scratch, _) => return Ok(Target::Hidden(Vec::new())),
            (Base::Local(_), None) => {
                return Err(LowerError::new("a local variable outside of its process", place.span));
            }
        };
        let mut offset = 0;
        let mut indices = Vec::new();
        let mut ty = variable.ty.clone();
        let mut in_array = variable.array.is_some();
        let mut name = variable.name.clone();
        for selector in &place.path {
            match selector {
                Selector::Index(e, length) => {
                    let stride = self.storage.size(&ty);
                    let value = self.value(e, reader)?;
                    match self.program.expr(value) {
                        Expr::Const(at) if (0..*length as i32).contains(at) => {
                            offset += *at as u32 * stride;
                        }
                        _ => {
                            let fault = self.fault(
                                FaultKind::Runtime,
                                format!("index of `{name}` is out of bounds"),
                                place.span,
                            );
                            indices.push(Index { value, length: *length, stride, fault });
                        }
                    }
                }
                Selector::Field(typedef, field) => {
                    offset += self.storage.field(*typedef, *field);
                    let field = &self.model.typedefs[typedef.0 as usize].fields[*field as usize];
                    ty = field.ty.clone();
                    in_array = field.array.is_some();
                    name = format!("{name}.{}", field.name);
                }
            }
        }
        Ok(match home {
            Home::At(base) => Target::Place(Place {
                space,
                offset: base + offset,
                kind: element_kind(&ty, in_array),
                indices,
            }),
            Home::Hidden => Target::Hidden(
                indices.into_iter().map(|index| self.expr(Expr::Bounded(index))).collect(),
            ),
            Home::Fixed(first) => {
                let index = indices.pop().map(|index| Index { stride: 1, ..index });
                Target::Fixed(first + offset, index)
            }
        })
    }

    /// How to find the channel that a place holds.
    pub(super) fn channel(
        &mut self,
        place: &model::Place,
        process: Option<usize>,
    ) -> Result<ChannelRef, LowerError> {
        if let (Base::Local(id), Some(process)) = (place.base, process)
            && let Some(own) = self.storage.own[process].get(id.0 as usize).copied().flatten()
            && place.path.is_empty()
        {
            return Ok(ChannelRef::Own(own));
        }
        let id = match self.target(place, process, process)? {
            Target::Fixed(first, None) => return Ok(ChannelRef::Global(first)),
            Target::Fixed(first, Some(index)) => {
                let base = self.constant(first as i32 + 1);
                let offset = self.expr(Expr::Bounded(index));
                self.expr(Expr::Binary(BinaryOp::Add, base, offset))
            }
            Target::Place(place) => self.expr(Expr::Load(place)),
            Target::Hidden(_) => self.constant(0),
        };
        let fault = self.fault(FaultKind::Runtime, "uninitialised channel", place.span);
        Ok(ChannelRef::Dynamic { id, fault })
    }

    pub(super) fn pattern(
        &mut self,
        arguments: &[ReceiveArgument],
        process: Option<usize>,
    ) -> Result<PatternRange, LowerError> {
        let mut patterns = Vec::new();
        for argument in arguments {
            patterns.push(match argument {
                ReceiveArgument::Store(place) => match self.store_place(place, process)? {
                    Ok(place) => Pattern::Store(place),
                    Err(_) => Pattern::Ignore,
                },
                ReceiveArgument::Match(e) => Pattern::Match(self.value(e, process)?),
                ReceiveArgument::Ignore => Pattern::Ignore,
            });
        }
        Ok(self.patterns(patterns))
    }

    /// All channels that a channel variable, or an array of them, stands for.
    pub(super) fn channels_of(
        &mut self,
        place: &model::Place,
        process: Option<usize>,
    ) -> Result<Option<Vec<ChannelRef>>, LowerError> {
        let length = match (place.base, process) {
            (Base::Global(id), _) => self.model.globals[id.0 as usize].array,
            (Base::Local(id), Some(process)) => self.locals[process][id.0 as usize].array,
            _ => None,
        };
        if place.path.iter().any(|s| matches!(s, Selector::Field(..))) {
            return Ok(None);
        }
        let mut channels = Vec::new();
        for element in 0..length.unwrap_or(1) {
            let mut one = place.clone();
            if let Some(length) = length {
                let kind = ExprKind::Const(element as i32);
                let index = model::Expr { kind, span: place.span };
                one.path = vec![Selector::Index(Box::new(index), length)];
            }
            channels.push(self.channel(&one, process)?);
        }
        Ok(Some(channels))
    }

    /// How a local scalar is stored.
    pub(super) fn local_place(&self, process: usize, local: u32) -> Option<Place> {
        match self.storage.locals[process][local as usize] {
            Home::At(offset) => Some(Place {
                space: Space::Local,
                offset,
                kind: kind_of(&self.locals[process][local as usize].ty),
                indices: Vec::new(),
            }),
            _ => None,
        }
    }
}
