//! Moves the states of an exact store into a tree, by all threads, while no search runs.
//!
//! First every state is inserted into the tree, together with the old place of its predecessor, and its new place is noted
//! at the old one in exchange. Then all predecessors are translated. If the tree gets too large, what was exchanged is
//! exchanged back.
//!
//! Invariant: whatever the outcome, a place of the exact store says the place of the predecessor, or for all states the
//! place in the tree.

use crate::platform::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::platform::sync::{Mutex, PoisonError};
use crate::store::concurrent::exact::{Local, SharedExact};
use crate::store::concurrent::growth::in_parts;
use crate::store::concurrent::tree::SharedTree;
use crate::store::concurrent::{ConcurrentStore, Place};
use crate::store::{Pending, StoreFull};
use crate::{Budget, Progress};
use preempt_core::Stop;

/// States that are inserted together.
const BATCH: usize = 256;
/// Predecessors are translated in ranges of numbers that begin at multiples of this.
const RANGE: usize = 1 << 16;

/// Why there is no tree.
pub(super) enum Refused {
    /// It would take more than is left.
    TooLarge,
    /// A limit was reached meanwhile.
    Stopped(Stop),
}

/// A tree with all states of the store, within `limit` bytes for both; as [`ConcurrentStore::parent`] the store then gives the
/// places in the tree.
pub(super) fn to_tree(
    exact: &SharedExact,
    locals: Vec<Local>,
    limit: usize,
    threads: usize,
    budget: &mut Budget,
) -> Result<SharedTree, Refused> {
    let segments: Vec<_> = locals.into_iter().flat_map(Local::filled).collect();
    let tree = SharedTree::new(limit.saturating_sub(exact.bytes()), threads);
    let work = Work {
        exact,
        tree: &tree,
        segments: &segments,
        next: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
        stop: Mutex::new(None),
        budget: Mutex::new(budget),
    };
    let moved = in_parts(threads, |thread| work.move_states(thread));
    let stop = *work.stop.lock().unwrap_or_else(PoisonError::into_inner);
    if work.failed.load(Ordering::Relaxed) {
        for (segment, count) in moved.into_iter().flatten() {
            for place in exact.places(segment).take(count) {
                exact.set_note(place, tree.parent(exact.parent(place)));
            }
        }
        let stop = stop.filter(|stop| *stop != Stop::Memory);
        return Err(stop.map_or(Refused::TooLarge, Refused::Stopped));
    }
    let next = AtomicUsize::new(0);
    in_parts(threads, |_| {
        loop {
            let first = next.fetch_add(RANGE, Ordering::Relaxed);
            if first >= tree.end() {
                return;
            }
            for place in first..(first + RANGE).min(tree.end()) {
                let place = place as Place;
                tree.set_parent(place, exact.parent(tree.parent(place)));
            }
        }
    });
    tree.set_limit(limit);
    Ok(tree)
}

struct Work<'a, 'b> {
    exact: &'a SharedExact,
    tree: &'a SharedTree,
    segments: &'a [(usize, usize)],
    /// The next segment that no thread has begun with.
    next: AtomicUsize,
    failed: AtomicBool,
    stop: Mutex<Option<Stop>>,
    budget: Mutex<&'a mut Budget<'b>>,
}

impl Work<'_, '_> {
    /// Moves one segment after the other; says how many states of each were moved.
    fn move_states(&self, thread: usize) -> Vec<((usize, usize), usize)> {
        let mut moved = Vec::new();
        let mut local = self.tree.local(thread);
        let mut batch = Batch::default();
        while let Some(&segment) = self.segments.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let mut count = 0;
            let mut places = self.exact.places(segment).peekable();
            while places.peek().is_some() && !self.failed.load(Ordering::Relaxed) {
                batch.fill(self.exact, &mut places);
                let result = batch.insert(self.tree, &mut local);
                for (old, pending) in batch.places.iter().zip(&batch.pending) {
                    if !pending.inserted.new {
                        break;
                    }
                    self.exact.set_note(*old, pending.inserted.id.0);
                    count += 1;
                }
                if result.is_err() {
                    self.failed.store(true, Ordering::Relaxed);
                }
                self.watch();
            }
            moved.push((segment, count));
        }
        moved
    }

    /// Looks at the limits.
    fn watch(&self) {
        let Ok(mut budget) = self.budget.try_lock() else { return };
        let progress = || Progress {
            states: self.exact.len() as u64,
            transitions: self.exact.len() as u64,
            memory: self.exact.bytes() + self.tree.bytes(),
            ..Progress::default()
        };
        if let Some(stop) = budget.check_every(16, progress) {
            *self.stop.lock().unwrap_or_else(PoisonError::into_inner) = Some(stop);
            self.failed.store(true, Ordering::Relaxed);
        }
    }
}

/// States that are moved together.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    pending: Vec<Pending>,
    places: Vec<Place>,
    parents: Vec<Place>,
}

impl Batch {
    fn fill(&mut self, exact: &SharedExact, places: &mut impl Iterator<Item = Place>) {
        self.bytes.clear();
        self.pending.clear();
        self.places.clear();
        self.parents.clear();
        for place in places.take(BATCH) {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(exact.get(place));
            self.pending.push(Pending::new(0, start, self.bytes.len()));
            self.places.push(place);
            self.parents.push(exact.parent(place));
        }
    }

    fn insert(
        &mut self,
        tree: &SharedTree,
        local: &mut <SharedTree as ConcurrentStore>::Local,
    ) -> Result<(), StoreFull> {
        tree.insert(local, &self.bytes, &mut self.pending, &self.parents)
    }
}
