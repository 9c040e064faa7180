//! The phases of a search by one thread.
//!
//! Paper: [MQ07] Algorithm 1
//!
//! The log of visits is the queue of the present bucket: what is behind the cursor is yet to be expanded.

use super::buckets::{Bucketed, DeferredVisit, row};
use super::own_visits::{OwnVisits, WorkerId, finish};
use super::phases::{PhasedSearch, iterate};
use super::visit_memory::VisitMemory;
use super::visited_set::VisitedSet;
use crate::platform::sync::atomic::AtomicU64;
use crate::search::shared::halt::Halt;
use crate::{Budget, Finding, Options, Progress};
use preempt_core::{BoundRow, System};

/// Explores bucket by bucket, as far as `options.preemptions` says. `reduce` takes transparent
/// steps alone.
pub(crate) fn iterative<S: System + ?Sized, L: VisitMemory>(
    system: &S,
    visited: L,
    options: &Options,
    reduce: bool,
    budget: &mut Budget,
) -> Finding {
    let errors = AtomicU64::new(0);
    let visits = OwnVisits::new(visited, WorkerId { me: 0, threads: 1 }, &errors);
    let mut search = OneThread::new(Bucketed::new(system, visits, options, reduce));
    let phases = iterate(&mut search, options, budget);
    let memory = search.bytes();
    finish(system, vec![search.bucketed], phases, memory, options, budget)
}

/// A search by one thread, or by one of several that have a log each.
pub(super) struct OneThread<'a, S: ?Sized, L: VisitMemory> {
    pub(super) bucketed: Bucketed<'a, S, OwnVisits<'a, L>>,
    /// The next visit to expand.
    cursor: u32,
    /// The visits of the bucket before after which processes had to wait.
    pub(super) waiting: Vec<DeferredVisit>,
    /// How many of them were run.
    pub(super) waited: usize,
}

impl<'a, S: System + ?Sized, L: VisitMemory> OneThread<'a, S, L> {
    pub(super) fn new(bucketed: Bucketed<'a, S, OwnVisits<'a, L>>) -> Self {
        OneThread { bucketed, cursor: 0, waiting: Vec::new(), waited: 0 }
    }

    /// How many visits are yet to be expanded.
    pub(super) fn backlog(&self) -> u32 {
        self.bucketed.visited.logged() - self.cursor
    }

    /// Runs a batch; says whether there was anything to do.
    pub(super) fn run_batch(&mut self) -> Result<bool, Halt> {
        if self.waited < self.waiting.len() {
            self.waited += self.bucketed.run_deferred(&self.waiting[self.waited..])?;
            return Ok(true);
        }
        let logged = self.bucketed.visited.logged();
        if self.cursor == logged {
            return Ok(false);
        }
        self.cursor = self.bucketed.run_batch(self.cursor..logged)?;
        self.bucketed.visited.pass(self.cursor);
        Ok(true)
    }

    fn progress(&self) -> Progress {
        let (bucketed, next) = (&self.bucketed, &self.bucketed.next);
        Progress {
            states: bucketed.states,
            transitions: bucketed.transitions.saturating_add_signed(next.transitions),
            queue: u64::from(self.backlog()) + next.visits.len() as u64,
            memory: self.bytes(),
            ..Progress::default()
        }
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bucketed.visited.bytes() + self.bucketed.own_bytes()
    }
}

impl<S: System + ?Sized, L: VisitMemory> PhasedSearch for OneThread<'_, S, L> {
    fn start(&mut self) -> Result<(), Halt> {
        self.bucketed.start()
    }

    fn run_phase(&mut self, budget: &mut Budget) -> Result<(), Halt> {
        loop {
            budget.check_every(16, || self.progress()).map_or(Ok(()), Err)?;
            if !self.run_batch()? {
                return Ok(());
            }
        }
    }

    fn has_next(&mut self) -> bool {
        (self.waiting, self.waited) = (self.bucketed.take_deferred(), 0);
        let Self { bucketed, waiting, .. } = self;
        bucketed.next.ahead != 0 || waiting.iter().any(|deferred| bucketed.keeps_back(*deferred))
    }

    fn begin_next(&mut self) -> Result<(), Halt> {
        self.bucketed.visited.begin_next();
        self.bucketed.begin_next()
    }

    fn row(&self) -> BoundRow {
        row(std::iter::once(&self.bucketed))
    }
}
