//! What a breadth-first search keeps beside the store: a queue, and links to predecessors.

use super::states::States;
use crate::store::Pending;
use crate::store::memory::pages;
use preempt_core::engine::SleepSet;

/// The states of the present and the next level, for stores that cannot give them back quickly.
#[derive(Debug)]
pub(crate) struct Frontier {
    used: bool,
    present: States,
    next: States,
    at: usize,
    /// How many states of the next level were popped ahead of their time.
    ahead: usize,
}

impl Frontier {
    pub(crate) fn new(used: bool) -> Self {
        Frontier { used, present: States::default(), next: States::default(), at: 0, ahead: 0 }
    }

    pub(crate) fn is_used(&self) -> bool {
        self.used
    }

    pub(crate) fn push(&mut self, state: &[u8]) {
        if self.used {
            self.next.push(state);
        }
    }

    /// Replaces `out` by the next state of the present level; `false` without a queue.
    #[inline]
    pub(crate) fn pop(&mut self, out: &mut Vec<u8>) -> bool {
        if !self.used {
            return false;
        }
        out.clear();
        // Behind the present level comes what is known of the next one.
        match self.at < self.present.len() {
            true => {
                out.extend_from_slice(self.present.get(self.at));
                self.at += 1;
            }
            false => {
                out.extend_from_slice(self.next.get(self.ahead));
                self.ahead += 1;
            }
        }
        true
    }

    /// Goes on to the next level.
    pub(crate) fn advance(&mut self) {
        std::mem::swap(&mut self.present, &mut self.next);
        self.next.clear();
        self.at = std::mem::take(&mut self.ahead);
    }

    /// Goes back to a state of the present level.
    pub(crate) fn rewind(&mut self, at: usize) {
        (self.at, self.ahead) = (at, 0);
    }

    pub(crate) fn bytes(&self) -> usize {
        self.present.used() + self.next.used()
    }
}

/// The processes that sleep in the states of the present and the next level.
#[derive(Debug)]
pub(crate) struct Sleepers {
    used: bool,
    present: Vec<SleepSet>,
    next: Vec<SleepSet>,
    at: usize,
    /// How many of the next level were popped ahead of their time.
    ahead: usize,
}

impl Sleepers {
    pub(crate) fn new(used: bool) -> Self {
        Sleepers { used, present: Vec::new(), next: Vec::new(), at: 0, ahead: 0 }
    }

    pub(crate) fn are_used(&self) -> bool {
        self.used
    }

    /// Adds the initial state, in which no process sleeps.
    pub(crate) fn begin(&mut self) {
        if self.used {
            self.next.push(SleepSet::EMPTY);
        }
    }

    /// Adds those of a batch that are new.
    #[inline]
    pub(crate) fn push(&mut self, arrivals: &[Pending], sleep_sets: &[SleepSet]) {
        if !self.used {
            return;
        }
        let mut end = self.next.len();
        // Which ones are new cannot be guessed: all are written, and only the new ones kept.
        pages::make_room(&mut self.next, arrivals.len());
        self.next.resize(end + arrivals.len(), SleepSet::EMPTY);
        let free = &mut self.next[end..];
        let mut kept = 0;
        for (arrival, sleep_set) in arrivals.iter().zip(sleep_sets) {
            free[kept] = *sleep_set;
            kept += usize::from(arrival.inserted.new);
        }
        end += kept;
        self.next.truncate(end);
    }

    /// The processes that sleep in the next state of the present level.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> SleepSet {
        let Some(sleep_set) = self.present.get(self.at) else { return self.pop_ahead() };
        self.at += 1;
        *sleep_set
    }

    /// Behind the present level comes what is known of the next one.
    fn pop_ahead(&mut self) -> SleepSet {
        let sleep_set = self.next.get(self.ahead).copied().unwrap_or_default();
        self.ahead += 1;
        sleep_set
    }

    /// Goes on to the next level.
    pub(crate) fn advance(&mut self) {
        std::mem::swap(&mut self.present, &mut self.next);
        self.next.clear();
        self.at = std::mem::take(&mut self.ahead);
    }

    /// Goes back to a state of the present level.
    pub(crate) fn rewind(&mut self, at: usize) {
        (self.at, self.ahead) = (at, 0);
    }

    pub(crate) fn bytes(&self) -> usize {
        (self.present.len() + self.next.len()) * size_of::<SleepSet>()
    }
}

/// For each state its predecessor and part of its hash, for stores that forget the states.
#[derive(Debug)]
pub(crate) struct Links {
    used: bool,
    parents: Vec<u32>,
    tags: Vec<u32>,
    owners: Vec<u32>,
}

impl Links {
    pub(crate) fn new(used: bool) -> Self {
        Links { used, parents: Vec::new(), tags: Vec::new(), owners: Vec::new() }
    }

    pub(crate) fn is_used(&self) -> bool {
        self.used
    }

    /// The next `count` pending states are successors of this one.
    #[inline(always)]
    pub(crate) fn note_owner(&mut self, owner: usize, count: usize) {
        if self.used {
            self.owners.resize(self.owners.len() + count, owner as u32);
        }
    }

    pub(crate) fn forget_owners(&mut self) {
        self.owners.clear();
    }

    pub(crate) fn owner(&self, at: usize) -> usize {
        self.owners.get(at).map_or(0, |owner| *owner as usize)
    }

    pub(crate) fn push(&mut self, parent: usize, hash: u64) {
        if self.used {
            self.parents.push(parent as u32);
            self.tags.push(hash as u32);
        }
    }

    pub(crate) fn parent(&self, at: usize) -> usize {
        self.parents[at] as usize
    }

    /// Whether a state with this hash can be the one with this number.
    pub(crate) fn agrees(&self, at: usize, hash: u64) -> bool {
        self.tags[at] == hash as u32
    }

    pub(crate) fn bytes(&self) -> usize {
        (self.parents.len() + self.tags.len()) * 4
    }
}
