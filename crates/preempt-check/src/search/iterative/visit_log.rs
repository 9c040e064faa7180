//! The log of a bucketed search: every visit, and where it came from. From it executions are found again.
//!
//! Visits to a state before it is expanded are merged: the first of them does what all are for. So a visit
//! says where it came from by a visit to the state before, and by the process that went on from there.
//!
//! Invariant: a visit lies behind the one that it came from, and behind all visits that were merged into
//! that one when its state was expanded.

use super::retrace::{Mover, retrace};
use crate::search::bounded::least_preemptions::{LeastPreemptions, fits_record};
use crate::store::{StateId, Store};
use preempt_core::{ProcessId, Step, System};

/// A visit: a state, who moved last, and the visit it was reached from.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) state: StateId,
    pub(crate) parent: u32,
    /// The last mover, or [`NOBODY`].
    pub(crate) mover: u16,
    /// Without reduction the process that went on from the state before, if its number fits into a record;
    /// else [`UNKNOWN_PROCESS`].
    pub(crate) by: u8,
    pub(crate) flags: u8,
}

pub(crate) const NOBODY: u16 = u16::MAX;
pub(crate) const UNKNOWN_PROCESS: u8 = u8::MAX;
/// The last step was a transparent one.
pub(crate) const TRANSPARENT: u8 = 1;
/// Not the first visit to the state.
pub(crate) const AGAIN: u8 = 2;
/// The first visit to the state, which is expanded later than this arrived, does what this one is for.
pub(crate) const MERGED: u8 = 4;
/// The steps of the last mover from here were put off when this arrived.
pub(crate) const LATE: u8 = 8;

impl Entry {
    #[inline(always)]
    pub(crate) fn mover(self) -> Option<ProcessId> {
        (self.mover != NOBODY).then_some(ProcessId(self.mover))
    }

    #[inline(always)]
    pub(crate) fn is(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// In place of the visit that the first one came from.
pub(crate) const NO_PARENT: u32 = u32::MAX;

/// The number of a process as an entry keeps it.
#[inline(always)]
pub(crate) fn packed(process: Option<ProcessId>) -> u8 {
    process
        .filter(|process| fits_record(*process))
        .map_or(UNKNOWN_PROCESS, |process| process.0 as u8)
}

/// What executions are found again from.
pub(crate) struct Past<'a, S: ?Sized, T> {
    pub(crate) system: &'a S,
    pub(crate) store: &'a T,
    pub(crate) least: &'a LeastPreemptions,
    pub(crate) log: &'a [Entry],
}

impl<S: System + ?Sized, T: Store> Past<'_, S, T> {
    /// The steps of the execution behind a visit, from where the process `by` goes on.
    pub(crate) fn steps_to(&self, visit: u32, by: u8) -> Vec<Step> {
        let mut at = self.visit_of(by, visit, self.log.len());
        let mut entries = vec![self.log[at]];
        while let Some(entry) = entries.last().filter(|entry| entry.parent != NO_PARENT) {
            at = self.visit_of(entry.by, entry.parent, at);
            entries.push(self.log[at]);
        }
        entries.reverse();
        let mover = |entry: &Entry| Mover::new(entry.mover(), entry.is(TRANSPARENT));
        let movers: Vec<Mover> = entries.iter().map(mover).collect();
        let mut target = Vec::new();
        let found = retrace(self.system, &movers, |at, state| {
            self.store.load(entries[at].state, &mut target);
            target == state
        });
        found.expect("the log holds steps of the system")
    }

    /// The visit from which a process went on before `end`, where that was found out at `visit`: if it
    /// moved last in another one, which was merged, it is that one.
    fn visit_of(&self, by: u8, visit: u32, end: usize) -> usize {
        let (visit, first) = (visit as usize, self.log[visit as usize]);
        let is_mover = |by: u8| self.least.has_mover(first.state, ProcessId(by.into()));
        if by == UNKNOWN_PROCESS || first.mover == by.into() || !is_mover(by) {
            return visit;
        }
        let is_it = |entry: &Entry| entry.state == first.state && entry.mover == by.into();
        self.log[..end].iter().rposition(is_it).unwrap_or(visit)
    }
}
