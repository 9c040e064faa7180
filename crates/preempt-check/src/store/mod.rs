//! Where visited states are kept.
//!
//! All stores answer one question, "has this state been seen?", and number the states they
//! accept. What a search knows about a state (a parent, a colour, a count) is not the store's
//! business: searches keep it in arrays of their own, indexed by [`StateId`].
//!
//! | file or folder | what |
//! |---|---|
//! | `exact` | states in full, behind an index that grows without a pause |
//! | `tree` | equal parts of states once |
//! | `adaptive.rs` | the first, until memory gets tight; then the second |
//! | `lossy` | hashes or bits of states |
//! | `concurrent` | the same for several threads |
//! | `memory` | where all of them get memory from |
//! | `masked.rs` | a store that does not look at some bytes of states |
//!
//! Invariant: a store that returns `new: true` for a state never does so again for the same bytes.
//! Exact stores also promise the converse, that `new: false` means the very same bytes.

mod adaptive;
pub(crate) mod concurrent;
mod exact;
mod hash;
mod lossy;
mod masked;
pub(crate) mod memory;
mod tree;

pub use adaptive::Adaptive;
pub(crate) use adaptive::note_tree;
pub use exact::Exact;
pub use hash::{hash, hash_batch_for_all, hash_for_all, hash_with_seed};
pub use lossy::bitstate::Bitstate;
pub use lossy::compact::Compact;
pub(crate) use masked::Masked;
pub use tree::Tree;
pub use tree::ahead::Reader;

/// The number of a stored state: 0, 1, 2, … in the order of insertion.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StateId(pub u32);

impl StateId {
    /// What stores that keep no numbers (bitstate) return for a known state.
    pub const UNKNOWN: StateId = StateId(u32::MAX);

    /// The index into the arrays of a search.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What became of a state that was offered to a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inserted {
    /// Its number.
    pub id: StateId,
    /// Whether it was unknown until now.
    pub new: bool,
}

/// The store cannot take another state within its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoreFull;

impl std::fmt::Display for StoreFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the store of states is full")
    }
}

impl std::error::Error for StoreFull {}

/// A state that waits to be inserted together with others.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// Its hash, as [`Store::hash`] computes it.
    pub hash: u64,
    /// Where its bytes begin in the buffer they share.
    pub start: usize,
    /// Where they end.
    pub end: usize,
    /// What became of it; meaningless before the insertion.
    pub inserted: Inserted,
}

impl Pending {
    /// A state at `start..end` of a shared buffer.
    pub fn new(hash: u64, start: usize, end: usize) -> Self {
        Pending { hash, start, end, inserted: Inserted { id: StateId::UNKNOWN, new: false } }
    }
}

/// A set of states.
pub trait Store: Send + Sync {
    /// The hash that the other methods expect for `state`.
    fn hash(&self, state: &[u8]) -> u64 {
        hash::hash(state)
    }

    /// Hashes successors of the stored state `parent`, and asks the processor to fetch what their
    /// insertion will read first. Stores that keep what states share look only at what differs. On an
    /// error no hash may be used.
    #[inline]
    fn hash_successors(
        &mut self,
        _parent: StateId,
        bytes: &[u8],
        batch: &mut [Pending],
    ) -> Result<(), StoreFull> {
        for pending in batch {
            pending.hash = self.hash(&bytes[pending.start..pending.end]);
            self.prefetch(pending.hash);
        }
        Ok(())
    }

    /// Whether [`Store::hash_successors`] needs to know the state before, so that it must be asked for
    /// the successors of one state at a time.
    fn hashes_near(&self) -> bool {
        false
    }

    /// As [`Store::hash_successors`], by any thread while none changes the store; nothing is fetched. Says whether all were
    /// hashed; if not no hash may be used. Where [`Store::hashes_near`] is false, the batch may have successors of several
    /// states.
    fn hash_ahead(
        &self,
        _reader: &mut Reader,
        _parent: StateId,
        bytes: &[u8],
        batch: &mut [Pending],
    ) -> bool {
        for pending in batch {
            pending.hash = self.hash(&bytes[pending.start..pending.end]);
        }
        true
    }

    /// Asks the processor to fetch what the insertion of states will read first that were [hashed](Store::hash_ahead) by others.
    #[inline]
    fn prefetch_ahead(&self, batch: &[Pending]) {
        batch.iter().for_each(|pending| self.prefetch(pending.hash));
    }

    /// Changes when hashes that were [computed](Store::hash_ahead) before cannot be used any more.
    #[inline]
    fn generation(&self) -> u32 {
        0
    }

    /// Inserts a state whose hash is known.
    fn insert_hashed(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull>;

    /// Looks for a state whose hash is known, without inserting it. Stores without numbers return
    /// [`StateId::UNKNOWN`] for known states.
    fn lookup_hashed(&self, hash: u64, state: &[u8]) -> Option<StateId>;

    /// Asks the processor to fetch what an insertion with this hash will read first.
    fn prefetch(&self, _hash: u64) {}

    /// Asks the processor to fetch what a lookup with this hash will compare with, once what
    /// [`Store::prefetch`] asked for has arrived.
    fn prefetch_state(&self, _hash: u64) {}

    /// Asks the processor to fetch a state that will be loaded.
    fn prefetch_id(&self, _id: StateId) {}

    /// Inserts a state.
    fn insert(&mut self, state: &[u8]) -> Result<Inserted, StoreFull> {
        self.insert_hashed(self.hash(state), state)
    }

    /// Looks for a state, without inserting it.
    fn lookup(&self, state: &[u8]) -> Option<StateId> {
        self.lookup_hashed(self.hash(state), state)
    }

    /// Inserts many states, in order, whose slots were [prefetched](Store::prefetch) as their hashes
    /// became known. Stores override this to overlap further cache misses. On an error an unknown
    /// number of the first states has been inserted.
    fn insert_batch(&mut self, bytes: &[u8], batch: &mut [Pending]) -> Result<(), StoreFull> {
        for pending in batch {
            pending.inserted =
                self.insert_hashed(pending.hash, &bytes[pending.start..pending.end])?;
        }
        Ok(())
    }

    /// Replaces `out` by the bytes of a state; `false` when the store does not keep them.
    fn load(&self, id: StateId, out: &mut Vec<u8>) -> bool;

    /// As [`Store::load`], for a state whose successors will be hashed next.
    fn load_parent(&mut self, id: StateId, out: &mut Vec<u8>) -> bool {
        self.load(id, out)
    }

    /// As [`Store::load`], by any thread while none changes the store.
    fn load_ahead(&self, _reader: &mut Reader, id: StateId, out: &mut Vec<u8>) -> bool {
        self.load(id, out)
    }

    /// How many states were inserted.
    fn len(&self) -> usize;

    /// Whether no state was inserted.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Memory in use, in bytes.
    fn bytes(&self) -> usize;

    /// Sets how much memory the store may use from now on. What it holds already stays.
    fn set_limit(&mut self, bytes: usize);

    /// Whether insertions look at the bytes of a state, and not at its hash alone.
    #[inline]
    fn looks_at_bytes(&self) -> bool {
        true
    }

    /// What the other methods take for a state with this hash, if a hash by any function will do, as
    /// long as it is the same function for all states.
    #[inline]
    fn accept_hash(&self, _hash: u64) -> Option<u64> {
        None
    }

    /// Whether `load` is about as fast as reading the bytes from a queue.
    fn loads_fast(&self) -> bool {
        false
    }

    /// Whether distinct states are never confused and `load` works.
    fn is_exact(&self) -> bool {
        true
    }
}
