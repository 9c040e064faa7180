//! What a thread does between two visible operations.
//!
//! A segment is a function of the thread's local history: the code is deterministic and reads
//! only what its causal past wrote. So one recorded segment stands for that history in every
//! execution, and a search can move through states without running the program.

use crate::{ObjectId, Operation, Order, Site, ThreadId};

/// Something that happens inside a segment and matters to the state.
#[derive(Clone, Copy, Debug)]
pub enum Effect {
    /// An object comes to be, with its initial value.
    Create(ObjectId, u64),
    /// A thread is spawned. The fields are the thread, its token object and its index among the
    /// children of its parent.
    Spawn(ThreadId, ObjectId, u32),
    /// A number is changed through exclusive access.
    Assign(ObjectId, u64),
    /// A channel gets one more sender.
    AddSender(ObjectId),
    /// A count of references grows by 1.
    AddReference(ObjectId),
    /// The object that was created last lies in the memory of the program, which this writes.
    Made(ObjectId, Site),
    /// A plain cell is read or (`true`) written.
    Access(ObjectId, bool, Site),
    /// The same access has lasted until the last operation of the thread.
    AccessEnd(ObjectId, bool, Site),
    /// A fence.
    Fence(Order),
}

impl PartialEq for Effect {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Effect::Create(a, v), Effect::Create(b, w)) => a == b && v == w,
            (Effect::Spawn(a, b, c), Effect::Spawn(d, e, f)) => a == d && b == e && c == f,
            (Effect::Assign(a, v), Effect::Assign(b, w)) => a == b && v == w,
            (Effect::AddSender(a), Effect::AddSender(b))
            | (Effect::AddReference(a), Effect::AddReference(b)) => a == b,
            (Effect::Access(a, v, _), Effect::Access(b, w, _))
            | (Effect::AccessEnd(a, v, _), Effect::AccessEnd(b, w, _)) => a == b && v == w,
            (Effect::Made(a, _), Effect::Made(b, _)) => a == b,
            (Effect::Fence(a), Effect::Fence(b)) => a == b,
            _ => false,
        }
    }
}

/// How a segment ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// At a visible operation, not yet executed.
    Operation(Operation),
    /// The thread has ended.
    End,
    /// The thread has panicked: nothing moves any more.
    Panic,
    /// The thread has ended the whole program, as C's `exit` does: nothing moves any more.
    Exit,
}

/// What a thread does between two visible operations.
#[derive(Clone, PartialEq, Debug)]
pub struct Segment {
    /// Effects in order.
    pub effects: Box<[Effect]>,
    /// How it ends.
    pub next: Next,
}
