//! Data races on plain cells, and with the creation of objects, by vector clocks.
//!
//! Two accesses to a cell race if one is a write and neither happens before the other. In every
//! execution in which no race occurs, switching threads at synchronisation only loses nothing;
//! that is why cells are not scheduling points, and why they must be checked in each execution.
//! The creation of an object of any kind is a plain write to the memory that it lies in, and races with every use that it
//! does not happen before.
//!
//! An access to a number orders what its memory order says and no more, as in C++20: a relaxed store
//! releases what was done before the last release fence, a read-modify-write continues the release
//! sequence it reads from, a relaxed load acquires at the next acquire fence.

use crate::clock::{self, Clock, merge};
use crate::message_clocks::MessageClocks;
use crate::mutation::{self, Mutation};
use crate::{ObjectId, Order, Site, ThreadId};
use rustc_hash::FxHashMap;

/// One access to a plain cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The thread that accesses it.
    pub thread: ThreadId,
    /// Whether it writes.
    pub write: bool,
    /// Where in the source.
    pub site: Site,
}

/// Two unordered accesses to the same cell, at least one a write; or the creation of any object, and its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The cell.
    pub cell: ObjectId,
    /// The access that came first in this execution.
    pub earlier: Access,
    /// The other.
    pub later: Access,
    /// Whether the first one is the creation of the object.
    pub creation: bool,
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
    threads: clock::Clocks,
    objects: clock::Clocks,
    /// By lock: what its readers have released, which orders them before writers but not before each
    /// other.
    readers: clock::Clocks,
    /// By thread: its clock at its last release fence.
    released: clock::Clocks,
    /// By thread: what relaxed loads have read from since its last acquire fence.
    unacquired: clock::Clocks,
    /// Number of threads so far.
    width: usize,
    cells: FxHashMap<ObjectId, CellHistory>,
    messages: MessageClocks,
    /// By object: its creation, if that is followed.
    made: Vec<Option<(u32, Access)>>,
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
        self.threads.copy_from(&source.threads);
        self.objects.copy_from(&source.objects);
        self.readers.copy_from(&source.readers);
        self.released.copy_from(&source.released);
        self.unacquired.copy_from(&source.unacquired);
        self.width = source.width;
        // Empty in the states that a search copies.
        if !(self.cells.is_empty() && source.cells.is_empty()) {
            self.cells.clone_from(&source.cells);
        }
        if !(self.messages.is_empty() && source.messages.is_empty()) {
            self.messages.clone_from(&source.messages);
        }
        self.made.clone_from(&source.made);
        self.execution = source.execution;
        self.race = source.race;
    }
}

impl Clocks {
    /// Back to the beginning of another execution, keeping allocations.
    pub(crate) fn reset(&mut self) {
        let Clocks { threads, objects, readers, released, unacquired, .. } = self;
        for clocks in [threads, objects, readers, released, unacquired] {
            clocks.clear();
        }
        self.messages.clear();
        self.made.clear();
        self.execution += 1;
        self.race = None;
    }

    /// The first race of the execution.
    pub(crate) fn race(&self) -> Option<Race> {
        self.race
    }

    pub(crate) fn spawn(&mut self, parent: ThreadId, child: ThreadId) {
        self.now(parent);
        self.thread(child).fill(0);
        self.threads.join(child.index(), parent.index(), self.width);
        self.tick(parent);
        self.tick(child);
    }

    pub(crate) fn join(&mut self, thread: ThreadId, target: ThreadId) {
        self.thread(thread);
        self.threads.join(thread.index(), target.index(), self.width);
    }

    pub(crate) fn acquire(&mut self, thread: ThreadId, object: ObjectId) {
        self.thread(thread);
        let clock = self.threads.get_mut(thread.index(), self.width);
        merge(clock, self.objects.get(object.index()));
    }

    /// As [`Clocks::acquire`], by a thread that excludes readers: comes after all of them.
    pub(crate) fn acquire_from_readers(&mut self, thread: ThreadId, object: ObjectId) {
        self.thread(thread);
        let clock = self.threads.get_mut(thread.index(), self.width);
        merge(clock, self.readers.get(object.index()));
    }

    /// A reader lets go of a lock.
    pub(crate) fn release_by_reader(&mut self, thread: ThreadId, object: ObjectId) {
        self.thread(thread);
        let target = self.readers.get_mut(object.index(), self.width);
        merge(target, self.threads.get(thread.index()));
    }

    pub(crate) fn release(&mut self, thread: ThreadId, object: ObjectId, replace: bool) {
        self.thread(thread);
        let target = self.objects.get_mut(object.index(), self.width);
        let clock = self.threads.get(thread.index());
        if replace { clock::copy(target, clock) } else { merge(target, clock) }
    }

    /// A message is sent into a channel that has room for so many, or any number.
    pub(crate) fn send(&mut self, thread: ThreadId, channel: ObjectId, capacity: Option<u64>) {
        let room = self.messages.room(channel, capacity);
        self.come_after(thread, room);
        self.messages.send(channel, self.of(thread).into());
    }

    /// A message is received.
    pub(crate) fn receive(&mut self, thread: ThreadId, channel: ObjectId) {
        let receiver = self.of(thread).into();
        let sender = self.messages.receive(channel, receiver);
        self.come_after(thread, sender);
    }

    /// All messages are received, and dropped.
    pub(crate) fn receive_all(&mut self, thread: ThreadId, channel: ObjectId) {
        for sender in self.messages.drain(channel) {
            self.come_after(thread, Some(sender));
        }
    }

    /// The message with this number, which the thread has sent, was received.
    pub(crate) fn come_after_receiver(&mut self, thread: ThreadId, channel: ObjectId, number: u64) {
        let receiver = self.messages.taken(channel, number);
        self.come_after(thread, receiver);
    }

    fn come_after(&mut self, thread: ThreadId, clock: Option<Clock>) {
        self.thread(thread);
        if let Some(clock) = clock {
            merge(self.threads.get_mut(thread.index(), self.width), &clock);
        }
    }

    /// An access to a number.
    pub(crate) fn number(
        &mut self,
        thread: ThreadId,
        object: ObjectId,
        order: Order,
        (reads, writes): (bool, bool),
    ) {
        self.thread(thread);
        if reads {
            let joins = if order.acquires() { &mut self.threads } else { &mut self.unacquired };
            merge(joins.get_mut(thread.index(), self.width), self.objects.get(object.index()));
        }
        if writes {
            let published = if order.releases() { &self.threads } else { &self.released };
            let published = published.get(thread.index());
            let target = self.objects.get_mut(object.index(), self.width);
            if reads { merge(target, published) } else { clock::copy(target, published) }
        }
    }

    /// A thread makes an object, and so writes its memory.
    pub(crate) fn made(&mut self, thread: ThreadId, object: ObjectId, site: Site) {
        let now = self.now(thread);
        if self.made.len() <= object.index() {
            self.made.resize(object.index() + 1, None);
        }
        self.made[object.index()] = Some((now, Access { thread, write: true, site }));
    }

    /// A thread uses an object. The creation of the object must happen before that. What the thread acquires by this very use counts.
    pub(crate) fn uses(&mut self, thread: ThreadId, object: ObjectId, write: bool, site: Site) {
        let Some(Some(made)) = self.made.get(object.index()) else { return };
        if self.race.is_none() && !is_ordered(made, thread, self.threads.get(thread.index())) {
            let later = Access { thread, write, site };
            self.race = Some(Race { cell: object, earlier: made.1, later, creation: true });
        }
    }

    /// An atomic write to a number that is also read as plain memory. It races with such reads, not with
    /// other atomic accesses.
    pub(crate) fn atomic_write(&mut self, thread: ThreadId, object: ObjectId, site: Site) {
        let now = self.now(thread);
        let clock = self.threads.get(thread.index());
        let later = Access { thread, write: true, site };
        let history = self.cells.entry(object).or_default().within(self.execution);
        let conflict = history.reads.iter().find(|read| !is_ordered(read, thread, clock)).copied();
        history.atomic_writes.retain(|(_, access)| access.thread != thread);
        history.atomic_writes.push((now, later));
        if let Some((_, earlier)) = conflict.filter(|_| self.race.is_none()) {
            self.race = Some(Race { cell: object, earlier, later, creation: false });
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
    ) -> Option<Clock> {
        self.thread(thread);
        if let Some(source) = source {
            let acquires = order.acquires() || mutation::is(Mutation::RelaxedAcquires);
            let target = if acquires { &mut self.threads } else { &mut self.unacquired };
            merge(target.get_mut(thread.index(), self.width), source);
        }
        if !writes {
            return None;
        }
        let published = if order.releases() { &self.threads } else { &self.released };
        let mut published = Clock::from(published.get(thread.index()));
        if let Some(source) = source.filter(|_| !mutation::is(Mutation::NoReleaseSequence)) {
            published.merge(source);
        }
        Some(published)
    }

    /// The time of the next event of a thread.
    pub(crate) fn now(&mut self, thread: ThreadId) -> u32 {
        let time = &mut self.thread(thread)[thread.index()];
        *time = (*time).max(1);
        *time
    }

    /// What a thread knows of others, and the time of its next event.
    pub(crate) fn of(&self, thread: ThreadId) -> &[u32] {
        self.threads.get(thread.index())
    }

    /// A fence. The caller ticks.
    pub(crate) fn fence(&mut self, thread: ThreadId, order: Order) {
        self.now(thread);
        if order.acquires() && !mutation::is(Mutation::NoAcquireFence) {
            let unacquired = self.unacquired.get_mut(thread.index(), self.width);
            merge(self.threads.get_mut(thread.index(), self.width), unacquired);
            unacquired.fill(0);
        }
        if order.releases() && !mutation::is(Mutation::NoReleaseFence) {
            let released = self.released.get_mut(thread.index(), self.width);
            clock::copy(released, self.threads.get(thread.index()));
        }
    }

    pub(crate) fn tick(&mut self, thread: ThreadId) {
        self.thread(thread)[thread.index()] += 1;
    }

    pub(crate) fn access(&mut self, thread: ThreadId, cell: ObjectId, write: bool, site: Site) {
        self.access_until(thread, cell, write, site, 0);
    }

    /// An access that lasted until the last operation of the thread, which is `ticks` ago. A thread that
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
        self.uses(thread, cell, write, site);
        let clock = self.threads.get(thread.index());
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
            self.race = Some(Race { cell, earlier, later, creation: false });
        }
        if write {
            history.write = Some((now, later));
            history.reads.clear();
        } else {
            history.reads.retain(|(_, access)| access.thread != thread);
            history.reads.push((now, later));
        }
    }

    fn thread(&mut self, thread: ThreadId) -> &mut [u32] {
        self.width = self.width.max(thread.index() + 1);
        self.threads.get_mut(thread.index(), self.width)
    }
}

/// Whether an access happens before what a thread with this clock does now.
fn is_ordered((time, access): &(u32, Access), thread: ThreadId, clock: &[u32]) -> bool {
    access.thread == thread || clock.get(access.thread.index()).copied().unwrap_or(0) >= *time
}
