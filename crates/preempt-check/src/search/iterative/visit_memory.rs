//! What is remembered of states and visits: records beside a store that numbers its states, or bits.
//!
//! Paper: [HF] §3.2 for the idea of several entries per state
//!
//! A store that numbers its states, in full or by their hashes, has records beside them. A bitstate store has only
//! bits; a state enters several, one for each thing to be known: that it was seen, in which bucket,
//! by which last movers, and so on. Differs from the paper: buckets come in the order of their
//! counts, so a state needs no entry for every higher count; and last movers are kept.
//!
//! Several threads deal states of lossy stores out by their hash to many small stores, each of which is locked while something is
//! looked up or noted in it.

use crate::platform::sync::Mutex;
use crate::search::bounded::least_preemptions::{LeastPreemptions, StateRecord, Visit};
use crate::search::shared::workers::lock;
use crate::store::{Bitstate, Compact, Pending, StateId, Store, StoreFull, hash};
use preempt_core::ProcessId;

/// A memory of visits, in the order of their counts.
pub(crate) trait VisitMemory {
    /// What a visited state is known by.
    type Key: Copy + PartialEq + Send;

    /// Whether the states can be loaded again, and none is taken for another.
    const IS_EXACT: bool = false;

    /// What a state that was [inserted](VisitMemory::insert) is known by.
    fn key(pending: &Pending) -> Self::Key;

    /// Replaces `out` by a state, where these are kept.
    fn load(&mut self, _key: Self::Key, _out: &mut Vec<u8>) {}

    /// As [`VisitMemory::load`], for a state whose successors will be hashed next.
    fn load_parent(&mut self, key: Self::Key, out: &mut Vec<u8>) {
        self.load(key, out);
    }

    /// Whether these are the bytes of a state, as far as is known.
    fn is_state(&mut self, key: Self::Key, bytes: &[u8]) -> bool;

    /// Whether [`VisitMemory::hash_successors`] is to be asked for the successors of one state at a time.
    fn hashes_near(&self) -> bool {
        false
    }

    /// Hashes successors of the state that was loaded last.
    fn hash_successors(
        &mut self,
        _parent: Self::Key,
        _bytes: &[u8],
        _batch: &mut [Pending],
    ) -> Result<(), StoreFull> {
        Ok(())
    }

    /// Hashes states, unless that was done one parent at a time, and asks the processor to fetch what their insertion will read
    /// first. Where many threads share the memory their insertion does that.
    fn hash(
        &mut self,
        _bytes: &[u8],
        _batch: &mut [Pending],
        _is_hashed: bool,
    ) -> Result<(), StoreFull> {
        Ok(())
    }

    /// Stores states that were hashed.
    fn insert(&mut self, bytes: &[u8], batch: &mut [Pending]) -> Result<(), StoreFull>;

    /// Asks the processor to fetch a state and its record.
    fn prefetch(&self, _key: Self::Key) {}

    /// Asks the processor to fetch the record of a state.
    fn prefetch_record(&self, _key: Self::Key) {}

    /// The record of a state; last movers and the count may be missing.
    fn record(&self, key: Self::Key) -> StateRecord;

    /// Decides on a visit, and notes it; also gives the record after it.
    fn visit(
        &mut self,
        key: Self::Key,
        count: u32,
        mover: Option<ProcessId>,
    ) -> (Visit, StateRecord);

    /// Replaces the record of a state, if it still is the one that was seen; says whether it was.
    fn claim(&mut self, key: Self::Key, seen: StateRecord, then: StateRecord) -> bool;

    /// Whether a process is among the last movers of a record of this state.
    fn has_mover(&self, key: Self::Key, record: StateRecord, process: ProcessId) -> bool;

    /// Keeps last movers that do not fit into records from changing between a claim and what follows from it.
    fn hold_wide_movers(&mut self) {}

    /// Ends [`VisitMemory::hold_wide_movers`].
    fn release_wide_movers(&mut self) {}

    /// Memory in use, in bytes.
    fn bytes(&self) -> usize;
}

/// A store that does not keep the states, and how visits are remembered with it.
pub(crate) trait LossyStore: Store {
    type Visited<'a>: VisitMemory<Key: InPart> + Send
    where
        Self: 'a;

    fn visited(&mut self) -> Self::Visited<'_>;
}

impl LossyStore for Compact {
    type Visited<'a> = Numbered<'a, Compact, false>;

    fn visited(&mut self) -> Numbered<'_, Compact, false> {
        Numbered::new(self)
    }
}

impl LossyStore for Bitstate {
    type Visited<'a> = Bits<'a, Bitstate>;

    fn visited(&mut self) -> Bits<'_, Bitstate> {
        Bits::new(self)
    }
}

/// Least preemptions beside a store that numbers states, `EXACT` or not.
pub(crate) struct Numbered<'a, T, const EXACT: bool> {
    store: &'a mut T,
    least: LeastPreemptions,
}

impl<'a, T: Store, const EXACT: bool> Numbered<'a, T, EXACT> {
    pub(crate) fn new(store: &'a mut T) -> Self {
        Numbered { store, least: LeastPreemptions::default() }
    }
}

impl<T: Store, const EXACT: bool> VisitMemory for Numbered<'_, T, EXACT> {
    type Key = StateId;
    const IS_EXACT: bool = EXACT;

    #[inline(always)]
    fn load(&mut self, key: StateId, out: &mut Vec<u8>) {
        self.store.load(key, out);
    }

    #[inline(always)]
    fn load_parent(&mut self, key: StateId, out: &mut Vec<u8>) {
        self.store.load_parent(key, out);
    }

    #[inline(always)]
    fn hashes_near(&self) -> bool {
        EXACT && self.store.hashes_near()
    }

    #[inline(always)]
    fn hash_successors(
        &mut self,
        parent: StateId,
        bytes: &[u8],
        batch: &mut [Pending],
    ) -> Result<(), StoreFull> {
        self.store.hash_successors(parent, bytes, batch)
    }

    #[inline(always)]
    fn hash(
        &mut self,
        bytes: &[u8],
        batch: &mut [Pending],
        is_hashed: bool,
    ) -> Result<(), StoreFull> {
        // Bytes that were just written one by one are slow to read in words: hash them later.
        if !self.hashes_near() {
            return self.store.hash_successors(StateId::UNKNOWN, bytes, batch);
        }
        for pending in batch.iter_mut().filter(|_| !is_hashed) {
            pending.hash = self.store.hash(&bytes[pending.start..pending.end]);
            self.store.prefetch(pending.hash);
        }
        Ok(())
    }

    #[inline(always)]
    fn insert(&mut self, bytes: &[u8], batch: &mut [Pending]) -> Result<(), StoreFull> {
        self.store.insert_batch(bytes, batch)
    }

    #[inline(always)]
    fn key(pending: &Pending) -> StateId {
        pending.inserted.id
    }

    fn is_state(&mut self, key: StateId, bytes: &[u8]) -> bool {
        self.store.lookup(bytes) == Some(key)
    }

    #[inline(always)]
    fn prefetch(&self, key: StateId) {
        self.least.prefetch(key);
        self.store.prefetch_id(key);
    }

    #[inline(always)]
    fn prefetch_record(&self, key: StateId) {
        self.least.prefetch(key);
    }

    #[inline(always)]
    fn record(&self, key: StateId) -> StateRecord {
        self.least.get(key)
    }

    #[inline(always)]
    fn visit(
        &mut self,
        key: StateId,
        count: u32,
        mover: Option<ProcessId>,
    ) -> (Visit, StateRecord) {
        let visit = self.least.visit(key, count, mover);
        (visit, self.least.get(key))
    }

    /// One thread alone finds what it has seen; of a lossy store others may have a part.
    #[inline(always)]
    fn claim(&mut self, key: StateId, seen: StateRecord, then: StateRecord) -> bool {
        let is_seen = EXACT || self.least.get(key) == seen;
        if is_seen {
            self.least.set(key, then);
        }
        is_seen
    }

    #[inline(always)]
    fn has_mover(&self, key: StateId, _: StateRecord, process: ProcessId) -> bool {
        self.least.has_mover(key, process)
    }

    fn bytes(&self) -> usize {
        self.store.bytes() + self.least.bytes()
    }
}

/// Bits, several per state.
pub(crate) struct Bits<'a, T> {
    store: &'a mut T,
    /// A fact could not be noted.
    is_full: bool,
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
        Bits { store, is_full: false }
    }

    /// Notes a fact about a state; says whether it is news.
    fn note(&mut self, key: u64, fact: u64) -> bool {
        match self.store.insert_hashed(mix(key, fact), &[]) {
            Ok(inserted) => inserted.new,
            Err(StoreFull) => {
                self.is_full = true;
                false
            }
        }
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

impl<T: Store> VisitMemory for Bits<'_, T> {
    type Key = u64;

    fn hash(&mut self, bytes: &[u8], batch: &mut [Pending], _: bool) -> Result<(), StoreFull> {
        for pending in batch {
            pending.hash = self.store.hash(&bytes[pending.start..pending.end]);
            self.store.prefetch(mix(pending.hash, SEEN));
        }
        Ok(())
    }

    /// A visit notes what there is to be noted.
    fn insert(&mut self, _bytes: &[u8], _batch: &mut [Pending]) -> Result<(), StoreFull> {
        if self.is_full { Err(StoreFull) } else { Ok(()) }
    }

    fn key(pending: &Pending) -> u64 {
        pending.hash
    }

    fn is_state(&mut self, key: u64, bytes: &[u8]) -> bool {
        self.store.hash(bytes) == key
    }

    /// Last movers must be asked for one by one.
    fn record(&self, key: u64) -> StateRecord {
        let record = StateRecord::with_unlisted_movers();
        let record = if self.knows(key, FREE) { record.freed() } else { record };
        let record = if self.knows(key, EXPANDED) { record.expanded() } else { record };
        if self.knows(key, DEFERRED) { record.deferred() } else { record }
    }

    fn visit(&mut self, key: u64, count: u32, mover: Option<ProcessId>) -> (Visit, StateRecord) {
        // No visit is merged into another one, since that one could not tell its last mover.
        let unmerged = StateRecord::with_unlisted_movers().expanded();
        let mover = mover.map_or(FREE, |mover| MOVER + u64::from(mover.0));
        let bucket = BUCKET + u64::from(count);
        if self.note(key, SEEN) {
            self.note(key, bucket);
            self.note(key, mover);
            return (Visit::First, unmerged);
        }
        // Seen before: in an earlier bucket, or in this one.
        if !self.knows(key, bucket) || self.knows(key, FREE) || !self.note(key, mover) {
            let record = StateRecord::with_unlisted_movers();
            let is_expanded = self.knows(key, EXPANDED);
            return (Visit::Covered, if is_expanded { record.expanded() } else { record });
        }
        (Visit::Again, unmerged)
    }

    fn claim(&mut self, key: u64, seen: StateRecord, then: StateRecord) -> bool {
        if self.record(key) != seen {
            return false;
        }
        for (fact, is_new) in [
            (FREE, then.all_run() && !seen.all_run()),
            (EXPANDED, then.is_expanded() && !seen.is_expanded()),
            (DEFERRED, then.is_deferred() && !seen.is_deferred()),
        ] {
            if is_new {
                self.note(key, fact);
            }
        }
        true
    }

    fn has_mover(&self, key: u64, _: StateRecord, process: ProcessId) -> bool {
        self.knows(key, MOVER + u64::from(process.0))
    }

    fn bytes(&self) -> usize {
        self.store.bytes()
    }
}

/// Into so many stores states are dealt out.
pub(crate) const SHARDS: usize = 1 << SHARD_BITS;
pub(crate) const SHARD_BITS: u32 = 6;

/// Where a state with this hash belongs. All bits of the hash say so, of which the parts use some as they are.
fn part_of(hash: u64) -> usize {
    (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SHARD_BITS)) as usize
}

/// What a state is known by, in one of many parts.
pub(crate) trait InPart: Copy {
    /// The part, and what the state is known by there.
    fn split(self) -> (usize, Self);

    /// The reverse; `None` where numbers are not large enough for that.
    fn join(self, part: usize) -> Option<Self>;
}

impl InPart for StateId {
    fn split(self) -> (usize, Self) {
        (self.index() % SHARDS, StateId(self.0 >> SHARD_BITS))
    }

    fn join(self, part: usize) -> Option<Self> {
        Some(StateId(self.0.checked_mul(SHARDS as u32)? + part as u32))
    }
}

impl InPart for u64 {
    fn split(self) -> (usize, Self) {
        (part_of(self), self)
    }

    fn join(self, _part: usize) -> Option<Self> {
        Some(self)
    }
}

/// A visited set in [`SHARDS`] parts, for several threads.
pub(crate) struct Sharded<L> {
    pub(crate) shards: Vec<Mutex<L>>,
}

impl<L: VisitMemory<Key: InPart>> VisitMemory for &Sharded<L> {
    type Key = L::Key;

    fn hash(&mut self, bytes: &[u8], batch: &mut [Pending], _: bool) -> Result<(), StoreFull> {
        for pending in batch {
            pending.hash = hash(&bytes[pending.start..pending.end]);
        }
        Ok(())
    }

    fn insert(&mut self, bytes: &[u8], batch: &mut [Pending]) -> Result<(), StoreFull> {
        for pending in batch {
            let part = part_of(pending.hash);
            lock(&self.shards[part]).insert(bytes, std::slice::from_mut(pending))?;
            let id = &mut pending.inserted.id;
            // Where a state is known by its hash it has no number.
            if *id != StateId::UNKNOWN {
                *id = id.join(part).ok_or(StoreFull)?;
            }
        }
        Ok(())
    }

    fn key(pending: &Pending) -> L::Key {
        L::key(pending)
    }

    fn is_state(&mut self, key: L::Key, bytes: &[u8]) -> bool {
        let (part, key) = key.split();
        part == part_of(hash(bytes)) && lock(&self.shards[part]).is_state(key, bytes)
    }

    fn record(&self, key: L::Key) -> StateRecord {
        let (part, key) = key.split();
        lock(&self.shards[part]).record(key)
    }

    fn visit(&mut self, key: L::Key, count: u32, mover: Option<ProcessId>) -> (Visit, StateRecord) {
        let (part, key) = key.split();
        lock(&self.shards[part]).visit(key, count, mover)
    }

    fn claim(&mut self, key: L::Key, seen: StateRecord, then: StateRecord) -> bool {
        let (part, key) = key.split();
        lock(&self.shards[part]).claim(key, seen, then)
    }

    fn has_mover(&self, key: L::Key, record: StateRecord, process: ProcessId) -> bool {
        let (part, key) = key.split();
        lock(&self.shards[part]).has_mover(key, record, process)
    }

    fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).bytes()).sum()
    }
}
