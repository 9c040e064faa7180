//! Exact storage that compresses itself when memory gets tight.
//!
//! Begins as [`Exact`], the fastest. When that may not grow any more within half of the memory, all
//! states are copied into a [`Tree`] in the order of their numbers, so every number stays what it
//! was and searches need not know. If the tree does not fit into the other half, these states do not
//! compress: the store stays as it is and goes on to its full limit.

use super::{Exact, Inserted, Pending, Reader, StateId, Store, StoreFull, Tree};

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

/// Asks whichever store it is now.
macro_rules! ask {
    ($adaptive:expr, $store:ident => $question:expr) => {
        match $adaptive {
            Inner::Exact($store) => $question,
            Inner::Tree($store) => $question,
        }
    };
}

/// Leaves methods to whichever store it is now.
macro_rules! leave_to_inner {
    ($(fn $method:ident($this:ident $(, $argument:ident: $type:ty)*) $(-> $result:ty)?;)*) => {
        $(#[inline]
        fn $method(&$this $(, $argument: $type)*) $(-> $result)? {
            ask!(&$this.inner, store => store.$method($($argument),*))
        })*
    };
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
    #[cold]
    fn make_room(&mut self) -> Result<(), StoreFull> {
        match &mut self.inner {
            Inner::Exact(exact) if !self.tried => {
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
            Inner::Exact(_) | Inner::Tree(_) => Err(StoreFull),
        }
    }
}

/// Said of a store that became a tree when there were so many states.
pub(crate) fn note_tree(states: usize) -> String {
    format!("memory ran low after {states} states: from then on states were compressed (tree)")
}

impl Store for Adaptive {
    leave_to_inner! {
        fn hash(self, state: &[u8]) -> u64;
        fn hash_ahead(
            self, reader: &mut Reader, parent: StateId, bytes: &[u8], batch: &mut [Pending]
        ) -> bool;
        fn prefetch_ahead(self, batch: &[Pending]);
        fn load_ahead(self, reader: &mut Reader, id: StateId, out: &mut Vec<u8>) -> bool;
        fn hashes_near(self) -> bool;
        fn lookup_hashed(self, hash: u64, state: &[u8]) -> Option<StateId>;
        fn prefetch(self, hash: u64);
        fn prefetch_id(self, id: StateId);
        fn load(self, id: StateId, out: &mut Vec<u8>) -> bool;
        fn len(self) -> usize;
        fn bytes(self) -> usize;
    }

    fn hash_successors(
        &mut self,
        parent: StateId,
        bytes: &[u8],
        batch: &mut [Pending],
    ) -> Result<(), StoreFull> {
        // An exact store only hashes, for which there is always room.
        ask!(&mut self.inner, store => store.hash_successors(parent, bytes, batch))
    }

    #[inline]
    fn generation(&self) -> u32 {
        match &self.inner {
            Inner::Exact(_) => 0,
            Inner::Tree(store) => 2 + store.generation(),
        }
    }

    #[inline]
    fn load_parent(&mut self, id: StateId, out: &mut Vec<u8>) -> bool {
        ask!(&mut self.inner, store => store.load_parent(id, out))
    }

    #[inline]
    fn insert_hashed(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        let inserted = ask!(&mut self.inner, store => store.insert_hashed(hash, state));
        if inserted.is_err() {
            self.make_room()?;
            return self.insert_hashed(hash, state);
        }
        inserted
    }

    #[inline]
    fn insert_batch(&mut self, bytes: &[u8], batch: &mut [Pending]) -> Result<(), StoreFull> {
        let inserted = ask!(&mut self.inner, store => store.insert_batch(bytes, batch));
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
    fn accept_hash(&self, hash: u64) -> Option<u64> {
        Some(hash & !1)
    }

    fn loads_fast(&self) -> bool {
        true
    }

    fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
        match &mut self.inner {
            Inner::Exact(store) if !self.tried => store.set_limit(bytes / 2),
            inner => ask!(inner, store => store.set_limit(bytes)),
        }
    }
}
