//! All executions without a preemption, then those with one, then with two, …, with a reduction that is
//! sound under the bound.
//!
//! Paper: [HF] Fig. 5
//! Paper: [MQ07] Algorithm 1
//!
//! Differs from [HF]: processes run ahead as `reduce/ahead.rs` says, without paying; a last mover that may
//! owe its turn to that is forgotten, so that whoever goes on pays nothing either. [HF] gives every step behind
//! an ample one for free instead, which loses violations where an ample step enables a process.
//!
//! A visit is (state, last mover or none, count). It is dealt with in one of two ways:
//! 1. A candidate set runs ahead: all its steps are taken at the same count, and the last mover stays. That
//!    is enough if one of them leads to a visit that is yet to be expanded (the *proviso*).
//! 2. If no candidate does, the last mover goes on, and all others with one preemption more. Where
//!    there is no last mover, all go on for free.
//!
//! Visits are expanded one by one, not in batches as in `buckets.rs`: the proviso asks of every step taken ahead whether the visit
//! it leads to is yet to be expanded, and that changes with each visit.
//!
//! Counts are lower bounds: a violation that is found may need more preemptions, which its replay says.
//! None within the bound is lost; the book's chapter on bounded reduction has the proof.
//!
//! Invariant: a bucket is finished when all visits at its count are expanded, and all that were found
//! robust before still are.

mod explorer;
mod mistake;
mod outgoing;
mod parallel;
mod pilot;
mod shard;
#[cfg(test)]
mod tests;
mod violations;
mod visited;

use super::conclusion::Conclusion;
use super::phases::{PhasedSearch, Phases, iterate, last_bound};
use crate::reduce::Signalled;
use crate::search::shared::halt::Halt;
use crate::store::Store;
use crate::{Budget, Finding, Options, Preemptions, Progress};
use explorer::{CurrentVisit, Explorer, Visits};
use mistake::{Mistake, makes};
pub(crate) use parallel::iterative_reduced_parallel;
pub(crate) use pilot::{Order, pilot};
use preempt_core::{BoundRow, Outcome, Step, System};
use shard::{ArrivalOutcome, NO_PARENT, Shard, Visit, VisitOrigin};
use std::collections::VecDeque;
use violations::{FoundViolation, Violations, visits_to};

/// What a reduced search came to.
pub(crate) enum Reduced {
    /// It found out what was asked for.
    Decided(Box<Finding>),
    /// As far as was replayed, the violations that it met need more preemptions than the bound; whether
    /// others need fewer an exact search must tell.
    Undecided(Box<Finding>),
}

/// Explores bucket by bucket, as far as `options.preemptions` says, where last movers may owe their turn to
/// what is `signalled`. The store must give states back.
#[doc(alias = "HF Fig. 5")]
pub(crate) fn iterative_reduced<S: System + ?Sized, T: Store>(
    system: &S,
    store: &mut T,
    options: &Options,
    signalled: Signalled,
    budget: &mut Budget,
) -> Reduced {
    let mut search = Search::new(system, store, options, signalled);
    let phases = iterate(&mut search, options, budget);
    let undecided = search.visits.violations.are_beyond(search.visits.judged_by());
    let finding = Box::new(search.finish(phases, budget));
    if undecided { Reduced::Undecided(finding) } else { Reduced::Decided(finding) }
}

struct Search<'a, S: ?Sized, T> {
    explorer: Explorer<'a, S>,
    visits: Buckets<'a, S, T>,
}

/// All visits, in buckets by their counts.
struct Buckets<'a, S: ?Sized, T> {
    system: &'a S,
    shard: Shard<'a, T>,
    preemptions: Preemptions,
    /// The last bound.
    last: u32,
    /// By count: visits that are yet to be expanded,
    open: Vec<VecDeque<u32>>,
    /// and those whose last mover went on, while others have to wait for one preemption more.
    kept: Vec<Vec<u32>>,
    /// The count of the present bucket.
    bucket: u32,
    violations: Violations,
}

impl<'a, S: System + ?Sized, T: Store> Search<'a, S, T> {
    fn new(system: &'a S, store: &'a mut T, options: &Options, signalled: Signalled) -> Self {
        Search {
            explorer: Explorer::new(system, options, signalled),
            visits: Buckets {
                system,
                shard: Shard::new(store, 1),
                preemptions: options.preemptions,
                last: last_bound(options),
                open: vec![VecDeque::new()],
                kept: vec![Vec::new()],
                bucket: 0,
                violations: Violations::new(options),
            },
        }
    }

    fn poll(&self, budget: &mut Budget) -> Result<(), Halt> {
        let visits = &self.visits;
        let stop = budget.poll(|| Progress {
            states: visits.shard.states,
            transitions: 1 + self.explorer.transitions,
            queue: visits.open.iter().map(|open| open.len() as u64).sum(),
            memory: self.bytes(),
            ..Progress::default()
        });
        stop.map_or(Ok(()), |stop| Err(Halt::Stop(stop)))
    }

    fn bytes(&self) -> usize {
        let waiting = self.visits.open.iter().map(VecDeque::capacity).sum::<usize>()
            + self.visits.kept.iter().map(Vec::capacity).sum::<usize>();
        self.visits.shard.bytes() + self.explorer.bytes() + waiting * size_of::<u32>()
    }

    /// Has the explorer turn to the state of a visit.
    fn load(&mut self, number: u32) -> (Visit, CurrentVisit) {
        let visit = self.visits.shard.log[number as usize];
        self.visits.shard.store.load(visit.state, &mut self.explorer.state);
        (visit, CurrentVisit { number, count: visit.count, mover: visit.mover() })
    }

    /// Deals with a visit, unless it is not needed any more.
    fn expand(&mut self, number: u32) -> Result<(), Halt> {
        let Visit { state, count, .. } = self.visits.shard.log[number as usize];
        let mover = self.visits.shard.log[number as usize].mover();
        if !self.visits.shard.visited.begin(state, count.into(), mover) {
            return Ok(());
        }
        let (_, at) = self.load(number);
        self.explorer.expand(at, &mut self.visits)
    }

    /// Runs, at one preemption more, the processes that had to wait at a visit.
    fn expand_others(&mut self, number: u32) -> Result<(), Halt> {
        if !self.visits.shard.is_current(number) {
            return Ok(());
        }
        let (_, at) = self.load(number);
        self.explorer.expand_others(at, &mut self.visits)
    }

    /// Judges again, after more was learned, which last movers are robust. Says whether more was learned.
    fn judge_again(&mut self, budget: &mut Budget) -> Result<bool, Halt> {
        let Signalled::Learned(learned) = &mut self.explorer.ahead.signalled else {
            return Ok(false);
        };
        if !learned.has_grown() || makes(Mistake::NeverJudgedAgain) {
            return Ok(false);
        }
        for number in 0..self.visits.shard.log.len() as u32 {
            let visit = self.visits.shard.log[number as usize];
            let Some(mover) = visit.mover().filter(|_| self.visits.shard.is_current(number)) else {
                continue;
            };
            self.poll(budget)?;
            self.load(number);
            if !self.explorer.is_still_robust(mover)? {
                let Visit { parent, count, .. } = visit;
                let reached = VisitOrigin { parent, count, mover: None, exact: false };
                let became = self.visits.shard.arrive_at(visit.state, reached)?;
                self.visits.enter(became, count);
            }
        }
        Ok(true)
    }

    fn finish(mut self, Phases { rows, bound, end }: Phases, budget: &Budget) -> Finding {
        let system = self.visits.system;
        let conclusion = Conclusion {
            states: self.visits.shard.states,
            transitions: 1 + self.explorer.transitions,
            revisits: self.visits.shard.revisits,
            depth: self.visits.depth(),
            memory: self.bytes(),
            rows,
            bound,
            end,
            counters: {
                self.visits.violations.finish(&mut self.explorer.outgoing.counters);
                self.explorer.outgoing.counters
            },
        };
        conclusion.finding(system, budget)
    }
}

impl<S: System + ?Sized, T: Store> PhasedSearch for Search<'_, S, T> {
    fn start(&mut self) -> Result<(), Halt> {
        let mut initial = Vec::new();
        let outcome = self.visits.system.initial(&mut initial);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome
            && self.explorer.outgoing.counters.reports(self.visits.system, fault)
        {
            self.visits.note(None, &[], Some(fault))?;
        }
        if !matches!(outcome, Outcome::Broken(_)) {
            let hash = self.visits.hash(&initial);
            self.visits.arrive(hash, &initial, VisitOrigin::INITIALLY)?;
        }
        Ok(())
    }

    /// Expands all visits up to the count of the bucket: a visit that turns out to have no last mover may open those of earlier
    /// buckets again.
    fn run_phase(&mut self, budget: &mut Budget) -> Result<(), Halt> {
        loop {
            let bucket = self.visits.bucket as usize;
            let (open, kept) = (&self.visits.open, &self.visits.kept);
            if let Some(count) = (0..=bucket).find(|count| !open[*count].is_empty()) {
                while let Some(visit) = self.visits.open[count].pop_front() {
                    self.poll(budget)?;
                    self.expand(visit)?;
                }
            } else if let Some(count) = (0..bucket).find(|count| !kept[*count].is_empty()) {
                for visit in std::mem::take(&mut self.visits.kept[count]) {
                    self.poll(budget)?;
                    self.expand_others(visit)?;
                }
            } else if !self.judge_again(budget)? {
                return Ok(());
            }
        }
    }

    fn has_next(&mut self) -> bool {
        let Buckets { shard, kept, bucket, .. } = &mut self.visits;
        let waiting = &mut kept[*bucket as usize];
        waiting.retain(|visit| shard.is_current(*visit));
        !waiting.is_empty()
    }

    fn begin_next(&mut self) -> Result<(), Halt> {
        self.visits.bucket += 1;
        self.visits.open.push(VecDeque::new());
        self.visits.kept.push(Vec::new());
        Ok(())
    }

    /// What needs more preemptions than the bucket it was met in, an exact search must judge.
    fn must_end(&self) -> bool {
        let iterates = matches!(self.visits.preemptions, Preemptions::Iterate { .. });
        iterates && self.visits.violations.are_beyond(self.visits.judged_by())
    }

    fn row(&self) -> BoundRow {
        BoundRow {
            stale: None,
            bound: self.visits.bucket,
            states: self.visits.shard.states,
            transitions: 1 + self.explorer.transitions,
            errors: self.visits.violations.errors(),
        }
    }
}

impl<S: System + ?Sized, T: Store> Buckets<'_, S, T> {
    /// The number of preemptions that a violation must keep to.
    fn judged_by(&self) -> u32 {
        match self.preemptions {
            Preemptions::Iterate { .. } => self.bucket,
            Preemptions::Any | Preemptions::AtMost(_) => self.last,
        }
    }

    /// Puts a new visit into its bucket; says whether the arrival led to one that is yet to be expanded.
    fn enter(&mut self, became: ArrivalOutcome, count: u16) -> bool {
        if let ArrivalOutcome::Visit(number) = became {
            self.open[usize::from(count)].push_back(number);
        }
        became != ArrivalOutcome::Closed
    }

    /// Takes note of a fault, or an invalid end, behind a visit and these steps.
    fn note(&mut self, visit: Option<u32>, path: &[Step], fault: Option<u32>) -> Result<(), Halt> {
        let most = self.judged_by();
        let (log, store) = (&self.shard.log, &*self.shard.store);
        let mut target = Vec::new();
        let met = || {
            let to = |last| visits_to(last, |number| log[number as usize]);
            FoundViolation { visits: visit.map_or(Vec::new(), to), path, fault }
        };
        self.violations.note(self.system, most, met, |number, state| {
            store.load(log[number as usize].state, &mut target);
            target == state
        })
    }

    /// The longest execution in the log, counted in visits.
    fn depth(&self) -> u64 {
        let mut depths: Vec<u32> = Vec::with_capacity(self.shard.log.len());
        for visit in &self.shard.log {
            let before = depths.get(visit.parent as usize).filter(|_| visit.parent != NO_PARENT);
            depths.push(before.map_or(0, |before| before + 1));
        }
        depths.into_iter().max().unwrap_or(0).into()
    }
}

impl<S: System + ?Sized, T: Store> Visits for Buckets<'_, S, T> {
    #[inline]
    fn hash(&self, state: &[u8]) -> u64 {
        let hash = self.shard.store.hash(state);
        self.shard.store.prefetch(hash);
        hash
    }

    #[inline]
    fn arrive(&mut self, hash: u64, state: &[u8], reached: VisitOrigin) -> Result<bool, Halt> {
        let became = self.shard.arrive(hash, state, reached)?;
        Ok(self.enter(became, reached.count))
    }

    fn forget_mover(&mut self, visit: u32) {
        let Visit { state, count, .. } = self.shard.log[visit as usize];
        self.shard.visited.set_nobody(state, count.into());
    }

    fn wait(&mut self, visit: u32) {
        let count = self.shard.log[visit as usize].count;
        self.kept[usize::from(count)].push(visit);
    }

    fn fault(&mut self, visit: u32, path: &[Step], fault: u32) -> Result<(), Halt> {
        self.note(Some(visit), path, Some(fault))
    }

    fn invalid_end(&mut self, visit: u32) -> Result<(), Halt> {
        let state = self.shard.log[visit as usize].state;
        if self.shard.visited.checks_end(state) {
            self.note(Some(visit), &[], None)?;
        }
        Ok(())
    }
}
