//! What a thread had in hand when the store was full, so that the search can go on with another one.
//!
//! Invariant: every successor is inserted once, before or after, and every state expanded once.

use super::queues::{Chunk, Waiting};
use crate::store::Pending;
use crate::store::concurrent::Place;
use preempt_core::engine::SleepSet;

/// Work that was not done.
#[derive(Debug)]
pub(super) struct Leftover {
    /// Successors that were not inserted, where their bytes are here.
    pub(super) bytes: Vec<u8>,
    pub(super) arrivals: Vec<(Pending, Place, SleepSet)>,
    /// With reduction: a state whose selection must still pass the proviso.
    pub(super) attempt: Option<Attempt>,
    /// States that were not expanded.
    pub(super) rest: Chunk,
}

/// A state that is being expanded by one selection after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) waiting: Waiting,
    /// If what was tried is not accepted, go on with selections from this number.
    pub(super) from: u16,
    pub(super) accepted: bool,
}

impl Leftover {
    pub(super) fn move_places(&mut self, place: impl Fn(Place) -> Place + Copy) {
        for (_, parent, _) in &mut self.arrivals {
            *parent = place(*parent);
        }
        if let Some(attempt) = &mut self.attempt {
            attempt.waiting.place = place(attempt.waiting.place);
        }
        self.rest.move_places(place);
    }
}
