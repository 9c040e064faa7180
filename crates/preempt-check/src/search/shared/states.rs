//! States in memory, one behind the other.

use crate::store::memory::pages;

/// A list of states.
#[derive(Default, Debug)]
pub(crate) struct States {
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl States {
    #[inline]
    pub(crate) fn push(&mut self, state: &[u8]) {
        pages::make_room(&mut self.bytes, state.len());
        self.bytes.extend_from_slice(state);
        pages::push(&mut self.ends, self.bytes.len());
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }

    pub(crate) fn clear(&mut self) {
        self.truncate(0);
    }

    /// What the states take, in bytes.
    pub(crate) fn used(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<usize>()
    }

    /// Memory in use, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()
    }
}
