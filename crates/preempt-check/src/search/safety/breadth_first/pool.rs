//! Packages on their way to the threads that expand them, and back in their order.
//!
//! Invariant: packages come back in the order in which they were handed out, each once.

use super::package::Package;
use crate::platform::sync::atomic::{AtomicBool, Ordering};
use crate::platform::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::collections::VecDeque;
use std::time::Duration;

/// What a thread that waits for a package looks up for.
const PATIENCE: Duration = Duration::from_millis(20);

/// What the thread of the search shares with its helpers.
#[derive(Default, Debug)]
pub(super) struct Pool {
    shelf: Mutex<Shelf>,
    /// Something is to be done, or nothing ever will be.
    work: Condvar,
    /// The oldest package is back.
    back: Condvar,
    over: AtomicBool,
}

#[derive(Default, Debug)]
struct Shelf {
    /// Packages that nobody has begun with, with their places in the order.
    todo: VecDeque<(u64, Package)>,
    /// All that were handed out and are not taken back, in order; nothing while somebody has one.
    handed_out: VecDeque<Option<Package>>,
    /// The place of the first of these.
    first: u64,
    /// Helpers that wait for work.
    waiting: usize,
}

/// What the thread of the search is to do next.
pub(super) enum Next {
    /// Insert the successors of the oldest package.
    Insert(Package),
    /// Expand this one, then give it [back](Pool::give_back).
    Expand(u64, Package),
    /// Look at the limits: others are still busy with the oldest one.
    Wait,
}

impl Pool {
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many packages are handed out.
    pub(super) fn len(&self) -> usize {
        self.shelf().handed_out.len()
    }

    pub(super) fn hand_out(&self, package: Package) {
        let mut shelf = self.shelf();
        let place = shelf.first + shelf.handed_out.len() as u64;
        shelf.handed_out.push_back(None);
        shelf.todo.push_back((place, package));
        if shelf.waiting > 0 {
            self.work.notify_one();
        }
    }

    /// What is next for the thread of the search; there must be packages.
    pub(super) fn next(&self) -> Next {
        let mut shelf = self.shelf();
        for is_first in [true, false] {
            if let Some(Some(_)) = shelf.handed_out.front() {
                shelf.first += 1;
                return shelf.handed_out.pop_front().flatten().map_or(Next::Wait, Next::Insert);
            }
            if let Some((place, package)) = shelf.todo.pop_front() {
                return Next::Expand(place, package);
            }
            if is_first {
                let waited = self.back.wait_timeout(shelf, PATIENCE);
                shelf = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        Next::Wait
    }

    pub(super) fn give_back(&self, place: u64, package: Package) {
        let mut shelf = self.shelf();
        let at = (place - shelf.first) as usize;
        shelf.handed_out[at] = Some(package);
        if at == 0 {
            self.back.notify_one();
        }
    }

    /// Whether nobody needs what is still to be done.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Sends all helpers home.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        let _shelf = self.shelf();
        self.work.notify_all();
    }

    /// What a helper does: expands packages until there are no more.
    pub(super) fn help(&self, mut expand: impl FnMut(&mut Package)) {
        let mut shelf = self.shelf();
        while !self.is_over() {
            let Some((place, mut package)) = shelf.todo.pop_front() else {
                shelf.waiting += 1;
                shelf = self.work.wait(shelf).unwrap_or_else(PoisonError::into_inner);
                shelf.waiting -= 1;
                continue;
            };
            drop(shelf);
            expand(&mut package);
            self.give_back(place, package);
            shelf = self.shelf();
        }
    }
}

/// Ends the work of all when one thread leaves, be it by a panic.
pub(super) struct EndForAll<'a>(pub(super) &'a Pool);

impl Drop for EndForAll<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
