//! The visits to one owner's states, in the order in which they were made, with the times of that.
//!
//! Where several processes come to a new state at the same time, as the last to have moved, these visits are dealt with
//! together: the state is expanded once for all of them. The log keeps each of them, for the way back.
//!
//! Invariant: states are numbered in the order of their first visits. So those with numbers from some on were visited first
//! at the present time.

use super::Time;
use super::wire::Damaged;
use preempt_check::engine::fits_record;
use preempt_check::store::StateId;
use preempt_core::ProcessId;
use std::ops::Range;

/// A visit: the state, and its last mover.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    pub(super) state: StateId,
    pub(super) mover: Option<ProcessId>,
}

/// Where the visits of a time begin.
#[derive(Clone, Copy, Debug)]
struct Beginning {
    time: Time,
    visit: usize,
    /// The first state that was not visited before.
    state: usize,
}

/// The log.
#[derive(Default, Debug)]
pub(super) struct VisitLog {
    visits: Vec<Visit>,
    times: Vec<Beginning>,
    /// These visits, of one time, were looked through for such as are dealt with together.
    merged: Range<usize>,
    /// Per state that was new then, from this one on: the movers that fit into a record, as bits.
    first_state: usize,
    movers: Vec<u64>,
}

impl VisitLog {
    pub(super) fn len(&self) -> usize {
        self.visits.len()
    }

    pub(super) fn get(&self, at: u32) -> Visit {
        self.visits[at as usize]
    }

    /// The state of a visit, if there is such a visit.
    pub(super) fn state(&self, at: usize) -> Option<StateId> {
        self.visits.get(at).map(|visit| visit.state)
    }

    /// Adds a visit, no earlier than the last, with the number of states that were known before it.
    pub(super) fn push(&mut self, time: Time, visit: Visit, known: usize) {
        if self.times.last().is_none_or(|last| last.time < time) {
            self.times.push(Beginning { time, visit: self.visits.len(), state: known });
        }
        self.visits.push(visit);
    }

    /// When a visit was made.
    pub(super) fn time_of(&self, visit: usize) -> Time {
        let at = self.times.partition_point(|beginning| beginning.visit <= visit);
        self.times[at.saturating_sub(1)].time
    }

    /// The end of the visits of a time and before.
    pub(super) fn end_of(&self, time: Time) -> usize {
        let at = self.times.partition_point(|beginning| beginning.time <= time);
        self.times.get(at).map_or(self.visits.len(), |next| next.visit)
    }

    /// All times, with their visits.
    pub(super) fn times(&self) -> impl Iterator<Item = (Time, Range<usize>)> {
        self.times.iter().enumerate().map(|(at, beginning)| {
            let end = self.times.get(at + 1).map_or(self.visits.len(), |next| next.visit);
            (beginning.time, beginning.visit..end)
        })
    }

    /// Finds the visits of one time that are dealt with together, when all of them were made.
    pub(super) fn merge(&mut self, visits: Range<usize>) {
        if visits.start < self.merged.end {
            return;
        }
        self.merged = visits.clone();
        self.movers.clear();
        let at = self.times.partition_point(|beginning| beginning.visit <= visits.start);
        self.first_state = self.times.get(at.wrapping_sub(1)).map_or(usize::MAX, |one| one.state);
        for visit in &self.visits[visits] {
            let Some(new) = visit.state.index().checked_sub(self.first_state) else { continue };
            let Some(mover) = visit.mover.filter(|mover| fits_record(*mover)) else { continue };
            if self.movers.len() <= new {
                self.movers.resize(new + 1, 0);
            }
            self.movers[new] |= 1 << mover.0;
        }
    }

    /// How a visit is dealt with. The first one of those that are dealt with together stands for all of them.
    pub(super) fn take_movers(&mut self, at: u32) -> Merged {
        let Visit { state, mover } = self.get(at);
        if !self.merged.contains(&(at as usize)) || !mover.is_some_and(fits_record) {
            return Merged::Alone;
        }
        let new = state.index().checked_sub(self.first_state);
        match new.and_then(|new| self.movers.get_mut(new)).map(std::mem::take) {
            None => Merged::Alone,
            Some(0) => Merged::Elsewhere,
            Some(movers) => Merged::Here(movers),
        }
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.visits.capacity() * size_of::<Visit>() + self.movers.capacity() * 8
    }
}

/// How a visit is dealt with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Merged {
    /// Alone.
    Alone,
    /// Together with those of all these movers, as bits, among them its own.
    Here(u64),
    /// Together with another one, which was before.
    Elsewhere,
}

/// A last mover as a number.
pub(super) fn mark(mover: Option<ProcessId>) -> u16 {
    mover.map_or(0, |mover| mover.0 + 1)
}

/// The last mover of a number.
pub(super) fn mover(mark: u64) -> Result<Option<ProcessId>, Damaged> {
    let mark = u16::try_from(mark).map_err(|_| Damaged)?;
    Ok(mark.checked_sub(1).map(ProcessId))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(state: u32, mover: u16) -> Visit {
        Visit { state: StateId(state), mover: Some(ProcessId(mover)) }
    }

    #[test]
    fn visits_of_one_time_to_a_new_state_are_dealt_with_together() {
        let mut log = VisitLog::default();
        let time = |round| Time { bucket: 1, round };
        log.push(time(1), visit(0, 0), 0);
        for (one, known) in
            [(visit(1, 2), 1), (visit(0, 1), 1), (visit(1, 60), 1), (visit(1, 5), 1)]
        {
            log.push(time(2), one, known);
        }
        log.push(time(4), visit(1, 7), 2);
        assert_eq!(log.end_of(time(1)), 1);
        assert_eq!(log.end_of(time(3)), 5);
        assert_eq!((0..6).map(|at| log.time_of(at).round).collect::<Vec<_>>(), [1, 2, 2, 2, 2, 4]);
        assert_eq!(log.times().last(), Some((time(4), 5..6)));
        log.merge(1..5);
        let mut merged = |at| log.take_movers(at);
        assert_eq!(merged(5), Merged::Alone);
        assert_eq!(merged(1), Merged::Here(1 << 2 | 1 << 5));
        // It was new at another time; no record has room for such a mover; another visit has dealt with it.
        assert_eq!(
            [merged(2), merged(3), merged(4)],
            [Merged::Alone, Merged::Alone, Merged::Elsewhere]
        );
    }
}
