//! Threads that wait without an operation: `while (!ready) ;` on a plain variable.
//!
//! Nothing says that such a loop waits: each read is like any other, and while the thread runs no other one can change what it
//! reads. A thread that has run for more than a second without an operation is looked at: if it reads the same few places again
//! and again, and writes to nothing but its own stack, these places become scheduling points, and the search begins again.

use crate::context::STACK;
use crate::runtime::Runtime;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Whether the running thread is looked at.
static IS_LOOKED_AT: AtomicBool = AtomicBool::new(false);

/// A loop that reads more often in a round is not recognised.
const LONGEST: usize = 64;
/// So many rounds are a loop.
const ROUNDS: u32 = 3;

/// What the thread that is looked at has read since it was at the first place.
#[derive(Default)]
pub(crate) struct Idle {
    /// Operations of all threads, when it began.
    pulse: u64,
    first: Option<(usize, usize)>,
    /// Places of a round.
    places: Vec<usize>,
    reads: usize,
    rounds: u32,
}

/// There was no operation for a second.
pub(crate) fn begin() {
    IS_LOOKED_AT.store(true, Ordering::Relaxed);
}

/// Whether the running thread is looked at.
#[inline(always)]
pub(crate) fn is_looked_at() -> bool {
    IS_LOOKED_AT.load(Ordering::Relaxed)
}

impl Runtime {
    /// The running thread accesses memory while it is looked at.
    #[cold]
    pub(crate) fn look_at(&mut self, address: usize, write: bool, pc: usize) {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            IS_LOOKED_AT.store(false, Ordering::Relaxed);
            self.abandon();
        }
        let stack = self.me().stack;
        if stack.wrapping_sub(address) < STACK {
            return;
        }
        let pulse = self.pulse;
        let idle = &mut self.idle;
        if write || idle.pulse != pulse {
            *idle = Idle { pulse, ..Idle::default() };
            IS_LOOKED_AT.store(!write, Ordering::Relaxed);
            return;
        }
        let first = *idle.first.get_or_insert((pc, address));
        if first == (pc, address) {
            idle.rounds += 1;
            idle.reads = 0;
        }
        idle.reads += 1;
        if !idle.places.contains(&pc) {
            idle.places.push(pc);
        }
        if idle.reads > LONGEST {
            *idle = Idle::default();
            IS_LOOKED_AT.store(false, Ordering::Relaxed);
        } else if idle.rounds > ROUNDS {
            let places = std::mem::take(idle).places;
            IS_LOOKED_AT.store(false, Ordering::Relaxed);
            places.into_iter().for_each(|place| self.shadow.add_racy(place));
            self.restart();
        }
    }
}
