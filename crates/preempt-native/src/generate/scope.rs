//! What the code of one function works on: the values it got, and the tables it reads.

use super::code::{Block, Code, Value};
use crate::execute::promises::Claims;
use preempt_core::engine::SuccessorHeader;
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{ChannelSlot, ChannelType, FaultId, Program};

/// What the code of one function works on.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) program: &'a Program,
    pub(crate) tables: &'a Tables,
    /// The channels of the executing process's own frame.
    pub(crate) own_channels: &'a [ChannelSlot],
    /// The state vector.
    pub(crate) state: Value,
    /// The frame of the executing process.
    pub(crate) frame: Value,
    /// The executing process.
    pub(crate) pid: Value,
    /// 1 in the round for timeouts.
    pub(crate) timeout: Value,
    /// Working memory, see [`Workspace`](crate::execute::workspace::Workspace).
    pub(crate) workspace: Value,
    pub(crate) on_fault: OnFault,
    /// Whether what is written is noted before, see [`super::undo_log`].
    pub(crate) notes: bool,
}

/// Where a fault leads.
#[derive(Clone, Copy)]
pub(crate) enum OnFault {
    /// To a block: the move counts as enabled.
    Goto(Block),
    /// Out of the function, with the fault's number.
    Return,
    /// To a block that receives the fault's number.
    Deliver(Block),
}

/// Ends a step with a result, where the function goes on afterwards or not.
pub(crate) fn deliver(code: &mut dyn Code, on_fault: OnFault, result: Value) {
    match on_fault {
        OnFault::Goto(block) => code.jump(block),
        OnFault::Return => code.give(result),
        OnFault::Deliver(block) => code.jump_with(block, result),
    }
}

/// Which atomic block a control state lies in, by process type and control state.
pub(crate) type BlockTable = Vec<Vec<Option<u32>>>;

/// Tables that the code reads, at fixed addresses.
pub(crate) struct Tables {
    /// Per global channel: type in the high half, offset in the low one.
    pub(crate) channels: Box<[u64]>,
    /// The type of all channels, if they are alike and none belongs to a process.
    pub(crate) only_type: Option<u32>,
    /// The atomic blocks.
    pub(crate) blocks: BlockTable,
    /// Capacity per channel type.
    pub(crate) capacities: Box<[u32]>,
    /// Address of what the helpers need.
    pub(crate) shape: *const u8,
    /// Whether every use of a channel is checked against `xr` and `xs`.
    pub(crate) promises: Promises,
    /// Address of the byte that is not 0 once long steps should be given up.
    pub(crate) cancelled: *const u8,
}

/// What checks that channels are used as `xr` and `xs` promise.
pub(crate) enum Promises {
    /// Nothing.
    Unchecked,
    /// Machine code, for all steps but rendezvous and those inside `d_step`.
    Checked(Box<Claims>),
    /// The interpreter, for all steps that use channels.
    ByInterpreter,
}

impl Promises {
    pub(crate) fn of(reference: &Interpreter) -> Self {
        match reference.checks_promises().then(|| Claims::of(reference.program())) {
            None => Promises::Unchecked,
            Some(Some(claims)) => Promises::Checked(Box::new(claims)),
            Some(None) => Promises::ByInterpreter,
        }
    }

    pub(crate) fn are_checked(&self) -> bool {
        !matches!(self, Promises::Unchecked)
    }
}

/// The helpers, in the order in which they are declared.
#[derive(Clone, Copy)]
pub(crate) enum HelperId {
    /// (shape, state, id) -> type and offset of a channel, or all ones.
    Locate,
    /// (shape, state, proctype, pid, any) -> offset of a process's frame, or all ones.
    FrameOf,
    /// (channel, index, message length) removes a message.
    Remove,
    /// (channel, index, message length) makes room for a message.
    MakeRoom,
    /// (shape, state, pid) -> id of the first channel of a process.
    FirstOwn,
    /// (shape, state, proctype) -> offset of the frame of a new process, or all ones.
    Create,
    /// (shape, state) -> length of the vector.
    LengthOf,
    /// (workspace, state, frame, pid and timeout, move, channel, count) -> number of entries, or -1.
    Offer,
    /// (workspace, state, channel, message length) notes the messages of a channel.
    NoteMessages,
    /// (workspace, state) -> what a step changed, which is taken back.
    Record,
    /// (workspace, state, copy, length) -> what a step changed on a copy.
    RecordCopy,
    /// (workspace, state, frame, pid, block, result) -> result behind the sequence that follows.
    RunSequence,
    /// (claims, shape, state, pid, channel, side) -> result of a step that breaks a promise, or 0.
    BrokenPromise,
}

/// The result of a step that cannot be completed.
pub(crate) fn broken(fault: FaultId) -> i32 {
    (fault.0 << SuccessorHeader::FAULT_SHIFT | SuccessorHeader::BROKEN) as i32
}

/// Which channels are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Want {
    Buffered,
    Rendezvous,
    Any,
}

impl Want {
    pub(super) fn accepts(self, ty: &ChannelType, fields: usize) -> bool {
        ty.fields.len() == fields
            && match self {
                Want::Buffered => ty.capacity > 0,
                Want::Rendezvous => ty.capacity == 0,
                Want::Any => true,
            }
    }
}
