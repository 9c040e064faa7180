//! Comparisons that may fail for no reason, as `compare_exchange_weak` may.
//!
//! A thread that comes back to a comparison as it was before, after failures only, would do nothing else than it would have done
//! without them: there the comparison does not fail again. So a loop that does nothing but try again costs one failure. Elsewhere
//! comparisons fail up to [`MOST`] times in a row, and where one could once more the verdict says that this was not explored.

use preempt_explore::{Action, ObjectId};

/// How often in a row comparisons of a thread with one object fail for no reason.
pub(crate) const MOST: u32 = 3;

/// A thread before a comparison: with what, where, and what it remembers.
#[derive(PartialEq)]
struct Arrival {
    object: ObjectId,
    pc: usize,
    memory: u64,
    changes: u64,
}

/// What one thread has done since its comparisons began to fail.
#[derive(Default)]
pub(crate) struct WeakFailures {
    arrivals: Vec<Arrival>,
    /// How often it has changed something that is not on its stack.
    changes: u64,
}

impl WeakFailures {
    /// The thread forgets the last execution.
    pub(crate) fn clear(&mut self) {
        self.arrivals.clear();
        self.changes = 0;
    }

    /// The thread writes to memory that is not on its stack.
    #[inline]
    pub(crate) fn wrote(&mut self) {
        self.changes += 1;
    }

    /// The thread is about to do this.
    pub(crate) fn operation(&mut self, action: Action) {
        use Action::{CompareExchange, ComparePointer, Length, Load, Yield};
        // Where one of these comparisons succeeds, failures are counted from the beginning.
        if !matches!(action, Load | CompareExchange | ComparePointer | Length | Yield) {
            self.changes += 1;
        }
    }

    /// The thread arrives at a comparison after so many failures in a row. Whether it was there before with the same memory.
    pub(crate) fn arrive(
        &mut self,
        object: ObjectId,
        pc: usize,
        failures: u32,
        memory: u64,
    ) -> bool {
        if failures == 0 {
            self.arrivals.retain(|arrival| arrival.object != object);
        }
        let arrival = Arrival { object, pc, memory, changes: self.changes };
        let known = self.arrivals.contains(&arrival);
        if !known {
            self.arrivals.push(arrival);
        }
        known
    }
}
