//! The states of visits that are yet to be expanded, where the store does not keep them.
//!
//! Visits are numbered one after the other, and expanded in that order. States lie in chunks of so many visits each, so that the
//! chunks of those that were expanded can be given back.

use crate::search::shared::states::States;
use std::collections::VecDeque;

/// Visits per chunk.
const CHUNK: usize = 256;

/// The states of consecutive visits.
#[derive(Default)]
pub(super) struct Frontier {
    /// All but the last are full.
    chunks: VecDeque<States>,
    /// The number of the first visit.
    first: usize,
    /// One behind the last.
    end: usize,
}

impl Frontier {
    pub(super) fn push(&mut self, state: &[u8]) {
        if self.chunks.back().is_none_or(|chunk| chunk.len() >= CHUNK) {
            self.chunks.push_back(States::default());
        }
        if let Some(chunk) = self.chunks.back_mut() {
            chunk.push(state);
        }
        self.end += 1;
    }

    /// The state of a visit, if it is still here.
    pub(super) fn get(&self, visit: u32) -> Option<&[u8]> {
        let at = (visit as usize).checked_sub(self.first)?;
        let chunk = self.chunks.get(at / CHUNK)?;
        (at % CHUNK < chunk.len()).then(|| chunk.get(at % CHUNK))
    }

    /// Gives back the states of visits below this number.
    pub(super) fn pass(&mut self, visit: u32) {
        while self.first + CHUNK <= visit as usize && self.chunks.pop_front().is_some() {
            self.first += CHUNK;
        }
    }

    /// Gives back the states of visits from this number on.
    pub(super) fn truncate(&mut self, visit: u32) {
        self.end = visit as usize;
        let left = self.end.saturating_sub(self.first);
        self.chunks.truncate(left.div_ceil(CHUNK));
        if let Some(chunk) = self.chunks.back_mut()
            && !left.is_multiple_of(CHUNK)
        {
            chunk.truncate(left % CHUNK);
        }
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.iter().map(States::bytes).sum()
    }
}

/// The states of visits in ascending order, not all of them consecutive.
#[derive(Default)]
pub(super) struct KeptStates {
    visits: Vec<u32>,
    /// By their place in that list.
    states: Frontier,
}

impl KeptStates {
    pub(super) fn push(&mut self, visit: u32, state: &[u8]) {
        self.visits.push(visit);
        self.states.push(state);
    }

    pub(super) fn get(&self, visit: u32) -> Option<&[u8]> {
        self.visits.binary_search(&visit).ok().and_then(|at| self.states.get(at as u32))
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.states.bytes() + self.visits.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is pushed, passed and cut off: what is left is as it was pushed.
    #[test]
    fn states_are_found_again() {
        let state = |visit: usize| vec![visit as u8; visit % 7];
        let mut frontier = Frontier::default();
        let (mut first, mut end) = (0, 0);
        for round in 0..2_000_usize {
            for _ in 0..round * 7919 % 61 {
                frontier.push(&state(end));
                end += 1;
            }
            first += (end - first) * (round % 3) / 5;
            frontier.pass(first as u32);
            end -= (end - first) * (round % 4) / 9;
            frontier.truncate(end as u32);
            for visit in first..end {
                assert_eq!(frontier.get(visit as u32), Some(&state(visit)[..]), "{round}: {visit}");
            }
            assert_eq!(frontier.get(end as u32), None);
        }
        assert!(first > 10_000, "{first}");
        frontier.pass(end as u32);
        assert!(frontier.chunks.len() <= 1);
    }

    #[test]
    fn kept_states_are_found_by_their_visits() {
        let mut kept = KeptStates::default();
        for visit in (3..900).step_by(3) {
            kept.push(visit, &visit.to_le_bytes()[..visit as usize % 4]);
        }
        for visit in 0..1000_u32 {
            let expected = &visit.to_le_bytes()[..visit as usize % 4];
            let is_kept = (3..900).contains(&visit) && visit % 3 == 0;
            assert_eq!(kept.get(visit), is_kept.then_some(expected));
        }
    }
}
