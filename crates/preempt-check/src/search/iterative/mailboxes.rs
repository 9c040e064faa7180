//! What the workers of a parallel search share: mailboxes for successors that another worker owns, and a few
//! counters.

use crate::store::StateId;
use preempt_core::{BoundRow, ProcessId, Step, Stop};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A visit anywhere: the worker and its place in the worker's log.
pub(crate) type Place = (u16, u32);

#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) state: StateId,
    pub(crate) parent: Option<Place>,
    pub(crate) mover: Option<ProcessId>,
}

/// Successors for one worker.
#[derive(Default)]
pub(crate) struct Letter {
    pub(crate) bytes: Vec<u8>,
    /// Where each state ends, who moved last, and from where.
    pub(crate) items: Vec<(usize, Option<ProcessId>, Option<Place>)>,
}

/// A violation: behind which visit, by which steps; a fault, or an invalid end.
pub(crate) struct Fault {
    pub(crate) place: Place,
    pub(crate) path: Vec<Step>,
    pub(crate) number: Option<u32>,
}

pub(crate) struct Shared {
    pub(crate) boxes: Vec<Mutex<Vec<Letter>>>,
    pub(crate) busy: AtomicUsize,
    pub(crate) barrier: Barrier,
    pub(crate) ended: AtomicBool,
    pub(crate) stop: Mutex<Option<Stop>>,
    pub(crate) faults: Mutex<Vec<Fault>>,
    pub(crate) errors: AtomicU64,
    pub(crate) max_errors: u64,
    pub(crate) states: AtomicU64,
    pub(crate) transitions: AtomicU64,
    pub(crate) deferred: AtomicUsize,
    pub(crate) bucket: AtomicU32,
    pub(crate) last: u32,
    pub(crate) extra: u32,
    pub(crate) rows: Mutex<Vec<BoundRow>>,
    pub(crate) bound: Mutex<Option<u32>>,
}

impl Shared {
    pub(crate) fn end(&self, stop: Option<Stop>) {
        if let Some(stop) = stop {
            lock(&self.stop).get_or_insert(stop);
        }
        self.ended.store(true, Ordering::SeqCst);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    pub(crate) fn report(&self, fault: Fault) {
        let errors = 1 + self.errors.fetch_add(1, Ordering::SeqCst);
        let mut faults = lock(&self.faults);
        if faults.is_empty() {
            faults.push(fault);
        }
        if self.max_errors != 0 && errors >= self.max_errors {
            self.end(None);
        }
    }

    pub(crate) fn row(&self) -> BoundRow {
        BoundRow {
            stale: None,
            bound: self.bucket.load(Ordering::SeqCst),
            states: self.states.load(Ordering::SeqCst),
            transitions: 1 + self.transitions.load(Ordering::SeqCst),
            errors: self.errors.load(Ordering::SeqCst),
        }
    }
}
