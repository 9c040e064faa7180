//! Comparisons that may fail for no reason, as `compare_exchange_weak` may.
//!
//! A thread that comes back to a comparison, has done nothing else meanwhile and remembers the same, would do the same without the
//! failures in between. So at each place a comparison of the same numbers fails [`AT_ONE_PLACE`] times in a row: where the thread remembers the same
//! after both, more failures make no difference, and where it does not, the verdict says that they were not explored. At several
//! places together it fails up to [`MOST`] times.
//!
//! What a thread remembers has to do with what calls have left on its stack, and so with more than it has observed. It may decide
//! what is said, but not what the thread does.

use preempt_explore::{Action, ObjectId};

/// How often in a row comparisons of a thread with one object fail for no reason.
pub(crate) const MOST: u32 = 8;
/// The same where they are one comparison in a loop.
const AT_ONE_PLACE: usize = 2;

/// A thread before a comparison: with what, where, and what it remembers.
struct Arrival {
    object: ObjectId,
    pc: usize,
    /// What it expects, and what it wants to store.
    operands: (u64, u64),
    /// How often it had changed something.
    changes: u64,
    /// Nothing if that cannot be looked at.
    memory: Option<u64>,
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

    /// The thread arrives at a comparison after so many failures in a row, and remembers this.
    pub(crate) fn arrive(
        &mut self,
        object: ObjectId,
        pc: usize,
        operands: (u64, u64),
        failures: u32,
        memory: Option<u64>,
    ) -> Again {
        if failures == 0 {
            self.arrivals.retain(|arrival| arrival.object != object);
        }
        let arrival = Arrival { object, pc, operands, changes: self.changes, memory };
        let same = |other: &&Arrival| {
            (other.object, other.pc, other.operands, other.changes)
                == (object, pc, operands, arrival.changes)
        };
        let times = self.arrivals.iter().filter(same).count();
        let last = self.arrivals.iter().rfind(same);
        let again = match times {
            AT_ONE_PLACE.. if memory.is_some() && last.is_some_and(|it| it.memory == memory) => {
                Again::MakesNoDifference
            }
            AT_ONE_PLACE.. => Again::IsLeftOut,
            _ if failures >= MOST => Again::IsLeftOut,
            _ => Again::Fails,
        };
        self.arrivals.push(arrival);
        again
    }
}

/// What becomes of one more failure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// It is explored.
    Fails,
    /// It need not be.
    MakesNoDifference,
    /// It is not.
    IsLeftOut,
}
