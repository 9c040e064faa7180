//! The visits that a bounded depth-first search made, whatever the store.
//!
//! Paper: [HF] §3.2 (`Replicated`)
//!
//! Stores that number their states have marks beside them. A bitstate store has only bits: a state
//! is entered once for its own count of preemptions and once for every higher count up to the
//! bound, so that a later visit with more preemptions finds itself known. Last movers are not kept
//! there, which is one more way in which such a search can miss something.

use super::least_preemptions::{LeastPreemptions, StateRecord, Visit};
use crate::store::{StateId, Store, StoreFull};
use preempt_core::ProcessId;
use std::collections::HashSet;

/// What a visited state is known by: its number, or its hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key(u64);

impl Key {
    /// The index into arrays beside a store that numbers its states.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    fn id(self) -> StateId {
        StateId(self.0 as u32)
    }
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) key: Key,
    pub(crate) visit: Visit,
    /// The state was never met before.
    pub(crate) new: bool,
    /// The state is on the path.
    pub(crate) on_path: bool,
}

/// A memory of visits.
pub(crate) trait Visited {
    /// Notes a visit at a depth; `mover` is `None` where any process goes on for free.
    fn arrive(
        &mut self,
        state: &[u8],
        depth: u64,
        count: u32,
        mover: Option<ProcessId>,
    ) -> Result<Arrival, StoreFull>;

    /// Notes that all processes are run from the state at its lowest count.
    fn set_free(&mut self, key: Key);

    /// Whether `process` is run from the state at its lowest count anyway.
    fn has_mover(&self, key: Key, process: ProcessId) -> bool;

    /// Puts the state on the path; says whether it was not there.
    fn enter(&mut self, key: Key) -> bool;

    /// Takes the state off the path.
    fn leave(&mut self, key: Key);

    /// Distinct states.
    fn len(&self) -> u64;

    /// Memory in use, in bytes.
    fn bytes(&self) -> usize;
}

/// A store that numbers its states, with marks beside them.
#[derive(Debug)]
pub(crate) struct Marked<'a, T> {
    store: &'a mut T,
    least: LeastPreemptions,
}

impl<'a, T: Store> Marked<'a, T> {
    pub(crate) fn new(store: &'a mut T) -> Self {
        Marked { store, least: LeastPreemptions::default() }
    }
}

impl<T: Store> Visited for Marked<'_, T> {
    fn arrive(
        &mut self,
        state: &[u8],
        _depth: u64,
        count: u32,
        mover: Option<ProcessId>,
    ) -> Result<Arrival, StoreFull> {
        let inserted = self.store.insert(state)?;
        let on_path = self.least.is_on_path(inserted.id);
        let visit = self.least.visit(inserted.id, count, mover);
        let key = Key(inserted.id.0.into());
        Ok(Arrival { key, visit, new: inserted.new, on_path })
    }

    fn set_free(&mut self, key: Key) {
        self.least.update(key.id(), StateRecord::freed);
    }

    fn has_mover(&self, key: Key, process: ProcessId) -> bool {
        self.least.has_mover(key.id(), process)
    }

    fn enter(&mut self, key: Key) -> bool {
        self.least.enter(key.id())
    }

    fn leave(&mut self, key: Key) {
        self.least.leave(key.id());
    }

    fn len(&self) -> u64 {
        self.store.len() as u64
    }

    fn bytes(&self) -> usize {
        self.store.bytes() + self.least.bytes()
    }
}

/// A store without numbers, in which a state is entered once per count.
#[derive(Debug)]
pub(crate) struct Replicated<'a, T> {
    store: &'a mut T,
    bound: u32,
    distinct: u64,
    on_path: HashSet<Key>,
    copy: Vec<u8>,
}

impl<'a, T: Store> Replicated<'a, T> {
    pub(crate) fn new(store: &'a mut T, bound: u32) -> Self {
        Replicated { store, bound, distinct: 0, on_path: HashSet::new(), copy: Vec::new() }
    }

    fn insert_at(&mut self, count: u32) -> Result<bool, StoreFull> {
        let end = self.copy.len() - 4;
        self.copy.truncate(end);
        self.copy.extend_from_slice(&count.to_le_bytes());
        Ok(self.store.insert(&self.copy)?.new)
    }
}

impl<T: Store> Visited for Replicated<'_, T> {
    fn arrive(
        &mut self,
        state: &[u8],
        _depth: u64,
        count: u32,
        _mover: Option<ProcessId>,
    ) -> Result<Arrival, StoreFull> {
        let key = Key(self.store.hash(state));
        self.copy.clear();
        self.copy.extend_from_slice(state);
        self.copy.extend_from_slice(&[0; 4]);
        let unseen = self.insert_at(count)?;
        let mut new = unseen;
        if unseen {
            for higher in count + 1..=self.bound {
                // Every visit enters the copy at the bound.
                new = self.insert_at(higher)?;
            }
            self.distinct += u64::from(new);
        }
        let visit = if unseen { Visit::First } else { Visit::Covered };
        Ok(Arrival { key, visit, new, on_path: self.on_path.contains(&key) })
    }

    fn set_free(&mut self, _key: Key) {}

    fn has_mover(&self, _key: Key, _process: ProcessId) -> bool {
        false
    }

    fn enter(&mut self, key: Key) -> bool {
        self.on_path.insert(key)
    }

    fn leave(&mut self, key: Key) {
        self.on_path.remove(&key);
    }

    fn len(&self) -> u64 {
        self.distinct
    }

    fn bytes(&self) -> usize {
        self.store.bytes() + self.on_path.capacity() * 16
    }
}
