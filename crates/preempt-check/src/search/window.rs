//! The successors that a depth-first search has yet to visit, in bounded memory.
//!
//! Every frame of the stack owns a section of one shared list of successors, computed once when
//! the frame is entered. A stack of millions of frames would need more memory for these sections
//! than the states themselves take, so the sections of the oldest frames are dropped and computed
//! again when the search returns to them. Every so often a dropped frame leaves its state behind:
//! a checkpoint, from which the frames above it are re-run.
//!
//! Invariant: the sections of frames `base..` are present, and the last checkpoint is the state
//! of frame `base`.

use super::brief::Brief;

/// Bytes of successors kept before old sections are dropped.
const LIMIT: usize = 32 << 20;
/// Every so many dropped frames one leaves a checkpoint.
const STRIDE: usize = 32;

/// A visit to a state, with its section of the successors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// The number of the state; `None` inside an indivisible sequence.
    pub(crate) id: Option<crate::store::StateId>,
    /// Where the section begins.
    pub(crate) start: u32,
    /// The next successor, counted from `start`.
    pub(crate) next: u32,
    /// How many successors there are.
    pub(crate) count: u32,
    /// Steps from the initial state.
    pub(crate) depth: u32,
    /// Which selection of steps the section holds.
    pub(crate) pick: crate::reduce::Pick,
    /// Whether a successor was met that is not on the stack.
    pub(crate) outside: bool,
}

/// The sections of the frames on top of a stack.
#[derive(Default, Debug)]
pub(crate) struct Window {
    pub(crate) successors: Brief,
    /// The hash of each successor in the list.
    pub(crate) hashes: Vec<u64>,
    base: usize,
    checkpoints: Vec<(usize, Vec<u8>)>,
    checkpoint_bytes: usize,
}

impl Window {
    /// Begins with a root whose state this is.
    pub(crate) fn start(&mut self, root: &[u8]) {
        self.checkpoint(0, root.to_vec());
    }

    pub(crate) fn bytes(&self) -> usize {
        // Capacity beyond the length is address space that was never touched.
        self.successors.memory() + self.hashes.len() * 8 + self.checkpoint_bytes
    }

    /// Forgets the section that begins at `start` and all behind it.
    #[inline]
    pub(crate) fn truncate(&mut self, start: u32) {
        let start = start as usize;
        self.successors.truncate(start);
        self.hashes.truncate(start);
    }

    /// Replaces `out` by the state of frame `at`, whose predecessor's section is present.
    pub(crate) fn state_of(&self, frames: &[Frame], at: usize, out: &mut Vec<u8>) {
        out.clear();
        match self.checkpoints.last() {
            Some((frame, state)) if *frame == at => out.extend_from_slice(state),
            _ => {
                let below = &frames[at - 1];
                let range = self.successors.range((below.start + below.next) as usize - 1);
                out.extend_from_slice(&self.successors.bytes[range]);
            }
        }
    }

    /// The hashes of the successors that frame `at` has yet to visit, if they are present.
    #[inline(always)]
    pub(crate) fn waiting(&self, at: usize, frame: &Frame) -> &[u64] {
        let (next, end) = (frame.start + frame.next, frame.start + frame.count);
        match at >= self.base {
            true => self.hashes.get(next as usize..end as usize).unwrap_or(&[]),
            false => &[],
        }
    }

    /// Drops the older half of the sections if there are too many.
    #[inline]
    pub(crate) fn trim(&mut self, frames: &mut [Frame]) {
        if self.successors.bytes.len() + self.successors.len() * 32 >= LIMIT {
            self.drop_older(frames);
        }
    }

    #[cold]
    fn drop_older(&mut self, frames: &mut [Frame]) {
        let middle = self.base + (frames.len() - self.base) / 2;
        if middle <= self.base {
            return;
        }
        let (mut state, first) = (Vec::new(), self.base);
        for at in first + 1..=middle {
            if (at - first).is_multiple_of(STRIDE) || at == middle {
                self.state_of(frames, at, &mut state);
                self.checkpoint(at, state.clone());
            }
        }
        let items = frames[middle].start as usize;
        self.successors.forget_before(items);
        self.hashes.drain(..items);
        for frame in &mut frames[middle..] {
            frame.start -= items as u32;
        }
        self.base = middle;
    }

    /// To be called when the frame at index `popped` is gone. The range of frames whose sections
    /// must be computed again, beginning with the one that has a checkpoint.
    #[inline]
    pub(crate) fn lost(&mut self, popped: usize) -> Option<std::ops::Range<usize>> {
        (popped == self.base && popped != 0).then(|| self.go_back(popped))
    }

    #[cold]
    fn go_back(&mut self, popped: usize) -> std::ops::Range<usize> {
        if let Some((_, state)) = self.checkpoints.pop() {
            self.checkpoint_bytes -= state.capacity() + 32;
        }
        self.base = self.checkpoints.last().map_or(0, |(frame, _)| *frame);
        self.base..popped
    }

    fn checkpoint(&mut self, frame: usize, state: Vec<u8>) {
        self.checkpoint_bytes += state.capacity() + 32;
        self.checkpoints.push((frame, state));
    }
}
