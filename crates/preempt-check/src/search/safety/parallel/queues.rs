//! States that wait to be expanded, in chunks, one queue per thread.
//!
//! Invariant: a queue that says it is empty has nothing that its owner put there before it last looked.

use crate::platform::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use crate::platform::sync::{Mutex, MutexGuard, PoisonError};
use crate::search::shared::states::States;
use crate::store::concurrent::Place;
use preempt_core::Contention;
use preempt_core::engine::SleepSet;
use std::collections::VecDeque;

/// A state that is not expanded yet, and the processes that sleep in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) place: Place,
    pub(super) sleep_set: SleepSet,
}

/// States that are expanded together.
#[derive(Default, Debug)]
pub(super) struct Chunk {
    pub(super) waiting: Vec<Waiting>,
    /// How many expansions lead from the initial state to them, at most.
    pub(super) level: u32,
    /// Their bytes, if the store does not keep them.
    states: States,
}

impl Chunk {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn push(&mut self, place: Place, sleep_set: SleepSet, state: Option<&[u8]>) {
        self.waiting.push(Waiting { place, sleep_set });
        if let Some(state) = state {
            self.states.push(state);
        }
    }

    /// The bytes of a state.
    pub(super) fn state(&self, at: usize) -> &[u8] {
        self.states.get(at)
    }

    /// The states from `first` on, without bytes.
    pub(super) fn rest(&self, first: usize) -> Chunk {
        Chunk { waiting: self.waiting[first..].to_vec(), level: self.level, ..Chunk::default() }
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.states.clear();
    }

    pub(super) fn move_places(&mut self, place: impl Fn(Place) -> Place) {
        for waiting in &mut self.waiting {
            waiting.place = place(waiting.place);
        }
    }

    fn bytes(&self) -> usize {
        self.waiting.len() * size_of::<Waiting>() + self.states.used()
    }
}

/// The queues of all threads.
#[derive(Debug)]
pub(super) struct Queues {
    list: Vec<Queue>,
    /// Whether chunks are expanded level by level.
    by_level: bool,
}

/// A queue, and what it holds, so that no thread takes the lock of an empty one.
#[derive(Default, Debug)]
#[repr(align(128))]
struct Queue {
    chunks: Mutex<VecDeque<Chunk>>,
    length: AtomicUsize,
    /// The level of its oldest chunk.
    level: AtomicU32,
    states: AtomicUsize,
    bytes: AtomicUsize,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Chunk>> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what is in it.
    fn describe(&self, chunks: &VecDeque<Chunk>) {
        let level = chunks.front().map_or(0, |chunk| chunk.level);
        self.level.store(level, Ordering::Relaxed);
        self.length.store(chunks.len(), Ordering::SeqCst);
    }
}

impl Queues {
    pub(super) fn new(threads: usize, by_level: bool) -> Self {
        Queues { list: (0..threads).map(|_| Queue::default()).collect(), by_level }
    }

    pub(super) fn put(&self, owner: usize, chunk: Chunk, contention: &mut Contention) {
        contention.locks += 1;
        contention.shared_bytes += LOCKING;
        let queue = &self.list[owner];
        let mut chunks = queue.lock();
        queue.states.fetch_add(chunk.len(), Ordering::Relaxed);
        queue.bytes.fetch_add(chunk.bytes(), Ordering::Relaxed);
        chunks.push_back(chunk);
        queue.describe(&chunks);
    }

    /// The newest chunk of the thread's own queue, or the oldest of another's.
    pub(super) fn take(&self, thread: usize, contention: &mut Contention) -> Option<Chunk> {
        if self.by_level {
            return self.take_lowest(thread, contention);
        }
        let threads = self.list.len();
        (0..threads).find_map(|distance| {
            self.take_from((thread + distance) % threads, distance == 0, contention)
        })
    }

    /// The lowest chunk of all, as far as can be seen. No thread waits for chunks that others have in hand: where levels are
    /// thin, that took five times as long, for two per cent fewer states.
    fn take_lowest(&self, thread: usize, contention: &mut Contention) -> Option<Chunk> {
        loop {
            let threads = self.list.len();
            let queues = (0..threads).map(|distance| (thread + distance) % threads);
            let full = queues.filter(|at| self.list[*at].length.load(Ordering::SeqCst) > 0);
            let lowest = full.min_by_key(|at| self.list[*at].level.load(Ordering::Relaxed))?;
            if let Some(chunk) = self.take_from(lowest, false, contention) {
                return Some(chunk);
            }
        }
    }

    fn take_from(&self, at: usize, newest: bool, contention: &mut Contention) -> Option<Chunk> {
        let queue = &self.list[at];
        if queue.length.load(Ordering::SeqCst) == 0 {
            return None;
        }
        contention.locks += 1;
        contention.shared_bytes += LOCKING;
        let mut chunks = queue.lock();
        let chunk = if newest { chunks.pop_back() } else { chunks.pop_front() }?;
        queue.describe(&chunks);
        queue.states.fetch_sub(chunk.len(), Ordering::Relaxed);
        queue.bytes.fetch_sub(chunk.bytes(), Ordering::Relaxed);
        Some(chunk)
    }

    pub(super) fn waiting(&self) -> usize {
        self.list.iter().map(|queue| queue.states.load(Ordering::Relaxed)).sum()
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.list.iter().map(|queue| queue.bytes.load(Ordering::Relaxed)).sum()
    }

    pub(super) fn move_places(&self, place: impl Fn(Place) -> Place) {
        for queue in &self.list {
            queue.lock().iter_mut().for_each(|chunk| chunk.move_places(&place));
        }
    }
}

/// What is written to take a lock, to let go of it, and to say what the queue holds.
const LOCKING: u64 = 44;
