//! The relation of [`psc`](super::psc) as it is defined, to compare the search with.

use super::log::Logged;
use super::writes::Weak;
use crate::ObjectId;

/// The events of a log and one more, with what is asked about them.
pub(super) struct Events<'a> {
    pub(super) weak: &'a Weak,
    /// The one more, and its position.
    pub(super) event: &'a Logged,
    pub(super) last: usize,
    /// Its place in modification order if it writes.
    pub(super) at: Option<usize>,
}

impl Events<'_> {
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
    pub(super) fn is_acyclic(&self, strong: &[u32]) -> bool {
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
