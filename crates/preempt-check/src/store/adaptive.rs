//! Exact storage that compresses itself when memory gets tight.
//!
//! Begins as [`Exact`], the fastest. When that may not grow any more within half of the memory, all
//! states are copied into a [`Tree`] in the order of their numbers, so every number stays what it
//! was and searches need not know. If the tree does not fit into the other half, these states do not
//! compress: the store stays as it is and goes on to its full limit.
//!
//! When the tree is full, its roots become those of a [`ClearyTree`], which takes about half of the memory, if the search [can do
//! with that](Access). The parts of states stay what and where they are, so that no second copy is needed. Where most of the
//! memory is in the parts, that would gain too little: the tree goes on to its full limit.

use super::{
    ClearyTree, Exact, FrozenStore, Inserted, Pending, Reader, StateId, Store, StoreFull, Tree,
};

/// What a search asks of the states in its store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// To load any of them by its number.
    Load,
    /// The numbers of known states; states are loaded only until they are [released](Store::release).
    Numbers,
    /// Whether a state is known; states are loaded only until they are released.
    Membership,
}

/// An exact store that turns from [`Exact`] into [`Tree`], and into [`ClearyTree`], on its own.
#[derive(Debug)]
pub struct Adaptive {
    inner: Inner,
    limit: usize,
    access: Access,
    /// States with lower numbers are not loaded any more.
    released: StateId,
    /// How many states there were when the store changed.
    switched_at: Option<usize>,
    /// How many there were when it changed once more.
    compressed_at: Option<usize>,
    /// Whether compression was tried.
    tried: bool,
    /// Whether a tree is the last that can be done: it may use all of the memory.
    stays_tree: bool,
}

#[derive(Debug)]
// There is one of these in a search, and it is asked for every state: no second step to the fast one.
#[allow(clippy::large_enum_variant)]
enum Inner {
    Exact(Exact),
    Tree(Box<Tree>),
    Cleary(Box<ClearyTree>),
}

impl Adaptive {
    /// A store that may use `limit` bytes, and from which any state can be loaded.
    pub fn new(limit: usize) -> Self {
        Adaptive::with_access(limit, Access::Load)
    }

    /// A store that may use `limit` bytes, for a search that asks no more than this.
    pub fn with_access(limit: usize, access: Access) -> Self {
        Adaptive {
            inner: Inner::Exact(Exact::new(limit / 2)),
            limit,
            access,
            released: StateId(0),
            switched_at: None,
            compressed_at: None,
            tried: false,
            stays_tree: false,
        }
    }

    /// A store that may use `limit` bytes and is compressed as far as the search allows from the start.
    pub fn compressed(limit: usize, access: Access) -> Self {
        let inner = match access {
            Access::Load => Inner::Tree(Box::new(Tree::new(limit))),
            Access::Numbers => Inner::Cleary(Box::new(ClearyTree::compressed(limit, true))),
            Access::Membership => Inner::Cleary(Box::new(ClearyTree::compressed(limit, false))),
        };
        Adaptive { inner, ..Adaptive::with_access(limit, access) }
    }

    /// How many states were stored when memory got tight, if it did.
    pub fn switched_at(&self) -> Option<usize> {
        self.switched_at
    }

    /// How many states were stored when memory got tight again.
    pub fn compressed_at(&self) -> Option<usize> {
        self.compressed_at
    }

    /// What became of the store, for the report.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let compressed = self.compressed_at.map(|states| {
            format!("memory ran low again after {states} states: from then on the tree was compressed, too (cleary-tree)")
        });
        self.switched_at.map(note_tree).into_iter().chain(compressed)
    }

    /// Makes room by compression, or by using all of the memory if that does not help.
    #[cold]
    fn make_room(&mut self) -> Result<(), StoreFull> {
        match &mut self.inner {
            Inner::Exact(_) if self.tried => Err(StoreFull),
            Inner::Exact(exact) => {
                self.tried = true;
                match exact.to_tree(self.limit.saturating_sub(exact.bytes())) {
                    Ok(mut tree) => {
                        tree.set_limit(tree_limit(self.limit, self.access));
                        self.switched_at = Some(exact.len());
                        self.inner = Inner::Tree(Box::new(tree));
                    }
                    Err(StoreFull) => exact.set_limit(self.limit),
                }
                Ok(())
            }
            Inner::Tree(_) if self.access == Access::Load || self.stays_tree => Err(StoreFull),
            Inner::Tree(tree) if !tree.can_compress() || !tree.pays_to_compress() => {
                self.stays_tree = true;
                tree.set_limit(self.limit);
                Ok(())
            }
            Inner::Tree(tree) => {
                self.compressed_at = Some(tree.len());
                let tree = std::mem::replace(&mut **tree, Tree::new(0));
                let mut small = tree.compress(self.access == Access::Numbers, self.released);
                small.set_limit(self.limit);
                self.inner = Inner::Cleary(Box::new(small));
                Ok(())
            }
            Inner::Cleary(_) => Err(StoreFull),
        }
    }
}

/// Said of a store that became a tree when there were so many states.
pub(crate) fn note_tree(states: usize) -> String {
    format!("memory ran low after {states} states: from then on states were compressed (tree)")
}

/// What a tree may use of the memory. If it can be compressed that is done while there is still room for what searches keep beside
/// their states: who waits, and what they know of them.
fn tree_limit(limit: usize, access: Access) -> usize {
    match access {
        Access::Load => limit,
        Access::Numbers | Access::Membership => limit / 4 * 3,
    }
}

impl Store for Adaptive {
    #[inline]
    fn hash(&self, state: &[u8]) -> u64 {
        match &self.inner {
            Inner::Exact(store) => store.hash(state),
            Inner::Tree(store) => store.hash(state),
            Inner::Cleary(store) => store.hash(state),
        }
    }

    fn hash_successors(
        &mut self,
        parent: StateId,
        bytes: &[u8],
        batch: &mut [Pending],
    ) -> Result<(), StoreFull> {
        let hashed = match &mut self.inner {
            Inner::Exact(store) => return store.hash_successors(parent, bytes, batch),
            Inner::Tree(store) => store.hash_successors(parent, bytes, batch),
            Inner::Cleary(store) => return store.hash_successors(parent, bytes, batch),
        };
        if hashed.is_err() {
            self.make_room()?;
            return self.hash_successors(parent, bytes, batch);
        }
        hashed
    }

    fn hash_ahead(
        &self,
        reader: &mut Reader,
        parent: StateId,
        bytes: &[u8],
        batch: &mut [Pending],
    ) -> bool {
        match &self.inner {
            Inner::Exact(store) => store.hash_ahead(reader, parent, bytes, batch),
            Inner::Tree(store) => store.hash_ahead(reader, parent, bytes, batch),
            Inner::Cleary(store) => store.hash_ahead(reader, parent, bytes, batch),
        }
    }

    #[inline]
    fn prefetch_ahead(&self, batch: &[Pending]) {
        match &self.inner {
            Inner::Exact(store) => store.prefetch_ahead(batch),
            Inner::Tree(store) => store.prefetch_ahead(batch),
            Inner::Cleary(store) => store.prefetch_ahead(batch),
        }
    }

    #[inline]
    fn generation(&self) -> u32 {
        match &self.inner {
            Inner::Exact(_) => 0,
            Inner::Tree(store) => 2 + store.generation(),
            Inner::Cleary(store) => 4 + store.generation(),
        }
    }

    fn load_ahead(&self, reader: &mut Reader, id: StateId, out: &mut Vec<u8>) -> bool {
        match &self.inner {
            Inner::Exact(store) => store.load_ahead(reader, id, out),
            Inner::Tree(store) => store.load_ahead(reader, id, out),
            Inner::Cleary(store) => store.load_ahead(reader, id, out),
        }
    }

    #[inline]
    fn hashes_near(&self) -> bool {
        match &self.inner {
            Inner::Exact(_) => false,
            Inner::Tree(store) => store.hashes_near(),
            Inner::Cleary(store) => store.hashes_near(),
        }
    }

    #[inline]
    fn load_parent(&mut self, id: StateId, out: &mut Vec<u8>) -> bool {
        match &mut self.inner {
            Inner::Exact(store) => store.load(id, out),
            Inner::Tree(store) => store.load_parent(id, out),
            Inner::Cleary(store) => store.load_parent(id, out),
        }
    }

    #[inline]
    fn insert_hashed(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        let inserted = match &mut self.inner {
            Inner::Exact(store) => store.insert_hashed(hash, state),
            Inner::Tree(store) => store.insert_hashed(hash, state),
            Inner::Cleary(store) => return store.insert_hashed(hash, state),
        };
        if inserted.is_err() {
            self.make_room()?;
            return self.insert_hashed(hash, state);
        }
        inserted
    }

    #[inline]
    fn lookup_hashed(&self, hash: u64, state: &[u8]) -> Option<StateId> {
        match &self.inner {
            Inner::Exact(store) => store.lookup_hashed(hash, state),
            Inner::Tree(store) => store.lookup_hashed(hash, state),
            Inner::Cleary(store) => store.lookup_hashed(hash, state),
        }
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        match &self.inner {
            Inner::Exact(store) => store.prefetch(hash),
            Inner::Tree(store) => store.prefetch(hash),
            Inner::Cleary(store) => store.prefetch(hash),
        }
    }

    #[inline]
    fn prefetch_id(&self, id: StateId) {
        match &self.inner {
            Inner::Exact(store) => store.prefetch_id(id),
            Inner::Tree(store) => store.prefetch_id(id),
            Inner::Cleary(store) => store.prefetch_id(id),
        }
    }

    #[inline]
    fn insert_batch(&mut self, bytes: &[u8], batch: &mut [Pending]) -> Result<(), StoreFull> {
        let inserted = match &mut self.inner {
            Inner::Exact(store) => store.insert_batch(bytes, batch),
            Inner::Tree(store) => store.insert_batch(bytes, batch),
            Inner::Cleary(store) => return store.insert_batch(bytes, batch),
        };
        if inserted.is_ok() {
            return Ok(());
        }
        self.make_room()?;
        // What was inserted or found before the store filled up has its number, and keeps it.
        for pending in batch.iter_mut().filter(|p| p.inserted.id == StateId::UNKNOWN) {
            pending.inserted = self.insert(&bytes[pending.start..pending.end])?;
        }
        Ok(())
    }

    #[inline]
    fn release(&mut self, before: StateId) {
        self.released = before;
        if let Inner::Cleary(store) = &mut self.inner {
            store.release(before);
        }
    }

    fn settle(&mut self) -> Option<&dyn FrozenStore> {
        match &mut self.inner {
            Inner::Cleary(store) => store.settle(),
            Inner::Exact(_) | Inner::Tree(_) => None,
        }
    }

    #[inline]
    fn load(&self, id: StateId, out: &mut Vec<u8>) -> bool {
        match &self.inner {
            Inner::Exact(store) => store.load(id, out),
            Inner::Tree(store) => store.load(id, out),
            Inner::Cleary(store) => store.load(id, out),
        }
    }

    #[inline]
    fn accept_hash(&self, hash: u64) -> Option<u64> {
        Some(hash & !1)
    }

    fn loads_fast(&self) -> bool {
        true
    }

    fn len(&self) -> usize {
        match &self.inner {
            Inner::Exact(store) => store.len(),
            Inner::Tree(store) => store.len(),
            Inner::Cleary(store) => store.len(),
        }
    }

    fn bytes(&self) -> usize {
        match &self.inner {
            Inner::Exact(store) => store.bytes(),
            Inner::Tree(store) => store.bytes(),
            Inner::Cleary(store) => store.bytes(),
        }
    }

    fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
        match &mut self.inner {
            Inner::Exact(store) if self.tried => store.set_limit(bytes),
            Inner::Exact(store) => store.set_limit(bytes / 2),
            Inner::Tree(store) if self.stays_tree => store.set_limit(bytes),
            Inner::Tree(store) => store.set_limit(tree_limit(bytes, self.access)),
            Inner::Cleary(store) => store.set_limit(bytes),
        }
    }
}
