//! What a bounded search remembers of a state: the lowest count of preemptions it was reached
//! with, and by whom.
//!
//! Paper: [HF] Fig. 3, CONSTRAINT.
//!
//! Two visits to a state differ when another process made the last step: that process may go on
//! without a preemption. So beside every state lie the lowest count seen and the *set* of last
//! movers seen at it. Eight bytes per state do for up to 42 processes, a table takes the rest.
//!
//! Differs from the paper: a visit whose last mover cannot move (or has none: the initial state) is
//! *free*: whoever goes on pays nothing, so it covers every later visit at its count or above. A
//! visit also learns what earlier visits at the same count have run already.
//!
//! Invariant: when `low` is the count of a state, every process in `movers` was run (or is about to
//! be run) from it at `low`; if `free`, every process was; if not, and `low` is below the bound,
//! every other process was or will be run at `low + 1`.

use crate::store::{StateId, pages};
use preempt_core::ProcessId;
use std::collections::HashSet;

/// The records of all states.
#[derive(Debug, Default)]
pub(crate) struct LeastPreemptions {
    least: Vec<StateRecord>,
    /// Last movers with numbers that do not fit into a record, with the count they belong to.
    wide: HashSet<(StateId, u32, ProcessId)>,
}

/// What is known of one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateRecord(u64);

/// The record of a state that was never visited.
const UNKNOWN: StateRecord = StateRecord(u64::MAX);
const MOVERS: u32 = 42;
const WIDE: u64 = 1 << 42;
const FREE: u64 = 1 << 43;
const EXPANDED: u64 = 1 << 44;
const DEFERRED: u64 = 1 << 45;
const ON_PATH: u64 = 1 << 46;
const LOW_SHIFT: u32 = 48;

/// The largest bound that a record can hold.
pub(crate) const LARGEST_BOUND: u32 = (1 << (64 - LOW_SHIFT)) - 2;

/// Whether a record can hold the number of a process.
#[inline(always)]
pub(crate) fn fits_record(process: ProcessId) -> bool {
    u32::from(process.0) < MOVERS
}

/// What a visit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visit {
    /// Nothing that earlier visits did not do.
    Covered,
    /// The first visit at this count: the state is new, or was only known at higher counts.
    First,
    /// Known at this count, but not by this last mover.
    Again,
}

impl StateRecord {
    /// The lowest count.
    #[inline]
    pub(crate) fn low(self) -> u32 {
        (self.0 >> LOW_SHIFT) as u32
    }

    /// Every process was run at the lowest count.
    #[inline]
    pub(crate) fn is_free(self) -> bool {
        self.0 & FREE != 0
    }

    /// Some visit to the state has begun to be expanded.
    #[inline]
    pub(crate) fn is_expanded(self) -> bool {
        self.0 & EXPANDED != 0
    }

    /// Somebody has to wait for the next count.
    #[inline]
    pub(crate) fn is_deferred(self) -> bool {
        self.0 & DEFERRED != 0
    }

    /// Whether these are all last movers at the lowest count.
    #[inline]
    pub(crate) fn has_movers(self, small: u64) -> bool {
        self.0 & (WIDE | ((1 << MOVERS) - 1)) == small
    }

    /// The last movers at the lowest count that fit into a record, as bits.
    #[inline]
    pub(crate) fn small_movers(self) -> u64 {
        self.0 & ((1 << MOVERS) - 1)
    }
}

impl LeastPreemptions {
    /// The record of a state that was visited before.
    #[inline]
    pub(crate) fn get(&self, id: StateId) -> StateRecord {
        self.least[id.index()]
    }

    /// Asks the processor to fetch the record of a state.
    #[inline(always)]
    pub(crate) fn prefetch(&self, id: StateId) {
        pages::prefetch(&self.least, id.index());
    }

    /// Decides on a visit with `count` preemptions after a step by `mover`, and notes it. Without
    /// a last mover the visit is free.
    #[inline(always)]
    pub(crate) fn visit(&mut self, id: StateId, count: u32, mover: Option<ProcessId>) -> Visit {
        let at = id.index();
        if at >= self.least.len() {
            self.grow(at);
        }
        let record = self.least[at];
        if count > record.low() || (count == record.low() && record.is_free()) {
            return Visit::Covered;
        }
        if count < record.low() {
            let kept = if record == UNKNOWN { 0 } else { record.0 & (EXPANDED | ON_PATH) };
            self.least[at] = StateRecord(u64::from(count) << LOW_SHIFT | kept);
            self.add_mover(id, mover);
            return Visit::First;
        }
        if mover.is_some_and(|mover| self.has_mover(id, mover)) {
            return Visit::Covered;
        }
        self.add_mover(id, mover);
        Visit::Again
    }

    #[cold]
    fn grow(&mut self, at: usize) {
        let size = (at + 1).next_multiple_of(1 << 10);
        let more = size - self.least.len();
        pages::make_room(&mut self.least, more);
        self.least.resize(size, UNKNOWN);
    }

    /// Whether `mover` is among the last movers at the lowest count.
    #[inline]
    pub(crate) fn has_mover(&self, id: StateId, mover: ProcessId) -> bool {
        let record = self.least[id.index()];
        match u32::from(mover.0) {
            small if small < MOVERS => record.0 & (1 << small) != 0,
            _ => record.0 & WIDE != 0 && self.wide.contains(&(id, record.low(), mover)),
        }
    }

    #[inline]
    fn add_mover(&mut self, id: StateId, mover: Option<ProcessId>) {
        let record = &mut self.least[id.index()];
        match mover {
            None => record.0 |= FREE,
            Some(mover) if u32::from(mover.0) < MOVERS => record.0 |= 1 << mover.0,
            Some(mover) => {
                record.0 |= WIDE;
                self.wide.insert((id, record.low(), mover));
            }
        }
    }

    /// Notes that every process is run at the lowest count.
    #[inline]
    pub(crate) fn set_free(&mut self, id: StateId) {
        self.least[id.index()].0 |= FREE;
    }

    /// Notes that a visit to the state begins to be expanded.
    #[inline]
    pub(crate) fn set_expanded(&mut self, id: StateId) {
        self.least[id.index()].0 |= EXPANDED;
    }

    /// Notes that the state is on the path of a depth-first search; says whether it was not yet.
    #[inline]
    pub(crate) fn enter(&mut self, id: StateId) -> bool {
        let record = &mut self.least[id.index()].0;
        let first = *record & ON_PATH == 0;
        *record |= ON_PATH;
        first
    }

    /// Notes that the state left the path.
    #[inline]
    pub(crate) fn leave(&mut self, id: StateId) {
        self.least[id.index()].0 &= !ON_PATH;
    }

    /// Whether the state was visited and is on the path.
    #[inline]
    pub(crate) fn is_on_path(&self, id: StateId) -> bool {
        self.least
            .get(id.index())
            .is_some_and(|record| *record != UNKNOWN && record.0 & ON_PATH != 0)
    }

    /// Notes that the state waits for the next count; says whether it did not yet.
    #[inline]
    pub(crate) fn defer(&mut self, id: StateId) -> bool {
        let record = &mut self.least[id.index()].0;
        let first = *record & DEFERRED == 0;
        *record |= DEFERRED;
        first
    }

    /// Memory in use, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.least.len() * 8 + self.wide.capacity() * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: fn(u16) -> Option<ProcessId> = |p| Some(ProcessId(p));

    #[test]
    fn lower_counts_and_new_movers_are_explored() {
        let mut least = LeastPreemptions::default();
        let s = StateId(3);
        assert_eq!(least.visit(s, 2, P(0)), Visit::First);
        assert_eq!(least.visit(s, 2, P(0)), Visit::Covered);
        assert_eq!(least.visit(s, 2, P(1)), Visit::Again);
        assert_eq!(least.get(s).small_movers(), 0b11);
        assert_eq!(least.visit(s, 3, P(2)), Visit::Covered);
        assert_eq!(least.visit(s, 1, P(0)), Visit::First);
        assert_eq!(least.get(s).small_movers(), 0b1);
        least.set_free(s);
        assert_eq!(least.visit(s, 1, P(5)), Visit::Covered);
        assert_eq!(least.visit(s, 0, P(5)), Visit::First);
        assert!(!least.get(s).is_free());
    }

    #[test]
    fn movers_beyond_the_packed_width_are_kept() {
        let mut least = LeastPreemptions::default();
        let (s, t) = (StateId(0), StateId(1));
        for p in [41, 42, 43, 500, u16::MAX] {
            assert_ne!(least.visit(s, 1, P(p)), Visit::Covered, "{p}");
            assert_eq!(least.visit(s, 1, P(p)), Visit::Covered, "{p}");
        }
        assert_eq!(least.visit(t, 1, P(500)), Visit::First);
        assert_eq!(least.visit(s, 0, P(1)), Visit::First);
        assert!(!least.has_mover(s, ProcessId(500)), "a lower count starts afresh");
        assert!(least.has_mover(t, ProcessId(500)));
        assert_eq!(least.visit(s, 0, P(500)), Visit::Again);
    }
}
