//! The events of an execution with their vector clocks, in the order in which they were added.
//!
//! It is kept only for programs that mix sequentially consistent events with weaker ones, and read only
//! when a stale choice is considered.

use crate::clock::Clock;
use crate::{ObjectId, Order, ThreadId};
use std::sync::Arc;

/// An event.
#[derive(Clone, Debug)]
pub(super) struct Logged {
    pub(super) thread: ThreadId,
    pub(super) time: u32,
    /// [`ObjectId::NONE`] if it is not an access to an atomic.
    pub(super) object: ObjectId,
    /// Name of the write that it reads.
    pub(super) read: Option<u64>,
    /// Its name if it writes.
    pub(super) write: Option<u64>,
    pub(super) strong: bool,
    pub(super) fence: bool,
    clock: Clock,
}

/// Events per shared block.
const BLOCK: usize = 16;

/// All events in the order in which they were added, in blocks that copies share.
#[derive(Debug, Default)]
pub(super) struct Log {
    full: Vec<Arc<[Logged]>>,
    tail: Vec<Logged>,
    /// Positions of sequentially consistent events.
    strong: Vec<u32>,
    /// Positions of the first event of each thread that has one.
    first: Vec<u32>,
}

impl Log {
    /// As a copy, without touching blocks that both have.
    pub(super) fn copy_from(&mut self, source: &Self) {
        share(&mut self.full, &source.full);
        self.tail.clone_from(&source.tail);
        self.strong.clone_from(&source.strong);
        self.first.clone_from(&source.first);
    }
}

/// Makes a list of shared things the same as another. Most of them are already: states that are used
/// again were similar.
pub(super) fn share<T: ?Sized>(target: &mut Vec<Arc<T>>, source: &[Arc<T>]) {
    target.truncate(source.len());
    for (own, other) in target.iter_mut().zip(source) {
        if !Arc::ptr_eq(own, other) {
            *own = other.clone();
        }
    }
    let common = target.len();
    target.extend_from_slice(&source[common..]);
}

impl Logged {
    /// An access to an atomic. `clock` is that of the thread after it.
    pub(super) fn access(
        (thread, time): (ThreadId, u32),
        object: ObjectId,
        (read, write): (Option<u64>, Option<u64>),
        order: Order,
        clock: &[u32],
    ) -> Self {
        let strong = order == Order::SequentiallyConsistent;
        let clock = clock.into();
        Logged { thread, time, object, read, write, strong, fence: false, clock }
    }

    /// Whether this event happens before a later one.
    pub(super) fn happens_before(&self, later: &Logged) -> bool {
        let until = later.clock.get(self.thread.index()).copied().unwrap_or(0);
        self.thread == later.thread || until >= self.time
    }
}

impl Log {
    pub(super) fn get(&self, at: usize) -> &Logged {
        match self.full.get(at / BLOCK) {
            Some(block) => &block[at % BLOCK],
            None => &self.tail[at - self.full.len() * BLOCK],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.full.len() * BLOCK + self.tail.len()
    }

    /// Positions of sequentially consistent events.
    pub(super) fn strong(&self) -> &[u32] {
        &self.strong
    }

    /// How many events, from the first on, happen before all those of other threads, of which one more is the last.
    pub(super) fn alone(&self, event: &Logged) -> usize {
        let (true, Some(&next)) = (self.len() > 0, self.first.get(1)) else {
            // There is one thread, or a second one begins.
            let first = (self.len() > 0).then(|| self.get(0));
            let is_alone = |at: &usize| {
                first.is_some_and(|f| f.thread != event.thread)
                    && self.get(*at).happens_before(event)
            };
            return (0..self.len()).take_while(is_alone).count();
        };
        let others = self.first[1..].iter().map(|&at| self.get(at as usize));
        let first = self.get(0).thread;
        let begins =
            event.thread != first && others.clone().all(|other| other.thread != event.thread);
        let others: Vec<&Logged> = others.chain(begins.then_some(event)).collect();
        let is_alone = |at: &usize| others.iter().all(|other| self.get(*at).happens_before(other));
        (0..next as usize).take_while(is_alone).count()
    }

    pub(super) fn push(&mut self, event: Logged) {
        if self.first.iter().all(|&at| self.get(at as usize).thread != event.thread) {
            self.first.push(self.len() as u32);
        }
        if event.strong {
            self.strong.push(self.len() as u32);
        }
        self.tail.push(event);
        if self.tail.len() == BLOCK {
            self.full.push(self.tail.drain(..).collect());
        }
    }

    /// A fence of any order, or another event that is no access to an atomic (`None`).
    pub(super) fn other(
        &mut self,
        (thread, time): (ThreadId, u32),
        fence: Option<Order>,
        clock: &[u32],
    ) {
        let strong = fence == Some(Order::SequentiallyConsistent);
        let (object, fence, clock) = (ObjectId::NONE, fence.is_some(), clock.into());
        let (read, write) = (None, None);
        let event = Logged { thread, time, object, read, write, strong, fence, clock };
        // One of several events without a location in a row is as good as all.
        let last = self.tail.iter().rev().find(|last| last.thread == thread);
        let same = last.is_some_and(|l| l.object == object && l.time == time && !l.strong);
        if strong || !same {
            self.push(event);
        }
    }
}
