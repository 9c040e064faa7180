//! Expressions, places and message patterns of the intermediate form.
//!
//! All values are 32-bit signed integers with wrapping arithmetic while being computed, as in the C
//! code Spin generates; they are cut when stored. Conditions yield 0 or 1.

use super::{FaultId, FragmentRef, Pc, ProctypeIndex, ValueKind};

/// Index into [`super::Program::exprs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(pub u32);

/// `start..end` in [`super::Program::arguments`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArgumentRange {
    /// First.
    pub start: u32,
    /// One past the last.
    pub end: u32,
}

/// `start..end` in [`super::Program::patterns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PatternRange {
    /// First.
    pub start: u32,
    /// One past the last.
    pub end: u32,
}

impl ArgumentRange {
    /// As a range of indices.
    pub fn indices(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl PatternRange {
    /// As a range of indices.
    pub fn indices(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// An expression without side effects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A constant.
    Const(i32),
    /// The value of a place.
    Load(Place),
    /// `op e`
    Unary(UnaryOp, ExprId),
    /// `a op b`. `And` and `Or` do not evaluate `b` when `a` decides.
    Binary(BinaryOp, ExprId, ExprId),
    /// `a / b`, `a % b` with the fault for `b == 0`.
    Divide {
        /// Dividend.
        dividend: ExprId,
        /// Divisor.
        divisor: ExprId,
        /// Wants the remainder.
        remainder: bool,
        /// Division by zero.
        fault: FaultId,
    },
    /// `c -> a : b`
    Conditional(ExprId, ExprId, ExprId),
    /// The index itself, after a check of its bounds.
    Bounded(Index),
    /// `len(c)`
    Length(ChannelRef),
    /// `empty(c)` and its like.
    ChannelTest(ChannelTest, ChannelRef),
    /// `c?[…]`, `c??[…]`: whether a receive would be possible.
    Poll {
        /// The channel.
        channel: ChannelRef,
        /// `??`
        random: bool,
        /// The fields; stores match anything and store nothing.
        pattern: PatternRange,
        /// The channel is a rendezvous channel, which holds no messages.
        fault: FaultId,
    },
    /// `enabled(pid)`: whether that process (another one) can move.
    Enabled(ExprId),
    /// `pc_value(pid)`: [`super::ControlState::number`] of that process.
    PcValue(ExprId),
    /// `get_priority(pid)`.
    PriorityOf(ExprId),
    /// 1 in the second round, where no process could move without it.
    Timeout,
    /// `np_`: 1 iff no process is at a `progress` label.
    NonProgress,
    /// The id of the executing process.
    Pid,
    /// How many processes are alive (the id that `run` would give).
    ProcessCount,
    /// The process that moved last.
    LastMover,
    /// `c_expr { … }`
    Fragment(FragmentRef),
    /// `P[pid]@label`: whether that process is at the control state. 0 if there is no such process.
    At {
        /// The type that the process must have.
        proctype: ProctypeIndex,
        /// Which process; `None`: the first one of this type.
        pid: Option<ExprId>,
        /// The control state; `Pc(u16::MAX)` is nowhere.
        pc: Pc,
    },
    /// `P[pid]:variable`: reads a place of another process; 0 if there is no such process.
    RemoteLoad {
        /// The type that the process must have.
        proctype: ProctypeIndex,
        /// Which process; `None`: the first one of this type.
        pid: Option<ExprId>,
        /// The place, relative to that process's frame. Indices are evaluated by the reader.
        place: Place,
    },
}

/// A place in the state vector: `space base + offset + Σ index · stride`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Relative to what.
    pub space: Space,
    /// Bytes from there.
    pub offset: u32,
    /// How the value is stored.
    pub kind: ValueKind,
    /// Indices, from the outside in. Empty for scalars and constant indices.
    pub indices: Vec<Index>,
}

/// What an offset is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// The start of the vector.
    Global,
    /// The start of the executing process's frame.
    Local,
}

/// One index into an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The index.
    pub value: ExprId,
    /// Number of elements.
    pub length: u32,
    /// Bytes from one element to the next.
    pub stride: u32,
    /// Index out of bounds.
    pub fault: FaultId,
}

/// How to find a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelRef {
    /// Known: index into [`super::Layout::channels`]; its id is the index + 1.
    Global(u32),
    /// Known: index into the channels of the executing process's [`super::Frame`].
    Own(u32),
    /// The value of the expression is the id.
    Dynamic {
        /// The id.
        id: ExprId,
        /// There is no such channel.
        fault: FaultId,
    },
}

/// What a receive does with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Stores it, cut to the place's kind. Fields are matched first, then stored one by one.
    Store(Place),
    /// It must equal this.
    Match(ExprId),
    /// Ignores it.
    Ignore,
}

/// Operators with two operands. Comparisons and logic yield 0 or 1; shifts use the low 5 bits of the
/// right operand; `>>` keeps the sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    ShiftLeft,
    ShiftRight,
    BitAnd,
    BitOr,
    BitXor,
    And,
    Or,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

pub use crate::model::{ChannelTest, UnaryOp};
