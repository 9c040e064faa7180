//! What one thread of a reduced search has to do: visits by their counts, the lowest first.
//!
//! Invariant: what waits for one preemption more is given out only when no visit of the thread is left.

use std::collections::VecDeque;

/// Something to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Item {
    /// A visit is to be expanded.
    Visit(u32),
    /// The processes that had to wait at a visit get their turn.
    Others(u32),
}

impl Item {
    /// The visit that it is about.
    pub(super) fn number(self) -> u32 {
        let (Item::Visit(number) | Item::Others(number)) = self;
        number
    }
}

/// Visits that one thread hands to another.
pub(super) struct Chunk {
    /// Their count; none for those at which others get their turn.
    count: Option<u16>,
    visits: VecDeque<u32>,
}

/// Visits that a thread hands to others at once.
pub(super) const CHUNK: usize = 64;

/// What is to be done.
#[derive(Default)]
pub(super) struct Agenda {
    /// By count: visits that are yet to be expanded.
    open: Vec<VecDeque<u32>>,
    /// By count: visits at which the last mover went on, while the other processes wait for one preemption more.
    kept: Vec<Vec<u32>>,
    /// Visits of the latter kind at which the other processes are run now.
    due: VecDeque<u32>,
    /// No visit with a lower count is open.
    lowest: usize,
}

impl Agenda {
    /// Adds a visit that is to be expanded.
    #[inline]
    pub(super) fn open(&mut self, count: u16, visit: u32) {
        let count = usize::from(count);
        if self.open.len() <= count {
            self.open.resize_with(count + 1, VecDeque::new);
        }
        self.lowest = self.lowest.min(count);
        self.open[count].push_back(visit);
    }

    /// Adds a visit at which others have to wait.
    pub(super) fn keep(&mut self, count: u16, visit: u32) {
        let count = usize::from(count);
        if self.kept.len() <= count {
            self.kept.resize_with(count + 1, Vec::new);
        }
        self.kept[count].push(visit);
    }

    /// What to do next in this bucket.
    #[inline]
    pub(super) fn next(&mut self, bucket: u32) -> Option<Item> {
        if let Some(visit) = self.due.pop_front() {
            return Some(Item::Others(visit));
        }
        while let Some(open) = self.open.get_mut(self.lowest) {
            if let Some(visit) = open.pop_front() {
                return Some(Item::Visit(visit));
            }
            self.lowest += 1;
        }
        let kept = self.kept.iter_mut().take(bucket as usize).find(|kept| !kept.is_empty())?;
        self.due.extend(kept.drain(..));
        self.due.pop_front().map(Item::Others)
    }

    /// Drops those visits of the bucket at which others need not wait any more; says whether there are others.
    pub(super) fn retain_kept(&mut self, bucket: u32, is_current: impl Fn(u32) -> bool) -> bool {
        let Some(kept) = self.kept.get_mut(bucket as usize) else { return false };
        kept.retain(|visit| is_current(*visit));
        !kept.is_empty()
    }

    /// How much there is to do now.
    pub(super) fn len(&self) -> usize {
        self.due.len() + self.open.get(self.lowest).map_or(0, VecDeque::len)
    }

    /// Some of what is to be done, for another thread.
    pub(super) fn give(&mut self) -> Option<Chunk> {
        let (count, visits) = match self.due.is_empty() {
            false => (None, &mut self.due),
            true => (Some(self.lowest as u16), self.open.get_mut(self.lowest)?),
        };
        let given = CHUNK.min(visits.len() / 2);
        (given > 0).then(|| Chunk { count, visits: visits.split_off(visits.len() - given) })
    }

    /// Takes what another thread has given.
    pub(super) fn take(&mut self, chunk: Chunk) {
        match chunk.count {
            None => self.due.extend(chunk.visits),
            Some(count) => chunk.visits.into_iter().for_each(|visit| self.open(count, visit)),
        }
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let open: usize = self.open.iter().map(VecDeque::capacity).sum();
        let kept: usize = self.kept.iter().map(Vec::capacity).sum();
        (open + kept + self.due.capacity()) * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits come by their counts, then those that waited; what is handed on is lost by one thread and had by the other.
    #[test]
    fn lower_counts_come_first() {
        let mut agenda = Agenda::default();
        agenda.open(1, 10);
        agenda.open(0, 11);
        agenda.keep(0, 12);
        agenda.keep(1, 13);
        assert_eq!(agenda.next(1), Some(Item::Visit(11)));
        assert_eq!(agenda.next(1), Some(Item::Visit(10)));
        assert_eq!(agenda.next(1), Some(Item::Others(12)));
        agenda.open(0, 14);
        assert_eq!(agenda.next(1), Some(Item::Visit(14)));
        assert_eq!(agenda.next(1), None);
        assert!(agenda.retain_kept(1, |visit| visit == 13) && !agenda.retain_kept(1, |_| false));
        (0..9).for_each(|visit| agenda.open(2, visit));
        assert_eq!(agenda.next(2), Some(Item::Visit(0)));
        let mut other = Agenda::default();
        other.take(agenda.give().expect("there are eight"));
        let rest = |mut agenda: Agenda| std::iter::from_fn(move || agenda.next(2)).count();
        assert_eq!((rest(agenda), rest(other)), (4, 4));
    }
}
