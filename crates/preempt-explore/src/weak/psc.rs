//! The order of sequentially consistent events under weak memory.
//!
//! RC11 asks that the relation *psc* has no cycle (HB is happens-before, SB program order, MO
//! modification order, RB from a read to the writes newer than what it read, ECO reads-from, MO, RB and
//! their compositions):
//!
//! ```text
//! scb = SB | SB(other location);HB;SB(other location) | HB(same location) | MO | RB
//! psc = ([sc] | [F sc];HB?) ; scb ; ([sc] | HB?;[F sc])  |  [F sc] ; (HB | HB;ECO;HB) ; [F sc]
//! ```
//!
//! Events come from the log (`log.rs`).
//!
//! Places in modification order are doubled, so that one comparison decides ECO: a write at place p is
//! at 2p, a read of it at 2p + 1, and ECO leads from the smaller to the larger.
//!
//! A test compares all answers with the definition (`psc_definition.rs`).

use super::log::Logged;
use super::psc_search::Search;
use super::writes::Weak;
use crate::{ExecutionState, Order, ThreadId};

impl ExecutionState {
    /// Logs an event of this time that is no access to an atomic.
    pub(crate) fn log_other(&mut self, thread: ThreadId, time: u32) {
        self.log(thread, time, None);
    }

    /// Logs an event that does not move the clock.
    pub(crate) fn log_now(&mut self, thread: ThreadId, fence: Option<Order>) {
        if let Some(clocks) = self.clocks.as_mut().filter(|_| self.weak.is_some()) {
            let time = clocks.now(thread);
            self.log(thread, time, fence);
        }
    }

    fn log(&mut self, thread: ThreadId, time: u32, fence: Option<Order>) {
        let (Some(weak), Some(clocks)) = (&mut self.weak, &self.clocks) else { return };
        if self.rules.strong {
            weak.log.other((thread, time), fence, clocks.of(thread));
        }
    }
}

impl Weak {
    /// Whether the sequentially consistent events can still be put in one order after one more event,
    /// which writes at this place if it does.
    pub(super) fn stays_acyclic(&self, event: &Logged, at: Option<usize>) -> bool {
        let strong = self.log.strong();
        // A cycle leads through the new event: it is one of them, or comes after a fence.
        let follows = |&at: &u32| {
            let e = self.log.get(at as usize);
            e.fence && e.happens_before(event)
        };
        if strong.len() + usize::from(event.strong) < 2
            || !event.strong && !strong.iter().rev().any(follows)
        {
            return true;
        }
        let acyclic = !Search::new(self, event, at).finds_cycle();
        #[cfg(test)]
        if !crate::mutation::is(crate::mutation::Mutation::StrongHidesFences) {
            let last = self.log.len();
            let definition = super::psc_definition::Events { weak: self, event, last, at };
            let mut strong = strong.to_vec();
            strong.extend(event.strong.then_some(last as u32));
            assert_eq!(acyclic, definition.is_acyclic(&strong), "the definition says so");
        }
        acyclic
    }
}
