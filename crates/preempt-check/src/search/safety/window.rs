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

use super::state_access::StateAccess;

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
    /// Whether successors of the section lie behind steps of indivisible sequences that were passed over.
    /// When the section is computed again, these steps are passed over if and only if they were the first time.
    pub(crate) in_one_go: bool,
}

impl Frame {
    /// Where the successor is that was visited last.
    #[inline(always)]
    pub(crate) fn taken(&self) -> usize {
        (self.start + self.next) as usize - 1
    }
}

/// The sections of the frames on top of a stack.
#[derive(Debug)]
pub(crate) struct Window<A> {
    pub(crate) states: A,
    /// Bytes of successors kept before old sections are dropped.
    limit: usize,
    /// The hash of each successor in the list.
    pub(crate) hashes: Vec<u64>,
    base: usize,
    checkpoints: Vec<(usize, Vec<u8>)>,
    checkpoint_bytes: usize,
}

impl<A: StateAccess> Window<A> {
    /// A window of so many bytes of successors.
    pub(crate) fn new(limit: usize) -> Self {
        Window {
            states: A::default(),
            limit,
            hashes: Vec::new(),
            base: 0,
            checkpoints: Vec::new(),
            checkpoint_bytes: 0,
        }
    }

    /// Begins with a root whose state this is.
    pub(crate) fn start(&mut self, root: &[u8]) {
        self.states.stand_at(root, 0);
        self.checkpoint(0, root.to_vec());
    }

    pub(crate) fn bytes(&self) -> usize {
        // Capacity beyond the length is address space that was never touched.
        self.states.memory() + self.hashes.len() * 8 + self.checkpoint_bytes
    }

    /// Forgets the section that begins at `start` and all behind it.
    #[inline]
    pub(crate) fn truncate(&mut self, start: u32) {
        let start = start as usize;
        self.states.truncate(start);
        self.hashes.truncate(start);
    }

    /// Stands at the state of frame `at`, the top, again.
    #[inline]
    pub(crate) fn recall(&mut self, frames: &[Frame], at: usize) {
        let given = match self.checkpoints.last() {
            Some((frame, state)) if *frame == at => Ok(state.as_slice()),
            _ => Err(frames[at - 1].taken()),
        };
        self.states.recall(given);
    }

    /// Goes back to the state of the top frame, whose last successor was entered and left.
    #[inline(always)]
    pub(crate) fn go_back(&mut self, frames: &[Frame]) {
        if let Some(top) = frames.last() {
            self.states.go_back(top.taken());
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
        if self.states.memory() >= self.limit {
            self.drop_older(frames);
        }
    }

    #[cold]
    fn drop_older(&mut self, frames: &mut [Frame]) {
        let middle = self.base + (frames.len() - self.base) / 2;
        if middle <= self.base {
            return;
        }
        let first = self.base;
        let Some((_, state)) = self.checkpoints.last() else { return };
        let mut kept = Vec::new();
        let (taken, mut at) = (frames[first..middle].iter().map(Frame::taken), first);
        self.states.along(state, first, taken, |state| {
            if at != first && ((at - first).is_multiple_of(STRIDE) || at == middle) {
                kept.push((at, state.to_vec()));
            }
            at += 1;
        });
        for (at, state) in kept {
            self.checkpoint(at, state);
        }
        let items = frames[middle].start as usize;
        self.states.list_mut().forget_before(items);
        self.hashes.drain(..items);
        for frame in &mut frames[middle..] {
            frame.start -= items as u32;
        }
        self.base = middle;
    }

    /// To be called when the frame at index `popped` is gone. The range of frames whose sections
    /// must be computed again, beginning with the one that has a checkpoint, where the search stands then.
    #[inline]
    pub(crate) fn lost(&mut self, popped: usize) -> Option<std::ops::Range<usize>> {
        (popped == self.base && popped != 0).then(|| self.return_to_checkpoint(popped))
    }

    #[cold]
    fn return_to_checkpoint(&mut self, popped: usize) -> std::ops::Range<usize> {
        if let Some((_, state)) = self.checkpoints.pop() {
            self.checkpoint_bytes -= state.capacity() + 32;
        }
        if let Some((frame, state)) = self.checkpoints.last() {
            self.base = *frame;
            self.states.stand_at(state, self.base);
        }
        self.base..popped
    }

    fn checkpoint(&mut self, frame: usize, state: Vec<u8>) {
        self.checkpoint_bytes += state.capacity() + 32;
        self.checkpoints.push((frame, state));
    }
}
