//! Iterative context bounding on several threads.
//!
//! Paper: [MQ07] Algorithm 1
//!
//! As `buckets.rs`, whose code each thread runs, over a visited set that all share (`shared_visited.rs`): whoever finds a
//! visit first logs it, whoever has nothing to do takes what others have logged. All threads finish a bucket before the next
//! begins. Which steps are taken at which count follows from the records of states alone, so states and transitions of
//! every bucket are those of one thread, in whatever order visits are expanded.
//!
//! Invariant: when all threads are idle, the bucket is finished: only who expands something can add to it.

use super::buckets::{Bucketed, Kept, Met};
use super::conclusion::Conclusion;
use super::shared_log::lock;
use super::shared_visited::{Handle, SharedVisited};
use super::team_counts::{Reported, TeamCounts};
use crate::platform::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use crate::platform::sync::{Barrier, Mutex};
use crate::search::shared::end::End;
use crate::search::shared::workers::{run_together, with_as_many_as_possible};
use crate::store::concurrent::Records;
use crate::{Budget, Covered, Finding, Options, Progress};
use preempt_core::{BoundRow, Contention, Stop, System};
use std::time::Duration;

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
        let team = Team::new(&visited, options, threads);
        let search = |thread| Bucketed::new(system, visited.handle(thread), options, reduce);
        let mut workers: Vec<_> = (0..threads).map(search).collect();
        if let Err(end) = workers[0].start() {
            team.counts.end(end);
        }
        let (first, rest) = workers.split_at_mut(1);
        let others = rest.iter_mut().map(|worker| || team.work(worker, None)).collect();
        run_together(|| team.work(&mut first[0], Some(budget)), others)?;
        Ok(team.finish(system, workers, budget))
    })
}

/// How many visits that waited for the next bucket are run together.
const KEPT: usize = 1 << 10;
/// How many batches a thread deals with before it says how far it is.
const REPORT_EVERY: u32 = 16;

/// What the threads share beside the visited set.
struct Team<'a, T> {
    visited: &'a SharedVisited<T>,
    threads: usize,
    /// Bounds between two rows.
    extra: u32,
    last: u32,
    max_errors: u64,
    counts: TeamCounts,
    /// Whether no bucket follows. Only [`Team::conclude`] decides that, while the others wait: so all threads
    /// leave after the same bucket, also if one of them ends the search while others still begin the next.
    over: AtomicBool,
    /// One more than the last bucket that is finished.
    finished: AtomicU32,
    barrier: Barrier,
    /// States whose steps were taken for the next bucket.
    ahead: AtomicI64,
    /// Whether somebody waits for it.
    waits: AtomicBool,
    /// Visits to be run again in the present bucket, for those who had to wait.
    kept: Mutex<Vec<Vec<Kept>>>,
    rows: Mutex<Vec<BoundRow>>,
    bound: Mutex<Option<u32>>,
}

type Worker<'w, 'a, S, T> = Bucketed<'w, S, Handle<'a, T>>;

impl<'a, T: Records> Team<'a, T> {
    fn new(visited: &'a SharedVisited<T>, options: &Options, threads: usize) -> Self {
        Team {
            visited,
            threads,
            extra: options.preemptions.extra(),
            last: super::buckets::last_bound(options),
            max_errors: options.max_errors,
            counts: TeamCounts::default(),
            over: AtomicBool::new(false),
            finished: AtomicU32::new(0),
            barrier: Barrier::new(threads),
            ahead: AtomicI64::new(0),
            waits: AtomicBool::new(false),
            kept: Mutex::default(),
            rows: Mutex::default(),
            bound: Mutex::new(None),
        }
    }

    /// Works through the buckets; the first thread also watches the budget.
    fn work<S: System + ?Sized>(
        &self,
        worker: &mut Worker<'_, '_, S, T>,
        mut budget: Option<&mut Budget>,
    ) {
        let mut watched = Watched::default();
        loop {
            if let Err(end) = self.run_bucket(worker, &mut budget, &mut watched) {
                self.counts.end(end);
            }
            watched.reported.report(&self.counts, worker.states, worker.transitions);
            let mut kept = Vec::new();
            if !self.counts.has_ended() {
                kept = worker.take_kept();
                self.ahead.fetch_add(worker.next.ahead, Ordering::SeqCst);
                if kept.iter().any(|kept| worker.somebody_waits(*kept)) {
                    self.waits.store(true, Ordering::SeqCst);
                }
            }
            if self.barrier.wait().is_leader() {
                self.conclude(worker.bucket);
            }
            self.barrier.wait();
            if self.over.load(Ordering::SeqCst) {
                return;
            }
            lock(&self.kept).extend(kept.chunks(KEPT).map(<[Kept]>::to_vec));
            if let Err(end) = worker.begin_next() {
                self.counts.end(end);
            }
            // Nobody may find the bucket finished before all that waited for it is there.
            self.barrier.wait();
        }
    }

    /// Run by one thread while the others wait, when a bucket is finished or the search has ended.
    fn conclude(&self, bucket: u32) {
        self.visited.log.idle.store(0, Ordering::SeqCst);
        let waits = self.waits.swap(false, Ordering::SeqCst);
        let is_done = self.ahead.swap(0, Ordering::SeqCst) == 0 && !waits;
        let phase_ends = (bucket + 1).is_multiple_of(self.extra + 1);
        let row = match self.counts.has_ended() {
            false => phase_ends || is_done,
            true => self.counts.is_enough(),
        };
        if row {
            let (states, transitions) = self.counts.counts();
            lock(&self.rows).push(BoundRow {
                stale: None,
                bound: bucket,
                states,
                transitions,
                errors: self.visited.errors.load(Ordering::SeqCst),
            });
        }
        if !is_done && bucket >= self.last && !self.counts.has_ended() {
            *lock(&self.bound) = Some(bucket);
        }
        let is_over = is_done || bucket >= self.last || self.counts.has_ended();
        self.over.store(is_over, Ordering::SeqCst);
    }

    /// Expands visits until nobody has anything left in the present bucket.
    fn run_bucket<S: System + ?Sized>(
        &self,
        worker: &mut Worker<'_, '_, S, T>,
        budget: &mut Option<&mut Budget>,
        watched: &mut Watched,
    ) -> Result<(), End> {
        let (log, bucket) = (&self.visited.log, worker.bucket);
        let mut patience = 0_u32;
        while !self.counts.has_ended() {
            let kept = lock(&self.kept).pop();
            let range = if kept.is_none() { worker.visited.take() } else { None };
            if kept.is_some() || range.is_some() {
                patience = 0;
                self.run_all(worker, (kept, range), budget, watched)?;
                continue;
            }
            if log.idle.fetch_add(1, Ordering::SeqCst) + 1 == self.threads {
                self.finished.store(bucket + 1, Ordering::SeqCst);
            }
            self.watch(worker, budget, watched)?;
            patience += 1;
            match patience {
                0..200 => crate::platform::hint::spin_loop(),
                200..400 => crate::platform::thread::yield_now(),
                _ => crate::platform::thread::sleep(Duration::from_micros(50)),
            }
            if self.finished.load(Ordering::SeqCst) > bucket {
                return Ok(());
            }
            log.idle.fetch_sub(1, Ordering::SeqCst);
        }
        Ok(())
    }

    fn run_all<S: System + ?Sized>(
        &self,
        worker: &mut Worker<'_, '_, S, T>,
        (kept, range): (Option<Vec<Kept>>, Option<std::ops::Range<u32>>),
        budget: &mut Option<&mut Budget>,
        watched: &mut Watched,
    ) -> Result<(), End> {
        let kept = kept.unwrap_or_default();
        let mut kept = kept.as_slice();
        while !kept.is_empty() && !self.counts.has_ended() {
            kept = &kept[worker.run_kept(kept)?..];
            worker.visited.share();
            self.watch(worker, budget, watched)?;
        }
        let mut range = range.unwrap_or_default();
        worker.fetch(range.clone());
        while range.start < range.end && !self.counts.has_ended() {
            range.start = worker.run_batch(range.clone())?;
            worker.visited.share();
            self.watch(worker, budget, watched)?;
        }
        Ok(())
    }

    fn watch<S: System + ?Sized>(
        &self,
        worker: &Worker<'_, '_, S, T>,
        budget: &mut Option<&mut Budget>,
        watched: &mut Watched,
    ) -> Result<(), End> {
        watched.batches += 1;
        if watched.batches.is_multiple_of(REPORT_EVERY) {
            watched.reported.report(&self.counts, worker.states, worker.transitions);
        }
        let Some(budget) = budget else { return Ok(()) };
        let progress = || {
            let (states, transitions) = self.counts.counts();
            Progress {
                states,
                transitions,
                queue: self.visited.log.waiting(),
                // What the threads have beside it is alike.
                memory: self.visited.bytes() + worker.own_bytes() * self.threads,
                ..Progress::default()
            }
        };
        match budget.check_every(16, progress) {
            Some(stop) => Err(End::Limit(stop)),
            None => Ok(()),
        }
    }

    fn finish<S: System + ?Sized>(
        self,
        system: &S,
        mut workers: Vec<Worker<'_, '_, S, T>>,
        budget: &Budget,
    ) -> Finding {
        let own: usize = workers.iter().map(Bucketed::own_bytes).sum();
        let mut first: Option<Met> = None;
        let mut contention = Contention::default();
        for worker in &mut workers {
            contention.add(worker.visited.contention());
            let met = worker.first.take();
            let is_less = |met: &Met| first.as_ref().is_none_or(|first| met.bucket < first.bucket);
            if met.as_ref().is_some_and(is_less) {
                first = met;
            }
        }
        let found = first.map(|met| met.retrace(system, &mut self.visited.handle(0)));
        let revisits = workers.iter().map(|worker| worker.revisits).sum();
        let counters = workers.into_iter().map(|worker| worker.outgoing.counters);
        let counters = counters.reduce(|mut all, one| {
            all.absorb(one);
            all
        });
        // Without a worker nothing was searched.
        let Some(mut counters) = counters else {
            return Finding::new(Covered::Part(Stop::Bug));
        };
        counters.first = found;
        if self.max_errors != 0 {
            counters.errors = counters.errors.min(self.max_errors);
        }
        let (states, transitions) = self.counts.counts();
        let conclusion = Conclusion {
            counters,
            states,
            transitions,
            revisits,
            depth: 0,
            memory: self.visited.bytes() + own,
            rows: std::mem::take(&mut *lock(&self.rows)),
            bound: *lock(&self.bound),
            end: self.counts.take_end(),
        };
        let mut finding = conclusion.finding(system, budget);
        finding.statistics.contention = Some(contention);
        finding
    }
}

/// What a thread has added to the counts of all, and how many batches it has dealt with.
#[derive(Default)]
struct Watched {
    reported: Reported,
    batches: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::iterative::no_steps::NoSteps;
    use crate::store::concurrent::exact::SharedExact;

    /// Without a single worker nothing was searched, so nothing is proved.
    #[test]
    fn no_worker_is_no_proof() {
        let options = Options::default();
        let visited = SharedVisited::new(SharedExact::with_records(1 << 20, 1), 1);
        let team = Team::new(&visited, &options, 1);
        let workers: Vec<Worker<'_, '_, NoSteps, SharedExact>> = Vec::new();
        let finding = team.finish(&NoSteps, workers, &Budget::unlimited());
        let answer = crate::conclude(&NoSteps, "nothing", finding);
        assert_eq!(answer.verdict(), preempt_core::Verdict::Inconclusive(Stop::Bug));
    }
}
