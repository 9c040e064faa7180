//! The log of a bucketed search: every visit, and where it came from. From it executions are found again.
//!
//! Visits to a state before it is expanded are merged: the first of them does what all are for. So a visit
//! says where it came from by a visit to the state before, and by the process that went on from there.
//!
//! Invariant: of the visits to a state no two have the same last mover. A visit was logged later than the one that it came
//! from, and later than all visits that were merged into that one when its state was expanded.

use crate::search::bounded::least_preemptions::fits_record;
use crate::store::StateId;
use preempt_core::ProcessId;

/// A visit: a state, by whatever the visited set knows it, its last mover, and the visit it was reached from.
#[derive(Clone, Copy)]
pub(crate) struct Entry<K = StateId> {
    pub(crate) state: K,
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
pub(crate) const REVISIT: u8 = 2;
/// Not to be expanded. When this visit arrived, the first visit to the state was yet to be expanded, and runs the last mover of
/// this one, too.
pub(crate) const MERGED: u8 = 4;
/// When this visit arrived, the steps of its last mover had been put off to the next bucket.
pub(crate) const MOVER_WAS_DEFERRED: u8 = 8;

impl<K> Entry<K> {
    #[inline(always)]
    pub(crate) fn mover(&self) -> Option<ProcessId> {
        (self.mover != NOBODY).then_some(ProcessId(self.mover))
    }

    #[inline(always)]
    pub(crate) fn is(&self, flag: u8) -> bool {
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
