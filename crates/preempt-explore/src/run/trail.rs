//! The steps of a long execution, to see whether it repeats itself (`cycle.rs`).

use crate::{Action, Move, ObjectId, Operation, ThreadId};
use std::panic::Location;
use std::ptr::null;

/// Longest cycle that is recognised, in steps.
const LONGEST: usize = 256;

/// Shorter executions are not looked at.
const LATE: usize = 512;

/// What was done in a step, and where. Yields are all the same: loops spin first, and yield later.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    choice: u32,
    object: ObjectId,
    action: Action,
    place: *const Location<'static>,
    result: u64,
    pub(super) thread: ThreadId,
    /// Whether it lets others run.
    pub(super) yields: bool,
    /// Whether what it does is known: it accesses an atomic, or nothing.
    pub(super) is_visible: bool,
}

/// What was done, step by step, from step [`LATE`] on.
#[derive(Default)]
pub(super) struct Trail(Vec<Step>);

impl Trail {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The last so many steps, the latest first.
    pub(super) fn last(&self, count: usize) -> impl Iterator<Item = &Step> {
        self.0.iter().rev().take(count)
    }

    /// Adds the step number `at`.
    pub(super) fn push(&mut self, at: usize, step: Move, operation: &Operation, result: u64) {
        if at < LATE {
            return;
        }
        let Operation { action, object, site, .. } = *operation;
        let pauses = action == Action::Yield;
        let yields = step.choice == Move::TIMEOUT || pauses;
        let is_visible = action.is_number() || pauses;
        let place = if pauses { null() } else { std::ptr::from_ref(site) };
        let Move { thread, choice } = step;
        self.0.push(Step { choice, object, action, place, result, thread, yields, is_visible });
    }

    /// The length of the shortest cycle that the last steps have repeated so often.
    pub(super) fn cycle(&self, often: usize) -> Option<usize> {
        let repeats = |period: &usize| {
            let length = period.saturating_mul(often);
            self.0.len() > length + period
                && self
                    .0
                    .iter()
                    .rev()
                    .zip(self.0.iter().rev().skip(*period))
                    .take(length)
                    .all(|(a, b)| a == b)
        };
        (1..=LONGEST).find(repeats)
    }

    /// Where the cycle of this length begins.
    pub(super) fn begin(&self, period: usize) -> usize {
        let pairs = self.0.iter().rev().zip(self.0.iter().rev().skip(period));
        LATE + self.0.len() - period - pairs.take_while(|(a, b)| a == b).count()
    }
}
