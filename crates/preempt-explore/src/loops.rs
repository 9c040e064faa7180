//! What is known about loops that yield, found out by trying (`run/epilogue.rs`).
//!
//! A loop is known by its thread and by what the thread has done and seen since its last yield. What it does
//! next may also depend on what it has not looked at in this round: those objects are named with the
//! values that they had when it was tried out, and others are tried out again.
//!
//! Invariant: what is known is only added to, so a state that knows less than another makes no wrong move, it
//! only has to ask.

use crate::ids::ObjectId;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// So many outcomes are tried out; loops beyond are taken not to wait.
const MOST: usize = 1 << 14;

/// What a thread that runs alone does after a yield in a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Conduct {
    /// It goes on for ever and changes nothing.
    Waits,
    /// It repeats these operations many times, and then leaves.
    GivesUp(Arc<[u64]>),
    /// It leaves within a few rounds, or is no loop.
    GoesOn,
}

/// What an object was: its value, or if that is an address, which differs between executions, its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Was {
    pub(crate) object: ObjectId,
    pub(crate) address: bool,
    pub(crate) value: u64,
}

#[derive(Clone, Debug)]
struct Outcome {
    when: Vec<Was>,
    conduct: Conduct,
}

/// What is known about loops.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loops {
    outcomes: FxHashMap<u64, Vec<Outcome>>,
    count: usize,
}

impl Loops {
    /// How a loop behaves where objects are as told.
    pub(crate) fn get(&self, key: u64, is: impl Fn(&Was) -> bool) -> Option<&Conduct> {
        let holds = |o: &&Outcome| o.when.iter().all(&is);
        let known = self.outcomes.get(&key).and_then(|list| list.iter().find(holds));
        known.map(|outcome| &outcome.conduct)
    }

    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether another outcome can be kept.
    pub(crate) fn has_room(&self) -> bool {
        self.count < MOST
    }

    /// Adds an outcome. Those that depend on more come first.
    pub(crate) fn insert(&mut self, key: u64, when: Vec<Was>, conduct: Conduct) {
        let list = self.outcomes.entry(key).or_default();
        if list.iter().any(|known| known.when == when) {
            return;
        }
        let at = list.partition_point(|known| known.when.len() > when.len());
        list.insert(at, Outcome { when, conduct });
        self.count += 1;
    }
}
