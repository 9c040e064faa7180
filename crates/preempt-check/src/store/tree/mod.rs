//! Exact storage in about a dozen bytes per state, by sharing equal parts.
//!
//! A state is cut into quads of four words; equal quads get equal numbers, two neighbouring numbers
//! make a pair, equal pairs get equal numbers again, and so on up to one root pair per state.
//! Neighbouring states differ in few words, so almost all their pairs are shared: what a state
//! costs is its root, two small numbers. (Blom, Lisser, van de Pol and Weber's recursive indexing; Laarman's tree tables.)
//!
//! A successor is found from its predecessor by looking up only the pairs above what differs
//! ([`Unfolded`]); the root found that way is what [`Store::hash_successors`] gives, shifted and made odd:
//! an even hash says nothing, and the root is found from the bytes.
//!
//! Invariant: with the length of a state its shape is known, so the root number determines the
//! bytes. Roots of different lengths are kept apart by a class.

pub(super) mod ahead;
pub(super) mod lined;
pub(super) mod nodes;
pub(super) mod packed;
pub(super) mod pairs;
pub(super) mod parts;
pub(super) mod quads;
pub(super) mod roots;
pub(super) mod tree_shape;
pub(super) mod unfolded;

use super::{Inserted, Pending, Reader, StateId, Store, StoreFull};
use crate::store::tree::nodes::{push_words, root_key};
use crate::store::tree::parts::Parts;
use crate::store::tree::roots::Roots;
use crate::store::tree::tree_shape::{LONG, word_count};
use crate::store::tree::unfolded::Unfolded;

/// An exact store with equal parts of states shared.
#[derive(Debug)]
pub struct Tree {
    roots: Roots,
    parts: Parts,
    /// The lengths that occur; a class is an index into it.
    lengths: Vec<usize>,
    longest: usize,
    limit: usize,
    words: Vec<u32>,
    /// The state whose successors are being looked for.
    parent: Unfolded,
    hashes: Vec<u64>,
}

impl Tree {
    /// A store that may use `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Tree {
            roots: Roots::new(),
            parts: Parts::new(limit),
            lengths: Vec::new(),
            longest: 0,
            limit,
            words: Vec::new(),
            hashes: Vec::new(),
            parent: Unfolded::default(),
        }
    }

    /// The class of states of this length.
    #[inline(always)]
    fn class(&mut self, length: usize) -> Result<usize, StoreFull> {
        match self.lengths.iter().position(|known| *known == length) {
            Some(class) => Ok(class),
            None => self.add_class(length),
        }
    }

    #[cold]
    fn add_class(&mut self, length: usize) -> Result<usize, StoreFull> {
        if self.lengths.len() > usize::from(u16::MAX) {
            return Err(StoreFull);
        }
        self.lengths.push(length);
        self.longest = self.longest.max(length);
        if self.lengths.len() > 1 {
            self.roots.have_classes();
        }
        Ok(self.lengths.len() - 1)
    }

    /// Inserts states of one length, level by level, so that the lookups of one level overlap. The roots of some may be known
    /// by their hashes: these add no parts, so that the numbers of parts do not depend on it.
    fn insert_alike(&mut self, bytes: &[u8], batch: &mut [Pending]) -> Result<(), StoreFull> {
        let Some(first) = batch.first() else { return Ok(()) };
        let length = first.end - first.start;
        let class = self.class(length)?;
        let stride = word_count(length);
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        let is_known = |pending: &Pending| pending.hash & 1 == 1;
        let mut rows = 0;
        for pending in batch.iter().filter(|pending| !is_known(pending)) {
            push_words(&bytes[pending.start..pending.end], stride, &mut words);
            rows += 1;
        }
        self.divide_memory();
        let mut roots = std::mem::take(&mut self.hashes);
        let folded = nodes::fold(&mut self.parts, &mut words, &mut roots, stride, rows);
        let result = folded.and_then(|()| {
            roots.clear();
            let mut row = 0;
            roots.extend(batch.iter().map(|pending| {
                if is_known(pending) {
                    return pending.hash >> 1;
                }
                row += 1;
                root_key(&words[(row - 1) * stride..])
            }));
            roots.iter().for_each(|root| self.roots.prefetch(*root, class));
            roots.iter().for_each(|root| self.roots.prefetch_next(*root));
            for (root, pending) in roots.iter().zip(batch) {
                pending.inserted = self.insert_root(*root, class)?;
            }
            Ok(())
        });
        (self.words, self.hashes) = (words, roots);
        result
    }

    /// Leaves to the parts what the roots have not taken.
    fn divide_memory(&mut self) {
        self.parts.limit = self.limit.saturating_sub(self.roots.bytes());
    }

    /// Takes a state apart.
    fn unfold(&mut self, id: StateId) {
        if self.parent.id != Some(id) {
            let (root, length) = self.root_of(id);
            self.parent.unfold(id, root, length, &self.parts);
        }
    }

    /// Inserts states whose roots are known.
    fn insert_roots(&mut self, batch: &mut [Pending]) -> Result<(), StoreFull> {
        for pending in batch.iter() {
            self.roots.prefetch_next(pending.hash >> 1);
        }
        for pending in batch {
            let class = self.class(pending.end - pending.start)?;
            pending.inserted = self.insert_root(pending.hash >> 1, class)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn insert_root(&mut self, pair: u64, class: usize) -> Result<Inserted, StoreFull> {
        let (limit, parts) = (self.limit, &self.parts);
        self.roots.insert(pair, class, || limit.saturating_sub(parts.bytes()))
    }

    /// The root of a state and its length.
    fn root_of(&self, id: StateId) -> (u64, usize) {
        let (root, class) = self.roots.get(id);
        (root, self.lengths[class])
    }

    /// The class and the root of a state whose parts are all known.
    fn known_root(&self, state: &[u8]) -> Option<(u64, usize)> {
        let class = self.lengths.iter().position(|length| *length == state.len())?;
        Some((self.parts.find_root(state)?, class))
    }
}

impl Store for Tree {
    /// Roots are hashed, not bytes.
    #[inline(always)]
    fn hash(&self, _state: &[u8]) -> u64 {
        0
    }

    fn hash_successors(
        &mut self,
        parent: StateId,
        bytes: &[u8],
        batch: &mut [Pending],
    ) -> Result<(), StoreFull> {
        if !self.hashes_near() {
            return Ok(());
        }
        self.unfold(parent);
        self.divide_memory();
        self.parent.find_roots(bytes, batch, &mut self.parts)?;
        self.prefetch_ahead(batch);
        Ok(())
    }

    fn hash_ahead(
        &self,
        reader: &mut Reader,
        parent: StateId,
        bytes: &[u8],
        batch: &mut [Pending],
    ) -> bool {
        if !self.hashes_near() {
            reader.find(&self.parts, bytes, batch);
            return true;
        }
        reader.find_near(parent, self.root_of(parent), &self.parts, (bytes, batch))
    }

    #[inline]
    fn generation(&self) -> u32 {
        u32::from(self.hashes_near())
    }

    #[inline]
    fn prefetch_ahead(&self, batch: &[Pending]) {
        for pending in batch.iter().filter(|pending| pending.hash & 1 == 1) {
            let length = pending.end - pending.start;
            let class = self.lengths.iter().position(|known| *known == length);
            self.roots.prefetch(pending.hash >> 1, class.unwrap_or(0));
        }
    }

    #[inline]
    fn hashes_near(&self) -> bool {
        self.longest > LONG
    }

    #[inline]
    fn insert_hashed(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        if hash & 1 == 1 {
            let class = self.class(state.len())?;
            return self.insert_root(hash >> 1, class);
        }
        let mut batch = [Pending::new(hash, 0, state.len())];
        self.insert_alike(state, &mut batch)?;
        Ok(batch[0].inserted)
    }

    fn lookup_hashed(&self, _hash: u64, state: &[u8]) -> Option<StateId> {
        let (pair, class) = self.known_root(state)?;
        self.roots.find(pair, class)
    }

    fn insert_batch(&mut self, bytes: &[u8], batch: &mut [Pending]) -> Result<(), StoreFull> {
        if batch.iter().all(|pending| pending.hash & 1 == 1) {
            return self.insert_roots(batch);
        }
        let alike = |a: &Pending, b: &Pending| a.end - a.start == b.end - b.start;
        batch.chunk_by_mut(alike).try_for_each(|alike| self.insert_alike(bytes, alike))
    }

    fn load(&self, id: StateId, out: &mut Vec<u8>) -> bool {
        let (root, length) = self.root_of(id);
        nodes::unfold(&self.parts, root, length, out);
        true
    }

    fn load_ahead(&self, reader: &mut Reader, id: StateId, out: &mut Vec<u8>) -> bool {
        reader.load(id, self.root_of(id), &self.parts, out);
        true
    }

    fn load_parent(&mut self, id: StateId, out: &mut Vec<u8>) -> bool {
        self.unfold(id);
        self.parent.bytes(out);
        true
    }

    fn loads_fast(&self) -> bool {
        true
    }

    fn len(&self) -> usize {
        self.roots.len()
    }

    fn bytes(&self) -> usize {
        self.roots.bytes() + self.parts.bytes()
    }

    fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
    }
}
