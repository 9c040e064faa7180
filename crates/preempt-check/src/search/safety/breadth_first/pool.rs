//! Packages on their way to the threads that work on them, and back.
//!
//! The thread of the search [hands out](Pool::hand_out) a group of packages, works on them itself while there is nothing
//! else to do, and takes them back when all are done.
//!
//! Invariant: a group comes back as a whole, in the order in which it was handed out.

use super::package::Package;
use crate::platform::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::platform::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::collections::VecDeque;
use std::time::Duration;

/// What a thread that waits for packages looks up for.
const PATIENCE: Duration = Duration::from_millis(20);
/// How often a thread looks for something to do before it goes to sleep: groups follow each other quickly.
const LOOKS: u32 = 1 << 11;

/// What is to be done with a package.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Task {
    /// Load its states from the store.
    Load,
    /// Hash its successors, as far as that can be done by reading the store.
    Hash,
    /// Expand its states.
    Expand,
}

/// What the thread of the search shares with its helpers.
#[derive(Default, Debug)]
pub(super) struct Pool {
    shelf: Mutex<Shelf>,
    /// Something is to be done, or nothing ever will be.
    work: Condvar,
    /// All packages are back.
    back: Condvar,
    /// Changes when there is something to do, and when all packages are back.
    news: AtomicU64,
    over: AtomicBool,
}

#[derive(Default, Debug)]
struct Shelf {
    /// Packages that no thread has begun with, with their places in the group.
    todo: VecDeque<(usize, Task, Package)>,
    /// The group; nothing where a package is not back.
    group: Vec<Option<Package>>,
    /// How many are not.
    away: usize,
    /// Helpers that sleep, and whether the thread of the search does.
    sleeping: usize,
    is_awaited: bool,
}

/// What the thread of the search is to do next.
// It is taken apart at once.
#[allow(clippy::large_enum_variant)]
pub(super) enum Next {
    /// This, and then give it [back](Pool::give_back).
    Work(usize, Task, Package),
    /// Look at the limits: others are still busy.
    Wait,
    /// Take the group back.
    Done,
}

impl Pool {
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands out a group; the last one must have been taken back.
    pub(super) fn hand_out(&self, group: impl Iterator<Item = (Task, Package)>) {
        let mut shelf = self.shelf();
        shelf.todo.clear();
        shelf.todo.extend(group.enumerate().map(|(at, (task, package))| (at, task, package)));
        shelf.away = shelf.todo.len();
        shelf.group.clear();
        let all = shelf.away;
        shelf.group.resize_with(all, || None);
        self.news.fetch_add(1, Ordering::Release);
        if shelf.sleeping > 0 && all > 0 {
            self.work.notify_all();
        }
    }

    /// What is next for the thread of the search.
    pub(super) fn next(&self) -> Next {
        let mut shelf = self.shelf();
        if let Some((at, task, package)) = shelf.todo.pop_front() {
            return Next::Work(at, task, package);
        }
        if shelf.away > 0 {
            let seen = self.news.load(Ordering::Relaxed);
            drop(shelf);
            self.look_for_news(seen);
            shelf = self.shelf();
            if shelf.away > 0 {
                shelf.is_awaited = true;
                let waited = self.back.wait_timeout(shelf, PATIENCE);
                shelf = waited.unwrap_or_else(PoisonError::into_inner).0;
                shelf.is_awaited = false;
            }
        }
        if shelf.away > 0 { Next::Wait } else { Next::Done }
    }

    /// The packages of a group that is done, in order.
    pub(super) fn take_back(&self, group: &mut Vec<Package>) {
        group.extend(self.shelf().group.drain(..).flatten());
    }

    pub(super) fn give_back(&self, at: usize, package: Package) {
        let mut shelf = self.shelf();
        shelf.group[at] = Some(package);
        shelf.away -= 1;
        if shelf.away == 0 {
            self.news.fetch_add(1, Ordering::Release);
            if shelf.is_awaited {
                self.back.notify_one();
            }
        }
    }

    /// Waits a moment, unless something has happened since `seen`.
    fn look_for_news(&self, seen: u64) {
        for _ in 0..LOOKS {
            if self.news.load(Ordering::Acquire) != seen || self.is_over() {
                return;
            }
            crate::platform::hint::spin_loop();
        }
    }

    /// Whether what is still to be done is not needed any more.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Sends all helpers home.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        let _shelf = self.shelf();
        self.work.notify_all();
    }

    /// What a helper does: works on packages until there are no more.
    pub(super) fn help(&self, mut work: impl FnMut(Task, &mut Package)) {
        let mut looked = false;
        let mut shelf = self.shelf();
        while !self.is_over() {
            let Some((at, task, mut package)) = shelf.todo.pop_front() else {
                if looked {
                    shelf.sleeping += 1;
                    shelf = self.work.wait(shelf).unwrap_or_else(PoisonError::into_inner);
                    shelf.sleeping -= 1;
                } else {
                    let seen = self.news.load(Ordering::Relaxed);
                    drop(shelf);
                    self.look_for_news(seen);
                    shelf = self.shelf();
                }
                looked = !looked;
                continue;
            };
            drop(shelf);
            work(task, &mut package);
            self.give_back(at, package);
            looked = false;
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
