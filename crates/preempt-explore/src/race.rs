//! Data races on plain cells, by vector clocks.
//!
//! Two accesses to a cell race if one is a write and neither happens before the other. In every
//! execution in which no race occurs, switching threads at synchronisation only loses nothing;
//! that is why cells are not scheduling points, and why they must be checked in each execution.
//!
//! An access to a number orders what its memory order says and no more, as in C++20: a relaxed store
//! releases what was done before the last release fence, a read-modify-write continues the release
//! sequence it reads from, a relaxed load acquires at the next acquire fence.

use crate::mutation::{self, Mutation};
use crate::{ObjectId, Order, Site, ThreadId};
use rustc_hash::FxHashMap;
use std::sync::Arc;

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
    /// Of a number that is also read as plain memory: the last atomic write of each thread.
    atomic_writes: Vec<(u32, Access)>,
}

impl CellHistory {
    /// The history within an execution, which is empty if the last access was in an earlier one.
    fn within(&mut self, execution: u64) -> &mut Self {
        if self.execution != execution {
            self.execution = execution;
            self.write = None;
            self.reads.clear();
            self.atomic_writes.clear();
        }
        self
    }
}

/// Vector clocks of threads and objects, and the last accesses to each cell.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    /// The own component is the time of the thread's next event, from 1 on.
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

impl Clone for Clocks {
    fn clone(&self) -> Self {
        let mut copy = Clocks::default();
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, source: &Self) {
        self.threads.clone_from(&source.threads);
        self.objects.clone_from(&source.objects);
        self.released.clone_from(&source.released);
        self.unacquired.clone_from(&source.unacquired);
        self.cells.clone_from(&source.cells);
        self.execution = source.execution;
        self.race = source.race;
    }
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
        self.now(parent);
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

    /// An atomic write to a number that is also read as plain memory. It races with such reads, not with
    /// other atomic accesses.
    pub(crate) fn atomic_write(&mut self, thread: ThreadId, object: ObjectId, site: Site) {
        let now = self.now(thread);
        let clock = &self.threads[thread.index()];
        let later = Access { thread, write: true, site };
        let history = self.cells.entry(object).or_default().within(self.execution);
        let conflict = history.reads.iter().find(|read| !is_ordered(read, thread, clock)).copied();
        history.atomic_writes.retain(|(_, access)| access.thread != thread);
        history.atomic_writes.push((now, later));
        if let Some((_, earlier)) = conflict.filter(|_| self.race.is_none()) {
            self.race = Some(Race { cell: object, earlier, later });
        }
    }

    /// An access to a number of which all writes are kept: reads a write that releases `source`, and
    /// writes. Returns what the write releases.
    pub(crate) fn kept_number(
        &mut self,
        thread: ThreadId,
        order: Order,
        source: Option<&[u32]>,
        writes: bool,
    ) -> Option<Arc<[u32]>> {
        if let Some(source) = source {
            let acquires = order.acquires() || mutation::is(Mutation::RelaxedAcquires);
            let target = if acquires { &mut self.threads } else { &mut self.unacquired };
            merge(entry(target, thread), source);
        }
        if !writes {
            return None;
        }
        let published = if order.releases() { &mut self.threads } else { &mut self.released };
        let mut published = entry(published, thread).clone();
        if let Some(source) = source.filter(|_| !mutation::is(Mutation::NoReleaseSequence)) {
            merge(&mut published, source);
        }
        Some(published.into())
    }

    /// The time of the next event of a thread.
    pub(crate) fn now(&mut self, thread: ThreadId) -> u32 {
        if self.thread(thread).get(thread.index()).is_none_or(|&now| now == 0) {
            self.tick(thread);
        }
        self.threads[thread.index()][thread.index()]
    }

    /// What a thread knows of others, and the time of its next event.
    pub(crate) fn of(&self, thread: ThreadId) -> &[u32] {
        self.threads.get(thread.index()).map_or(&[], Vec::as_slice)
    }

    /// A fence. The caller ticks.
    pub(crate) fn fence(&mut self, thread: ThreadId, order: Order) {
        self.now(thread);
        if order.acquires() && !mutation::is(Mutation::NoAcquireFence) {
            let clock = std::mem::take(entry(&mut self.unacquired, thread));
            merge(self.thread(thread), &clock);
        }
        if order.releases() && !mutation::is(Mutation::NoReleaseFence) {
            let clock = self.thread(thread).clone();
            *entry(&mut self.released, thread) = clock;
        }
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
        let now = self.now(thread).saturating_sub(ticks);
        let clock = &self.threads[thread.index()];
        let later = Access { thread, write, site };
        let ordered = |access: &(u32, Access)| is_ordered(access, thread, clock);
        let history = self.cells.entry(cell).or_default().within(self.execution);
        let mut conflict = history.write.filter(|w| !ordered(w));
        if conflict.is_none() {
            conflict = history.atomic_writes.iter().find(|w| !ordered(w)).copied();
        }
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

/// Whether an access happens before what a thread with this clock does now.
fn is_ordered((time, access): &(u32, Access), thread: ThreadId, clock: &[u32]) -> bool {
    access.thread == thread || clock.get(access.thread.index()).copied().unwrap_or(0) >= *time
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
