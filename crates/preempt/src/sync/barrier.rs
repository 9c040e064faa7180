//! `Barrier`.

use crate::rt::{self, Slot};
use preempt_explore::Action;
use std::fmt;
use std::panic::Location;

/// `std::sync::Barrier` under control.
pub struct Barrier {
    slot: Slot,
    threads: usize,
    outside: std::sync::Barrier,
}

/// Whether this thread was the last to arrive.
#[derive(Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether this thread was the last to arrive.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    const_fn! {
        /// A barrier for this many threads.
        #[track_caller]
        pub fn new(threads: usize) -> Self {
            Barrier { slot: Slot::new(0), threads, outside: std::sync::Barrier::new(threads) }
        }
    }

    /// Waits until all threads have arrived.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let Some(runtime) = rt::current() else {
            return BarrierWaitResult(self.outside.wait().is_leader());
        };
        let site = Location::caller();
        let object = self.slot.object(runtime, || 0);
        let threads = self.threads as u64;
        let arrived = rt::operation(runtime, Action::Arrive, object, threads, 0, site);
        let leader = arrived & 1 == 1;
        if let (false, Some(runtime)) = (leader, rt::current()) {
            rt::operation(runtime, Action::Leave, object, arrived >> 1, 0, site);
        }
        BarrierWaitResult(leader)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Barrier { .. }")
    }
}
