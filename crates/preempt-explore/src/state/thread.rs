//! One thread of an execution, and what it has done since its last yield.

use crate::{Action, ObjectId, Operation, ThreadId};
use std::sync::Arc;

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
    /// It has panicked, and no other thread has seen that.
    pub(crate) panicked: bool,
    /// Condition variable it waits on and was not woken from.
    pub waiting: ObjectId,
    /// Its park token.
    pub token: ObjectId,
    pub(crate) key: u64,
    /// How many of its waits have ended because time was up.
    pub(crate) timeouts: u32,
    pub(crate) rounds: Rounds,
}

impl Thread {
    /// Whether it has panicked and no other thread has seen that.
    pub fn has_panicked(&self) -> bool {
        self.panicked
    }

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
    /// The thread has changed it itself, from the first value to the second.
    Changed(u64, u64),
}

/// Loops are recognised whose rounds are the same every so many rounds.
pub(crate) const LONGEST_CYCLE: usize = 4;

/// What a thread has done since its last yield, and before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounds {
    /// Whether it has changed something.
    pub(crate) dirty: bool,
    /// Whether it has done nothing since its last yield.
    pub(crate) fresh: bool,
    /// Hash of its operations since its last yield, and of those in the rounds before, the latest first.
    pub(crate) round: u64,
    pub(crate) before: [u64; LONGEST_CYCLE],
    /// The first operation since its last yield, and of the round before.
    pub(crate) first: u64,
    pub(crate) previous_first: u64,
    /// How often in a row it has done the same as so many rounds ago.
    pub(crate) repeats: [u8; LONGEST_CYCLE],
    /// How often it went on only because nothing else could move.
    pub(crate) forced: u32,
    /// How often in a row it went on although there was nothing new to see, or changed something.
    pub(crate) restless: u32,
    /// Threads that have moved since its last yield, if it is restless.
    pub(crate) seen: u64,
}

impl Rounds {
    /// A round ends.
    pub(crate) fn end_round(&mut self) {
        for (repeats, before) in self.repeats.iter_mut().zip(self.before) {
            *repeats = if self.round == before { repeats.saturating_add(1) } else { 0 };
        }
        self.before.rotate_right(1);
        self.before[0] = std::mem::take(&mut self.round);
    }

    /// Whether this round is the last of a cycle that was repeated `often`.
    pub(crate) fn is_repeated(&self, often: usize) -> bool {
        (1..).zip(self.before.iter().zip(self.repeats)).any(|(period, (before, repeats))| {
            *before == self.round && usize::from(repeats) + 1 >= often * period
        })
    }
}

/// A thread that leaves a loop without having seen anything new: nothing else moves meanwhile.
#[derive(Clone, Debug)]
pub(crate) struct Solo {
    pub(crate) thread: ThreadId,
    /// What it repeats, and how much of it is done.
    pub(crate) cycle: Arc<[u64]>,
    pub(crate) done: usize,
}

/// How a thread goes on after a yield.
#[derive(Clone, Debug)]
pub(crate) enum Leaving {
    /// There is something new to see.
    News,
    /// As it likes.
    Freely,
    /// By repeating these operations until it leaves the loop.
    GivingUp(Arc<[u64]>),
    /// Only if nothing else can move.
    Forced,
}
