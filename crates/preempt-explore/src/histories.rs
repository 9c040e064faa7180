//! Segments by local history, in bounded memory.
//!
//! Two generations: when the young one is full, it becomes the old one and the old one is forgotten.
//! What an execution passes again is young again. **Invariant:** what was learnt since the last
//! [`Histories::forget_old`] is known. Forgetting costs a further execution, never an answer.

use crate::Segment;
use rustc_hash::FxHashMap;

pub(crate) struct Histories {
    young: FxHashMap<u64, Segment>,
    old: FxHashMap<u64, Segment>,
    generation: usize,
}

impl Default for Histories {
    fn default() -> Self {
        /// A few hundred megabytes for both, and more histories than searches that end have.
        const GENERATION: usize = 1 << 20;
        Histories { young: FxHashMap::default(), old: FxHashMap::default(), generation: GENERATION }
    }
}

impl Histories {
    #[cfg(test)]
    pub(crate) fn of_generation(generation: usize) -> Self {
        Histories { generation, ..Histories::default() }
    }

    pub(crate) fn get(&self, history: u64) -> Option<&Segment> {
        self.young.get(&history).or_else(|| self.old.get(&history))
    }

    /// The segment of a history that an execution has just passed.
    pub(crate) fn pass(&mut self, history: u64) -> Option<&Segment> {
        if let Some(segment) = self.old.remove(&history) {
            self.young.insert(history, segment);
        }
        self.young.get(&history)
    }

    pub(crate) fn insert(&mut self, history: u64, segment: Segment) {
        self.young.insert(history, segment);
    }

    /// Forgets the old generation if the young one is full.
    pub(crate) fn forget_old(&mut self) {
        if self.young.len() >= self.generation {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
    }
}
