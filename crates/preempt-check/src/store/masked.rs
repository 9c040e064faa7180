//! A store that takes states for equal that differ only in some bytes.
//!
//! Those bytes are zero in what the store below sees, so a state cannot be loaded again: it is for searches that keep
//! the states they still need themselves, as a depth-first search does.

use super::{Inserted, StateId, Store, StoreFull};
use std::ops::Range;

pub(crate) struct Masked<'a, T> {
    store: &'a mut T,
    hidden: Range<usize>,
    /// The state that is offered, without what is hidden.
    shown: Vec<u8>,
}

impl<'a, T: Store> Masked<'a, T> {
    /// Hides these bytes of all states.
    pub(crate) fn new(store: &'a mut T, hidden: Range<usize>) -> Self {
        Masked { store, hidden, shown: Vec::new() }
    }

    fn without_hidden(&self, state: &[u8]) -> Vec<u8> {
        let mut shown = state.to_vec();
        shown[self.hidden.clone()].fill(0);
        shown
    }
}

impl<T: Store> Store for Masked<'_, T> {
    fn hash(&self, state: &[u8]) -> u64 {
        self.store.hash(&self.without_hidden(state))
    }

    fn insert_hashed(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        self.shown.clear();
        self.shown.extend_from_slice(state);
        self.shown[self.hidden.clone()].fill(0);
        self.store.insert_hashed(hash, &self.shown)
    }

    fn lookup_hashed(&self, hash: u64, state: &[u8]) -> Option<StateId> {
        self.store.lookup_hashed(hash, &self.without_hidden(state))
    }

    fn prefetch(&self, hash: u64) {
        self.store.prefetch(hash);
    }

    fn load(&self, _id: StateId, _out: &mut Vec<u8>) -> bool {
        false
    }

    fn len(&self) -> usize {
        self.store.len()
    }

    fn bytes(&self) -> usize {
        self.store.bytes() + self.shown.capacity()
    }

    fn set_limit(&mut self, bytes: usize) {
        self.store.set_limit(bytes);
    }

    fn is_exact(&self) -> bool {
        self.store.is_exact()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Exact;

    #[test]
    fn hidden_bytes_tell_no_states_apart() {
        let mut exact = Exact::new(1 << 20);
        let mut store = Masked::new(&mut exact, 1..3);
        let first = store.insert(&[1, 2, 3, 4]).expect("there is room");
        assert!(first.new);
        let again = store.insert(&[1, 7, 8, 4]).expect("there is room");
        assert_eq!((again.new, again.id), (false, first.id));
        assert!(store.insert(&[1, 2, 3, 5]).expect("there is room").new);
        assert_eq!(store.lookup(&[1, 9, 9, 5]), Some(StateId(1)));
        assert_eq!(store.len(), 2);
    }
}
