//! Which parts of a program have machine code. The rest is left to the reference interpreter, state
//! by state and step by step, so that everything runs and the common things run fast.

use super::scope::Promises;
use preempt_promela::ir::{
    ArgumentRange, BlockGuard, ChannelRef, ChannelSlot, ChannelTest, Expr, ExprId, Index, Move,
    MoveKind, Op, Pattern, PatternRange, Place, Program,
};

/// A channel that a condition looks at, and the sides of it that count as used: `true` for receiving.
pub(crate) type Look<'a> = (&'a ChannelRef, &'static [bool]);

/// Answers for one process type.
pub(crate) struct Support<'a> {
    pub(crate) program: &'a Program,
    pub(crate) own_channels: &'a [ChannelSlot],
    /// Whether the use of channels is checked against `xr` and `xs`.
    pub(crate) promises: &'a Promises,
}

/// What a channel can be, as far as the text says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fit {
    /// A buffered channel with that many fields.
    Buffered,
    /// A rendezvous channel.
    Rendezvous,
    /// Found out at run time; may turn out to be something else.
    Unknown,
    /// Something the interpreter must judge.
    Misfit,
}

/// Whether a move may answer an offer on a rendezvous channel, in order of difficulty.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Reply {
    /// It never does.
    Never,
    /// Machine code can tell.
    Maybe,
    /// The interpreter can tell.
    Unknown,
}

/// Whether the program has rendezvous channels.
pub(crate) fn has_rendezvous(program: &Program) -> bool {
    program.layout.channel_types.iter().any(|ty| ty.capacity == 0)
}

/// Whether the move sends or receives.
fn uses_channels(kind: &MoveKind) -> bool {
    match kind {
        MoveKind::Send { .. } | MoveKind::Receive { .. } => true,
        MoveKind::Compound { blocks, .. } => blocks.iter().flat_map(|b| &b.options).any(|option| {
            matches!(option.kind, BlockGuard::Send { .. } | BlockGuard::Receive { .. })
        }),
        _ => false,
    }
}

impl<'a> Support<'a> {
    fn values(&self, values: ArgumentRange) -> bool {
        self.program.arguments[values.indices()].iter().all(|id| self.expr(*id))
    }

    /// The channels of which a condition asks how many messages they hold, or which. As in Spin `nempty` is
    /// like a receive and `nfull` like a send; whatever else tells how many messages there are is like both.
    pub(crate) fn looks(&self, condition: ExprId) -> Vec<Look<'a>> {
        match self.program.expr(condition) {
            Expr::Unary(_, a) => self.looks(*a),
            Expr::Binary(_, a, b) => [self.looks(*a), self.looks(*b)].concat(),
            Expr::ChannelTest(ChannelTest::NotEmpty, channel) => vec![(channel, &[true])],
            Expr::ChannelTest(ChannelTest::NotFull, channel) => vec![(channel, &[false])],
            Expr::Length(channel) | Expr::ChannelTest(_, channel) | Expr::Poll { channel, .. } => {
                vec![(channel, &[true, false])]
            }
            _ => Vec::new(),
        }
    }

    /// Whether there is no mistake in finding out which channel it is.
    fn is_certain(&self, channel: &ChannelRef) -> bool {
        !matches!(channel, ChannelRef::Dynamic { id, .. } if self.program.can_fault(*id))
    }

    /// Whether machine code can check that channels are used as promised, if that is to be checked.
    fn may_use_channels(&self, kind: &MoveKind) -> bool {
        match self.promises {
            Promises::Unchecked => true,
            Promises::Checked(_) => !matches!(kind, MoveKind::Compound { .. }),
            Promises::ByInterpreter => false,
        }
    }

    /// Whether the interpreter checks that this move was the only one (`D_proctype`).
    fn is_watched(&self, candidate: &Move) -> bool {
        self.program.proctypes[usize::from(candidate.proctype.0)].deterministic.is_some()
    }

    /// Whether and how a move may answer an offer.
    pub(crate) fn reply(&self, candidate: &Move) -> Reply {
        let of = |channel: &ChannelRef, pattern: PatternRange| {
            let possible = match channel {
                ChannelRef::Dynamic { .. } => has_rendezvous(self.program),
                known => self.capacity(known) == Some(0),
            };
            let fields = pattern.indices().len();
            match self.fit(channel, fields) {
                _ if !possible => Reply::Never,
                Fit::Misfit => Reply::Unknown,
                // Whether the fields are as many as those of the message is seen where it is offered.
                Fit::Unknown if !self.all_rendezvous_have(fields) => Reply::Unknown,
                _ if self.pattern(pattern) => Reply::Maybe,
                _ => Reply::Unknown,
            }
        };
        match &candidate.kind {
            MoveKind::Receive { channel, copy: false, pattern, .. } => of(channel, *pattern),
            MoveKind::Compound { blocks, .. } => {
                let options = blocks.iter().take(1).flat_map(|block| &block.options);
                let replies = options.map(|option| match &option.kind {
                    BlockGuard::Receive { channel, copy: false, pattern, .. } => {
                        of(channel, *pattern)
                    }
                    _ => Reply::Never,
                });
                match replies.max() {
                    None | Some(Reply::Never) => Reply::Never,
                    Some(_) => Reply::Unknown,
                }
            }
            _ => Reply::Never,
        }
    }

    /// Whether machine code can take the sender's half of a rendezvous.
    pub(crate) fn gives(&self, candidate: &Move) -> bool {
        match &candidate.kind {
            _ if self.promises.are_checked() || self.is_watched(candidate) => false,
            MoveKind::Send { channel, values, .. } => {
                let fit = self.fit(channel, values.indices().len());
                let possible = match fit {
                    Fit::Rendezvous => true,
                    Fit::Unknown => has_rendezvous(self.program),
                    Fit::Buffered | Fit::Misfit => false,
                };
                possible && self.values(*values) && candidate.ops.iter().all(|op| self.op(op))
            }
            _ => false,
        }
    }

    /// Whether machine code can take the receiver's half of a rendezvous.
    pub(crate) fn accepts(&self, candidate: &Move) -> bool {
        matches!(candidate.kind, MoveKind::Receive { .. })
            && !self.promises.are_checked()
            && !self.is_watched(candidate)
            && self.reply(candidate) == Reply::Maybe
            && candidate.ops.iter().all(|op| self.op(op))
    }

    fn all_rendezvous_have(&self, fields: usize) -> bool {
        let types = &self.program.layout.channel_types;
        types.iter().all(|ty| ty.capacity > 0 || ty.fields.len() == fields)
    }

    fn capacity(&self, channel: &ChannelRef) -> Option<u32> {
        let slot = match channel {
            ChannelRef::Global(index) => self.program.layout.channels[*index as usize],
            ChannelRef::Own(index) => self.own_channels[*index as usize],
            ChannelRef::Dynamic { .. } => return None,
        };
        Some(self.program.layout.channel_types[slot.channel_type as usize].capacity)
    }

    /// What kind of channel a reference with messages of `fields` fields denotes.
    pub(crate) fn fit(&self, channel: &ChannelRef, fields: usize) -> Fit {
        let types = &self.program.layout.channel_types;
        let slot = match channel {
            ChannelRef::Global(index) => self.program.layout.channels[*index as usize],
            ChannelRef::Own(index) => self.own_channels[*index as usize],
            ChannelRef::Dynamic { id, .. } => {
                return if self.expr(*id) { Fit::Unknown } else { Fit::Misfit };
            }
        };
        let ty = &types[slot.channel_type as usize];
        match (ty.capacity, ty.fields.len() == fields) {
            (_, false) => Fit::Misfit,
            (0, true) => Fit::Rendezvous,
            (_, true) => Fit::Buffered,
        }
    }

    /// Whether machine code can tell if the move is enabled.
    pub(crate) fn guard(&self, candidate: &Move) -> bool {
        match &candidate.kind {
            MoveKind::Plain { guard } => self.expr(*guard),
            MoveKind::Else | MoveKind::End => true,
            MoveKind::Send { channel, values, .. } => {
                match self.fit(channel, values.indices().len()) {
                    Fit::Buffered => true,
                    Fit::Rendezvous => self.values(*values),
                    Fit::Unknown => !has_rendezvous(self.program) || self.values(*values),
                    Fit::Misfit => false,
                }
            }
            MoveKind::Receive { channel, pattern, .. } => {
                self.fit(channel, pattern.indices().len()) != Fit::Misfit && self.pattern(*pattern)
            }
            MoveKind::Compound { blocks, .. } => blocks.first().is_some_and(|block| {
                block.options.iter().all(|option| self.block_guard(&option.kind))
            }),
        }
    }

    /// Whether machine code can take the move, once it is enabled.
    pub(crate) fn effect(&self, candidate: &Move) -> bool {
        if self.is_watched(candidate) {
            return false;
        }
        let kind = match &candidate.kind {
            MoveKind::Plain { guard } => {
                self.expr(*guard)
                    && match self.promises {
                        Promises::Unchecked => true,
                        Promises::Checked(_) => {
                            self.looks(*guard).iter().all(|look| self.is_certain(look.0))
                        }
                        Promises::ByInterpreter => self.looks(*guard).is_empty(),
                    }
            }
            MoveKind::Else | MoveKind::End => true,
            kind if uses_channels(kind) && !self.may_use_channels(kind) => false,
            MoveKind::Send { channel, values, .. } => {
                matches!(self.fit(channel, values.indices().len()), Fit::Buffered | Fit::Unknown)
                    && self.values(*values)
            }
            MoveKind::Receive { channel, pattern, .. } => {
                matches!(self.fit(channel, pattern.indices().len()), Fit::Buffered | Fit::Unknown)
                    && self.pattern(*pattern)
            }
            MoveKind::Compound { blocks, .. } => {
                blocks.iter().flat_map(|b| &b.options).all(|option| {
                    // The room for new processes is that of one each: no loops.
                    let creates = option.ops.iter().any(|op| matches!(op, Op::Run { .. }));
                    self.block_guard(&option.kind)
                        && !creates
                        && option.ops.iter().all(|op| self.op(op))
                })
            }
        };
        kind && candidate.ops.iter().all(|op| self.op(op))
    }

    fn block_guard(&self, guard: &BlockGuard) -> bool {
        match guard {
            BlockGuard::Else => true,
            BlockGuard::Condition(id) => self.expr(*id),
            BlockGuard::Send { channel, values, .. } => {
                self.fit(channel, values.indices().len()) == Fit::Buffered && self.values(*values)
            }
            BlockGuard::Receive { channel, pattern, .. } => {
                let fit = self.fit(channel, pattern.indices().len());
                matches!(fit, Fit::Buffered | Fit::Rendezvous) && self.pattern(*pattern)
            }
        }
    }

    fn op(&self, op: &Op) -> bool {
        match op {
            Op::Store { place, value } => self.place(place) && self.expr(*value),
            Op::Evaluate { value } => self.expr(*value),
            Op::Assert { condition, .. } => self.expr(*condition),
            Op::Print { arguments, .. } => self.program.arguments[arguments.indices()]
                .iter()
                .all(|id| !self.program.can_fault(*id)),
            Op::PrintName { value } => !self.program.can_fault(*value),
            Op::Run { proctype, arguments, .. } => {
                let proctype = &self.program.proctypes[usize::from(proctype.0)];
                let started = Support { own_channels: &proctype.frame.channels, ..*self };
                self.values(*arguments) && proctype.on_start.iter().all(|op| started.op(op))
            }
            Op::SetPriority { .. } | Op::Fragment(_) => false,
        }
    }

    fn pattern(&self, pattern: PatternRange) -> bool {
        self.program.patterns[pattern.indices()].iter().all(|pattern| match pattern {
            Pattern::Store(place) => self.place(place),
            Pattern::Match(id) => self.expr(*id),
            Pattern::Ignore => true,
        })
    }

    pub(crate) fn place(&self, place: &Place) -> bool {
        place.indices.iter().all(|index| self.index(index))
    }

    fn index(&self, index: &Index) -> bool {
        self.expr(index.value)
    }

    /// Whether the expression has machine code.
    pub(crate) fn expr(&self, id: ExprId) -> bool {
        let both = |a: &ExprId, b: &ExprId| self.expr(*a) && self.expr(*b);
        match self.program.expr(id) {
            Expr::Enabled(_)
            | Expr::PcValue(_)
            | Expr::PriorityOf(_)
            | Expr::NonProgress
            | Expr::Fragment(_) => false,
            Expr::Const(_) | Expr::Timeout | Expr::Pid | Expr::ProcessCount | Expr::LastMover => {
                true
            }
            Expr::Load(place) => self.place(place),
            Expr::Unary(_, operand) => self.expr(*operand),
            Expr::Binary(_, left, right) => both(left, right),
            Expr::Divide { dividend, divisor, .. } => both(dividend, divisor),
            Expr::Conditional(condition, then, otherwise) => {
                self.expr(*condition) && both(then, otherwise)
            }
            Expr::Bounded(index) => self.index(index),
            Expr::Length(channel) | Expr::ChannelTest(_, channel) => match channel {
                ChannelRef::Dynamic { id, .. } => self.expr(*id),
                _ => true,
            },
            Expr::Poll { channel, pattern, .. } => {
                self.fit(channel, pattern.indices().len()) == Fit::Buffered
                    && self.pattern(*pattern)
            }
            Expr::At { pid, .. } => pid.is_none_or(|pid| self.expr(pid)),
            Expr::RemoteLoad { pid, place, .. } => {
                pid.is_none_or(|pid| self.expr(pid)) && self.place(place)
            }
        }
    }
}
