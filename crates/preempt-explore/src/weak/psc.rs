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

use super::log::Logged;
use super::writes::Weak;
use crate::{ExecutionState, ObjectId, Order, ThreadId};

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

/// The events of a log, with what is asked about them.
struct Events<'a> {
    events: Vec<&'a Logged>,
    /// Doubled place of what an event reads and of what it writes.
    places: Vec<(Option<u32>, Option<u32>)>,
}

impl Weak {
    /// Whether the sequentially consistent events can still be put in one order after one more event,
    /// which writes at this place if it does.
    pub(super) fn stays_acyclic(&self, event: Logged, at: Option<usize>) -> bool {
        // A cycle leads through the new event: it is one of them, or comes after a fence.
        let follows = |e: &Logged| e.strong && e.fence && e.happens_before(&event);
        if !event.strong && !self.log.events().any(follows) {
            return true;
        }
        let mut events: Vec<&Logged> = Vec::with_capacity(self.log.len() + 1);
        events.extend(self.log.events());
        let last = events.len();
        events.push(&event);
        let strong: Vec<usize> = (0..events.len()).filter(|&i| events[i].strong).collect();
        if strong.len() < 2 {
            return true;
        }
        let place = |event: &Logged, name: u64, is_new: bool| {
            let known = &self.location(event.object)?.writes;
            let place = known.iter().position(|w| w.name == name);
            let moved = |place| place + usize::from(at.is_some_and(|at| !is_new && place >= at));
            Some(2 * place.map(moved)? as u32)
        };
        let object = event.object;
        let places = events
            .iter()
            .enumerate()
            .map(|(index, e)| {
                if index != last && e.object != object {
                    let read = e.read.and_then(|name| place(e, name, true)).map(|at| at + 1);
                    return (read, e.write.and_then(|name| place(e, name, true)));
                }
                let read = e.read.and_then(|name| place(e, name, index == last)).map(|at| at + 1);
                let write = match at.filter(|_| index == last) {
                    Some(at) => Some(2 * at as u32),
                    None => e.write.and_then(|name| place(e, name, false)),
                };
                (read, write)
            })
            .collect();
        let graph = Events { events, places };
        let acyclic = !graph.has_cycle_behind(&strong, &event, last);
        #[cfg(test)]
        assert_eq!(acyclic, graph.is_acyclic(&strong), "the definition says so");
        acyclic
    }
}

/// What a search has seen of a node.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    Nothing,
    Open,
    Closed,
}

impl Events<'_> {
    /// Whether there is a cycle of psc among the `strong` events that the newest one, at `last`, has closed. There was
    /// none without it, and nothing happens after it: all edges that it adds begin at it or at a fence before it.
    fn has_cycle_behind(&self, strong: &[usize], event: &Logged, last: usize) -> bool {
        let mut seen = vec![Seen::Nothing; strong.len()];
        // A node, and how many of its possible successors were looked at.
        let mut stack: Vec<(usize, usize)> = Vec::new();
        for (root, &at) in strong.iter().enumerate() {
            let e = self.events[at];
            let is_root = at == last || !event.strong && e.fence && e.happens_before(event);
            if !is_root || seen[root] != Seen::Nothing {
                continue;
            }
            seen[root] = Seen::Open;
            stack.push((root, 0));
            while let Some((node, next)) = stack.last_mut() {
                let (node, successor) = (*node, *next);
                if successor == strong.len() {
                    seen[node] = Seen::Closed;
                    stack.pop();
                    continue;
                }
                *next += 1;
                if seen[successor] == Seen::Closed || !self.psc(strong[node], strong[successor]) {
                    continue;
                }
                if seen[successor] == Seen::Open {
                    return true;
                }
                seen[successor] = Seen::Open;
                stack.push((successor, 0));
            }
        }
        false
    }

    /// The definition: nodes without incoming edges can be taken away until none is left.
    #[cfg(test)]
    fn is_acyclic(&self, strong: &[usize]) -> bool {
        let mut left = strong.to_vec();
        while !left.is_empty() {
            let first = |&b: &usize| !left.iter().any(|&a| self.psc(a, b));
            let Some(taken) = left.iter().position(first) else { return false };
            left.swap_remove(taken);
        }
        true
    }

    fn happens_before(&self, a: usize, b: usize) -> bool {
        let (x, y) = (self.events[a], self.events[b]);
        if x.thread == y.thread { a < b } else { x.happens_before(y) }
    }

    fn is_same_location(&self, a: usize, b: usize) -> bool {
        let object = self.events[a].object;
        object != ObjectId::NONE && object == self.events[b].object
    }

    /// MO or RB.
    fn is_overwritten(&self, a: usize, b: usize) -> bool {
        let (Some(from), Some(to)) = (self.first_place(a), self.places[b].1) else { return false };
        a != b && self.is_same_location(a, b) && from < to
    }

    fn first_place(&self, a: usize) -> Option<u32> {
        self.places[a].0.or(self.places[a].1)
    }

    fn last_place(&self, a: usize) -> Option<u32> {
        self.places[a].1.or(self.places[a].0)
    }

    fn psc(&self, a: usize, b: usize) -> bool {
        if a == b {
            return false;
        }
        match (self.events[a].fence, self.events[b].fence) {
            (true, true) => self.happens_before(a, b) || self.fences_are_ordered(a, b),
            (false, false) => self.scb(a, b),
            (false, true) => self.reaches_fence(a, b),
            (true, false) => self.fence_reaches(a, b),
        }
    }

    /// HB;ECO;HB
    fn fences_are_ordered(&self, a: usize, b: usize) -> bool {
        let all = || 0..self.events.len();
        all().filter(|&x| self.happens_before(a, x)).any(|x| {
            let Some(from) = self.first_place(x) else { return false };
            all().any(|y| {
                self.is_same_location(x, y)
                    && self.last_place(y).is_some_and(|to| from < to)
                    && self.happens_before(y, b)
            })
        })
    }

    /// Between two accesses.
    fn scb(&self, a: usize, b: usize) -> bool {
        let (x, y) = (self.events[a], self.events[b]);
        if x.thread == y.thread && a < b {
            return true;
        }
        if self.is_overwritten(a, b) {
            return true;
        }
        if self.is_same_location(a, b) {
            return self.happens_before(a, b);
        }
        let next = (a + 1..self.events.len())
            .find(|&i| self.events[i].thread == x.thread && self.events[i].object != x.object);
        let previous = (0..b)
            .rev()
            .find(|&i| self.events[i].thread == y.thread && self.events[i].object != y.object);
        next.zip(previous).is_some_and(|(c, d)| self.happens_before(c, d))
    }

    /// From an access to a fence: scb;HB?
    fn reaches_fence(&self, a: usize, fence: usize) -> bool {
        let thread = self.events[a].thread;
        let next = (a + 1..self.events.len()).find(|&i| self.events[i].thread == thread);
        if next.is_some_and(|next| next == fence || self.happens_before(next, fence)) {
            return true;
        }
        (0..self.events.len()).any(|i| {
            let ordered = self.is_same_location(a, i) && self.happens_before(a, i);
            (ordered || self.is_overwritten(a, i)) && self.happens_before(i, fence)
        })
    }

    /// From a fence to an access: HB?;scb
    fn fence_reaches(&self, fence: usize, b: usize) -> bool {
        let thread = self.events[b].thread;
        let previous = (0..b).rev().find(|&i| self.events[i].thread == thread);
        if previous.is_some_and(|p| p == fence || self.happens_before(fence, p)) {
            return true;
        }
        (0..self.events.len()).any(|i| {
            let ordered = self.is_same_location(i, b) && self.happens_before(i, b);
            (ordered || self.is_overwritten(i, b)) && self.happens_before(fence, i)
        })
    }
}
