//! What an execution owns besides coroutines: the names of objects, statics, thread-locals,
//! reference counts, virtual time.
//!
//! Everything here is reset between executions. What can only be learnt while running (an object
//! made outside the test body, a static, an `Arc` whose count matters) is noted for good and the
//! exploration begins again with that knowledge: names must be the same in every execution.

use super::spinning::Spinning;
use preempt_explore::{ObjectId, Run, Site, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::any::Any;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// How often an exploration may begin again because of objects made outside the test body.
pub(super) const MOST_EXTERNALS: usize = 256;

/// What was learnt about the test and holds for all executions.
#[derive(Clone, Default)]
pub(crate) struct Knowledge {
    /// Objects made outside the body, by address, with their value at the beginning.
    pub(super) externals: Vec<(usize, u64)>,
    /// Those of them that lie in statics and are used by tests only: an execution changes nothing in them.
    pub(super) compiled: FxHashSet<usize>,
    /// By address: what is in statics before it is changed.
    pub(super) bytes: FxHashMap<usize, Arc<[MaybeUninit<u8>]>>,
    pub(super) statics: Vec<&'static dyn Reset>,
    /// Where Arcs are made whose counts are visible.
    pub(super) counted: FxHashSet<Site>,
    /// Whether a thread looks whether others have ended, so that ends are visible.
    pub(super) ends: bool,
    /// Whether threads of scopes have thread-locals to drop, so that the ends of their closures are visible.
    pub(super) closures: bool,
    /// Whether atomics hold addresses, so that allocations must be followed.
    pub(super) addresses: bool,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Registry {
    pub(super) epoch: u32,
    pub(super) live: Option<&'static AtomicU32>,
    pub(crate) knowledge: Knowledge,
    pub(super) externals: FxHashMap<usize, ObjectId>,
    pub(super) values: FxHashMap<usize, Box<dyn Any>>,
    pub(super) value_order: Vec<usize>,
    /// By address of what they are copies of.
    pub(super) copies: FxHashMap<usize, *mut u8>,
    pub(super) originals: Vec<Original>,
    /// `None` once the destructor of the value has begun.
    pub(super) locals: FxHashMap<(ThreadId, usize), Option<Box<dyn Any>>>,
    /// Those with destructors.
    pub(super) local_order: Vec<(ThreadId, usize)>,
    pub(super) arcs: Vec<Option<Site>>,
    /// Objects that are 1 when their threads have ended, if ends are visible.
    pub(super) ends: FxHashMap<ThreadId, (ObjectId, Option<Site>)>,
    /// Tags of Arcs whose address was taken.
    pub(super) raw_tags: FxHashMap<usize, Arc<dyn Any + Send + Sync>>,
    pub(super) final_drop: Option<Site>,
    pub(super) borrowed: Vec<(ThreadId, ObjectId, Box<u64>)>,
    /// Where objects were made, for a report.
    pub(crate) origins: FxHashMap<ObjectId, Site>,
    /// How numbers are shown that are not shown as they are, for a report.
    pub(crate) shown: FxHashMap<ObjectId, Shown>,
    /// Where threads were spawned, for a report.
    pub(crate) spawned: FxHashMap<ThreadId, Site>,
    /// By thread: whether it has looked at the clock since its last yield, and how often in a row.
    pub(super) looks: FxHashMap<ThreadId, (bool, u32)>,
    pub(super) spinning: Spinning,
    /// What threads panicked with, until they are joined.
    pub(super) payloads: FxHashMap<ThreadId, Box<dyn Any + Send>>,
    /// What threads remembered each time that a comparison had failed for no reason.
    pub(super) failures: Vec<(ThreadId, ObjectId, u64)>,
    /// Threads of scopes.
    pub(super) scoped: FxHashSet<ThreadId>,
}

/// What the number of an object stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// A number with a sign, of so many bits.
    Signed(u8),
    /// The references to a value in an `Arc`.
    Count,
}

/// Where the original lies of a copy that an execution has of data in a static.
pub(super) struct Original {
    pub(super) copy: usize,
    pub(super) size: usize,
    pub(super) address: usize,
}

impl Original {
    /// Whether it is that of this copy.
    pub(super) fn is(&self, copy: *mut u8) -> bool {
        self.copy == copy.addr()
    }
}

static EPOCHS: AtomicU32 = AtomicU32::new(1);

/// Executions in progress, as far as there is room.
pub(super) static LIVE: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];

impl Registry {
    /// Whether more objects from outside the body turn up in every execution.
    pub(crate) fn has_unstable_objects(&self) -> bool {
        self.knowledge.externals.len() >= MOST_EXTERNALS + self.knowledge.compiled.len()
    }

    /// Whether the ends of threads are visible.
    pub(crate) fn shows_ends(&self) -> bool {
        self.knowledge.ends
    }

    /// Whether objects are shared with the code outside the body.
    pub(crate) fn has_externals(&self) -> bool {
        let compiled = &self.knowledge.compiled;
        self.knowledge.externals.iter().any(|(address, _)| !compiled.contains(address))
    }

    pub(super) fn begin(&mut self, run: *mut Run) {
        self.epoch = EPOCHS.fetch_add(1, Ordering::Relaxed);
        let room = |live: &&AtomicU32| {
            live.compare_exchange(0, self.epoch, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        self.live = LIVE.iter().find(room);
        self.externals.clear();
        // SAFETY: called by `execute`, which holds the run exclusively.
        let run = unsafe { &mut *run };
        for &(address, value) in &self.knowledge.externals {
            self.externals.insert(address, run.create(value));
        }
        self.ends.clear();
        if self.knowledge.ends {
            self.ends.insert(ThreadId::MAIN, (run.create(0), None));
        }
        self.arcs.clear();
        self.raw_tags.clear();
        self.borrowed.clear();
        self.looks.clear();
        self.spinning.begin();
        // A payload may panic when it is dropped.
        self.payloads.drain().for_each(|(_, payload)| std::mem::forget(payload));
        self.scoped.clear();
        self.failures.clear();
        self.origins.clear();
        self.shown.clear();
        self.spawned.clear();
        self.final_drop = None;
    }

    /// The Arc whose payload is being dropped, if it is not counted.
    #[inline]
    pub(super) fn final_drop(&mut self) -> Option<Site> {
        self.final_drop.take()
    }

    /// The execution is over.
    pub(super) fn end(&mut self) {
        if let Some(live) = self.live.take() {
            live.store(0, Ordering::Relaxed);
        }
    }

    /// Nothing can be dropped any more: destructors could do anything.
    pub(super) fn abandon(&mut self) {
        self.copies.clear();
        self.originals.clear();
        std::mem::forget(std::mem::take(&mut self.values));
        std::mem::forget(std::mem::take(&mut self.locals));
        self.value_order.clear();
        self.local_order.clear();
    }

    /// Whether there is something to be dropped at the end of the execution.
    pub(super) fn has_values(&self) -> bool {
        !self.values.is_empty() || !self.locals.is_empty()
    }

    pub(super) fn leaks(&self) -> Vec<Site> {
        self.arcs.iter().flatten().copied().collect()
    }
}

/// A static that begins every execution anew.
pub(crate) trait Reset: Sync {
    fn reset(&self);
}
