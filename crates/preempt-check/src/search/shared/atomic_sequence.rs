//! One step of a process, with the indivisible sequence that may follow it.
//!
//! Searches see only the states in which any process may move. From such a state a [`AtomicSequence`] takes a
//! step, passes through the transient states behind it, and says where it arrives.
//!
//! Invariant: every stable state that can be reached through transient states alone is reported, also by
//! a shortest path. Sequences that meet again or run in circles are not walked twice: after the
//! first branching, or when a sequence gets long, transient states are remembered.

use preempt_core::{Enabled, Outcome, ProcessId, Step, System};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The last mover after `path`, if `before` was it before: the moves of a property do not count.
#[inline]
pub fn last_mover(path: &[Step], before: Option<ProcessId>) -> Option<ProcessId> {
    let program = path.iter().rev().find(|step| step.process != ProcessId::PROPERTY);
    program.map(Step::mover).or(before)
}

/// What happened on the way.
pub(crate) enum Event<'a> {
    /// The last step of the path violated an assertion; its successor is reported as well.
    Violated(u32),
    /// The last step of the path could not be completed.
    Broken(u32),
    /// The path leads to this stable state.
    Arrived(&'a mut Vec<u8>),
}

/// Reusable buffers.
#[derive(Default)]
pub(crate) struct AtomicSequence {
    path: Vec<Step>,
    frames: Vec<Frame>,
    /// Buffers of frames that are not in use.
    spare: Vec<Frame>,
    enabled: Enabled,
    scratch: Vec<u8>,
    /// Transient states with the length of the shortest path to them.
    seen: HashMap<Vec<u8>, usize>,
}

#[derive(Default)]
struct Frame {
    state: Vec<u8>,
    steps: Vec<Step>,
    next: usize,
}

/// Straight sequences longer than this may be running in circles.
const LONG: usize = 256;

impl AtomicSequence {
    /// Takes `step` in `state`, and every way through the transient states behind it. `report` gets
    /// the steps so far and the event, and may end the walk by returning `false`; then so does
    /// this.
    pub(crate) fn run<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &[u8],
        step: Step,
        report: &mut impl FnMut(&[Step], Event) -> bool,
    ) -> bool {
        self.path.clear();
        self.seen.clear();
        self.spare.append(&mut self.frames);
        self.scratch.clear();
        self.scratch.extend_from_slice(state);
        let mut branched = false;
        let mut next = Some(step);
        loop {
            let Some(step) = next else {
                // Back to the last transient state with a step left.
                self.path.truncate(self.frames.len());
                let Some(frame) = self.frames.last_mut() else { return true };
                next = frame.steps.get(frame.next).copied();
                if next.is_some() {
                    frame.next += 1;
                    self.scratch.clone_from(&frame.state);
                } else {
                    self.spare.extend(self.frames.pop());
                }
                continue;
            };
            next = None;
            self.path.push(step);
            match system.apply(&mut self.scratch, step) {
                Outcome::Done => {}
                Outcome::Violated(fault) => {
                    if !report(&self.path, Event::Violated(fault)) {
                        return false;
                    }
                }
                Outcome::Broken(fault) => {
                    if !report(&self.path, Event::Broken(fault)) {
                        return false;
                    }
                    continue;
                }
            }
            if system.is_transient(&self.scratch) {
                self.enabled.clear();
                system.enabled(&mut self.scratch, &mut self.enabled);
                // Asking for the steps ends a sequence whose process is blocked.
                if system.is_transient(&self.scratch) {
                    branched |= self.enabled.steps().len() > 1;
                    let remember = branched || self.path.len() > LONG;
                    if !remember || self.is_news() {
                        let mut frame = self.spare.pop().unwrap_or_default();
                        frame.state.clone_from(&self.scratch);
                        frame.steps.clear();
                        frame.steps.extend_from_slice(self.enabled.steps());
                        frame.next = 0;
                        self.frames.push(frame);
                    }
                    continue;
                }
            }
            if !report(&self.path, Event::Arrived(&mut self.scratch)) {
                return false;
            }
        }
    }

    /// Whether the present transient state was not met before on a path as short.
    fn is_news(&mut self) -> bool {
        let length = self.path.len();
        match self.seen.entry(self.scratch.clone()) {
            Entry::Vacant(free) => {
                free.insert(length);
                true
            }
            Entry::Occupied(mut known) => {
                let shorter = length < *known.get();
                if shorter {
                    known.insert(length);
                }
                shorter
            }
        }
    }
}
