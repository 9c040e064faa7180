//! Guarded moves: when they are enabled, and what they do.

use super::{
    ArgumentRange, ChannelRef, ExprId, FaultId, FragmentRef, PatternRange, Pc, Place, ProctypeIndex,
};
use crate::syntax::span::Span;

/// One transition of a process type.
#[derive(Clone, Debug)]
pub struct Move {
    /// The process type it belongs to.
    pub proctype: ProctypeIndex,
    /// Where it starts.
    pub source: Pc,
    /// When it is enabled, and how it interacts.
    pub kind: MoveKind,
    /// What it does, in order, after what its kind does.
    pub ops: Vec<Op>,
    /// Where it leads. Meaningless for [`MoveKind::End`].
    pub target: Pc,
    /// The process keeps the right to move alone afterwards (`atomic`).
    pub keeps_control: bool,
    /// Which `unless` escape it belongs to; 0 for none.
    pub escape: u16,
    /// The statements it consists of, first to last.
    pub statements: Vec<Statement>,
    /// Its number in Spin's trails: statements are counted through all process types and claims.
    pub number: u32,
    /// The numbers of the statements that were merged with it.
    pub joined: Vec<u32>,
}

/// A statement of the source, as traces and the list of unreached code show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Where.
    pub span: Span,
    /// Its text.
    pub text: String,
}

/// When a move is enabled, and how it interacts with channels and other processes.
#[derive(Clone, Debug)]
pub enum MoveKind {
    /// Enabled iff the expression is not 0. (Assignments and such: the constant 1.)
    Plain {
        /// The guard.
        guard: ExprId,
    },
    /// Enabled iff no earlier move of the state is.
    Else,
    /// A send. On a buffered channel: enabled iff it is not full; the message is appended, or put in
    /// order. On a rendezvous channel: enabled iff some other process has an enabled receive
    /// on that channel whose pattern matches; one joint step per such receive, receivers from
    /// the youngest to the oldest, each receiver's moves in its order.
    Send {
        /// The channel.
        channel: ChannelRef,
        /// `!!`
        sorted: bool,
        /// The values, one per field.
        values: ArgumentRange,
        /// What is reported when they are not as many as the channel has fields. Missing ones are
        /// then sent as 0. On a rendezvous channel the offer alone is the mistake.
        misfit: FaultId,
    },
    /// A receive. On a buffered channel: enabled iff the first message (`random`: any, the first
    /// that does) matches. On a rendezvous channel it has no step of its own.
    Receive {
        /// The channel.
        channel: ChannelRef,
        /// `??`
        random: bool,
        /// `<…>`: the message stays. A mistake on a rendezvous channel, which holds none.
        copy: bool,
        /// The fields.
        pattern: PatternRange,
        /// What is reported when they are not as many as the channel has, or when a message of a
        /// rendezvous channel is to be copied.
        misfit: FaultId,
    },
    /// `d_step`: runs from block 0 to its end as one move. In each block the first option whose
    /// guard holds is taken.
    Compound {
        /// The blocks.
        blocks: Vec<Block>,
        /// What is reported when it never ends; `None` if it has no loop.
        endless: Option<FaultId>,
    },
    /// The end of the process: it is removed with its channels. Only the youngest process can.
    End,
}

/// A point inside a `d_step`.
#[derive(Clone, Debug)]
pub struct Block {
    /// The options, in the order in which they are tried. `else` is last, with the guard 1.
    pub options: Vec<BlockOption>,
    /// What is reported when no option is possible (not in block 0, which just blocks).
    pub blocked: FaultId,
}

/// One way on inside a `d_step`.
#[derive(Clone, Debug)]
pub struct BlockOption {
    /// When it is possible.
    pub kind: BlockGuard,
    /// What it does, in order, after what its guard does.
    pub ops: Vec<Op>,
    /// The next block; `None` at the end of the `d_step`.
    pub next: Option<u32>,
}

/// When an option inside a `d_step` is possible.
#[derive(Clone, Debug)]
pub enum BlockGuard {
    /// No earlier move of the control state was. Only as the first option of block 0.
    Else,
    /// The expression is not 0.
    Condition(ExprId),
    /// The (buffered) channel is not full; then the message is sent.
    Send {
        /// The channel.
        channel: ChannelRef,
        /// `!!`
        sorted: bool,
        /// The values.
        values: ArgumentRange,
        /// As for [`MoveKind::Send`].
        misfit: FaultId,
    },
    /// The (buffered) channel has a matching message; then it is received. In block 0 the channel
    /// may be a rendezvous channel: then the whole `d_step` answers the sender.
    Receive {
        /// The channel.
        channel: ChannelRef,
        /// `??`
        random: bool,
        /// `<…>`
        copy: bool,
        /// The fields.
        pattern: PatternRange,
        /// As for [`MoveKind::Receive`].
        misfit: FaultId,
    },
}

/// One effect.
#[derive(Clone, Debug)]
pub enum Op {
    /// Stores a value, cut to the kind of the place.
    Store {
        /// Where to.
        place: Place,
        /// What.
        value: ExprId,
    },
    /// Evaluates an expression for its faults only: a value stored in a place outside the state.
    Evaluate {
        /// What.
        value: ExprId,
    },
    /// The step is [`preempt_core::Outcome::Violated`] if the condition is 0, and goes on.
    Assert {
        /// The condition.
        condition: ExprId,
        /// What is violated.
        fault: FaultId,
    },
    /// Creates a process. Afterwards its id is `process count - 1`.
    Run {
        /// Its type.
        proctype: ProctypeIndex,
        /// Its arguments.
        arguments: ArgumentRange,
        /// Its priority, 1 by default.
        priority: u8,
        /// What is reported when there are 255 processes already.
        fault: FaultId,
    },
    /// Prints. Changes nothing in the state.
    Print {
        /// Index into [`Program::formats`](super::Program::formats).
        format: u32,
        /// The arguments.
        arguments: ArgumentRange,
    },
    /// `printm`: prints the name of a symbolic constant.
    PrintName {
        /// Its value.
        value: ExprId,
    },
    /// `c_code { … }`
    Fragment(FragmentRef),
    /// `set_priority`.
    SetPriority {
        /// Which process.
        pid: ExprId,
        /// Its new priority.
        value: ExprId,
        /// What is reported when there is no such process.
        fault: FaultId,
    },
}

/// What partial-order reduction may assume of a control state: every move from it commutes with
/// all that other processes can do until one of them is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Safety {
    /// No such promise.
    Unsafe,
    /// Holds if all these conditions hold in the state at hand (possibly none).
    Safe {
        /// The conditions.
        conditions: Vec<Condition>,
        /// All moves touch data of their own process only: no channels, no processes.
        local: bool,
    },
}

/// A condition that makes a control state safe, checked in the state at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The channel is not full.
    NotFull(ChannelRef),
    /// The channel is not empty.
    NotEmpty(ChannelRef),
    /// The channel is full.
    Full(ChannelRef),
    /// The channel is empty.
    Empty(ChannelRef),
    /// The process is the youngest.
    Youngest,
}
