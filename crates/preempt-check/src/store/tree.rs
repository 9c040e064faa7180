//! Exact storage in about a dozen bytes per state, by sharing equal parts.
//!
//! A state is cut into quads of four words; equal quads get equal numbers, two neighbouring numbers
//! make a pair, equal pairs get equal numbers again, and so on up to one root pair per state.
//! Neighbouring states differ in few words, so almost all their pairs are shared: what a state
//! costs is its root, two small numbers, and an index entry. (Blom, Lisser, van de Pol and Weber's
//! recursive indexing; Laarman's tree tables.)
//!
//! A successor is found from its predecessor by looking up only the pairs above what differs
//! ([`Unfolded`]); the root found that way is what [`Store::hash_successors`] gives, shifted and made odd:
//! an even hash says nothing, and the root is found from the bytes.
//!
//! Invariant: with the length of a state its shape is known, so the root number determines the
//! bytes. Roots of different lengths are kept apart by a class, stored only once lengths differ.

use super::nodes::{self, AddNodes, Nodes, pair_key, push_words, root_key};
use super::packed::Packed;
use super::pairs::{self, Keys, Numbered, Pairs};
use super::quads::{self, Quad, Quads};
use super::tree_shape::{LONG, word_count};
use super::unfolded::Unfolded;
use super::{Inserted, Pending, StateId, Store, StoreFull};

/// An exact store with equal parts of states shared.
#[derive(Debug)]
pub struct Tree {
    roots: Pairs,
    parts: Parts,
    /// The lengths that occur; a class is an index into it.
    lengths: Vec<usize>,
    longest: usize,
    /// The class of each state, once there is more than one.
    classes: Option<Packed>,
    limit: usize,
    words: Vec<u32>,
    hashes: Vec<u64>,
    /// The state whose successors are being looked for.
    parent: Unfolded,
}

/// What the states are made of.
#[derive(Debug)]
struct Parts {
    leaves: Numbered<Quads>,
    /// Pairs of numbers of quads or pairs.
    inner: Pairs,
    /// The memory of both.
    limit: usize,
}

impl Parts {
    fn bytes(&self) -> usize {
        self.leaves.bytes() + self.inner.bytes()
    }
}

impl Nodes for Parts {
    #[inline(always)]
    fn quad(&self, number: u32) -> Quad {
        self.leaves.key(number)
    }

    #[inline(always)]
    fn pair(&self, number: u32) -> u64 {
        self.inner.key(number)
    }
}

impl AddNodes for Parts {
    #[inline(always)]
    fn number_quad(&mut self, hash: u64, quad: Quad) -> Result<u32, StoreFull> {
        let (limit, inner) = (self.limit, &self.inner);
        let room = |leaves: &Numbered<Quads>| limit.saturating_sub(leaves.bytes() + inner.bytes());
        self.leaves.number(hash, quad, room)
    }

    #[inline(always)]
    fn number_pair(&mut self, hash: u64, pair: u64) -> Result<u32, StoreFull> {
        let (limit, leaves) = (self.limit, &self.leaves);
        let room = |inner: &Pairs| limit.saturating_sub(leaves.bytes() + inner.bytes());
        self.inner.number(hash, pair, room)
    }

    #[inline(always)]
    fn prefetch_quad(&self, hash: u64) {
        self.leaves.prefetch(hash);
    }

    #[inline(always)]
    fn prefetch_pair(&self, hash: u64) {
        self.inner.prefetch(hash);
    }
}

impl Tree {
    /// A store that may use `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Tree {
            roots: Pairs::new(),
            parts: Parts { leaves: Numbered::new(), inner: Pairs::new(), limit },
            lengths: Vec::new(),
            longest: 0,
            classes: None,
            limit,
            words: Vec::new(),
            hashes: Vec::new(),
            parent: Unfolded::default(),
        }
    }

    /// The class of states of this length.
    fn class(&mut self, length: usize) -> Result<usize, StoreFull> {
        if let Some(class) = self.lengths.iter().position(|known| *known == length) {
            return Ok(class);
        }
        if self.lengths.len() > usize::from(u16::MAX) {
            return Err(StoreFull);
        }
        self.lengths.push(length);
        self.longest = self.longest.max(length);
        if self.lengths.len() == 2 {
            let mut classes = Packed::default();
            (0..self.roots.len()).for_each(|_| classes.push(0));
            self.classes = Some(classes);
        }
        Ok(self.lengths.len() - 1)
    }

    fn room(&self) -> usize {
        self.limit.saturating_sub(self.bytes())
    }

    /// Inserts states of one length, level by level, so that the lookups of one level overlap.
    fn insert_alike(&mut self, bytes: &[u8], batch: &mut [Pending]) -> Result<(), StoreFull> {
        let Some(first) = batch.first() else { return Ok(()) };
        let length = first.end - first.start;
        let class = self.class(length)?;
        let stride = word_count(length);
        let mut words = std::mem::take(&mut self.words);
        let mut hashes = std::mem::take(&mut self.hashes);
        words.clear();
        for pending in batch.iter() {
            push_words(&bytes[pending.start..pending.end], stride, &mut words);
        }
        self.divide_memory();
        let folded = nodes::fold(&mut self.parts, &mut words, &mut hashes, stride, batch.len());
        let result = folded.and_then(|()| {
            for at in 0..batch.len() {
                let hash = root_hash(root_key(&words[at * stride..]), class);
                hashes[at] = hash;
                self.roots.prefetch(hash);
            }
            for hash in &hashes[..batch.len()] {
                self.roots.prefetch_key(*hash);
            }
            for (at, pending) in batch.iter_mut().enumerate() {
                let key = root_key(&words[at * stride..]);
                pending.inserted = self.insert_root(hashes[at], key, class)?;
            }
            Ok(())
        });
        self.words = words;
        self.hashes = hashes;
        result
    }

    /// Leaves to the parts what the roots have not taken.
    fn divide_memory(&mut self) {
        self.parts.limit =
            self.limit.saturating_sub(self.roots.bytes() + class_bytes(&self.classes));
    }

    fn unfold(&mut self, id: StateId) {
        if self.parent.id != Some(id) {
            let length = self.length_of(id);
            self.parent.unfold(id, self.roots.key(id.0), length, &self.parts);
        }
    }

    fn length_of(&self, id: StateId) -> usize {
        let class = self.classes.as_ref().map_or(0, |classes| classes.get(id.index()) as usize);
        self.lengths[class]
    }

    /// Inserts states whose roots are known.
    fn insert_roots(&mut self, batch: &mut [Pending]) -> Result<(), StoreFull> {
        for pending in batch.iter() {
            self.roots.prefetch_key(pairs::hash(pending.hash >> 1));
        }
        for pending in batch {
            let (length, key) = (pending.end - pending.start, pending.hash >> 1);
            let class = self.class(length)?;
            pending.inserted = self.insert_root(root_hash(key, class), key, class)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn find_root(&self, hash: u64, key: u64, class: usize) -> Result<u32, usize> {
        match &self.classes {
            None => self.roots.find(hash, key, |_| true),
            Some(classes) => {
                self.roots.find(hash, key, |number| classes.get(number) as usize == class)
            }
        }
    }

    #[inline(always)]
    fn insert_root(&mut self, hash: u64, key: u64, class: usize) -> Result<Inserted, StoreFull> {
        match self.find_root(hash, key, class) {
            Ok(number) => Ok(Inserted { id: StateId(number), new: false }),
            Err(at) => {
                if self.roots.len().is_multiple_of(256) && self.bytes() + 4096 > self.limit {
                    return Err(StoreFull);
                }
                let room = self.room();
                let number = self.roots.add(at, hash, key, room)?;
                if let Some(classes) = &mut self.classes {
                    classes.push(class as u64);
                }
                Ok(Inserted { id: StateId(number), new: true })
            }
        }
    }
}

fn class_bytes(classes: &Option<Packed>) -> usize {
    classes.as_ref().map_or(0, Packed::bytes)
}

/// All classes hash alike: a rehash knows only the keys, and classes are few.
#[inline(always)]
fn root_hash(key: u64, _class: usize) -> u64 {
    pairs::hash(key)
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
        for pending in batch {
            self.prefetch(pending.hash);
        }
        Ok(())
    }

    #[inline]
    fn hashes_near(&self) -> bool {
        self.longest > LONG
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        if hash & 1 == 1 {
            self.roots.prefetch(pairs::hash(hash >> 1));
        }
    }

    #[inline]
    fn insert_hashed(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        if hash & 1 == 1 {
            let (class, key) = (self.class(state.len())?, hash >> 1);
            return self.insert_root(root_hash(key, class), key, class);
        }
        let mut batch = [Pending::new(hash, 0, state.len())];
        self.insert_alike(state, &mut batch)?;
        Ok(batch[0].inserted)
    }

    fn lookup_hashed(&self, _hash: u64, state: &[u8]) -> Option<StateId> {
        let class = self.lengths.iter().position(|length| *length == state.len())?;
        let mut words = Vec::new();
        push_words(state, word_count(state.len()), &mut words);
        let mut size = words.len() / 4;
        for at in 0..size {
            let [a, b, c, d] = words[4 * at..4 * at + 4] else { return None };
            let quad = quads::quad(&[a, b, c, d]);
            words[at] = self.parts.leaves.find(Quads::hash(quad), quad, |_| true).ok()?;
        }
        while size > 2 {
            for pair in 0..size / 2 {
                let key = pair_key(words[2 * pair], words[2 * pair + 1]);
                words[pair] = self.parts.inner.find(pairs::hash(key), key, |_| true).ok()?;
            }
            if size % 2 == 1 {
                words[size / 2] = words[size - 1];
            }
            size = size.div_ceil(2);
        }
        let key = root_key(&words);
        self.find_root(root_hash(key, class), key, class).ok().map(StateId)
    }

    fn insert_batch(&mut self, bytes: &[u8], batch: &mut [Pending]) -> Result<(), StoreFull> {
        let alike = |a: &Pending, b: &Pending| {
            let both_known = a.hash & b.hash & 1 == 1;
            both_known || a.hash & 1 == b.hash & 1 && a.end - a.start == b.end - b.start
        };
        for alike in batch.chunk_by_mut(alike) {
            match alike.first().is_some_and(|first| first.hash & 1 == 1) {
                true => self.insert_roots(alike)?,
                false => self.insert_alike(bytes, alike)?,
            }
        }
        Ok(())
    }

    fn load(&self, id: StateId, out: &mut Vec<u8>) -> bool {
        let length = self.length_of(id);
        nodes::unfold(&self.parts, self.roots.key(id.0), length, out);
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
        self.roots.bytes() + self.parts.bytes() + class_bytes(&self.classes)
    }

    fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
    }
}
