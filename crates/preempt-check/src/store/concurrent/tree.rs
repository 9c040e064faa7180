//! The tree store that several threads fill together.
//!
//! States are made of quads and pairs as in [`Tree`](super::super::Tree), which are numbered by all threads in
//! three sets (`numbers.rs`): one compare-and-swap for each part that was not met before, none for the others. A
//! state is the number of its root. (Laarman, van de Pol and Weber's parallel tree; here the tables grow, as numbers are not
//! places in a table.)
//!
//! Beside the root a word per two states keeps the places of their predecessors, and one per four the classes of their
//! lengths, where these differ.
//!
//! Invariant: predecessor and class of a state are written before its number is published.

use super::super::{Inserted, Pending, StateId, StoreFull};
use super::directory::{Crowded, Directory, Room};
use super::numbers::{LocalNumbers, Numbered, Numbers};
use super::readers::{ManyReaders, Reading};
use super::segments::{SEGMENT, SEGMENT_BITS, Segments};
use super::{ConcurrentStore, Place, Records, forget};
use crate::platform::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::platform::sync::{Mutex, PoisonError};
use crate::store::tree::nodes::{self, AddNodes, Nodes, push_words, root_key};
use crate::store::tree::pairs::{self, Keys};
use crate::store::tree::quads::{Quad, Quads};
use crate::store::tree::tree_shape::{LONG, word_count};
use crate::store::tree::unfolded::Unfolded;
use preempt_core::Contention;

/// An exact store for several threads with equal parts of states shared.
#[derive(Debug)]
pub(crate) struct SharedTree {
    indexes: ManyReaders<Indexes>,
    roots: Numbers<1>,
    leaves: Numbers<2>,
    inner: Numbers<1>,
    /// Two places each.
    parents: Segments,
    /// Four classes each; 0 where nothing was written.
    classes: Segments,
    /// The lengths that occur; a class is an index into it.
    lengths: Mutex<Vec<usize>>,
    /// How many they are.
    kinds: AtomicUsize,
    longest: AtomicUsize,
    states: AtomicUsize,
    limit: AtomicUsize,
    /// A word beside each state, if a search [wants one](Records).
    records: Option<Segments>,
}

/// The directories of the three sets' indexes.
#[derive(Debug)]
struct Indexes {
    roots: Directory,
    leaves: Directory,
    inner: Directory,
}

/// What a thread needs for itself.
#[derive(Debug)]
pub(crate) struct Local {
    thread: usize,
    roots: LocalNumbers<1>,
    leaves: LocalNumbers<2>,
    inner: LocalNumbers<1>,
    /// What the thread knows of [`SharedTree::lengths`].
    lengths: Vec<usize>,
    /// The state whose successors are being looked for.
    parent: Unfolded,
    words: Vec<u32>,
    hashes: Vec<u64>,
    contention: Contention,
}

impl SharedTree {
    /// A store of at most `limit` bytes for so many threads.
    pub(crate) fn new(limit: usize, threads: usize) -> Self {
        let (roots, root_index) = Numbers::new(pair_hash);
        let (leaves, leaf_index) = Numbers::new(Quads::hash);
        let (inner, inner_index) = Numbers::new(pair_hash);
        let indexes = Indexes { roots: root_index, leaves: leaf_index, inner: inner_index };
        SharedTree {
            indexes: ManyReaders::new(indexes, threads),
            roots,
            leaves,
            inner,
            parents: Segments::new(1 << 30),
            classes: Segments::new(1 << 29),
            lengths: Mutex::default(),
            kinds: AtomicUsize::new(0),
            longest: AtomicUsize::new(0),
            states: AtomicUsize::new(0),
            limit: AtomicUsize::new(limit),
            records: None,
        }
    }

    /// The same with a record beside each state.
    pub(crate) fn with_records(limit: usize, threads: usize) -> Self {
        SharedTree { records: Some(Segments::new(1 << 31)), ..SharedTree::new(limit, threads) }
    }

    /// Sets how much memory the store may use from now on.
    pub(crate) fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// Numbers of states stay below this.
    pub(crate) fn end(&self) -> usize {
        self.roots.given()
    }

    /// Says that a state was reached from the one at `parent`.
    pub(crate) fn set_parent(&self, place: Place, parent: Place) {
        set_part::<2>(&self.parents, place, u64::from(parent));
    }

    /// The class of states of this length.
    fn class(&self, lengths: &mut Vec<usize>, length: usize) -> Result<u16, StoreFull> {
        if let Some(class) = lengths.iter().position(|known| *known == length) {
            return Ok(class as u16);
        }
        let mut all = self.lengths.lock().unwrap_or_else(PoisonError::into_inner);
        let class = all.iter().position(|known| *known == length).unwrap_or(all.len());
        if class > usize::from(u16::MAX) {
            return Err(StoreFull);
        }
        if class == all.len() {
            all.push(length);
            self.kinds.store(all.len(), Ordering::Relaxed);
            self.longest.fetch_max(length, Ordering::Relaxed);
        }
        lengths.clone_from(&all);
        Ok(class as u16)
    }

    fn length_of(&self, local: &mut Local, place: Place) -> usize {
        let class = part::<4>(&self.classes, place) as usize;
        if class >= local.lengths.len() {
            local.lengths.clone_from(&self.lengths.lock().unwrap_or_else(PoisonError::into_inner));
        }
        local.lengths[class]
    }

    fn unfold(&self, local: &mut Local, place: Place) {
        if local.parent.id == Some(StateId(place)) {
            return;
        }
        let length = self.length_of(local, place);
        let [root] = self.roots.key(place);
        local.parent.unfold(StateId(place), root, length, self);
    }

    /// Whether so many bytes more may be used.
    fn may_use(&self, bytes: usize) -> bool {
        self.bytes() + bytes <= self.limit.load(Ordering::Relaxed)
    }

    /// Inserts a root of states of some class.
    #[inline(always)]
    fn insert_root<'a>(
        &'a self,
        indexes: &mut Guard<'a>,
        (local, contention): (&mut LocalNumbers<1>, &mut Contention),
        (key, class): (u64, u16),
        parent: Place,
    ) -> Result<Inserted, StoreFull> {
        let accept = |number| part::<4>(&self.classes, number) == u64::from(class);
        let write = |number| {
            match &self.records {
                // A store with records needs no predecessors.
                Some(records) => {
                    records.take(number as usize >> SEGMENT_BITS).ok_or(StoreFull)?;
                }
                None => take_part::<2>(&self.parents, number, u64::from(parent))?,
            }
            if class != 0 || part::<4>(&self.classes, number) != 0 {
                take_part::<4>(&self.classes, number, u64::from(class))?;
            }
            Ok(())
        };
        let key = (pairs::hash(key), [key]);
        let (number, new) =
            indexes.add(&self.roots, ROOTS, (local, contention), key, accept, write)?;
        Ok(Inserted { id: StateId(number), new })
    }

    /// Inserts states of one length, level by level, so that the lookups of one level overlap.
    fn insert_alike<'a>(
        &'a self,
        indexes: &mut Guard<'a>,
        local: &mut Local,
        bytes: &[u8],
        batch: &mut [Pending],
        parents: &[Place],
    ) -> Result<(), StoreFull> {
        let Some(first) = batch.first() else { return Ok(()) };
        let length = first.end - first.start;
        let class = self.class(&mut local.lengths, length)?;
        let stride = word_count(length);
        let Local { words, hashes, roots, leaves, inner, contention, .. } = local;
        words.clear();
        for pending in batch.iter() {
            push_words(&bytes[pending.start..pending.end], stride, words);
        }
        let mut parts = Adding { indexes, leaves, inner, contention };
        nodes::fold(&mut parts, words, hashes, stride, batch.len())?;
        for at in 0..batch.len() {
            let hash = pairs::hash(root_key(&words[at * stride..]));
            hashes[at] = hash;
            Numbers::<1>::prefetch(&indexes.get().roots, hash);
        }
        for hash in &hashes[..batch.len()] {
            self.roots.prefetch_match(&indexes.get().roots, *hash);
        }
        for (at, (pending, parent)) in batch.iter_mut().zip(parents).enumerate() {
            let key = root_key(&words[at * stride..]);
            pending.inserted =
                self.insert_root(indexes, (roots, contention), (key, class), *parent)?;
        }
        Ok(())
    }

    /// Inserts states whose roots are known.
    fn insert_roots<'a>(
        &'a self,
        indexes: &mut Guard<'a>,
        local: &mut Local,
        batch: &mut [Pending],
        parents: &[Place],
    ) -> Result<(), StoreFull> {
        for pending in batch.iter() {
            self.roots.prefetch_match(&indexes.get().roots, pairs::hash(pending.hash >> 1));
        }
        for (pending, parent) in batch.iter_mut().zip(parents) {
            let class = self.class(&mut local.lengths, pending.end - pending.start)?;
            let root = (pending.hash >> 1, class);
            let mine = (&mut local.roots, &mut local.contention);
            pending.inserted = self.insert_root(indexes, mine, root, *parent)?;
        }
        Ok(())
    }

    fn guard(&self, thread: usize) -> Guard<'_> {
        Guard { tree: self, thread, reading: Some(self.indexes.read(thread)) }
    }
}

/// How the directory of a set is reached.
type Access = super::directory::Access<Indexes>;
const ROOTS: Access = (|all| &all.roots, |all| &mut all.roots);
const LEAVES: Access = (|all| &all.leaves, |all| &mut all.leaves);
const INNER: Access = (|all| &all.inner, |all| &mut all.inner);

/// The indexes, for one batch; let go of while one of them grows.
struct Guard<'a> {
    tree: &'a SharedTree,
    thread: usize,
    reading: Option<Reading<'a, Indexes>>,
}

impl<'a> Guard<'a> {
    #[inline(always)]
    fn get(&self) -> &Indexes {
        match &self.reading {
            Some(reading) => reading,
            None => unreachable!("the indexes are let go of for growth only"),
        }
    }

    /// Makes room for a key. If that is in the attic, the indexes must be [read again](Self::read_again) once it is left.
    #[cold]
    fn make_room<const W: usize>(
        &mut self,
        set: &'a Numbers<W>,
        access: Access,
        crowded: Crowded,
        contention: &mut Contention,
    ) -> Result<Room<'a>, StoreFull> {
        self.reading = None;
        let (tree, readers) = (self.tree, (&self.tree.indexes, self.thread));
        let may_use = |bytes| tree.may_use(bytes);
        let room = set.table.make_room(readers, access, crowded, set, may_use, contention);
        if !matches!(room, Ok(Room::Attic(_))) {
            self.read_again();
        }
        room
    }

    fn read_again(&mut self) {
        self.reading = Some(self.tree.indexes.read(self.thread));
    }

    /// The number of a part of states, which is added if it is not known.
    #[inline(always)]
    fn number<const W: usize>(
        &mut self,
        set: &'a Numbers<W>,
        access: Access,
        (local, contention): (&mut LocalNumbers<W>, &mut Contention),
        (hash, key): (u64, [u64; W]),
    ) -> Result<u32, StoreFull> {
        if let Some(number) = set.recent(local, hash, key) {
            return Ok(number);
        }
        let mine = (&mut *local, contention);
        let (number, _) = self.add(set, access, mine, (hash, key), |_| true, |_| Ok(()))?;
        set.remember(local, hash, key, number);
        Ok(number)
    }

    /// The number of a key, which is added if it is not known, and whether it was; see [`Numbers::number`].
    #[inline(always)]
    fn add<const W: usize>(
        &mut self,
        set: &'a Numbers<W>,
        access: Access,
        (local, contention): (&mut LocalNumbers<W>, &mut Contention),
        (hash, key): (u64, [u64; W]),
        accept: impl Fn(u32) -> bool,
        write: impl Fn(u32) -> Result<(), StoreFull>,
    ) -> Result<(u32, bool), StoreFull> {
        loop {
            let index = access.0(self.get());
            let mine = (&mut *local, &mut *contention);
            let mut numbered = set.number(index, mine, (hash, key), &accept, &write)?;
            if let Numbered::Crowded(crowded) = numbered {
                let room = self.make_room(set, access, crowded, contention)?;
                let Room::Attic(mut attic) = room else { continue };
                let like = attic.entry((hash >> 32) as u32).or_default();
                let mine = (&mut *local, &mut *contention);
                let result = set.number_in_attic(like, mine, key, &accept, &write);
                drop(attic);
                self.read_again();
                numbered = result?;
            }
            match numbered {
                Numbered::Known(number) => return Ok((number, false)),
                Numbered::New(number) => return Ok((number, true)),
                Numbered::Crowded(_) => {}
            }
        }
    }
}

impl Nodes for SharedTree {
    #[inline(always)]
    fn quad(&self, number: u32) -> Quad {
        self.leaves.key(number)
    }

    #[inline(always)]
    fn pair(&self, number: u32) -> u64 {
        self.inner.key(number)[0]
    }
}

/// Parts that one thread adds to.
struct Adding<'a, 'b> {
    indexes: &'a mut Guard<'b>,
    leaves: &'a mut LocalNumbers<2>,
    inner: &'a mut LocalNumbers<1>,
    contention: &'a mut Contention,
}

impl AddNodes for Adding<'_, '_> {
    #[inline(always)]
    fn number_quad(&mut self, hash: u64, quad: Quad) -> Result<u32, StoreFull> {
        let mine = (&mut *self.leaves, &mut *self.contention);
        self.indexes.number(&self.indexes.tree.leaves, LEAVES, mine, (hash, quad))
    }

    #[inline(always)]
    fn number_pair(&mut self, hash: u64, pair: u64) -> Result<u32, StoreFull> {
        let mine = (&mut *self.inner, &mut *self.contention);
        self.indexes.number(&self.indexes.tree.inner, INNER, mine, (hash, [pair]))
    }

    #[inline(always)]
    fn prefetch_quad(&self, hash: u64) {
        Numbers::<2>::prefetch(&self.indexes.get().leaves, hash);
    }

    #[inline(always)]
    fn prefetch_pair(&self, hash: u64) {
        Numbers::<1>::prefetch(&self.indexes.get().inner, hash);
    }
}

impl ConcurrentStore for SharedTree {
    type Local = Local;

    fn local(&self, thread: usize) -> Local {
        Local {
            thread,
            roots: self.roots.local(),
            leaves: self.leaves.local(),
            inner: self.inner.local(),
            lengths: Vec::new(),
            parent: Unfolded::default(),
            words: Vec::new(),
            hashes: Vec::new(),
            contention: Contention::default(),
        }
    }

    #[inline]
    fn hashes_near(&self) -> bool {
        self.longest.load(Ordering::Relaxed) > LONG
    }

    fn hash_successors(
        &self,
        local: &mut Local,
        parent: Place,
        bytes: &[u8],
        batch: &mut [Pending],
    ) -> Result<(), StoreFull> {
        self.unfold(local, parent);
        let mut indexes = self.guard(local.thread);
        let Local { parent, leaves, inner, contention, .. } = local;
        let mut parts = Adding { indexes: &mut indexes, leaves, inner, contention };
        parent.find_roots(bytes, batch, &mut parts)?;
        for pending in batch {
            if pending.hash & 1 == 1 {
                Numbers::<1>::prefetch(&indexes.get().roots, pairs::hash(pending.hash >> 1));
            }
        }
        Ok(())
    }

    fn insert(
        &self,
        local: &mut Local,
        bytes: &[u8],
        batch: &mut [Pending],
        mut parents: &[Place],
    ) -> Result<(), StoreFull> {
        forget(batch);
        let alike = |a: &Pending, b: &Pending| {
            let both_known = a.hash & b.hash & 1 == 1;
            both_known || a.hash & 1 == b.hash & 1 && a.end - a.start == b.end - b.start
        };
        let mut result = Ok(());
        {
            let mut indexes = self.guard(local.thread);
            if self.bytes() > self.limit.load(Ordering::Relaxed) {
                return Err(StoreFull);
            }
            for alike in batch.chunk_by_mut(alike) {
                let (here, behind) = parents.split_at(alike.len());
                parents = behind;
                result = match alike.first().is_some_and(|first| first.hash & 1 == 1) {
                    true => self.insert_roots(&mut indexes, local, alike, here),
                    false => self.insert_alike(&mut indexes, local, bytes, alike, here),
                };
                if result.is_err() {
                    break;
                }
            }
        }
        let new = batch.iter().filter(|pending| pending.inserted.new).count();
        if new > 0 {
            local.contention.shared_bytes += 8;
            self.states.fetch_add(new, Ordering::Relaxed);
        }
        result
    }

    fn load(&self, local: &mut Local, place: Place, out: &mut Vec<u8>) {
        self.unfold(local, place);
        local.parent.bytes(out);
    }

    #[inline(always)]
    fn prefetch(&self, place: Place) {
        self.roots.prefetch_key(place);
    }

    fn parent(&self, place: Place) -> Place {
        part::<2>(&self.parents, place) as u32
    }

    fn len(&self) -> usize {
        self.states.load(Ordering::Relaxed)
    }

    fn bytes(&self) -> usize {
        let class = if self.kinds.load(Ordering::Relaxed) > 1 { 2 } else { 0 };
        let beside = class + if self.records.is_some() { 8 } else { 4 };
        self.roots.bytes() + self.leaves.bytes() + self.inner.bytes() + self.roots.given() * beside
    }

    fn contention(local: &Local) -> Contention {
        local.contention
    }
}

impl Records for SharedTree {
    #[inline(always)]
    fn record(&self, place: Place) -> &AtomicU64 {
        let records = self.records.as_ref().expect("a search that asks has asked for records");
        records.word(place as usize)
    }

    #[inline(always)]
    fn prefetch_record(&self, place: Place) {
        if let Some(records) = &self.records {
            records.prefetch(place as usize);
        }
    }
}

fn pair_hash([key]: [u64; 1]) -> u64 {
    pairs::hash(key)
}

/// The number at `place`, where `N` of them share a word.
#[inline(always)]
fn part<const N: usize>(segments: &Segments, place: Place) -> u64 {
    let (at, shift) = (place as usize / N, place as usize % N * (64 / N));
    segments.load(at) >> shift & (u64::MAX >> (64 - 64 / N))
}

/// Replaces the number at `place` by another one. Threads have neighbouring places in blocks, so that no other writes to
/// this word.
#[inline(always)]
fn set_part<const N: usize>(segments: &Segments, place: Place, number: u64) {
    let (at, shift) = (place as usize / N, place as usize % N * (64 / N));
    if let Some(word) = segments.segment(at >> SEGMENT_BITS).get(at & (SEGMENT - 1)) {
        let others = word.load(Ordering::Relaxed) & !((u64::MAX >> (64 - 64 / N)) << shift);
        word.store(others | number << shift, Ordering::Relaxed);
    }
}

/// As [`set_part`], where nothing may have been written before.
#[inline(always)]
fn take_part<const N: usize>(
    segments: &Segments,
    place: Place,
    number: u64,
) -> Result<(), StoreFull> {
    segments.take((place as usize / N) >> SEGMENT_BITS).ok_or(StoreFull)?;
    set_part::<N>(segments, place, number);
    Ok(())
}
