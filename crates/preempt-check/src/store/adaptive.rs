//! Exact storage that compresses itself when memory gets tight.
//!
//! Begins as [`Exact`], the fastest. When that may not grow any more within half of the memory, all
//! states are copied into a [`Tree`] in the order of their numbers, so every number stays what it
//! was and searches need not know. If the tree does not fit into the other half, these states do not
//! compress: the store stays as it is and goes on to its full limit.

use super::{Exact, Inserted, Pending, StateId, Store, StoreFull, Tree};

/// An exact store that turns from [`Exact`] into [`Tree`] on its own.
#[derive(Debug)]
pub struct Adaptive {
    inner: Inner,
    limit: usize,
    /// How many states there were when the store changed.
    switched_at: Option<usize>,
    /// Whether compression was tried.
    tried: bool,
}

#[derive(Debug)]
// There is one of these in a search, and it is asked for every state: no second step to the fast one.
#[allow(clippy::large_enum_variant)]
enum Inner {
    Exact(Exact),
    Tree(Box<Tree>),
}

impl Adaptive {
    /// A store that may use `limit` bytes.
    pub fn new(limit: usize) -> Self {
        let inner = Inner::Exact(Exact::new(limit / 2));
        Adaptive { inner, limit, switched_at: None, tried: false }
    }

    /// How many states were stored when memory got tight, if it did.
    pub fn switched_at(&self) -> Option<usize> {
        self.switched_at
    }

    /// Makes room by compression, or by using all of the memory if that does not help.
    fn make_room(&mut self) -> Result<(), StoreFull> {
        let Inner::Exact(exact) = &mut self.inner else { return Err(StoreFull) };
        if self.tried {
            return Err(StoreFull);
        }
        self.tried = true;
        match exact.to_tree(self.limit.saturating_sub(exact.bytes())) {
            Ok(mut tree) => {
                tree.set_limit(self.limit);
                self.switched_at = Some(exact.len());
                self.inner = Inner::Tree(Box::new(tree));
            }
            Err(StoreFull) => exact.set_limit(self.limit),
        }
        Ok(())
    }
}

impl Store for Adaptive {
    #[inline]
    fn hash(&self, state: &[u8]) -> u64 {
        match &self.inner {
            Inner::Exact(store) => store.hash(state),
            Inner::Tree(store) => store.hash(state),
        }
    }

    fn hash_successors(
        &mut self,
        parent: StateId,
        bytes: &[u8],
        batch: &mut [Pending],
    ) -> Result<(), StoreFull> {
        match &mut self.inner {
            Inner::Exact(store) => store.hash_successors(parent, bytes, batch),
            Inner::Tree(store) => store.hash_successors(parent, bytes, batch),
        }
    }

    #[inline]
    fn hashes_near(&self) -> bool {
        matches!(self.inner, Inner::Tree(_))
    }

    #[inline]
    fn load_parent(&mut self, id: StateId, out: &mut Vec<u8>) -> bool {
        match &mut self.inner {
            Inner::Exact(store) => store.load(id, out),
            Inner::Tree(store) => store.load_parent(id, out),
        }
    }

    #[inline]
    fn insert_hashed(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        match &mut self.inner {
            Inner::Exact(store) => match store.insert_hashed(hash, state) {
                Ok(inserted) => Ok(inserted),
                Err(StoreFull) => {
                    self.make_room()?;
                    self.insert_hashed(hash, state)
                }
            },
            Inner::Tree(store) => store.insert_hashed(hash, state),
        }
    }

    #[inline]
    fn lookup_hashed(&self, hash: u64, state: &[u8]) -> Option<StateId> {
        match &self.inner {
            Inner::Exact(store) => store.lookup_hashed(hash, state),
            Inner::Tree(store) => store.lookup_hashed(hash, state),
        }
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        match &self.inner {
            Inner::Exact(store) => store.prefetch(hash),
            Inner::Tree(store) => store.prefetch(hash),
        }
    }

    #[inline]
    fn prefetch_id(&self, id: StateId) {
        match &self.inner {
            Inner::Exact(store) => store.prefetch_id(id),
            Inner::Tree(store) => store.prefetch_id(id),
        }
    }

    #[inline]
    fn insert_batch(&mut self, bytes: &[u8], batch: &mut [Pending]) -> Result<(), StoreFull> {
        let Inner::Exact(store) = &mut self.inner else {
            let Inner::Tree(store) = &mut self.inner else { return Ok(()) };
            return store.insert_batch(bytes, batch);
        };
        if store.insert_batch(bytes, batch).is_ok() {
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
    fn load(&self, id: StateId, out: &mut Vec<u8>) -> bool {
        match &self.inner {
            Inner::Exact(store) => store.load(id, out),
            Inner::Tree(store) => store.load(id, out),
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
        }
    }

    fn bytes(&self) -> usize {
        match &self.inner {
            Inner::Exact(store) => store.bytes(),
            Inner::Tree(store) => store.bytes(),
        }
    }

    fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
        match &mut self.inner {
            Inner::Exact(store) if self.tried => store.set_limit(bytes),
            Inner::Exact(store) => store.set_limit(bytes / 2),
            Inner::Tree(store) => store.set_limit(bytes),
        }
    }
}
