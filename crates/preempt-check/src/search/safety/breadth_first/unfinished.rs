//! The beginning of a batch that goes on with the next package, or without helpers.
//!
//! Parts of states in a tree get their numbers batch by batch: batches must be the same at any number of threads.

use crate::search::shared::expansion::Expander;
use crate::store::Pending;
use preempt_core::engine::SleepSet;
use std::ops::Range;

/// Arrivals that wait for the rest of their batch.
#[derive(Default, Debug)]
pub(super) struct Unfinished {
    bytes: Vec<u8>,
    arrivals: Vec<Pending>,
    sleep_sets: Vec<SleepSet>,
}

impl Unfinished {
    /// Keeps some of the arrivals, which are hashed.
    pub(super) fn keep(&mut self, expander: &Expander, some: Range<usize>) {
        self.arrivals.clear();
        self.bytes.clear();
        for arrival in &expander.arrivals[some.clone()] {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(&expander.successors.data[arrival.start..arrival.end]);
            self.arrivals.push(Pending::new(arrival.hash, start, self.bytes.len()));
        }
        self.sleep_sets.clear();
        self.sleep_sets.extend_from_slice(expander.sleep_sets.get(some).unwrap_or_default());
    }

    /// Puts them back before the arrivals from number `at` on, where there is room for them; says where they begin.
    pub(super) fn put_before(&mut self, at: usize, expander: &mut Expander) -> usize {
        let first = at - self.len();
        let behind = expander.successors.data.len();
        expander.successors.data.extend_from_slice(&self.bytes);
        for (place, kept) in expander.arrivals[first..].iter_mut().zip(self.arrivals.drain(..)) {
            *place = Pending::new(kept.hash, kept.start + behind, kept.end + behind);
        }
        if !self.sleep_sets.is_empty() {
            let size = expander.sleep_sets.len().max(at);
            expander.sleep_sets.resize(size, SleepSet::EMPTY);
            expander.sleep_sets[first..at].copy_from_slice(&self.sleep_sets);
        }
        self.bytes.clear();
        self.sleep_sets.clear();
        first
    }

    /// How many they are; fewer than a batch.
    pub(super) fn len(&self) -> usize {
        self.arrivals.len()
    }
}
