//! When a breadth-first search calls other threads for help, and what they leave behind.

use super::package::Package;
use crate::search::shared::statistics::Counters;

/// A search with fewer states needs no help.
const MANY: usize = 1 << 15;
/// So many states must wait to have helpers called.
const CALL_AT: usize = 1 << 12;
/// Where fewer states wait, helpers leave.
const LEAVE_AT: usize = 1 << 10;
/// Packages per thread that are handed out at once.
pub(super) const GROUP: usize = 4;

/// When helpers are called, and how many.
#[derive(Debug)]
pub(super) struct Helpers {
    pub(super) count: usize,
    /// They are called only when at least so many states are stored.
    pub(super) many: usize,
    /// They are called only when at least so many states wait. Where the number of waiting states goes up and down, they are
    /// called less often.
    pub(super) call_at: usize,
    /// Where fewer wait, they leave.
    pub(super) leave_at: usize,
    /// States before this one are expanded alone.
    pub(super) alone_until: usize,
    /// Transitions that helpers have taken.
    pub(super) counters: Vec<Counters>,
    /// Packages whose memory is free.
    pub(super) spare: Vec<Package>,
    /// What the largest package took, in bytes.
    pub(super) largest: usize,
    /// What a thread needs to read the store, in bytes.
    pub(super) reader: usize,
}

impl Helpers {
    pub(super) fn new(threads: usize) -> Self {
        Helpers {
            count: threads.saturating_sub(1),
            many: MANY,
            call_at: CALL_AT,
            leave_at: LEAVE_AT,
            alone_until: 0,
            counters: Vec::new(),
            spare: Vec::new(),
            largest: 0,
            reader: 0,
        }
    }

    /// The same for small searches, to be tested by.
    #[cfg(test)]
    pub(super) fn soon(threads: usize, call_at: usize) -> Self {
        Helpers { many: 2, call_at, leave_at: call_at / 2 + 1, ..Helpers::new(threads) }
    }

    /// What packages take at most, in bytes.
    pub(super) fn bytes(&self) -> usize {
        // While the successors of one group are inserted, the next one is expanded.
        (self.largest * 2 * GROUP + self.reader) * (self.count + 1)
    }

    /// What was counted outside of packages.
    pub(super) fn take_counters(&mut self) -> Vec<Counters> {
        std::mem::take(&mut self.counters)
    }
}
