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

/// The events of a log and one more, with what is asked about them.
struct Events<'a> {
    weak: &'a Weak,
    /// The one more, and its position.
    event: &'a Logged,
    last: usize,
    /// Its place in modification order if it writes.
    at: Option<usize>,
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
            || !event.strong && !strong.iter().any(follows)
        {
            return true;
        }
        let graph = Events { weak: self, event, last: self.log.len(), at };
        let mut strong = strong.to_vec();
        strong.extend(event.strong.then_some(graph.last as u32));
        let acyclic = !graph.has_cycle_behind(&strong);
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
    /// Whether there is a cycle of psc among the `strong` events that the newest one has closed. There was
    /// none without it, and nothing happens after it: all edges that it adds begin at it or at a fence before it.
    fn has_cycle_behind(&self, strong: &[u32]) -> bool {
        let mut seen = vec![Seen::Nothing; strong.len()];
        // A node, and how many of its possible successors were looked at.
        let mut stack: Vec<(usize, usize)> = Vec::new();
        for (root, &at) in strong.iter().enumerate() {
            let e = self.get(at as usize);
            let is_root = at as usize == self.last
                || !self.event.strong && e.fence && e.happens_before(self.event);
            if !is_root || seen[root] != Seen::Nothing {
                continue;
            }
            seen[root] = Seen::Open;
            stack.push((root, self.first_successor(root, strong)));
            while let Some((node, next)) = stack.last_mut() {
                let (node, successor) = (*node, *next);
                if successor == strong.len() {
                    seen[node] = Seen::Closed;
                    stack.pop();
                    continue;
                }
                *next += 1;
                let (a, b) = (strong[node] as usize, strong[successor] as usize);
                if seen[successor] == Seen::Closed || !self.psc(a, b) {
                    continue;
                }
                if seen[successor] == Seen::Open {
                    return true;
                }
                seen[successor] = Seen::Open;
                stack.push((successor, self.first_successor(successor, strong)));
            }
        }
        false
    }

    /// The first of the `strong` events that one of them may have an edge to. An edge to an event that was logged earlier
    /// begins with MO or RB at a stale choice: the event itself, or one after it if it is a fence.
    fn first_successor(&self, node: usize, strong: &[u32]) -> usize {
        let event = self.get(strong[node] as usize);
        if event.stale || event.fence { 0 } else { node + 1 }
    }

    fn get(&self, at: usize) -> &Logged {
        if at == self.last { self.event } else { self.weak.log.get(at) }
    }

    fn all(&self) -> std::ops::Range<usize> {
        0..self.last + 1
    }

    /// Doubled place of what an event reads.
    fn read(&self, at: usize) -> Option<u32> {
        let event = self.get(at);
        self.place(event, event.read?, at == self.last).map(|place| place + 1)
    }

    /// Doubled place of what an event writes.
    fn write(&self, at: usize) -> Option<u32> {
        let event = self.get(at);
        match self.at.filter(|_| at == self.last) {
            Some(place) => Some(2 * place as u32),
            None => self.place(event, event.write?, false),
        }
    }

    /// Doubled place of a write. What comes after that of the new event is moved.
    fn place(&self, event: &Logged, name: u64, is_new: bool) -> Option<u32> {
        let writes = &self.weak.location(event.object)?.writes;
        let place = writes.iter().rposition(|write| write.name == name)?;
        let is_moved = event.object == self.event.object && !is_new;
        let moved = usize::from(is_moved && self.at.is_some_and(|at| place >= at));
        Some(2 * (place + moved) as u32)
    }

    /// The definition: nodes without incoming edges can be taken away until none is left.
    #[cfg(test)]
    fn is_acyclic(&self, strong: &[u32]) -> bool {
        let mut left: Vec<usize> = strong.iter().map(|&at| at as usize).collect();
        while !left.is_empty() {
            let first = |&b: &usize| !left.iter().any(|&a| self.psc(a, b));
            let Some(taken) = left.iter().position(first) else { return false };
            left.swap_remove(taken);
        }
        true
    }

    fn happens_before(&self, a: usize, b: usize) -> bool {
        let (x, y) = (self.get(a), self.get(b));
        if x.thread == y.thread { a < b } else { x.happens_before(y) }
    }

    fn is_same_location(&self, a: usize, b: usize) -> bool {
        let object = self.get(a).object;
        object != ObjectId::NONE && object == self.get(b).object
    }

    /// MO or RB.
    fn is_overwritten(&self, a: usize, b: usize) -> bool {
        let is_asked = a != b && self.is_same_location(a, b) && self.get(b).write.is_some();
        is_asked && self.first_place(a).zip(self.write(b)).is_some_and(|(from, to)| from < to)
    }

    fn first_place(&self, a: usize) -> Option<u32> {
        self.read(a).or_else(|| self.write(a))
    }

    fn last_place(&self, a: usize) -> Option<u32> {
        self.write(a).or_else(|| self.read(a))
    }

    fn psc(&self, a: usize, b: usize) -> bool {
        if a == b {
            return false;
        }
        match (self.get(a).fence, self.get(b).fence) {
            (true, true) => self.happens_before(a, b) || self.fences_are_ordered(a, b),
            (false, false) => self.scb(a, b),
            (false, true) => self.reaches_fence(a, b),
            (true, false) => self.fence_reaches(a, b),
        }
    }

    /// HB;ECO;HB
    fn fences_are_ordered(&self, a: usize, b: usize) -> bool {
        self.all().filter(|&x| self.happens_before(a, x)).any(|x| {
            let Some(from) = self.first_place(x) else { return false };
            self.all().any(|y| {
                self.is_same_location(x, y)
                    && self.last_place(y).is_some_and(|to| from < to)
                    && self.happens_before(y, b)
            })
        })
    }

    /// Between two accesses.
    fn scb(&self, a: usize, b: usize) -> bool {
        let (x, y) = (self.get(a), self.get(b));
        if x.thread == y.thread && a < b {
            return true;
        }
        if self.is_overwritten(a, b) {
            return true;
        }
        if self.is_same_location(a, b) {
            return self.happens_before(a, b);
        }
        let next = (a + 1..self.last + 1)
            .find(|&i| self.get(i).thread == x.thread && self.get(i).object != x.object);
        let previous = (0..b)
            .rev()
            .find(|&i| self.get(i).thread == y.thread && self.get(i).object != y.object);
        next.zip(previous).is_some_and(|(c, d)| self.happens_before(c, d))
    }

    /// From an access to a fence: scb;HB?
    fn reaches_fence(&self, a: usize, fence: usize) -> bool {
        let thread = self.get(a).thread;
        let next = (a + 1..self.last + 1).find(|&i| self.get(i).thread == thread);
        if next.is_some_and(|next| next == fence || self.happens_before(next, fence)) {
            return true;
        }
        self.all().any(|i| {
            let ordered = self.is_same_location(a, i) && self.happens_before(a, i);
            (ordered || self.is_overwritten(a, i)) && self.happens_before(i, fence)
        })
    }

    /// From a fence to an access: HB?;scb
    fn fence_reaches(&self, fence: usize, b: usize) -> bool {
        let thread = self.get(b).thread;
        let previous = (0..b).rev().find(|&i| self.get(i).thread == thread);
        if previous.is_some_and(|p| p == fence || self.happens_before(fence, p)) {
            return true;
        }
        self.all().any(|i| {
            let ordered = self.is_same_location(i, b) && self.happens_before(i, b);
            (ordered || self.is_overwritten(i, b)) && self.happens_before(fence, i)
        })
    }
}
