//! One thread of an execution, and what it has done since its last yield.

use crate::{Action, ObjectId, Operation, ThreadId};

/// What a thread is up to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Not spawned in this execution.
    Absent,
    /// Before its first operation.
    Starting,
    /// Its next operation is known.
    Ready,
    /// Ended.
    Done,
}

/// One thread.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// What it is up to.
    pub status: Status,
    /// The next operation, when ready.
    pub operation: Operation,
    /// Number of actions so far.
    pub steps: u32,
    /// Hash of everything the thread has observed.
    pub history: u64,
    /// Condition variable it waits on and was not woken from.
    pub waiting: ObjectId,
    /// Its park token.
    pub token: ObjectId,
    pub(crate) key: u64,
    pub(crate) rounds: Rounds,
}

impl Thread {
    /// Whether it waits on a condition variable.
    pub(crate) fn is_waiting(&self) -> bool {
        self.status == Status::Ready && self.operation.action == Action::Reacquire
    }
}

/// What a thread waits for, or what it has done, since its last yield.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    pub(crate) thread: ThreadId,
    pub(crate) object: ObjectId,
    pub(crate) kind: WatchKind,
    /// The counter when the thread looked.
    pub(crate) counter: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WatchKind {
    /// Until the object changes.
    Change,
    /// Until the lock is released.
    Release,
    /// Until the count is 0.
    Zero,
    /// Holds the lock since.
    Held,
}

/// What a thread has done since its last yield, and before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounds {
    /// Whether it has changed something.
    pub(crate) dirty: bool,
    /// Hash of its operations since its last yield, and of those before.
    pub(crate) round: u64,
    pub(crate) previous: u64,
    /// The same without what the operations see.
    pub(crate) shape: u64,
    /// The first operation since its last yield, and of the round before.
    pub(crate) first: u64,
    pub(crate) previous_first: u64,
    /// How often it has done the same.
    pub(crate) repeats: u8,
    /// How often it went on only because nothing else could move.
    pub(crate) forced: u32,
}
