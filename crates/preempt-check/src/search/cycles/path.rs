//! The path of a depth-first search, with all successors of its states.
//!
//! One stack of bytes and one of steps: entering a state expands it onto their tops, leaving it cuts
//! them off again. So nothing is allocated per state, and a successor that is already known is never
//! copied.

use super::nested_search::OnPath;
use crate::store::StateId;
use preempt_core::engine::Successors;
use preempt_core::{Outcome, Step};
use std::ops::Range;

/// One state on a path.
pub(crate) struct Frame {
    /// What is known of it, unless it lies inside an indivisible sequence.
    pub(super) stored: Option<OnPath<StateId>>,
    pub(crate) depth: u64,
    bytes: usize,
    length: usize,
    first: usize,
    next: usize,
}

/// A path with the bytes and the remaining successors of all its states.
#[derive(Default)]
pub(crate) struct Path {
    pub(crate) frames: Vec<Frame>,
    /// The successors of all its states: the step to each, how it went, where its bytes are.
    list: Vec<(Step, Outcome, Range<usize>)>,
    /// The bytes of each state, then those of its successors.
    bytes: Vec<u8>,
    /// The hash of each successor, or [`UNHASHED`].
    pub(crate) hashes: Vec<u64>,
}

/// In place of a hash: the successor may not be in its final form.
pub(crate) const UNHASHED: u64 = 0;

impl Path {
    /// Adds a state; its [successors](Self::push_successors) are to be added next.
    pub(crate) fn push(&mut self, id: Option<StateId>, accepting: bool, state: &[u8], depth: u64) {
        let first = self.list.len();
        let bytes = self.bytes.len();
        let length = state.len();
        self.bytes.extend_from_slice(state);
        let stored = id.map(|node| OnPath { node, accepting, all_red: true });
        self.frames.push(Frame { stored, depth, bytes, length, first, next: first });
    }

    /// Adds the successors of the last state.
    pub(crate) fn push_successors(&mut self, successors: &Successors) {
        let base = self.bytes.len();
        self.bytes.extend_from_slice(&successors.data);
        for (at, header) in successors.headers.iter().enumerate() {
            let (step, outcome) = successors.step_of(at, header);
            let range = header.range();
            self.list.push((step, outcome, base + range.start..base + range.end));
        }
    }

    /// Removes the last state and its successors.
    pub(crate) fn pop(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.bytes.truncate(frame.bytes);
            self.list.truncate(frame.first);
            self.hashes.truncate(frame.first);
        }
    }

    /// Forgets everything, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.list.clear();
        self.bytes.clear();
        self.hashes.clear();
    }

    /// The next successor of the last state: its place in the list.
    pub(crate) fn advance(&mut self) -> Option<usize> {
        let end = self.list.len();
        let frame = self.frames.last_mut()?;
        let at = frame.next;
        frame.next += usize::from(at < end);
        (at < end).then_some(at)
    }

    /// The last state's successors: their places in the list.
    pub(crate) fn last_successors(&self) -> Range<usize> {
        self.frames.last().map_or(0, |frame| frame.first)..self.list.len()
    }

    pub(crate) fn step(&self, at: usize) -> (Step, Outcome) {
        let (step, outcome, _) = &self.list[at];
        (*step, *outcome)
    }

    /// The bytes of a successor.
    pub(crate) fn target(&self, at: usize) -> &[u8] {
        &self.bytes[self.list[at].2.clone()]
    }

    /// The bytes of the successor of the last state that was followed last.
    pub(crate) fn last_target(&self) -> &[u8] {
        let last = self.frames.last().filter(|frame| frame.next > frame.first);
        last.map_or(&[], |frame| self.target(frame.next - 1))
    }

    /// Keeps those of the last state's successors for which `keep` holds.
    pub(crate) fn retain_last(&mut self, keep: impl Fn(Step) -> bool) {
        let mut kept = self.last_successors().start;
        for at in self.last_successors() {
            if keep(self.list[at].0) {
                self.list.swap(kept, at);
                self.hashes.swap(kept, at);
                kept += 1;
            }
        }
        self.list.truncate(kept);
        self.hashes.truncate(kept);
    }

    pub(crate) fn last_state(&self) -> &[u8] {
        self.frames.last().map_or(&[], |frame| self.state(frame))
    }

    fn state(&self, frame: &Frame) -> &[u8] {
        &self.bytes[frame.bytes..frame.bytes + frame.length]
    }

    /// The last state that is stored.
    pub(super) fn last_stored(&mut self) -> Option<&mut OnPath<StateId>> {
        self.frames.iter_mut().rev().find_map(|frame| frame.stored.as_mut())
    }

    /// Whether the transient state repeats one of the present indivisible sequence.
    pub(crate) fn repeats(&self, state: &[u8]) -> bool {
        let mut sequence = self.frames.iter().rev().take_while(|frame| frame.stored.is_none());
        sequence.any(|frame| self.state(frame) == state)
    }

    /// The step last taken from each state of the path.
    pub(crate) fn taken(&self) -> impl Iterator<Item = Step> + '_ {
        let taken = self.frames.iter().filter(|frame| frame.next > frame.first);
        taken.map(|frame| self.list[frame.next - 1].0)
    }

    /// The last state's steps are all behind it: forgets which was the last.
    pub(crate) fn rewind_last(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.next = frame.first;
            self.list.truncate(frame.first);
            self.hashes.truncate(frame.first);
        }
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.capacity()
            + self.list.capacity() * size_of::<(Step, Outcome, Range<usize>)>()
            + self.frames.capacity() * size_of::<Frame>()
            + self.hashes.capacity() * 8
    }
}
