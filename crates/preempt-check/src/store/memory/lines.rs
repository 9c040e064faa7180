//! Zeroed memory in whole cache lines.
//!
//! An allocation begins somewhere inside a line, so that every block of 64 bytes would lie in two of
//! them; this one begins where a line does.

use crate::store::memory::pages;

/// An array of lines of `N` items, which must make 64 bytes.
#[derive(Debug)]
pub(crate) struct Lines<T, const N: usize> {
    items: Vec<T>,
    /// Items before the first line.
    skipped: usize,
}

impl<T: Copy + Default, const N: usize> Lines<T, N> {
    /// So many lines of zeroes.
    pub(crate) fn zeroed(count: usize) -> Self {
        const { assert!(N * size_of::<T>() == 64) };
        let items = pages::zeroed::<T>((count + 1) * N);
        let skipped = items.as_ptr().align_offset(64).min(N);
        Lines { items, skipped }
    }

    /// How many lines there are.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.items.len() / N - 1
    }

    /// Memory in use, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.items.len() * size_of::<T>()
    }

    #[inline(always)]
    pub(crate) fn line(&self, at: usize) -> &[T; N] {
        &self.items[self.skipped..].as_chunks::<N>().0[at]
    }

    #[inline(always)]
    pub(crate) fn line_mut(&mut self, at: usize) -> &mut [T; N] {
        &mut self.items[self.skipped..].as_chunks_mut::<N>().0[at]
    }

    /// Gives back the memory of the lines before this one, which then read as zeroes. That was done for `released` bytes before;
    /// says for how many it is now.
    pub(crate) fn release(&mut self, line: usize, released: usize) -> usize
    where
        T: pages::Zero,
    {
        pages::release(&mut self.items, released, self.skipped + line * N)
    }

    /// Asks the processor to fetch a line.
    #[inline(always)]
    pub(crate) fn prefetch(&self, at: usize) {
        pages::prefetch(&self.items, self.skipped + at * N);
    }
}
