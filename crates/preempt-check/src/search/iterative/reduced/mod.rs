//! All executions without a preemption, then those with one, then with two, …, with a reduction that is
//! sound under the bound.
//!
//! Paper: [HF] Fig. 5
//! Paper: [MQ07] Algorithm 1
//!
//! Differs from [HF]: processes run ahead as `reduce/ahead.rs` says, without paying; a last mover that may
//! owe its turn to that is forgotten, so that any process goes on for free. [HF] gives every step behind
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
//! **Threads.** States are dealt out to shards by their hash, and a shard is locked while something is looked up or noted in it
//! (one thread has one shard, and never waits for its lock). So whether a visit is yet to be expanded is always known,
//! whichever thread will expand it, and the proviso holds: along steps taken ahead visits begin to be expanded ever later. Each
//! thread learns for itself what is signalled ahead. When a phase is done all that was learned is put together, and if that is
//! more than some thread knew, last movers are judged again.
//!
//! Counts are lower bounds: a violation that is found may need more preemptions, which its replay says.
//! None within the bound is lost; the book's chapter on bounded reduction has the proof.
//!
//! Invariant: a bucket is finished when all visits at its count are expanded, and all that were found
//! robust before still are.

mod agenda;
mod explorer;
mod mistake;
mod outgoing;
mod pilot;
mod shard;
mod team;
#[cfg(test)]
mod tests;
mod violations;
mod visited;

use super::conclusion::nothing_searched;
use super::phases::{PhasedSearch, iterate};
use crate::reduce::{Learned, Signalled};
use crate::search::shared::halt::Halt;
use crate::search::shared::workers::{Fewer, with_as_many_as_possible};
use crate::store::Store;
use crate::{Budget, Finding, Options};
use explorer::Explorer;
use mistake::{Mistake, makes};
pub(crate) use pilot::{Order, pilot};
use preempt_core::{BoundRow, System};
use team::{Team, Thread};

/// What a reduced search came to.
pub(crate) enum Reduced {
    /// It found out what was asked for.
    Decided(Box<Finding>),
    /// As far as was replayed, the violations that it met need more preemptions than the bound; whether
    /// others need fewer an exact search must tell.
    Undecided(Box<Finding>),
}

impl Reduced {
    fn new(finding: Finding, undecided: bool) -> Self {
        match undecided {
            true => Reduced::Undecided(Box::new(finding)),
            false => Reduced::Decided(Box::new(finding)),
        }
    }
}

/// Shards of a search by several threads: more than there are threads, so that these seldom wait for each other.
pub(crate) const SHARDS: usize = 32;

/// Explores bucket by bucket, as far as `options.preemptions` says, where last movers may owe their turn to
/// what is `signalled`. The store must give states back.
#[doc(alias = "HF Fig. 5")]
pub(crate) fn iterative_reduced<S: System + ?Sized, T: Store>(
    system: &S,
    store: &mut T,
    options: &Options,
    signalled: &Signalled,
    budget: &mut Budget,
) -> Reduced {
    let mut undecided = false;
    let finding = with_as_many_as_possible(1, |threads| {
        let stores = std::slice::from_mut(&mut *store);
        let (finding, is) = search(system, stores, threads, (options, signalled), budget)?;
        undecided = is;
        Ok(finding)
    });
    Reduced::new(finding, undecided)
}

/// As [`iterative_reduced`] with `options.threads` threads; `make_store` makes a store for each of the [`SHARDS`].
pub(crate) fn iterative_reduced_parallel<S: System + ?Sized, T: Store>(
    system: &S,
    make_store: impl Fn() -> T,
    options: &Options,
    signalled: &Signalled,
    budget: &mut Budget,
) -> Reduced {
    let mut undecided = false;
    let finding = with_as_many_as_possible(options.threads, |threads| {
        let mut stores: Vec<T> = (0..SHARDS).map(|_| make_store()).collect();
        let (finding, is) = search(system, &mut stores, threads, (options, signalled), budget)?;
        undecided = is;
        Ok(finding)
    });
    Reduced::new(finding, undecided)
}

/// Searches with so many threads; also says whether the violations that were met may need more preemptions than the bound.
fn search<S: System + ?Sized, T: Store>(
    system: &S,
    stores: &mut [T],
    threads: usize,
    (options, signalled): (&Options, &Signalled),
    budget: &mut Budget,
) -> Result<(Finding, bool), Fewer> {
    let team = Team::new(system, stores, options, threads);
    let explorer = || Explorer::new(system, options, signalled.clone());
    let threads = (0..threads).map(|me| Thread::new(me, &team, explorer())).collect();
    let mut together = Together { team: &team, threads };
    let phases = iterate(&mut together, options, budget).unless_fewer()?;
    let BoundRow { states, transitions, .. } = together.row();
    let memory = together.threads.iter().map(Thread::bytes).sum();
    let explorers = together.threads.into_iter().map(|thread| thread.explorer);
    let counters = explorers.map(|explorer| explorer.outgoing.counters).reduce(|mut all, one| {
        all.absorb(one);
        all
    });
    let undecided = team.violations_are_beyond();
    let finding = counters.map_or_else(nothing_searched, |counters| {
        team.conclude(counters, (states, transitions), memory, phases).finding(system, budget)
    });
    Ok((finding, undecided))
}

/// The search by all threads.
struct Together<'a, 's, S: ?Sized, T> {
    team: &'a Team<'s, S, T>,
    threads: Vec<Thread<'a, 's, S, T>>,
}

impl<S: System + ?Sized, T: Store> PhasedSearch for Together<'_, '_, S, T> {
    fn start(&mut self) -> Result<(), Halt> {
        self.threads.first_mut().map_or(Ok(()), Thread::start)
    }

    /// Expands all visits up to the count of the bucket: a visit that turns out to have no last mover may open those of earlier
    /// buckets again.
    fn run_phase(&mut self, budget: &mut Budget) -> Result<(), Halt> {
        loop {
            self.team.workers.run(&mut self.threads, budget)?;
            if !self.learn_from_each_other() {
                return Ok(());
            }
            self.threads.iter_mut().for_each(Thread::begin_to_judge);
            self.team.workers.run(&mut self.threads, budget)?;
            self.threads.iter_mut().for_each(Thread::end_judging);
        }
    }

    fn has_next(&mut self) -> bool {
        let (team, bucket) = (self.team, self.team.bucket());
        let waits = |thread: &mut Thread<'_, '_, S, T>| {
            thread.table.agenda.retain_kept(bucket, |visit| team.is_current(visit))
        };
        self.threads.iter_mut().fold(false, |waiting, thread| waits(thread) | waiting)
    }

    fn begin_next(&mut self) -> Result<(), Halt> {
        self.team.begin_next();
        Ok(())
    }

    /// What needs more preemptions than the bucket it was met in, an exact search must judge.
    fn must_end(&self) -> bool {
        self.team.iterates() && self.team.violations_are_beyond()
    }

    fn row(&self) -> BoundRow {
        let transitions: u64 = self.threads.iter().map(|thread| thread.explorer.transitions).sum();
        BoundRow {
            stale: None,
            bound: self.team.bucket(),
            states: self.threads.iter().map(|thread| thread.table.states).sum(),
            transitions: 1 + transitions,
            errors: self.team.errors(),
        }
    }
}

impl<S: System + ?Sized, T: Store> Together<'_, '_, S, T> {
    /// Puts together what the threads have learned; says whether that is more than some of them knew.
    fn learn_from_each_other(&mut self) -> bool {
        let mut all = Learned::default();
        let mut grew = false;
        for thread in &mut self.threads {
            let Signalled::Learned(learned) = &mut thread.explorer.ahead.signalled else {
                return false;
            };
            grew |= learned.has_grown();
            all.absorb(learned);
        }
        if !grew || makes(Mistake::NeverJudgedAgain) {
            return false;
        }
        all.has_grown();
        for thread in &mut self.threads {
            thread.explorer.ahead.signalled = Signalled::Learned(all.clone());
        }
        true
    }
}
