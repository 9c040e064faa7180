//! The value of expressions in a state.

use super::channel::{self, Channel};
use super::process::{Process, processes, seen_by_c};
use crate::ir::{
    BinaryOp, ChannelRef, ChannelTest, Expr, ExprId, FaultId, FragmentRef, Index, Pattern,
    PatternRange, Place, Program, Space,
};

/// A state as one process sees it, or as it looks from outside all of them.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) program: &'a Program,
    pub(super) state: &'a [u8],
    pub(super) process: Option<Process>,
    /// No process can move without a timeout.
    pub(super) timeout: bool,
    /// How many `enabled` are being asked inside each other.
    pub(super) questions: u8,
}

impl<'a> View<'a> {
    pub(super) fn outside(program: &'a Program, state: &'a [u8]) -> Self {
        View { program, state, process: None, timeout: false, questions: 0 }
    }

    pub(super) fn of(program: &'a Program, state: &'a [u8], process: Process) -> Self {
        View { program, state, process: Some(process), timeout: false, questions: 0 }
    }

    /// The value of an expression, or what went wrong.
    pub(super) fn value(&self, id: ExprId) -> Result<i32, FaultId> {
        Ok(match self.program.expr(id) {
            Expr::Const(value) => *value,
            Expr::Load(place) => self.load(place)?,
            Expr::Unary(op, a) => op.apply(self.value(*a)?),
            Expr::Binary(op, a, b) => self.binary(*op, *a, *b)?,
            Expr::Divide { dividend, divisor, remainder, fault } => {
                let (a, b) = (self.value(*dividend)?, self.value(*divisor)?);
                match (b, remainder) {
                    (0, _) => return Err(*fault),
                    (_, true) => a.wrapping_rem(b),
                    (_, false) => a.wrapping_div(b),
                }
            }
            Expr::Conditional(c, a, b) => {
                let chosen = if self.value(*c)? != 0 { a } else { b };
                self.value(*chosen)?
            }
            Expr::Bounded(index) => self.index(index)?,
            Expr::Length(channel) => self.channel(channel)?.length(self.state) as i32,
            Expr::ChannelTest(test, channel) => i32::from(self.passes(*test, channel)?),
            Expr::Poll { channel, random, pattern, fault } => {
                let channel = self.channel(channel)?;
                if channel.is_rendezvous() {
                    return Err(*fault);
                }
                i32::from(self.find_message(&channel, *random, *pattern)?.is_some())
            }
            Expr::Enabled(pid) => {
                let pid = self.value(*pid)?;
                i32::from(self.another_can_move(pid)?)
            }
            Expr::PcValue(pid) => {
                let process = self.other(self.value(*pid)?);
                process.map_or(0, |p| i32::from(p.control_state(self.program).number))
            }
            Expr::PriorityOf(pid) => self.other(self.value(*pid)?).map_or(0, |p| self.priority(p)),
            Expr::Fragment(fragment) => self.fragment(fragment)?,
            Expr::Timeout => i32::from(self.timeout),
            Expr::NonProgress => {
                let mut all = processes(self.program, self.state);
                i32::from(!all.any(|p| p.control_state(self.program).is_progress))
            }
            Expr::Pid => self.process.map_or(0, |p| p.id as i32),
            Expr::ProcessCount => i32::from(self.state[1]),
            Expr::LastMover => {
                let at = self.program.layout.last_offset;
                at.map_or(0, |at| i32::from(self.state[at as usize]))
            }
            Expr::At { proctype, pid, pc } => {
                let process = self.remote(usize::from(proctype.0), *pid)?;
                i32::from(process.is_some_and(|p| p.pc == pc.0))
            }
            Expr::RemoteLoad { proctype, pid, place } => {
                match self.remote(usize::from(proctype.0), *pid)? {
                    Some(p) => place.kind.load(self.state, p.base + self.offset(place)?),
                    None => 0,
                }
            }
        })
    }

    fn binary(&self, op: BinaryOp, a: ExprId, b: ExprId) -> Result<i32, FaultId> {
        let a = self.value(a)?;
        match op {
            BinaryOp::And if a == 0 => return Ok(0),
            BinaryOp::Or if a != 0 => return Ok(1),
            _ => {}
        }
        let b = self.value(b)?;
        Ok(match op {
            BinaryOp::Add => a.wrapping_add(b),
            BinaryOp::Subtract => a.wrapping_sub(b),
            BinaryOp::Multiply => a.wrapping_mul(b),
            BinaryOp::ShiftLeft => a.wrapping_shl(b as u32),
            BinaryOp::ShiftRight => a.wrapping_shr(b as u32),
            BinaryOp::BitAnd => a & b,
            BinaryOp::BitOr => a | b,
            BinaryOp::BitXor => a ^ b,
            BinaryOp::And | BinaryOp::Or => i32::from(b != 0),
            BinaryOp::Equal => i32::from(a == b),
            BinaryOp::NotEqual => i32::from(a != b),
            BinaryOp::Less => i32::from(a < b),
            BinaryOp::LessEqual => i32::from(a <= b),
            BinaryOp::Greater => i32::from(a > b),
            BinaryOp::GreaterEqual => i32::from(a >= b),
        })
    }

    fn passes(&self, test: ChannelTest, channel: &ChannelRef) -> Result<bool, FaultId> {
        let channel = self.channel(channel)?;
        let length = channel.length(self.state);
        // A rendezvous channel holds one message for the moment it passes.
        let capacity = (channel.kind.capacity as usize).max(1);
        Ok(match test {
            ChannelTest::Empty => length == 0,
            ChannelTest::NotEmpty => length > 0,
            ChannelTest::Full => length == capacity,
            ChannelTest::NotFull => length != capacity,
        })
    }

    /// The value of an expression in C.
    fn fragment(&self, fragment: &FragmentRef) -> Result<i32, FaultId> {
        let mirror = self.program.embedded.as_ref().ok_or(fragment.fault)?;
        let seen = seen_by_c(mirror, self.program, self.state, self.process);
        let executor = self.process.map(Process::executor);
        let value = mirror.evaluate(fragment.fragment, self.state, executor, &seen);
        value.map_err(|ending| fragment.fault_of(ending))
    }

    fn other(&self, pid: i32) -> Option<Process> {
        Process::find(self.program, self.state, usize::try_from(pid).ok()?)
    }

    pub(super) fn remote(
        &self,
        proctype: usize,
        pid: Option<ExprId>,
    ) -> Result<Option<Process>, FaultId> {
        Ok(match pid {
            Some(pid) => self.other(self.value(pid)?).filter(|p| p.proctype == proctype),
            None => processes(self.program, self.state).find(|p| p.proctype == proctype),
        })
    }

    /// The priority of a process.
    pub(super) fn priority(&self, process: Process) -> i32 {
        if !self.program.layout.has_priorities {
            return 1;
        }
        i32::from(self.state[process.base + 1 + self.program.layout.pc_width as usize])
    }

    fn index(&self, index: &Index) -> Result<i32, FaultId> {
        let value = self.value(index.value)?;
        if value < 0 || value >= index.length as i32 { Err(index.fault) } else { Ok(value) }
    }

    /// The offset of a place from the start of its space.
    pub(super) fn offset(&self, place: &Place) -> Result<usize, FaultId> {
        let mut offset = place.offset as usize;
        for index in &place.indices {
            offset += self.index(index)? as usize * index.stride as usize;
        }
        Ok(offset)
    }

    /// Where a place is in the vector.
    pub(super) fn address(&self, place: &Place) -> Result<usize, FaultId> {
        let base = match place.space {
            Space::Global => 0,
            Space::Local => self.process.map_or(0, |p| p.base),
        };
        Ok(base + self.offset(place)?)
    }

    fn load(&self, place: &Place) -> Result<i32, FaultId> {
        Ok(place.kind.load(self.state, self.address(place)?))
    }

    /// The channel behind a reference.
    pub(super) fn channel(&self, reference: &ChannelRef) -> Result<Channel<'a>, FaultId> {
        let program = self.program;
        match reference {
            ChannelRef::Global(index) => {
                Ok(channel::at(program, program.layout.channels[*index as usize], 0, *index + 1))
            }
            ChannelRef::Own(index) => {
                let (mut id, mut base, mut slot) = (program.layout.channels.len() as u32, 0, None);
                if let Some(me) = self.process {
                    for p in processes(program, self.state).take(me.id) {
                        id += program.proctypes[p.proctype].frame.channels.len() as u32;
                    }
                    base = me.base;
                    slot =
                        program.proctypes[me.proctype].frame.channels.get(*index as usize).copied();
                }
                match slot {
                    Some(slot) => Ok(channel::at(program, slot, base, id + index + 1)),
                    None => Err(FaultId(0)),
                }
            }
            ChannelRef::Dynamic { id, fault } => {
                let id = self.value(*id)?;
                channel::by_id(program, self.state, id).ok_or(*fault)
            }
        }
    }

    /// The position of the message that a receive would take.
    pub(super) fn find_message(
        &self,
        channel: &Channel<'_>,
        random: bool,
        pattern: PatternRange,
    ) -> Result<Option<usize>, FaultId> {
        let length = channel.length(self.state);
        let tried = if random { length } else { length.min(1) };
        for slot in 0..tried {
            let field = |at: usize| channel.field(self.state, slot, at);
            if self.matches(pattern, field)? {
                return Ok(Some(slot));
            }
        }
        Ok(None)
    }

    /// Whether a message, given by its fields, fits a pattern.
    pub(super) fn matches(
        &self,
        pattern: PatternRange,
        field: impl Fn(usize) -> i32,
    ) -> Result<bool, FaultId> {
        for (at, part) in self.program.patterns[pattern.indices()].iter().enumerate() {
            if let Pattern::Match(e) = part
                && self.value(*e)? != field(at)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
