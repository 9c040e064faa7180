//! The visited set of a bounded search with reduction: per state the least count of preemptions it was
//! reached with, and the last movers at that count.
//!
//! A visit (state, last mover, count) is *covered* by another one to the same state if that one has a lower
//! count, or the same count and the same last mover, or the same count and no last mover. Unlike
//! `least_preemptions.rs` it keeps which of these visits were expanded: a step that is taken ahead must lead to one
//! that was not.
//!
//! Invariant: an entered visit is expanded at some time, or a visit is that covers it and was entered
//! later.

use super::mistake::{Mistake, makes};
use crate::store::StateId;
use preempt_core::ProcessId;

/// Last movers with higher numbers count as none, which never raises the cost of an execution.
pub(super) const MOST_MOVERS: u16 = 64;

/// What is known of one state.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The last movers of visits at the least count, as bits.
    entered: u64,
    /// The last movers of those visits at the least count that were expanded, as bits.
    expanded: u64,
    least: u16,
    nobody: Nobody,
    end_checked: bool,
}

/// The visit at the least count that has no last mover.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Nobody {
    None,
    Entered,
    Expanded,
}

const UNKNOWN: Known =
    Known { entered: 0, expanded: 0, least: u16::MAX, nobody: Nobody::None, end_checked: false };

/// What became of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrival {
    /// It is a visit to be expanded; the state was never reached before.
    New,
    /// It is a visit to be expanded.
    Again,
    /// A visit that is yet to be expanded covers it.
    Open,
    /// Only visits cover it that were expanded.
    Closed,
}

/// What is known of all states.
#[derive(Debug, Default)]
pub(super) struct Visited {
    known: Vec<Known>,
}

impl Visited {
    /// Judges an arrival, and notes it unless it is covered.
    pub(super) fn arrive(
        &mut self,
        state: StateId,
        count: u32,
        mover: Option<ProcessId>,
    ) -> Arrival {
        let at = state.index();
        if self.known.len() <= at {
            self.known.resize((at + 1).max(self.known.len() * 2), UNKNOWN);
        }
        let known = &mut self.known[at];
        let least = u32::from(known.least);
        let is_new = known.least == UNKNOWN.least;
        if count > least {
            // Covered by all visits at the least count.
            let open = known.entered != known.expanded || known.nobody == Nobody::Entered;
            return if open { Arrival::Open } else { Arrival::Closed };
        }
        if count < least {
            let end_checked = known.end_checked;
            *known = Known { least: count as u16, end_checked, ..UNKNOWN };
        }
        let bit = mover.map_or(0, |mover| 1 << mover.0);
        match known.nobody {
            Nobody::Entered => return Arrival::Open,
            Nobody::Expanded => return Arrival::Closed,
            Nobody::None => {}
        }
        let is_known = if makes(Mistake::MoversForgotten) { !0 } else { bit };
        if known.entered & is_known != 0 {
            return if known.expanded & bit == 0 { Arrival::Open } else { Arrival::Closed };
        }
        match mover {
            Some(_) => known.entered |= bit,
            None => known.nobody = Nobody::Entered,
        }
        if is_new { Arrival::New } else { Arrival::Again }
    }

    /// Begins to expand a visit; `false` if it is not needed any more.
    pub(super) fn begin(&mut self, state: StateId, count: u32, mover: Option<ProcessId>) -> bool {
        let known = &mut self.known[state.index()];
        if u32::from(known.least) != count {
            return false;
        }
        match (mover, known.nobody) {
            (Some(mover), Nobody::None) => {
                let bit = 1 << mover.0;
                let needed = known.expanded & bit == 0;
                known.expanded |= bit;
                needed
            }
            (None, Nobody::Entered) => {
                known.nobody = Nobody::Expanded;
                true
            }
            _ => false,
        }
    }

    /// The visit with this count that is being expanded turns out to have no last mover.
    pub(super) fn set_nobody(&mut self, state: StateId, count: u32) {
        let known = &mut self.known[state.index()];
        // Another thread may have found a lower count in the meantime.
        if u32::from(known.least) == count {
            known.nobody = Nobody::Expanded;
        }
    }

    /// Whether a visit, which was expanded, is still the least of its kind: no lower count was found, and
    /// no visit at its count that costs nothing to leave.
    pub(super) fn is_current(&self, state: StateId, count: u32) -> bool {
        let known = &self.known[state.index()];
        u32::from(known.least) == count && known.nobody == Nobody::None
    }

    /// Whether it was not asked before whether the state is an end.
    pub(super) fn checks_end(&mut self, state: StateId) -> bool {
        !std::mem::replace(&mut self.known[state.index()].end_checked, true)
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.known.capacity() * size_of::<Known>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: fn(u16) -> Option<ProcessId> = |p| Some(ProcessId(p));

    #[test]
    fn nobody_covers_everybody_at_its_count() {
        let mut visited = Visited::default();
        let s = StateId(7);
        assert_eq!(visited.arrive(s, 2, P(1)), Arrival::New);
        assert_eq!(visited.arrive(s, 2, P(1)), Arrival::Open);
        assert_eq!(visited.arrive(s, 2, P(3)), Arrival::Again);
        assert!(visited.begin(s, 2, P(1)));
        assert!(!visited.begin(s, 2, P(1)));
        assert_eq!(visited.arrive(s, 2, P(1)), Arrival::Closed);
        assert_eq!(visited.arrive(s, 3, P(5)), Arrival::Open, "p3 is yet to be expanded");
        assert!(visited.is_current(s, 2));
        assert_eq!(visited.arrive(s, 2, None), Arrival::Again);
        assert!(!visited.begin(s, 2, P(3)), "nobody covers it");
        assert!(!visited.is_current(s, 2));
        assert_eq!(visited.arrive(s, 2, P(9)), Arrival::Open);
        assert!(visited.begin(s, 2, None));
        assert_eq!(visited.arrive(s, 2, P(9)), Arrival::Closed);
    }

    #[test]
    fn a_lower_count_begins_anew() {
        let mut visited = Visited::default();
        let s = StateId(0);
        assert_eq!(visited.arrive(s, 2, None), Arrival::New);
        assert!(visited.begin(s, 2, None));
        assert!(visited.checks_end(s));
        assert_eq!(visited.arrive(s, 1, P(63)), Arrival::Again);
        assert_eq!(visited.arrive(s, 2, None), Arrival::Open);
        assert!(!visited.begin(s, 2, None));
        assert!(visited.begin(s, 1, P(63)));
        assert!(!visited.checks_end(s), "once is enough");
    }
}
