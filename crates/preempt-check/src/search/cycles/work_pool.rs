//! States that wait to be expanded, dealt out among threads.
//!
//! Depth-first search needs soon what it has found last. So what it offers is taken at once, the newest first, and before what a
//! thread has found itself. Threads that have much give their oldest to those that have nothing.
//!
//! Invariant: what is in the pool is a hint. Nothing depends on which thread takes it, or on whether any does.

use crate::platform::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::platform::sync::{Mutex, PoisonError};
use crate::search::shared::workers::wait_a_little;

/// What is handed over together, at most.
const CHUNK: usize = 64;
/// With so much a search makes an offer.
const SOME: usize = 16;
/// A thread with more than this gives others some, if these have nothing to do.
const MANY: usize = 4 * CHUNK;

/// What waits for any thread.
pub(super) struct Pool<W> {
    waiting: Mutex<Vec<Vec<W>>>,
    /// How many chunks there are, and how many threads have nothing to do.
    chunks: AtomicUsize,
    hungry: AtomicUsize,
    ended: AtomicBool,
}

struct End<'a, W> {
    pool: &'a Pool<W>,
    only_panic: bool,
}

impl<W> Drop for End<'_, W> {
    fn drop(&mut self) {
        if !self.only_panic || std::thread::panicking() {
            self.pool.end();
        }
    }
}

impl<W> Pool<W> {
    pub(super) fn new() -> Self {
        Pool {
            waiting: Mutex::new(Vec::new()),
            chunks: AtomicUsize::new(0),
            hungry: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        }
    }

    /// No more is needed.
    fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Ends the work of all when what this gives is dropped, be it by a panic; or only then.
    pub(super) fn end_by(&self, only_panic: bool) -> impl Drop {
        End { pool: self, only_panic }
    }

    pub(super) fn is_over(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.load(Ordering::Relaxed) * CHUNK * size_of::<W>()
    }

    fn put(&self, chunk: Vec<W>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(chunk);
        self.chunks.store(waiting.len(), Ordering::Relaxed);
    }

    /// As [`Self::put`], to be taken after all others.
    #[cold]
    fn put_last(&self, chunk: Vec<W>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.insert(0, chunk);
        self.chunks.store(waiting.len(), Ordering::Relaxed);
    }

    #[inline]
    fn take(&self) -> Option<Vec<W>> {
        if self.chunks.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let chunk = waiting.pop();
        self.chunks.store(waiting.len(), Ordering::Relaxed);
        chunk
    }

    /// Hands over what a search has found.
    #[inline]
    pub(super) fn offer(&self, own: &mut Vec<W>) {
        if own.len() >= SOME || (!own.is_empty() && self.hungry.load(Ordering::Relaxed) > 0) {
            self.put(own.drain(..own.len().min(CHUNK)).collect());
        }
    }

    /// What a thread should do next, of its own or of the pool's; waits until there is something. `None` when no more
    /// is needed.
    pub(super) fn next(&self, own: &mut Vec<W>) -> Option<W> {
        if let Some(chunk) = self.take() {
            own.extend(chunk);
        } else if own.is_empty() {
            self.fetch(own);
        }
        if self.is_over() {
            return None;
        }
        let work = own.pop();
        if own.len() > MANY && self.hungry.load(Ordering::Relaxed) > 0 {
            self.put_last(own.drain(..CHUNK).collect());
        }
        work
    }

    /// Waits for work.
    #[cold]
    fn fetch(&self, own: &mut Vec<W>) {
        let mut patience = 0_u32;
        while !self.is_over() {
            if let Some(chunk) = self.take() {
                own.extend(chunk);
                break;
            }
            if patience == 0 {
                self.hungry.fetch_add(1, Ordering::Relaxed);
            }
            wait_a_little(&mut patience);
        }
        if patience > 0 {
            self.hungry.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
