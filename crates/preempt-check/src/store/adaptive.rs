//! Exact storage that compresses itself when memory gets tight.
//!
//! Begins as [`Exact`], the fastest. When that may not grow any more within its share of the
//! memory, all states move into a [`Tree`] in the order of their numbers, so every number stays
//! what it was and searches need not know.

use super::{Exact, Inserted, Pending, StateId, Store, StoreFull, Tree};

/// An exact store that turns from [`Exact`] into [`Tree`] on its own.
#[derive(Debug)]
pub struct Adaptive {
    inner: Inner,
    limit: usize,
    /// How many states there were when the store changed.
    switched_at: Option<usize>,
}

#[derive(Debug)]
enum Inner {
    Exact(Exact),
    Tree(Tree),
}

impl Adaptive {
    /// A store that may use `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Adaptive { inner: Inner::Exact(Exact::new(share(limit))), limit, switched_at: None }
    }

    /// How many states were stored when memory got tight, if it did.
    pub fn switched_at(&self) -> Option<usize> {
        self.switched_at
    }

    fn compress(&mut self) -> Result<(), StoreFull> {
        let empty = Inner::Tree(Tree::new(self.limit));
        match std::mem::replace(&mut self.inner, empty) {
            Inner::Exact(exact) => {
                self.switched_at = Some(exact.len());
                self.inner = Inner::Tree(exact.into_tree(self.limit)?);
                Ok(())
            }
            tree => {
                self.inner = tree;
                Err(StoreFull)
            }
        }
    }
}

/// What the uncompressed store may use: the rest is for searches, and for moving.
fn share(limit: usize) -> usize {
    limit / 4 * 3
}

impl Store for Adaptive {
    #[inline]
    fn hash(&self, state: &[u8]) -> u64 {
        match &self.inner {
            Inner::Exact(store) => store.hash(state),
            Inner::Tree(store) => store.hash(state),
        }
    }

    #[inline]
    fn insert_hashed(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        match &mut self.inner {
            Inner::Exact(store) => match store.insert_hashed(hash, state) {
                Ok(inserted) => Ok(inserted),
                Err(StoreFull) => {
                    self.compress()?;
                    self.insert(state)
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
    fn insert_batch(&mut self, bytes: &[u8], batch: &mut [Pending]) -> Result<(), StoreFull> {
        let Inner::Exact(store) = &mut self.inner else {
            let Inner::Tree(store) = &mut self.inner else { return Ok(()) };
            return store.insert_batch(bytes, batch);
        };
        if store.insert_batch(bytes, batch).is_ok() {
            return Ok(());
        }
        // What was inserted before the store filled up has its number, and keeps it.
        let done = batch.iter().take_while(|p| p.inserted.id != StateId::UNKNOWN).count();
        self.compress()?;
        self.insert_batch(bytes, &mut batch[done..])
    }

    #[inline]
    fn load(&self, id: StateId, out: &mut Vec<u8>) -> bool {
        match &self.inner {
            Inner::Exact(store) => store.load(id, out),
            Inner::Tree(store) => store.load(id, out),
        }
    }

    fn loads_fast(&self) -> bool {
        matches!(self.inner, Inner::Exact(_))
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
            Inner::Exact(store) => store.set_limit(share(bytes)),
            Inner::Tree(store) => store.set_limit(bytes),
        }
    }
}
