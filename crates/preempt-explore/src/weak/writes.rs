//! All writes to all atomics of an execution, and what threads have read.

use super::log::{Log, share};
use crate::clock::Clock;
use crate::mutation::{self, Mutation};
use crate::race::Clocks;
use crate::state::Object;
use crate::{ObjectId, ThreadId};
use std::sync::Arc;
use std::time::Duration;

/// Stands for the write of an update that left an outdated value as it was.
pub(super) const IDLE: u64 = u64::MAX;

/// A write to a location.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    /// Of the action that made it; 0 for the initial value.
    pub(crate) name: u64,
    pub(super) thread: ThreadId,
    pub(super) time: u32,
    pub(super) value: u64,
    /// Hash of the history of the writer.
    pub(super) version: u64,
    /// Vector clock that a thread joins when it acquires the write.
    pub(super) released: Clock,
    /// Virtual time of the writer.
    pub(super) moment: Duration,
    /// Whether a read-modify-write reads it, which then stands right behind it.
    pub(super) taken: bool,
    /// Number of accesses before it; `None` for the initial value.
    pub(super) position: Option<u32>,
}

/// A read of a location.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) thread: ThreadId,
    pub(super) time: u32,
    /// Name of the write that was read.
    pub(super) write: u64,
}

/// All that was done to an atomic.
#[derive(Debug, Default)]
pub(crate) struct Location {
    /// In modification order, the initial value first.
    pub(crate) writes: Vec<Write>,
    /// The first read of each write by each thread, those of a thread in the order in which it has made them.
    pub(super) reads: Vec<Read>,
    /// When each thread has written for the last time.
    writers: Vec<(ThreadId, u32)>,
    /// When each thread has read for the last time.
    readers: Vec<(ThreadId, u32)>,
}

/// Notes when a thread has done something for the last time.
fn note(list: &mut Vec<(ThreadId, u32)>, thread: ThreadId, time: u32) {
    match list.iter_mut().find(|(other, _)| *other == thread) {
        Some((_, last)) => *last = time,
        None => list.push((thread, time)),
    }
}

impl Location {
    pub(super) fn insert_write(&mut self, at: usize, write: Write) {
        note(&mut self.writers, write.thread, write.time);
        self.writes.insert(at, write);
    }

    pub(super) fn note_read(&mut self, thread: ThreadId, time: u32, write: u64) {
        note(&mut self.readers, thread, time);
        // What a thread has read before is older than what it reads now, or the same.
        let last = self.reads.iter().rev().find(|read| read.thread == thread);
        if last.is_none_or(|read| read.write != write) {
            self.reads.push(Read { thread, time, write });
        }
    }
}

/// A copy is made to be added to.
impl Clone for Location {
    fn clone(&self) -> Self {
        let mut writes = Vec::with_capacity(self.writes.len() + 2);
        writes.extend_from_slice(&self.writes);
        let mut reads = Vec::with_capacity(self.reads.len() + 2);
        reads.extend_from_slice(&self.reads);
        let (writers, readers) = (self.writers.clone(), self.readers.clone());
        Location { writes, reads, writers, readers }
    }
}

/// What a thread has read, to keep it from waiting for ever for old values.
#[derive(Clone, Copy, Debug)]
struct Polled {
    pub(super) thread: ThreadId,
    pub(super) object: ObjectId,
    pub(super) write: u64,
    /// Whether the thread has yielded since and has read nothing new.
    pub(super) again: bool,
}

/// What the last access read, for reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Source {
    /// Number of steps on numbers before the write that was read; `None` for the initial value.
    pub read: Option<u32>,
    /// The same for the newest write at that moment.
    pub newest: Option<u32>,
    /// Value of the newest write.
    pub newest_value: u64,
    /// Number of steps on numbers before this one.
    pub position: u32,
    /// Whether something older than the newest write was read, or a store was not the newest, or a
    /// comparison failed for no reason.
    pub stale: bool,
    /// Whether a comparison failed for no reason.
    pub fails: bool,
}

/// All writes to all atomics of an execution.
#[derive(Debug, Default)]
pub(crate) struct Weak {
    /// By object; without writes if it was not accessed yet.
    pub(super) locations: Vec<Arc<Location>>,
    unknown: Arc<Location>,
    pub(super) log: Log,
    polled: Vec<Polled>,
    /// Comparisons that have failed for no reason.
    pub(super) failed: Vec<(ThreadId, ObjectId)>,
    pub(super) accesses: u32,
    /// How many accesses came before the last distant deadline: every thread knows of those.
    settled: u32,
    pub(crate) source: Source,
    /// An atomic whose last access was not ordered with all earlier ones that conflict with it.
    pub(super) raced: Option<ObjectId>,
    /// Names of all reads and of the writes that they read.
    #[cfg(test)]
    pub(crate) rf: Vec<(u64, u64)>,
}

impl Clone for Weak {
    fn clone(&self) -> Self {
        let mut copy = Weak::default();
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, source: &Self) {
        share(&mut self.locations, &source.locations);
        if !Arc::ptr_eq(&self.unknown, &source.unknown) {
            self.unknown = source.unknown.clone();
        }
        self.log.copy_from(&source.log);
        self.polled.clone_from(&source.polled);
        self.failed.clone_from(&source.failed);
        self.accesses = source.accesses;
        self.settled = source.settled;
        self.source = source.source;
        self.raced = source.raced;
        #[cfg(test)]
        self.rf.clone_from(&source.rf);
    }
}

impl Weak {
    pub(crate) fn location(&self, object: ObjectId) -> Option<&Location> {
        self.locations.get(object.index()).map(|l| &**l).filter(|l| !l.writes.is_empty())
    }

    pub(super) fn writes(&self, object: ObjectId) -> &[Write] {
        self.location(object).map_or(&[], |location| &location.writes)
    }

    /// An atomic that is about to be accessed.
    pub(super) fn meet(&mut self, id: ObjectId, object: &Object) {
        if self.locations.len() <= id.index() {
            self.locations.resize(id.index() + 1, self.unknown.clone());
        }
        let location = &mut self.locations[id.index()];
        if location.writes.is_empty() {
            let initial = Write {
                name: 0,
                thread: ThreadId::MAIN,
                time: 0,
                value: object.value,
                version: object.version,
                released: Clock::default(),
                moment: Duration::ZERO,
                taken: false,
                position: None,
            };
            *location = Arc::new(Location { writes: vec![initial], ..Location::default() });
        }
    }

    /// A number is changed through exclusive access: every other access happens before or after.
    pub(crate) fn assign(&mut self, object: ObjectId, value: u64) {
        let known = |l: &&mut Arc<Location>| !l.writes.is_empty();
        if let Some(location) = self.locations.get_mut(object.index()).filter(known) {
            if let Some(newest) = Arc::make_mut(location).writes.last_mut() {
                newest.value = value;
            }
        }
    }

    /// The place of the newest write that is accessed in the happens-before past of a thread, or long ago.
    pub(super) fn floor(&self, clocks: &Clocks, thread: ThreadId, location: &Location) -> usize {
        if mutation::is(Mutation::NoCoherence) {
            return 0;
        }
        let clock = clocks.of(thread);
        let known = |other: ThreadId, time: u32| {
            other == thread || clock.get(other.index()).is_some_and(|&until| until >= time)
        };
        let written = location.writes.iter().rposition(|w| w.name == 0 || known(w.thread, w.time));
        let is_settled = |w: &Write| w.position.is_some_and(|position| position < self.settled);
        let settled = location.writes.iter().rposition(is_settled);
        let mut floor = written.max(settled).unwrap_or(0);
        // Of what a thread has read, the last that is known is the newest.
        for &(reader, _) in &location.readers {
            let mut reads = location.reads.iter().rev().filter(|read| read.thread == reader);
            if let Some(read) = reads.find(|read| known(reader, read.time)) {
                let at = location.writes.iter().rposition(|w| w.name == read.write);
                floor = floor.max(at.unwrap_or(0));
            }
        }
        floor
    }

    /// Whether all earlier accesses to a location that conflict with one by this thread happen before it.
    pub(super) fn is_ordered(
        clocks: &Clocks,
        thread: ThreadId,
        location: &Location,
        writes: bool,
    ) -> bool {
        let clock = clocks.of(thread);
        let known = |other: ThreadId, time: u32| {
            other == thread || clock.get(other.index()).is_some_and(|&until| until >= time)
        };
        let all = |list: &[(ThreadId, u32)]| list.iter().all(|&(other, time)| known(other, time));
        all(&location.writers) && (!writes || all(&location.readers))
    }

    pub(super) fn has_polled(&self, thread: ThreadId, object: ObjectId, write: u64) -> bool {
        self.polled
            .iter()
            .any(|p| p.thread == thread && p.object == object && p.write == write && p.again)
    }

    pub(super) fn note_read(&mut self, thread: ThreadId, object: ObjectId, write: u64) {
        let same = |p: &Polled| p.thread == thread && p.object == object && p.write == write;
        if !self.polled.iter().any(same) {
            // What it has read there before is too old to be read again.
            let is_older = |p: &Polled| p.thread == thread && p.object == object && p.write != IDLE;
            if write != IDLE {
                self.polled.retain(|polled| !is_older(polled));
            }
            for polled in self.polled.iter_mut().filter(|p| p.thread == thread) {
                polled.again = false;
            }
            self.polled.push(Polled { thread, object, write, again: false });
        }
    }

    /// So much time has passed that no thread reads what was overwritten before.
    pub(crate) fn settle(&mut self) {
        self.settled = self.accesses;
    }

    /// A thread yields.
    pub(crate) fn note_yield(&mut self, thread: ThreadId) {
        for polled in self.polled.iter_mut().filter(|p| p.thread == thread) {
            polled.again = true;
        }
    }
}
