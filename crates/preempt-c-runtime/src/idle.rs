//! Threads that wait without an operation: `while (!ready) ;` on a plain variable.
//!
//! Nothing says that such a loop waits: each read is like any other, and while the thread runs no other one can change what it
//! reads. A thread that has run for more than a second without an operation is looked at: if it reads the same few places again
//! and again, and writes to nothing but its own stack, these places become scheduling points, and the search begins again.

use std::sync::atomic::{AtomicBool, Ordering};

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

impl Idle {
    /// The thread that is looked at accesses memory beyond its own stack, after so many operations of all threads. Gives the places
    /// of a loop that does nothing but read.
    #[cold]
    pub(crate) fn access(
        &mut self,
        pulse: u64,
        address: usize,
        write: bool,
        pc: usize,
    ) -> Option<Vec<usize>> {
        if write || self.pulse != pulse {
            *self = Idle { pulse, ..Idle::default() };
            IS_LOOKED_AT.store(!write, Ordering::Relaxed);
            return None;
        }
        if *self.first.get_or_insert((pc, address)) == (pc, address) {
            self.rounds += 1;
            self.reads = 0;
        }
        self.reads += 1;
        if !self.places.contains(&pc) {
            self.places.push(pc);
        }
        if self.reads <= LONGEST && self.rounds <= ROUNDS {
            return None;
        }
        IS_LOOKED_AT.store(false, Ordering::Relaxed);
        let Idle { places, rounds, .. } = std::mem::take(self);
        (rounds > ROUNDS).then_some(places)
    }
}
