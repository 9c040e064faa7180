//! What the threads of a search by buckets have counted together, and whether one of them has ended it.

use super::shared_log::lock;
use crate::platform::sync::Mutex;
use crate::platform::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::search::shared::end::End;

/// Counts of all threads, and the end that one of them has met.
#[derive(Default)]
pub(super) struct TeamCounts {
    states: AtomicU64,
    transitions: AtomicU64,
    end: Mutex<Option<End>>,
    ended: AtomicBool,
}

impl TeamCounts {
    /// Ends the search for all; the first reason counts.
    pub(super) fn end(&self, end: End) {
        lock(&self.end).get_or_insert(end);
        self.ended.store(true, Ordering::SeqCst);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Whether as many violations were met as were asked for.
    pub(super) fn is_enough(&self) -> bool {
        matches!(*lock(&self.end), Some(End::Enough))
    }

    /// Why the search has ended, if it has.
    pub(super) fn take_end(&self) -> Option<End> {
        lock(&self.end).take()
    }

    /// States and transitions that were reported.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.states.load(Ordering::SeqCst), self.transitions.load(Ordering::SeqCst))
    }
}

/// What a thread has added to the counts of all.
#[derive(Default)]
pub(super) struct Reported {
    states: u64,
    transitions: u64,
}

impl Reported {
    /// So much was reported before.
    pub(super) fn so_far(states: u64, transitions: u64) -> Self {
        Reported { states, transitions }
    }

    /// Adds what was counted since the last time. Transitions may have become fewer: those that were found to be taken
    /// sooner.
    pub(super) fn report(&mut self, team: &TeamCounts, states: u64, transitions: u64) {
        team.states.fetch_add(states - self.states, Ordering::SeqCst);
        let more = transitions.wrapping_sub(self.transitions);
        team.transitions.fetch_add(more, Ordering::SeqCst);
        *self = Reported { states, transitions };
    }
}
