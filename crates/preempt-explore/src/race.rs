//! Data races on plain cells, by vector clocks.
//!
//! Two accesses to a cell race if one is a write and neither happens before the other. In every
//! execution in which no race occurs, switching threads at synchronisation only loses nothing;
//! that is why cells are not scheduling points, and why they must be checked in each execution.
//!
//! An access to a number orders what its memory order says and no more, as in C++20: a relaxed store
//! releases what was done before the last release fence, a read-modify-write continues the release
//! sequence it reads from, a relaxed load acquires at the next acquire fence.

use crate::{ObjectId, Order, Site, ThreadId};
use rustc_hash::FxHashMap;

/// One access to a plain cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Who.
    pub thread: ThreadId,
    /// Whether it writes.
    pub write: bool,
    /// Where in the source.
    pub site: Site,
}

/// Two unordered accesses to the same cell, at least one a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The cell.
    pub cell: ObjectId,
    /// The access that came first in this execution.
    pub earlier: Access,
    /// The other.
    pub later: Access,
}

#[derive(Clone, Debug, Default)]
struct CellHistory {
    /// The execution that this is about; in any other the cell was not accessed yet.
    execution: u64,
    write: Option<(u32, Access)>,
    reads: Vec<(u32, Access)>,
}

/// Vector clocks of threads and objects, and the last accesses to each cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clocks {
    threads: Vec<Vec<u32>>,
    objects: Vec<Vec<u32>>,
    /// By thread: its clock at its last release fence.
    released: Vec<Vec<u32>>,
    /// By thread: what relaxed loads have read from since its last acquire fence.
    unacquired: Vec<Vec<u32>>,
    cells: FxHashMap<ObjectId, CellHistory>,
    execution: u64,
    race: Option<Race>,
}

impl Clocks {
    /// Back to the beginning of another execution, keeping allocations.
    pub(crate) fn reset(&mut self) {
        for clocks in
            [&mut self.threads, &mut self.objects, &mut self.released, &mut self.unacquired]
        {
            clocks.iter_mut().for_each(Vec::clear);
        }
        self.execution += 1;
        self.race = None;
    }

    /// The first race of the execution.
    pub(crate) fn race(&self) -> Option<Race> {
        self.race
    }

    pub(crate) fn spawn(&mut self, parent: ThreadId, child: ThreadId) {
        let clock = std::mem::take(self.thread(parent));
        self.thread(child).clone_from(&clock);
        *self.thread(parent) = clock;
        self.tick(parent);
        self.tick(child);
    }

    pub(crate) fn join(&mut self, thread: ThreadId, target: ThreadId) {
        let clock = std::mem::take(self.thread(target));
        merge(self.thread(thread), &clock);
        *self.thread(target) = clock;
    }

    pub(crate) fn acquire(&mut self, thread: ThreadId, object: ObjectId) {
        if let Some(clock) = self.objects.get_mut(object.index()) {
            let clock = std::mem::take(clock);
            merge(self.thread(thread), &clock);
            self.objects[object.index()] = clock;
        }
    }

    pub(crate) fn release(&mut self, thread: ThreadId, object: ObjectId, replace: bool) {
        if self.objects.len() <= object.index() {
            self.objects.resize(object.index() + 1, Vec::new());
        }
        let clock = std::mem::take(self.thread(thread));
        let target = &mut self.objects[object.index()];
        if replace {
            target.clone_from(&clock);
        } else {
            merge(target, &clock);
        }
        *self.thread(thread) = clock;
    }

    /// An access to a number.
    pub(crate) fn number(
        &mut self,
        thread: ThreadId,
        object: ObjectId,
        order: Order,
        (reads, writes): (bool, bool),
    ) {
        if self.objects.len() <= object.index() {
            self.objects.resize(object.index() + 1, Vec::new());
        }
        if reads && order.acquires() {
            self.acquire(thread, object);
        } else if reads {
            merge(entry(&mut self.unacquired, thread), &self.objects[object.index()]);
        }
        if writes {
            let published = if order.releases() { &mut self.threads } else { &mut self.released };
            let published = std::mem::take(entry(published, thread));
            let target = &mut self.objects[object.index()];
            if reads {
                merge(target, &published);
            } else {
                target.clone_from(&published);
            }
            let back = if order.releases() { &mut self.threads } else { &mut self.released };
            *entry(back, thread) = published;
        }
    }

    /// A fence.
    pub(crate) fn fence(&mut self, thread: ThreadId, order: Order) {
        if order.acquires() {
            let clock = std::mem::take(entry(&mut self.unacquired, thread));
            merge(self.thread(thread), &clock);
        }
        if order.releases() {
            let clock = self.thread(thread).clone();
            *entry(&mut self.released, thread) = clock;
        }
        self.tick(thread);
    }

    pub(crate) fn tick(&mut self, thread: ThreadId) {
        let clock = self.thread(thread);
        if clock.len() <= thread.index() {
            clock.resize(thread.index() + 1, 0);
        }
        clock[thread.index()] += 1;
    }

    pub(crate) fn access(&mut self, thread: ThreadId, cell: ObjectId, write: bool, site: Site) {
        self.access_until(thread, cell, write, site, 0);
    }

    /// An access that lasted until the last operation of the thread, which is `ticks` ago. Whoever
    /// acquires what that operation released comes after it.
    pub(crate) fn access_until(
        &mut self,
        thread: ThreadId,
        cell: ObjectId,
        write: bool,
        site: Site,
        ticks: u32,
    ) {
        if self.thread(thread).get(thread.index()).is_none_or(|&now| now == 0) {
            self.tick(thread);
        }
        let clock = &self.threads[thread.index()];
        let now = clock.get(thread.index()).copied().unwrap_or(0).saturating_sub(ticks);
        let later = Access { thread, write, site };
        let ordered = |&(time, access): &(u32, Access)| {
            access.thread == thread
                || clock.get(access.thread.index()).copied().unwrap_or(0) >= time
        };
        let history = self.cells.entry(cell).or_default();
        if history.execution != self.execution {
            history.execution = self.execution;
            history.write = None;
            history.reads.clear();
        }
        let mut conflict = history.write.filter(|w| !ordered(w));
        if write && conflict.is_none() {
            conflict = history.reads.iter().find(|r| !ordered(r)).copied();
        }
        if let Some((_, earlier)) = conflict.filter(|_| self.race.is_none()) {
            self.race = Some(Race { cell, earlier, later });
        }
        if write {
            history.write = Some((now, later));
            history.reads.clear();
        } else {
            history.reads.retain(|(_, access)| access.thread != thread);
            history.reads.push((now, later));
        }
    }

    fn thread(&mut self, thread: ThreadId) -> &mut Vec<u32> {
        entry(&mut self.threads, thread)
    }
}

fn entry(clocks: &mut Vec<Vec<u32>>, thread: ThreadId) -> &mut Vec<u32> {
    if clocks.len() <= thread.index() {
        clocks.resize(thread.index() + 1, Vec::new());
    }
    &mut clocks[thread.index()]
}

fn merge(target: &mut Vec<u32>, other: &[u32]) {
    if target.len() < other.len() {
        target.resize(other.len(), 0);
    }
    for (a, b) in target.iter_mut().zip(other) {
        *a = (*a).max(*b);
    }
}
