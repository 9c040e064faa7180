//! What is remembered of an execution that was stopped while its threads run on (`epilogue.rs`).

use crate::loops::Was;
use crate::{ExecutionState, ThreadId};
use rustc_hash::FxHashSet;

/// The final state of an execution whose threads run on.
pub(crate) struct Epilogue {
    pub(super) state: ExecutionState,
    pub(super) path: usize,
    pub(super) events: usize,
    pub(super) order: usize,
    pub(super) preemptions: u32,
    pub(super) last: ThreadId,
    pub(super) steps: usize,
    pub(super) releases: usize,
    pub(super) probe: Option<Probe>,
}

/// A loop that is tried out: its thread runs alone.
pub(super) struct Probe {
    pub(super) thread: ThreadId,
    pub(super) key: u64,
    /// What it has done in each round.
    pub(super) rounds: Vec<u64>,
    /// All operations, yields among them, and those since the last yield.
    pub(super) operations: Vec<u64>,
    pub(super) since: usize,
    /// What it remembered in each round, and whether that was ever the same as before.
    pub(super) memories: FxHashSet<u64>,
    pub(super) recurs: bool,
    /// What the thread has looked at and not in the round before its first yield.
    pub(super) others: Vec<Was>,
}

/// A cycle in which threads may count how often they have gone round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspect {
    /// How many steps there were when it was noticed, or when threads were looked at.
    pub(super) at: usize,
    pub(super) period: usize,
    /// What they remembered then.
    pub(super) memory: Option<u64>,
}
