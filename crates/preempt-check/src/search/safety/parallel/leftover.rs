//! What a thread has in hand, and leaves when the store is full, so that the search can go on with another one.
//!
//! Invariant: every successor is inserted once, before or after, and every state expanded once.

use super::queues::{Chunk, Waiting};
use crate::store::Pending;
use crate::store::concurrent::Place;
use preempt_core::engine::SleepSet;
use std::ops::Range;

/// Work that was not done.
#[derive(Debug)]
pub(super) struct Leftover {
    /// Successors that were not inserted, where their bytes are here.
    pub(super) bytes: Vec<u8>,
    pub(super) arrivals: Vec<(Pending, Place, SleepSet)>,
    /// With reduction: states whose selections were not enough.
    pub(super) attempts: Vec<Attempt>,
    /// States that were not expanded.
    pub(super) rest: Chunk,
}

/// A state of which more steps must be taken than those of this selection and all before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) waiting: Waiting,
    pub(super) refused: u16,
}

/// A state that is being expanded by one selection after the other.
#[derive(Debug)]
pub(super) struct Try {
    pub(super) waiting: Waiting,
    /// The selection that it was expanded by last.
    pub(super) pick: u16,
    /// Where its successors are among the arrivals, and its bytes among those of all such states.
    pub(super) arrivals: Range<usize>,
    pub(super) state: Range<usize>,
}

impl Leftover {
    /// Replaces the places of states, among them those that `waiting` are not expanded at all.
    pub(super) fn move_places(
        &mut self,
        place: impl Fn(Place) -> Place,
        waiting: impl Fn(Place) -> Place,
    ) {
        for (_, parent, _) in &mut self.arrivals {
            *parent = place(*parent);
        }
        for attempt in &mut self.attempts {
            attempt.waiting.place = place(attempt.waiting.place);
        }
        self.rest.move_places(waiting);
    }
}
