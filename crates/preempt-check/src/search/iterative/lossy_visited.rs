//! What a bucketed search remembers of visits where the store does not keep the states.
//!
//! Paper: [HF] §3.2 for the idea of several entries per state
//!
//! A store of hashes numbers its states, so marks can lie beside them. A bitstate store has only
//! bits; a state enters several, one for each thing to be known: that it was seen, in which bucket,
//! by which last movers, and so on. Differs from the paper: buckets come in the order of their
//! counts, so a state needs no entry for every higher count; and last movers are kept.

use crate::search::bounded::least_preemptions::{LeastPreemptions, Visit};
use crate::store::{Bitstate, Compact, StateId, Store, StoreFull};
use preempt_core::ProcessId;

/// A memory of visits, in the order of their counts.
pub(crate) trait LossyVisited {
    /// What a visited state is known by.
    type Key: Copy;

    /// Decides on a visit, and notes it; as [`LeastPreemptions::visit`].
    fn visit(
        &mut self,
        state: &[u8],
        count: u32,
        mover: Option<ProcessId>,
    ) -> Result<(Self::Key, Visit), StoreFull>;

    /// The key of a state that was visited.
    fn key(&self, state: &[u8]) -> Option<Self::Key>;

    /// Notes that every process is run at the lowest count; says whether that is news.
    fn set_free(&mut self, key: Self::Key) -> Result<bool, StoreFull>;

    fn is_free(&self, key: Self::Key) -> bool;

    fn has_mover(&self, key: Self::Key, process: ProcessId) -> bool;

    /// Notes that a visit begins to be expanded; says whether it is the first.
    fn set_expanded(&mut self, key: Self::Key) -> Result<bool, StoreFull>;

    fn is_expanded(&self, key: Self::Key) -> bool;

    /// Notes that the state waits for the next count; says whether it did not yet.
    fn defer(&mut self, key: Self::Key) -> Result<bool, StoreFull>;

    /// The hash of a state.
    fn hash(&self, state: &[u8]) -> u64;

    /// Memory in use, in bytes.
    fn bytes(&self) -> usize;
}

/// A store that does not keep the states, and how visits are remembered with it.
pub(crate) trait Remembers: Store {
    type Visited<'a>: LossyVisited + Send
    where
        Self: 'a;

    fn visited(&mut self) -> Self::Visited<'_>;
}

impl Remembers for Compact {
    type Visited<'a> = Numbered<'a, Compact>;

    fn visited(&mut self) -> Numbered<'_, Compact> {
        Numbered::new(self)
    }
}

impl Remembers for Bitstate {
    type Visited<'a> = Bits<'a, Bitstate>;

    fn visited(&mut self) -> Bits<'_, Bitstate> {
        Bits::new(self)
    }
}

/// Least preemptions beside a store that numbers states.
pub(crate) struct Numbered<'a, T> {
    store: &'a mut T,
    least: LeastPreemptions,
}

impl<'a, T: Store> Numbered<'a, T> {
    pub(crate) fn new(store: &'a mut T) -> Self {
        Numbered { store, least: LeastPreemptions::default() }
    }
}

impl<T: Store> LossyVisited for Numbered<'_, T> {
    type Key = StateId;

    fn visit(
        &mut self,
        state: &[u8],
        count: u32,
        mover: Option<ProcessId>,
    ) -> Result<(StateId, Visit), StoreFull> {
        let id = self.store.insert(state)?.id;
        Ok((id, self.least.visit(id, count, mover)))
    }

    fn key(&self, state: &[u8]) -> Option<StateId> {
        self.store.lookup(state)
    }

    fn set_free(&mut self, key: StateId) -> Result<bool, StoreFull> {
        let news = !self.least.get(key).is_free();
        self.least.set_free(key);
        Ok(news)
    }

    fn is_free(&self, key: StateId) -> bool {
        self.least.get(key).is_free()
    }

    fn has_mover(&self, key: StateId, process: ProcessId) -> bool {
        self.least.has_mover(key, process)
    }

    fn set_expanded(&mut self, key: StateId) -> Result<bool, StoreFull> {
        let first = !self.least.get(key).is_expanded();
        self.least.set_expanded(key);
        Ok(first)
    }

    fn is_expanded(&self, key: StateId) -> bool {
        self.least.get(key).is_expanded()
    }

    fn defer(&mut self, key: StateId) -> Result<bool, StoreFull> {
        Ok(self.least.defer(key))
    }

    fn hash(&self, state: &[u8]) -> u64 {
        self.store.hash(state)
    }

    fn bytes(&self) -> usize {
        self.store.bytes() + self.least.bytes()
    }
}

/// Bits, several per state.
pub(crate) struct Bits<'a, T> {
    store: &'a mut T,
}

/// What is known of a state, each an entry of its own; last movers and buckets come on top.
const SEEN: u64 = 1;
const FREE: u64 = 2;
const EXPANDED: u64 = 3;
const DEFERRED: u64 = 4;
const MOVER: u64 = 1 << 20;
const BUCKET: u64 = 1 << 40;

impl<'a, T: Store> Bits<'a, T> {
    pub(crate) fn new(store: &'a mut T) -> Self {
        Bits { store }
    }

    /// Notes a fact about a state; says whether it is news.
    fn note(&mut self, key: u64, fact: u64) -> Result<bool, StoreFull> {
        Ok(self.store.insert_hashed(mix(key, fact), &[])?.new)
    }

    fn knows(&self, key: u64, fact: u64) -> bool {
        self.store.lookup_hashed(mix(key, fact), &[]).is_some()
    }
}

/// One hash for a state and a fact about it.
fn mix(key: u64, fact: u64) -> u64 {
    let mixed =
        (key ^ fact.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

impl<T: Store> LossyVisited for Bits<'_, T> {
    type Key = u64;

    fn visit(
        &mut self,
        state: &[u8],
        count: u32,
        mover: Option<ProcessId>,
    ) -> Result<(u64, Visit), StoreFull> {
        let key = self.store.hash(state);
        let mover = mover.map_or(FREE, |mover| MOVER + u64::from(mover.0));
        let bucket = BUCKET + u64::from(count);
        if self.note(key, SEEN)? {
            self.note(key, bucket)?;
            self.note(key, mover)?;
            return Ok((key, Visit::First));
        }
        // Seen before: in an earlier bucket, or in this one.
        let covered =
            !self.knows(key, bucket) || self.knows(key, FREE) || !self.note(key, mover)?;
        Ok((key, if covered { Visit::Covered } else { Visit::Again }))
    }

    fn key(&self, state: &[u8]) -> Option<u64> {
        Some(self.store.hash(state))
    }

    fn set_free(&mut self, key: u64) -> Result<bool, StoreFull> {
        self.note(key, FREE)
    }

    fn is_free(&self, key: u64) -> bool {
        self.knows(key, FREE)
    }

    fn has_mover(&self, key: u64, process: ProcessId) -> bool {
        self.knows(key, MOVER + u64::from(process.0))
    }

    fn set_expanded(&mut self, key: u64) -> Result<bool, StoreFull> {
        self.note(key, EXPANDED)
    }

    fn is_expanded(&self, key: u64) -> bool {
        self.knows(key, EXPANDED)
    }

    fn defer(&mut self, key: u64) -> Result<bool, StoreFull> {
        self.note(key, DEFERRED)
    }

    fn hash(&self, state: &[u8]) -> u64 {
        self.store.hash(state)
    }

    fn bytes(&self) -> usize {
        self.store.bytes()
    }
}
