//! The path of a depth-first search that keeps the successors of all its states.

use crate::store::concurrent::Place;

/// A state on a path. Its successors are at the end of the path's list.
pub(super) struct Frame {
    pub(super) place: Place,
    pub(super) accepting: bool,
    pub(super) first: usize,
    /// How many successors were tried, and with which this thread begins.
    pub(super) tried: usize,
    pub(super) begin: usize,
    /// The one that is being followed.
    pub(super) followed: usize,
}

/// A path, and the successors of all its states.
#[derive(Default)]
pub(super) struct Path {
    pub(super) frames: Vec<Frame>,
    pub(super) list: Vec<Place>,
}

impl Path {
    pub(super) fn push(&mut self, place: Place, accepting: bool, first: usize, thread: usize) {
        // Threads that begin with different successors find different parts of the graph.
        let count = self.list.len() - first;
        let mixed = (u64::from(place) + thread as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let begin = if thread == 0 || count < 2 { 0 } else { mixed as usize % count };
        self.frames.push(Frame { place, accepting, first, tried: 0, begin, followed: 0 });
    }

    /// The next successor of the last state.
    pub(super) fn advance(&mut self) -> Option<Place> {
        let frame = self.frames.last_mut()?;
        let count = self.list.len() - frame.first;
        if frame.tried == count {
            return None;
        }
        frame.followed = (frame.begin + frame.tried) % count;
        frame.tried += 1;
        Some(self.list[frame.first + frame.followed])
    }

    pub(super) fn pop(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.list.truncate(frame.first);
        }
    }

    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.list.clear();
    }

    pub(super) fn bytes(&self) -> usize {
        self.frames.capacity() * size_of::<Frame>() + self.list.capacity() * size_of::<Place>()
    }
}
