//! What a bounded search remembers of a state: the lowest count of preemptions it was reached
//! with, and by which last movers.
//!
//! Paper: [HF] Fig. 3, CONSTRAINT.
//!
//! Two visits to a state differ when another process made the last step: that process may go on
//! without a preemption. So beside every state lie the lowest count seen and the *set* of last
//! movers seen at it. Eight bytes per state do for up to 42 processes, a table takes the rest.
//!
//! Differs from the paper: a visit whose last mover cannot move (or has none: the initial state) is
//! *free*: any process goes on for free, so it covers every later visit at its count or above. A
//! visit also learns what earlier visits at the same count have run already.
//!
//! Invariant: when `low` is the count of a state, every process in `movers` was run (or is about to
//! be run) from it at `low`; if `free`, every process was; if not, and `low` is below the bound,
//! every other process was or will be run at `low + 1`.

use crate::store::StateId;
use crate::store::memory::pages;
use preempt_core::ProcessId;
use std::collections::HashSet;

/// The records of all states.
#[derive(Debug, Default)]
pub struct LeastPreemptions {
    least: Vec<StateRecord>,
    /// Last movers with numbers that do not fit into a record, with the count they belong to.
    wide: HashSet<(StateId, u32, ProcessId)>,
}

/// What is known of one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateRecord(u64);

/// The record of a state that was never visited: fresh memory is that.
const UNKNOWN: StateRecord = StateRecord(0);
/// Last movers with numbers below this fit into a record.
pub(crate) const MOVERS: u32 = 42;
const WIDE: u64 = 1 << 42;
const FREE: u64 = 1 << 43;
const EXPANDED: u64 = 1 << 44;
const DEFERRED: u64 = 1 << 45;
const ON_PATH: u64 = 1 << 46;
/// From here on the lowest count, subtracted from what no count reaches.
const LOW_SHIFT: u32 = 48;
const NO_COUNT: u32 = (1 << (64 - LOW_SHIFT)) - 1;

/// The largest bound that a record can hold.
pub const LARGEST_BOUND: u32 = NO_COUNT - 1;

/// Whether a record can hold the number of a process.
#[inline(always)]
pub fn fits_record(process: ProcessId) -> bool {
    u32::from(process.0) < MOVERS
}

/// What a visit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// Nothing that earlier visits did not do.
    Covered,
    /// The first visit at this count: the state is new, or was only known at higher counts.
    First,
    /// Known at this count, but not by this last mover.
    Again,
}

impl StateRecord {
    /// The record of a state as a word, for searches that keep records of their own; zero if it was never visited.
    pub fn from_word(word: u64) -> Self {
        StateRecord(word)
    }

    /// The record as a word.
    pub fn word(self) -> u64 {
        self.0
    }

    /// A record that does not say which last movers there are.
    pub fn with_unlisted_movers() -> Self {
        StateRecord(WIDE)
    }

    /// The lowest count.
    #[inline]
    pub fn low(self) -> u32 {
        NO_COUNT - (self.0 >> LOW_SHIFT) as u32
    }

    /// What a visit with `count` preemptions after a step by `mover` makes of the record, and what it is for; `None`
    /// if it is covered. `is_known` says whether a last mover that does not fit into a record was seen at the lowest count.
    /// Without a last mover the visit is free.
    #[inline(always)]
    pub fn visited(
        self,
        count: u32,
        mover: Option<ProcessId>,
        is_known: impl FnOnce() -> bool,
    ) -> Option<(StateRecord, Visit)> {
        let bits = match mover {
            None => FREE,
            Some(mover) if fits_record(mover) => 1 << mover.0,
            Some(_) => WIDE,
        };
        if count < self.low() {
            let low = u64::from(NO_COUNT - count) << LOW_SHIFT;
            return Some((StateRecord(low | self.0 & (EXPANDED | ON_PATH) | bits), Visit::First));
        }
        let is_covered = count > self.low()
            || self.all_run()
            || self.0 & bits != 0 && (bits != WIDE || is_known());
        (!is_covered).then_some((StateRecord(self.0 | bits), Visit::Again))
    }

    /// With every process run at the lowest count.
    #[inline]
    pub fn freed(self) -> Self {
        StateRecord(self.0 | FREE)
    }

    /// With some visit that has begun to be expanded.
    #[inline]
    pub fn expanded(self) -> Self {
        StateRecord(self.0 | EXPANDED)
    }

    /// With a process that has to wait for the next count.
    #[inline]
    pub fn deferred(self) -> Self {
        StateRecord(self.0 | DEFERRED)
    }

    /// Every process was run at the lowest count.
    #[inline]
    pub fn all_run(self) -> bool {
        self.0 & FREE != 0
    }

    /// Some visit to the state has begun to be expanded.
    #[inline]
    pub fn is_expanded(self) -> bool {
        self.0 & EXPANDED != 0
    }

    /// A process has to wait for the next count.
    #[inline]
    pub fn is_deferred(self) -> bool {
        self.0 & DEFERRED != 0
    }

    /// Whether a process that fits into a record is among the last movers at the lowest count; `None` for others, if
    /// such are among them.
    #[inline]
    pub fn has_mover(self, mover: ProcessId) -> Option<bool> {
        match fits_record(mover) {
            true => Some(self.0 & (1 << mover.0) != 0),
            false if self.0 & WIDE == 0 => Some(false),
            false => None,
        }
    }

    /// Whether these are all last movers at the lowest count.
    #[inline]
    pub fn has_movers(self, small: u64) -> bool {
        self.0 & (WIDE | ((1 << MOVERS) - 1)) == small
    }

    /// The last movers at the lowest count that fit into a record, as bits.
    #[inline]
    pub fn small_movers(self) -> u64 {
        self.0 & ((1 << MOVERS) - 1)
    }
}

impl LeastPreemptions {
    /// The record of a state that was visited before.
    #[inline]
    pub fn get(&self, id: StateId) -> StateRecord {
        self.least[id.index()]
    }

    /// Asks the processor to fetch the record of a state.
    #[inline(always)]
    pub fn prefetch(&self, id: StateId) {
        pages::prefetch(&self.least, id.index());
    }

    /// Decides on a visit with `count` preemptions after a step by `mover`, and notes it. Without
    /// a last mover the visit is free.
    #[inline(always)]
    pub fn visit(&mut self, id: StateId, count: u32, mover: Option<ProcessId>) -> Visit {
        let at = id.index();
        if at >= self.least.len() {
            self.grow(at);
        }
        let record = self.least[at];
        let is_known = || self.is_wide_mover(id, mover);
        let Some((after, visit)) = record.visited(count, mover, is_known) else {
            return Visit::Covered;
        };
        self.least[at] = after;
        if let Some(mover) = mover.filter(|mover| !fits_record(*mover)) {
            self.wide.insert((id, count, mover));
        }
        visit
    }

    #[cold]
    fn is_wide_mover(&self, id: StateId, mover: Option<ProcessId>) -> bool {
        let low = self.get(id).low();
        mover.is_some_and(|mover| self.wide.contains(&(id, low, mover)))
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
    pub fn has_mover(&self, id: StateId, mover: ProcessId) -> bool {
        let known = self.least[id.index()].has_mover(mover);
        known.unwrap_or_else(|| self.is_wide_mover(id, Some(mover)))
    }

    /// Replaces the record of a state that was visited before.
    #[inline]
    pub fn set(&mut self, id: StateId, record: StateRecord) {
        self.least[id.index()] = record;
    }

    /// Changes the record of a state that was visited before.
    #[inline]
    pub fn update(&mut self, id: StateId, change: impl FnOnce(StateRecord) -> StateRecord) {
        let record = &mut self.least[id.index()];
        *record = change(*record);
    }

    /// Notes that the state is on the path of a depth-first search; says whether it was not yet.
    #[inline]
    pub fn enter(&mut self, id: StateId) -> bool {
        let record = &mut self.least[id.index()].0;
        let first = *record & ON_PATH == 0;
        *record |= ON_PATH;
        first
    }

    /// Notes that the state left the path.
    #[inline]
    pub fn leave(&mut self, id: StateId) {
        self.least[id.index()].0 &= !ON_PATH;
    }

    /// Whether the state was visited and is on the path.
    #[inline]
    pub fn is_on_path(&self, id: StateId) -> bool {
        self.least
            .get(id.index())
            .is_some_and(|record| *record != UNKNOWN && record.0 & ON_PATH != 0)
    }

    /// Notes that the state waits for the next count; says whether it did not yet.
    #[inline]
    pub fn defer(&mut self, id: StateId) -> bool {
        let record = &mut self.least[id.index()].0;
        let first = *record & DEFERRED == 0;
        *record |= DEFERRED;
        first
    }

    /// Memory in use, in bytes.
    pub fn bytes(&self) -> usize {
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
        least.update(s, StateRecord::freed);
        assert_eq!(least.visit(s, 1, P(5)), Visit::Covered);
        assert_eq!(least.visit(s, 0, P(5)), Visit::First);
        assert!(!least.get(s).all_run());
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
