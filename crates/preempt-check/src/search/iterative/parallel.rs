//! Iterative context bounding on several threads.
//!
//! Paper: [MQ07] Algorithm 1
//!
//! Each thread runs the code of `buckets.rs` over a visited set that all share (`shared_visited.rs`): the thread that finds a
//! visit first logs it, and one that has nothing to do takes what others have logged. All threads finish a bucket before the next
//! begins. Which steps are taken at which count follows from the records of states alone, so states and transitions of
//! every bucket are those of one thread, in whatever order visits are expanded.

use super::buckets::{Bucketed, DeferredVisit, conclude, row, take_first};
use super::conclusion::nothing_searched;
use super::phases::{PhasedSearch, Phases, iterate};
use super::shared_visited::{Handle, SharedVisited};
use crate::platform::sync::Mutex;
use crate::search::shared::halt::Halt;
use crate::search::shared::workers::{Worker, Workers, each, lock, with_as_many_as_possible};
use crate::store::concurrent::Records;
use crate::{Budget, Finding, Options, Progress};
use preempt_core::{BoundRow, Contention, System};
use std::ops::Range;

/// Explores bucket by bucket with `options.threads` workers over the store that `make` makes for so many.
pub(crate) fn iterative_parallel<S: System + ?Sized, T: Records>(
    system: &S,
    make: impl Fn(usize) -> T,
    options: &Options,
    reduce: bool,
    budget: &mut Budget,
) -> Finding {
    with_as_many_as_possible(options.threads, |threads| {
        let visited = SharedVisited::new(make(threads), threads);
        let team =
            Team { visited: &visited, workers: Workers::new(threads), deferred: Mutex::default() };
        let search = |thread| Bucketed::new(system, visited.handle(thread), options, reduce);
        let threads = (0..threads).map(|thread| Thread {
            team: &team,
            bucketed: search(thread),
            begins: false,
            deferred: Vec::new(),
            range: 0..0,
            left: (Vec::new(), false),
        });
        let mut search = Together { team: &team, threads: threads.collect() };
        let phases = iterate(&mut search, options, budget).unless_fewer()?;
        let workers = search.threads.into_iter().map(|thread| thread.bucketed).collect();
        Ok(finish(system, &visited, workers, phases, options, budget))
    })
}

/// How many visits that waited for the next bucket are run together.
const PORTION: usize = 1 << 10;

/// What the threads share.
struct Team<'v, T> {
    visited: &'v SharedVisited<T>,
    workers: Workers,
    /// Visits of the bucket before after which processes had to wait.
    deferred: Mutex<Vec<Vec<DeferredVisit>>>,
}

/// One of the threads; no two of them share a cache line.
#[repr(align(128))]
struct Thread<'t, 'v, S: System + ?Sized, T: Records> {
    team: &'t Team<'v, T>,
    bucketed: Bucketed<'t, S, Handle<'v, T>>,
    /// Whether what was put off in the bucket before is yet to be entered into the present one.
    begins: bool,
    /// What it has taken of the visits after which processes had to wait.
    deferred: Vec<DeferredVisit>,
    /// What it has taken of the visits that are yet to be expanded.
    range: Range<u32>,
    /// At the end of a bucket: the visits after which processes have to wait, and whether one of these has a step.
    left: (Vec<DeferredVisit>, bool),
}

impl<S: System + ?Sized, T: Records> Worker for Thread<'_, '_, S, T> {
    fn work(&mut self) -> Result<bool, Halt> {
        let bucketed = &mut self.bucketed;
        if std::mem::take(&mut self.begins) {
            bucketed.begin_next()?;
            return Ok(true);
        }
        if self.deferred.is_empty() && self.range.is_empty() {
            match lock(&self.team.deferred).pop() {
                Some(deferred) => self.deferred = deferred,
                None => match bucketed.visited.take() {
                    Some(range) => {
                        bucketed.fetch(range.clone());
                        self.range = range;
                    }
                    None => return Ok(false),
                },
            }
        }
        if self.deferred.is_empty() {
            self.range.start = bucketed.run_batch(self.range.clone())?;
        } else {
            let done = bucketed.run_deferred(&self.deferred)?;
            self.deferred.drain(..done);
        }
        bucketed.visited.share(self.team.workers.has_idle());
        Ok(true)
    }

    fn counts(&self) -> (u64, u64) {
        (self.bucketed.states, self.bucketed.transitions)
    }

    fn progress(&self) -> Progress {
        let (states, transitions) = self.team.workers.counts();
        let visited = self.team.visited;
        Progress {
            states,
            transitions,
            queue: visited.log.waiting(),
            // What the threads have beside it is alike.
            memory: visited.bytes() + self.bucketed.own_bytes() * self.team.workers.threads(),
            ..Progress::default()
        }
    }
}

/// The search by all threads.
struct Together<'t, 'v, S: System + ?Sized, T: Records> {
    team: &'t Team<'v, T>,
    threads: Vec<Thread<'t, 'v, S, T>>,
}

impl<S: System + ?Sized, T: Records> PhasedSearch for Together<'_, '_, S, T> {
    fn start(&mut self) -> Result<(), Halt> {
        self.threads.first_mut().map_or(Ok(()), |thread| thread.bucketed.start())
    }

    fn run_phase(&mut self, budget: &mut Budget) -> Result<(), Halt> {
        self.team.workers.run(&mut self.threads, budget)
    }

    fn has_next(&mut self) -> bool {
        each(&mut self.threads, |Thread { bucketed, left, .. }| {
            let deferred = bucketed.take_deferred();
            let keeps_back = deferred.iter().any(|deferred| bucketed.keeps_back(*deferred));
            *left = (deferred, keeps_back);
        });
        let ahead: i64 = self.threads.iter().map(|thread| thread.bucketed.next.ahead).sum();
        ahead != 0 || self.threads.iter().any(|thread| thread.left.1)
    }

    fn begin_next(&mut self) -> Result<(), Halt> {
        let mut deferred = lock(&self.team.deferred);
        for thread in &mut self.threads {
            let (left, _) = std::mem::take(&mut thread.left);
            deferred.extend(left.chunks(PORTION).map(<[DeferredVisit]>::to_vec));
            thread.begins = true;
        }
        Ok(())
    }

    fn row(&self) -> BoundRow {
        row(self.threads.iter().map(|thread| &thread.bucketed))
    }
}

fn finish<S: System + ?Sized, T: Records>(
    system: &S,
    visited: &SharedVisited<T>,
    mut workers: Vec<Bucketed<'_, S, Handle<'_, T>>>,
    phases: Phases,
    options: &Options,
    budget: &Budget,
) -> Finding {
    let memory = visited.bytes() + workers.iter().map(Bucketed::own_bytes).sum::<usize>();
    let mut contention = Contention::default();
    workers.iter().for_each(|worker| contention.add(worker.visited.contention()));
    let found = take_first(&mut workers);
    let found = found.and_then(|found| found.retrace(system, &mut visited.handle(0)));
    let Some(conclusion) = conclude(workers, found, phases, memory, options) else {
        return nothing_searched();
    };
    let mut finding = conclusion.finding(system, budget);
    finding.statistics.contention = Some(contention);
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::iterative::no_steps::NoSteps;
    use crate::store::concurrent::exact::SharedExact;
    use preempt_core::Stop;

    /// Without a single worker nothing was searched, so nothing is proved.
    #[test]
    fn no_worker_is_no_proof() {
        let (options, budget) = (Options::default(), Budget::unlimited());
        let visited = SharedVisited::new(SharedExact::with_records(1 << 20, 1), 1);
        let workers: Vec<Bucketed<'_, NoSteps, Handle<'_, SharedExact>>> = Vec::new();
        let phases = Phases { rows: Vec::new(), bound: None, end: None };
        let finding = finish(&NoSteps, &visited, workers, phases, &options, &budget);
        let answer = crate::conclude(&NoSteps, "nothing", finding);
        assert_eq!(answer.verdict(), preempt_core::Verdict::Inconclusive(Stop::Bug));
    }
}
