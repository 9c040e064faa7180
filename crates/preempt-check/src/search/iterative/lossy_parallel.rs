//! Bucket by bucket over stores that do not keep the states, on several threads.
//!
//! Paper: [MQ07] Algorithm 1
//!
//! Each thread runs the code of `lossy.rs`. States are dealt out by their hash to many small stores, each of which is locked
//! while something is looked up or noted in it. All threads finish a bucket before the next begins.
//!
//! Nobody needs to look at a state and act on it in one go, because all that is noted of a state stays true: whoever runs
//! everybody says so first and then looks who runs by themselves; whoever runs by themselves is noted before others can
//! find out that nobody else does. So each process is run from a state once at its lowest count, whatever the order, and
//! states and transitions are those of one thread. With reduction a state is noted as expanded before its successors are looked at, so
//! that of two states that lead to each other one sees the other expanded.
//!
//! Invariant: when all threads are idle, the bucket is finished: only who expands something can add to it.

use super::buckets::last_bound;
use super::conclusion::Conclusion;
use super::lossy::{Among, CHUNK, Chunk, Lossy, Met, counterexample, steps_to};
use super::lossy_visited::{LossyVisited, Remembers};
use super::shared_log::lock;
use super::team_counts::{Reported, TeamCounts};
use crate::platform::sync::Mutex;
use crate::platform::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::search::bounded::least_preemptions::Visit;
use crate::search::shared::end::End;
use crate::search::shared::trace::LOST;
use crate::search::shared::workers::{Fewer, run_together, with_as_many_as_possible};
use crate::store::{StoreFull, hash};
use crate::{Budget, Covered, Finding, Options, Progress};
use preempt_core::{BoundRow, ProcessId, Stop, System};
use std::collections::VecDeque;
use std::time::Duration;

/// Into so many stores states are dealt out.
pub(crate) const SHARDS: usize = 1 << SHARD_BITS;
pub(crate) const SHARD_BITS: u32 = 6;
/// How many visits a thread expands before it looks around.
const LOOK_EVERY: usize = 32;
/// So many visits are handed to somebody who has nothing to do.
const FEW: usize = 16;
const NAP: Duration = Duration::from_micros(50);

/// Explores bucket by bucket with `options.threads` workers over [`SHARDS`] stores that `make` makes; gives these back.
pub(crate) fn iterative_lossy_parallel<S: System + ?Sized, T: Remembers>(
    system: &S,
    make: impl Fn() -> Vec<T>,
    options: &Options,
    reduce: bool,
    budget: &mut Budget,
) -> (Finding, Vec<T>) {
    let mut stores = Vec::new();
    let finding = with_as_many_as_possible(options.threads, |threads| {
        stores = make();
        let shards = stores.iter_mut().map(|store| Mutex::new(store.visited())).collect();
        search(system, &Sharded { shards }, options, (threads, reduce), budget)
    });
    (finding, stores)
}

/// A visited set in parts.
struct Sharded<L> {
    shards: Vec<Mutex<L>>,
}

impl<L: LossyVisited> Sharded<L> {
    /// Where a state belongs. All bits of its hash say so, of which the parts use some as they are.
    fn part(&self, state: &[u8]) -> usize {
        let mixed = hash(state).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (64 - SHARD_BITS)) as usize % self.shards.len()
    }
}

impl<L: LossyVisited> LossyVisited for &Sharded<L> {
    type Key = (usize, L::Key);

    fn visit(
        &mut self,
        state: &[u8],
        count: u32,
        mover: Option<ProcessId>,
    ) -> Result<(Self::Key, Visit), StoreFull> {
        let part = self.part(state);
        let (key, visit) = lock(&self.shards[part]).visit(state, count, mover)?;
        Ok(((part, key), visit))
    }

    fn key(&self, state: &[u8]) -> Option<Self::Key> {
        let part = self.part(state);
        Some((part, lock(&self.shards[part]).key(state)?))
    }

    fn set_free(&mut self, (part, key): Self::Key) -> Result<bool, StoreFull> {
        lock(&self.shards[part]).set_free(key)
    }

    fn is_free(&self, (part, key): Self::Key) -> bool {
        lock(&self.shards[part]).is_free(key)
    }

    fn has_mover(&self, (part, key): Self::Key, process: ProcessId) -> bool {
        lock(&self.shards[part]).has_mover(key, process)
    }

    fn set_expanded(&mut self, (part, key): Self::Key) -> Result<bool, StoreFull> {
        lock(&self.shards[part]).set_expanded(key)
    }

    fn is_expanded(&self, (part, key): Self::Key) -> bool {
        lock(&self.shards[part]).is_expanded(key)
    }

    fn defer(&mut self, (part, key): Self::Key) -> Result<bool, StoreFull> {
        lock(&self.shards[part]).defer(key)
    }

    fn hash(&self, state: &[u8]) -> u64 {
        hash(state)
    }

    fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).bytes()).sum()
    }
}

/// What the threads share beside the visited set.
struct Team<'a, L> {
    visited: &'a Sharded<L>,
    threads: usize,
    queue: Mutex<VecDeque<(Kind, Chunk)>>,
    idle: AtomicUsize,
    counts: TeamCounts,
    /// What the threads have beside the store, in bytes.
    bytes: AtomicUsize,
}

/// Why visits wait.
#[derive(Clone, Copy)]
enum Kind {
    /// To be expanded.
    Found,
    /// To have others go on from there, with one preemption more.
    Deferred,
}

type Worker<'a, S, L> = Lossy<'a, S, &'a Sharded<L>>;

fn search<S: System + ?Sized, L: LossyVisited + Send>(
    system: &S,
    visited: &Sharded<L>,
    options: &Options,
    (threads, reduce): (usize, bool),
    budget: &mut Budget,
) -> Result<Finding, Fewer> {
    let errors = AtomicU64::new(0);
    let team = Team {
        visited,
        threads,
        queue: Mutex::default(),
        idle: AtomicUsize::new(0),
        counts: TeamCounts::default(),
        bytes: AtomicUsize::new(0),
    };
    let worker = |me: usize| -> Worker<'_, S, L> {
        let mut worker = Lossy::new(system, visited, options, reduce);
        let (me, threads) = (me as u32, threads as u32);
        worker.among = Some(Among { me, threads, errors: &errors });
        worker
    };
    let mut workers: Vec<_> = (0..threads).map(worker).collect();
    if let Err(end) = workers[0].start() {
        team.counts.end(end);
    }
    let (mut rows, mut bound) = (Vec::new(), None);
    let (extra, last) = (options.preemptions.extra(), last_bound(options));
    for bucket in 0.. {
        *lock(&team.queue) = workers
            .iter_mut()
            .flat_map(|w| std::mem::take(&mut w.deferred).chunks)
            .map(deferred)
            .collect();
        team.idle.store(0, Ordering::SeqCst);
        team.bytes.store(0, Ordering::SeqCst);
        workers.iter_mut().for_each(|worker| worker.bucket = bucket);
        let Some((first, rest)) = workers.split_first_mut() else { break };
        let others = rest.iter_mut().map(|worker| || team.work(worker, None)).collect();
        run_together(|| team.work(first, Some(&mut *budget)), others)?;
        let is_enough = team.counts.is_enough();
        let left = workers.iter().any(Lossy::has_deferred);
        let phase_ends = (bucket + 1).is_multiple_of(extra + 1);
        if is_enough || !team.counts.has_ended() && (phase_ends || !left) {
            rows.push(BoundRow {
                stale: None,
                bound: bucket,
                states: workers.iter().map(|worker| worker.states).sum(),
                transitions: workers.iter().map(|worker| worker.transitions).sum(),
                errors: errors.load(Ordering::SeqCst),
            });
        }
        if team.counts.has_ended() || !left {
            break;
        }
        if bucket >= last {
            bound = Some(bucket);
            break;
        }
    }
    Ok(finish(system, &team, workers, (rows, bound), options, budget))
}

fn deferred(chunk: Chunk) -> (Kind, Chunk) {
    (Kind::Deferred, chunk)
}

impl<L: LossyVisited + Send> Team<'_, L> {
    /// Works until nobody has anything left in the bucket; the first thread also watches the budget.
    fn work<S: System + ?Sized>(
        &self,
        worker: &mut Worker<'_, S, L>,
        mut budget: Option<&mut Budget>,
    ) {
        let mut added = Added::new(worker);
        while !self.counts.has_ended() {
            let shared = lock(&self.queue).pop_front();
            let own = || worker.found.chunks.pop_front().map(|chunk| (Kind::Found, chunk));
            let result = match shared.or_else(own) {
                Some(work) => self.run(worker, work, &mut budget, &mut added),
                None if self.rests(worker, &mut budget, &mut added) => break,
                None => continue,
            };
            if let Err(end) = result {
                self.counts.end(end);
            }
        }
        added.report(self, worker);
    }

    fn run<S: System + ?Sized>(
        &self,
        worker: &mut Worker<'_, S, L>,
        (kind, chunk): (Kind, Chunk),
        budget: &mut Option<&mut Budget>,
        added: &mut Added,
    ) -> Result<(), End> {
        for at in 0..chunk.len() {
            match kind {
                Kind::Found => worker.expand(&chunk, at)?,
                Kind::Deferred => worker.run_deferred(&chunk, at)?,
            }
            if at % LOOK_EVERY == LOOK_EVERY - 1 {
                self.share(worker);
                added.report(self, worker);
                self.watch(budget)?;
                if self.counts.has_ended() {
                    break;
                }
            }
        }
        self.share(worker);
        self.watch(budget)
    }

    /// Has others find what this thread has found.
    fn share<S: System + ?Sized>(&self, worker: &mut Worker<'_, S, L>) {
        let chunks = &mut worker.found.chunks;
        let is_wanted = self.idle.load(Ordering::Relaxed) > 0;
        while chunks.front().is_some_and(|c| c.len() >= CHUNK || is_wanted && c.len() >= FEW)
            && let Some(chunk) = chunks.pop_front()
        {
            lock(&self.queue).push_back((Kind::Found, chunk));
        }
    }

    /// Waits for work; says whether there is none left anywhere.
    fn rests<S: System + ?Sized>(
        &self,
        worker: &Worker<'_, S, L>,
        budget: &mut Option<&mut Budget>,
        added: &mut Added,
    ) -> bool {
        added.report(self, worker);
        self.idle.fetch_add(1, Ordering::SeqCst);
        while !self.counts.has_ended() {
            if self.idle.load(Ordering::SeqCst) == self.threads {
                return true;
            }
            if !lock(&self.queue).is_empty() {
                self.idle.fetch_sub(1, Ordering::SeqCst);
                return false;
            }
            if let Err(end) = self.watch(budget) {
                self.counts.end(end);
            }
            crate::platform::thread::sleep(NAP);
        }
        true
    }

    /// How many chunks wait, and how many bytes they take.
    fn queued(&self) -> (usize, usize) {
        let queue = lock(&self.queue);
        (queue.len(), queue.iter().map(|(_, chunk)| chunk.bytes()).sum())
    }

    fn watch(&self, budget: &mut Option<&mut Budget>) -> Result<(), End> {
        let Some(budget) = budget else { return Ok(()) };
        let progress = || {
            let (chunks, bytes) = self.queued();
            let (states, transitions) = self.counts.counts();
            Progress {
                states,
                transitions,
                queue: (chunks * CHUNK) as u64,
                memory: self.visited.bytes() + self.bytes.load(Ordering::Relaxed) + bytes,
                ..Progress::default()
            }
        };
        let stop = budget.check_every(16, progress);
        stop.map_or(Ok(()), |stop| Err(End::Limit(stop)))
    }
}

/// What a thread has added to the counts of all, and to their memory.
struct Added {
    reported: Reported,
    bytes: usize,
}

impl Added {
    /// What was counted in earlier buckets; memory is counted anew in each.
    fn new<S: System + ?Sized, L: LossyVisited>(worker: &Worker<'_, S, L>) -> Self {
        Added { reported: Reported::so_far(worker.states, worker.transitions), bytes: 0 }
    }

    /// Adds what was counted since the last time.
    fn report<S: System + ?Sized, L: LossyVisited>(
        &mut self,
        team: &Team<'_, L>,
        worker: &Worker<'_, S, L>,
    ) {
        self.reported.report(&team.counts, worker.states, worker.transitions);
        let bytes = worker.own_bytes();
        team.bytes.fetch_add(bytes.wrapping_sub(self.bytes), Ordering::Relaxed);
        self.bytes = bytes;
    }
}

fn finish<S: System + ?Sized, L: LossyVisited>(
    system: &S,
    team: &Team<'_, L>,
    mut workers: Vec<Worker<'_, S, L>>,
    (rows, bound): (Vec<BoundRow>, Option<u32>),
    options: &Options,
    budget: &Budget,
) -> Finding {
    let met = workers.iter_mut().filter_map(|worker| worker.met.take());
    let met = met.min_by_key(|met| met.bucket);
    let is_met = met.is_some();
    let threads = workers.len() as u32;
    let found = met.and_then(|Met { visit, path, fault, .. }| {
        let entry = |n: u32| workers[(n % threads) as usize].log[(n / threads) as usize];
        let mut steps = match visit {
            Some(visit) => steps_to(system, visit, entry, hash)?,
            None => Vec::new(),
        };
        steps.extend(path);
        Some(counterexample(system, steps, fault))
    });
    let memory = team.visited.bytes() + workers.iter().map(Lossy::own_bytes).sum::<usize>();
    let states = workers.iter().map(|worker| worker.states).sum();
    let transitions = workers.iter().map(|worker| worker.transitions).sum();
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
    if options.max_errors != 0 {
        counters.errors = counters.errors.min(options.max_errors);
    }
    let lost = is_met && counters.first.is_none();
    if lost {
        counters.stop = Some(Stop::LossyStore);
    }
    let end = team.counts.take_end();
    let conclusion =
        Conclusion { counters, states, transitions, revisits, depth: 0, memory, rows, bound, end };
    let mut finding = conclusion.finding(system, budget);
    // What a lossy store kept out may be reached.
    finding.unreached.clear();
    if lost {
        finding.notes.push(LOST.into());
    }
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::iterative::lossy_visited::Numbered;
    use crate::search::iterative::no_steps::NoSteps;
    use crate::store::Compact;

    /// Without a single worker nothing was searched, so nothing is proved.
    #[test]
    fn no_worker_is_no_proof() {
        let mut store = Compact::new(1 << 20, true);
        let visited = Sharded { shards: vec![Mutex::new(Numbered::new(&mut store))] };
        let team = Team {
            visited: &visited,
            threads: 1,
            queue: Mutex::default(),
            idle: AtomicUsize::new(0),
            counts: TeamCounts::default(),
            bytes: AtomicUsize::new(0),
        };
        let workers: Vec<Worker<'_, NoSteps, Numbered<'_, Compact>>> = Vec::new();
        let (options, budget) = (Options::default(), Budget::unlimited());
        let finding = finish(&NoSteps, &team, workers, (Vec::new(), None), &options, &budget);
        let answer = crate::conclude(&NoSteps, "nothing", finding);
        assert_eq!(answer.verdict(), preempt_core::Verdict::Inconclusive(Stop::Bug));
    }
}
