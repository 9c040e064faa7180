//! Looks for ever shorter counterexamples, depth-first.
//!
//! Paper: [HF] section 4.1 (Spin's `-DREACH` with `-i`)
//!
//! A state met at a smaller depth than ever before is explored again, also where the bound rule
//! alone would not; after a violation only shorter executions are looked at. With a bound the
//! executions keep within it. What is found last is short, though not always the shortest: a way with
//! more preemptions can hide one with fewer that is a little longer. `simplest.rs` is exact and
//! explores nothing twice; this is kept for comparison.

use super::least_preemptions::Visit;
use super::visited::{Arrival, Key, Visited};
use crate::store::StoreFull;
use preempt_core::ProcessId;

/// Visits that are judged by their depth as well.
pub(crate) struct Shortening<V> {
    visited: V,
    /// The least depth of each state.
    depths: Vec<u64>,
}

impl<V: Visited> Shortening<V> {
    /// `visited` must number its states.
    pub(crate) fn new(visited: V) -> Self {
        Shortening { visited, depths: Vec::new() }
    }
}

impl<V: Visited> Visited for Shortening<V> {
    fn arrive(
        &mut self,
        state: &[u8],
        depth: u64,
        count: u32,
        mover: Option<ProcessId>,
    ) -> Result<Arrival, StoreFull> {
        let mut arrival = self.visited.arrive(state, depth, count, mover)?;
        let at = arrival.key.index();
        if at >= self.depths.len() {
            self.depths.resize(at + 1, u64::MAX);
        }
        if depth < self.depths[at] {
            self.depths[at] = depth;
            arrival.visit = Visit::First;
        }
        Ok(arrival)
    }

    fn set_free(&mut self, key: Key) {
        self.visited.set_free(key);
    }

    /// What others ran from the state was run at greater depths.
    fn has_mover(&self, _key: Key, _process: ProcessId) -> bool {
        false
    }

    fn enter(&mut self, key: Key) -> bool {
        self.visited.enter(key)
    }

    fn leave(&mut self, key: Key) {
        self.visited.leave(key);
    }

    fn len(&self) -> u64 {
        self.visited.len()
    }

    fn bytes(&self) -> usize {
        self.visited.bytes() + self.depths.capacity() * 8
    }
}
