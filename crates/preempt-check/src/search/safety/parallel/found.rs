//! New states that a thread has found and not queued yet, in chunks.

use super::queues::Chunk;
use crate::platform::LEVEL_CHUNK;
use crate::store::concurrent::Place;
use preempt_core::engine::SleepSet;

/// States per chunk of work.
const CHUNK: usize = 256;
/// Chunks whose memory a thread keeps.
const SPARE: usize = 64;

/// A chunk that is being filled.
#[derive(Debug)]
pub(super) struct Found {
    chunk: Chunk,
    largest: usize,
    /// Chunks whose memory is free.
    spare: Vec<Chunk>,
}

impl Found {
    /// For chunks that are taken level by level, or in any order.
    pub(super) fn new(by_level: bool) -> Self {
        let largest = if by_level { LEVEL_CHUNK } else { CHUNK };
        Found { chunk: Chunk::default(), largest, spare: Vec::new() }
    }

    /// What is found from now on is behind a chunk of this level.
    pub(super) fn follow(&mut self, level: u32) {
        self.chunk.level = level + 1;
    }

    /// Adds a state; gives the chunk if that is full.
    #[inline]
    pub(super) fn push(
        &mut self,
        place: Place,
        sleep_set: SleepSet,
        state: Option<&[u8]>,
    ) -> Option<Chunk> {
        self.chunk.push(place, sleep_set, state);
        if self.chunk.len() < self.largest { None } else { self.take() }
    }

    /// What is there, if anything.
    pub(super) fn take(&mut self) -> Option<Chunk> {
        if self.chunk.len() == 0 {
            return None;
        }
        let mut next = self.spare.pop().unwrap_or_default();
        next.level = self.chunk.level;
        Some(std::mem::replace(&mut self.chunk, next))
    }

    /// Keeps the memory of a chunk for another one.
    pub(super) fn keep(&mut self, mut chunk: Chunk) {
        if self.spare.len() < SPARE {
            chunk.clear();
            self.spare.push(chunk);
        }
    }
}
