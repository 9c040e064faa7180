//! States with the visits to them: all of a search, or the part of one of several threads' tables.
//!
//! Invariant: a visit lies behind its parent in time, so that following parents ends at the initial state.

use super::agenda::Item;
use super::visited::{Arrival, MOST_MOVERS, Visited};
use crate::search::shared::halt::Halt;
use crate::store::{StateId, Store};
use preempt_core::{ProcessId, Stop};

/// A visit, and where it came from.
#[derive(Clone, Copy)]
pub(super) struct Visit {
    pub(super) state: StateId,
    /// The number of the visit before, or [`NO_PARENT`].
    pub(super) parent: u32,
    pub(super) count: u16,
    /// The last mover, or [`NOBODY`].
    mover: u16,
    /// Whether the last mover really is the process that moved last.
    pub(super) exact: bool,
}

pub(super) const NO_PARENT: u32 = u32::MAX;
const NOBODY: u16 = u16::MAX;

impl Visit {
    pub(super) fn mover(self) -> Option<ProcessId> {
        (self.mover != NOBODY).then_some(ProcessId(self.mover))
    }
}

/// How a state was reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct VisitOrigin {
    pub(super) parent: u32,
    pub(super) count: u16,
    pub(super) mover: Option<ProcessId>,
    /// Whether that is the process that really moved last.
    pub(super) exact: bool,
}

impl VisitOrigin {
    /// The beginning of all executions.
    pub(super) const INITIALLY: VisitOrigin =
        VisitOrigin { parent: NO_PARENT, count: 0, mover: None, exact: true };
}

/// What became of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ArrivalOutcome {
    /// A visit that is to be expanded: its place in the log.
    Visit(u32),
    /// A visit that is yet to be expanded covers it.
    Open,
    /// Only visits cover it that were expanded.
    Closed,
}

/// States, what is known of them, and the log of the visits to them.
pub(super) struct Shard<'s, T> {
    pub(super) store: &'s mut T,
    pub(super) visited: Visited,
    pub(super) log: Vec<Visit>,
    /// How many visits the log may hold.
    most: usize,
    /// Distinct states visited.
    pub(super) states: u64,
    pub(super) revisits: u64,
}

impl<'s, T: Store> Shard<'s, T> {
    /// One of `shards` parts.
    pub(super) fn new(store: &'s mut T, shards: usize) -> Self {
        let most = NO_PARENT as usize / shards;
        let (visited, log) = (Visited::default(), Vec::new());
        Shard { store, visited, log, most, states: 0, revisits: 0 }
    }

    /// Notes an arrival at a state, whose hash is known.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        hash: u64,
        bytes: &[u8],
        reached: VisitOrigin,
    ) -> Result<ArrivalOutcome, Halt> {
        let state = self.store.insert_hashed(hash, bytes)?.id;
        self.arrive_at(state, reached)
    }

    /// Notes an arrival at a stored state.
    #[inline]
    pub(super) fn arrive_at(
        &mut self,
        state: StateId,
        reached: VisitOrigin,
    ) -> Result<ArrivalOutcome, Halt> {
        let VisitOrigin { parent, count, mover, exact } = reached;
        // To have no last mover never costs more.
        let small = mover.filter(|mover| mover.0 < MOST_MOVERS);
        match self.visited.arrive(state, count.into(), small) {
            Arrival::Closed => return Ok(ArrivalOutcome::Closed),
            Arrival::Open => return Ok(ArrivalOutcome::Open),
            Arrival::New => self.states += 1,
            Arrival::Again => self.revisits += 1,
        }
        if self.log.len() >= self.most {
            return Err(Halt::Stop(Stop::Memory));
        }
        let number = self.log.len() as u32;
        let exact = exact && small == mover;
        let mover = small.map_or(NOBODY, |mover| mover.0);
        self.log.push(Visit { state, parent, count, mover, exact });
        Ok(ArrivalOutcome::Visit(number))
    }

    /// Begins with what is to be done at the visit that has this place in the log, and loads its state; `None` if it is not needed
    /// any more.
    pub(super) fn begin(&mut self, item: Item, at: u32, state: &mut Vec<u8>) -> Option<Visit> {
        let visit = self.log[at as usize];
        let needed = match item {
            Item::Visit(_) => self.visited.begin(visit.state, visit.count.into(), visit.mover()),
            Item::Others(_) => self.is_current(at),
        };
        needed.then(|| {
            self.store.load(visit.state, state);
            visit
        })
    }

    /// Whether a visit that was expanded is still the least of its kind.
    pub(super) fn is_current(&self, number: u32) -> bool {
        let visit = self.log[number as usize];
        self.visited.is_current(visit.state, visit.count.into())
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.store.bytes() + self.visited.bytes() + self.log.capacity() * size_of::<Visit>()
    }
}
