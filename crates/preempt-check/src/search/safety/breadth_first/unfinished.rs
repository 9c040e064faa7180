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

    /// Puts them before all other arrivals; says how many they are.
    pub(super) fn put_first(&mut self, expander: &mut Expander) -> usize {
        let behind = expander.successors.data.len();
        expander.successors.data.extend_from_slice(&self.bytes);
        let count = self.arrivals.len();
        let arrivals = self.arrivals.drain(..).map(|arrival| {
            Pending::new(arrival.hash, arrival.start + behind, arrival.end + behind)
        });
        expander.arrivals.splice(0..0, arrivals);
        expander.sleep_sets.splice(0..0, self.sleep_sets.drain(..));
        count
    }
}
