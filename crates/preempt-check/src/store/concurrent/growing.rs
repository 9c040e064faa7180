//! An index that several threads fill and that grows when it gets crowded.
//!
//! Invariant: it grows once for all threads that find it too small at the same size.

use super::super::StoreFull;
use super::index::Index;
use super::readers::{ManyReaders, Reading};
use crate::platform::FIRST_SLOTS;
use crate::platform::sync::atomic::{AtomicUsize, Ordering};
use preempt_core::Contention;

/// An index with a count of its entries.
#[derive(Debug)]
pub(super) struct GrowingIndex {
    index: ManyReaders<Index>,
    entries: AtomicUsize,
    /// Grow when there are this many.
    grow_at: AtomicUsize,
    bytes: AtomicUsize,
    threads: usize,
}

impl GrowingIndex {
    /// For so many threads.
    pub(super) fn new(threads: usize) -> Self {
        let index = Index::new(FIRST_SLOTS);
        GrowingIndex {
            entries: AtomicUsize::new(0),
            grow_at: AtomicUsize::new(index.most()),
            bytes: AtomicUsize::new(index.bytes()),
            index: ManyReaders::new(index, threads),
            threads,
        }
    }

    /// The index, for this thread, which must not have it already.
    #[inline(always)]
    pub(super) fn read(&self, thread: usize) -> Reading<'_, Index> {
        self.index.read(thread)
    }

    /// How many entries were counted.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.entries.load(Ordering::Relaxed)
    }

    /// Memory in use, in bytes.
    #[inline(always)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Counts the new entries of a batch; grows the index if it has become crowded, at the latest when it was at this size,
    /// and if so many more bytes may be used. The thread may not read the index while it calls this.
    pub(super) fn account_for(
        &self,
        new: usize,
        crowded: Option<usize>,
        may_use: impl FnOnce(usize) -> bool,
        contention: &mut Contention,
    ) -> Result<(), StoreFull> {
        if new == 0 && crowded.is_none() {
            return Ok(());
        }
        contention.shared_bytes += 8;
        let entries = self.entries.fetch_add(new, Ordering::Relaxed) + new;
        if crowded.is_none() && entries < self.grow_at.load(Ordering::Relaxed) {
            return Ok(());
        }
        contention.locks += 1;
        self.index.write(|index| {
            let is_crowded = crowded == Some(index.bytes());
            if !is_crowded && entries < self.grow_at.load(Ordering::Relaxed) {
                return Ok(());
            }
            let (larger, bytes) = index.larger();
            if !may_use(bytes) {
                return Err(StoreFull);
            }
            index.enlarge(larger, self.threads);
            self.grow_at.store(index.most(), Ordering::Relaxed);
            self.bytes.store(index.bytes(), Ordering::Relaxed);
            Ok(())
        })
    }
}
