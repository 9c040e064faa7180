//! Bucket by bucket over stores that do not keep the states, on several threads.
//!
//! Paper: [MQ07] Algorithm 1
//!
//! Each thread has a log and a queue of its own, as one thread alone would; all share a visited set in parts
//! (`visit_memory.rs`). A thread that has nothing to do is given some of another's visits, with their states. Which steps are
//! taken at which count follows from the records of states alone, so states and transitions are those of one thread.
//! With reduction a state is noted as expanded before its successors are looked at, so
//! that of two states that lead to each other one sees the other expanded.

use super::buckets::{Bucketed, DeferredVisit, Others, row};
use super::one_thread::OneThread;
use super::own_visits::{OwnVisits, WorkerId, finish};
use super::phases::{PhasedSearch, iterate};
use super::visit_log::Entry;
use super::visit_memory::{InPart, LossyStore, SHARDS, Sharded, VisitMemory};
use crate::platform::sync::Mutex;
use crate::platform::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::search::shared::halt::Halt;
use crate::search::shared::states::States;
use crate::search::shared::workers::{Worker, Workers, each, lock, with_as_many_as_possible};
use crate::{Budget, Finding, Options, Progress};
use preempt_core::{BoundRow, System};
use std::collections::VecDeque;

/// Explores bucket by bucket with `options.threads` workers over the [`SHARDS`] stores that `make` makes; gives these back.
pub(crate) fn iterative_lossy_parallel<S: System + ?Sized, T: LossyStore>(
    system: &S,
    make: impl Fn() -> Vec<T>,
    options: &Options,
    reduce: bool,
    budget: &mut Budget,
) -> (Finding, Vec<T>) {
    let mut stores = Vec::new();
    let finding = with_as_many_as_possible(options.threads, |threads| {
        stores = make();
        let shards: Vec<_> = stores.iter_mut().map(|store| Mutex::new(store.visited())).collect();
        debug_assert_eq!(shards.len(), SHARDS);
        let visited = Sharded { shards };
        let errors = AtomicU64::new(0);
        let team = Team {
            visited: &visited,
            workers: Workers::new(threads),
            handed: Mutex::default(),
            bytes: AtomicUsize::new(0),
        };
        let thread = |me: usize| {
            let worker = WorkerId { me: me as u32, threads: threads as u32 };
            let visits = OwnVisits::new(&visited, worker, &errors);
            let own = OneThread::new(Bucketed::new(system, visits, options, reduce));
            Thread { team: &team, own, keeps_back: false, parts: 0, reported: 0 }
        };
        let mut search = Together { team: &team, threads: (0..threads).map(thread).collect() };
        let phases = iterate(&mut search, options, budget).unless_fewer()?;
        let own = search.threads.iter().map(|thread| thread.own_bytes());
        let memory = visited.bytes() + own.sum::<usize>();
        let workers = search.threads.into_iter().map(|thread| thread.own.bucketed).collect();
        Ok(finish(system, workers, phases, memory, options, budget))
    });
    (finding, stores)
}

impl<L: VisitMemory<Key: InPart>> Sharded<L> {
    /// Memory in use, in bytes.
    fn bytes(&self) -> usize {
        VisitMemory::bytes(&self)
    }
}

/// Visits that a thread hands to another at once, at least and at most.
const FEW: u32 = 16;
const MANY: u32 = 1 << 10;
/// How often a thread says how much memory it has.
const REPORT_EVERY: u32 = 16;

/// What the threads share.
struct Team<'v, L: VisitMemory> {
    visited: &'v Sharded<L>,
    workers: Workers,
    handed: Mutex<VecDeque<Handed<L::Key>>>,
    /// What the threads have beside the visited set, in bytes.
    bytes: AtomicUsize,
}

/// Visits that a thread has handed on.
struct Handed<K> {
    /// Each with what is known of the processes that have to wait there, if it was expanded.
    visits: Vec<(Entry<K>, Option<Others>)>,
    states: States,
}

/// One of the threads; no two of them share a cache line.
#[repr(align(128))]
struct Thread<'t, 'v, S: System + ?Sized, L: VisitMemory<Key: InPart>> {
    team: &'t Team<'v, L>,
    own: OneThread<'t, S, &'v Sharded<L>>,
    /// At the end of a bucket: whether a process that has steps waits for the next one.
    keeps_back: bool,
    parts: u32,
    /// How many bytes the team was told of.
    reported: usize,
}

impl<S: System + ?Sized, L: VisitMemory<Key: InPart> + Send> Thread<'_, '_, S, L> {
    fn own_bytes(&self) -> usize {
        self.own.bucketed.visited.own_bytes() + self.own.bucketed.own_bytes()
    }

    /// Takes what another thread has handed on; says whether there was anything.
    fn take(&mut self) -> Result<bool, Halt> {
        let Some(handed) = lock(&self.team.handed).pop_front() else { return Ok(false) };
        for (at, (entry, others)) in handed.visits.into_iter().enumerate() {
            let visits = &mut self.own.bucketed.visited;
            let visit = visits.take_over(entry, handed.states.get(at), others.is_some())?;
            self.own.waiting.extend(others.map(|others| DeferredVisit { visit, others }));
        }
        Ok(true)
    }

    /// Hands on half of what there is to do, if another thread has nothing.
    fn share(&mut self) {
        let team = self.team;
        if !team.workers.has_idle() || lock(&team.handed).len() >= team.workers.threads() {
            return;
        }
        let (backlog, waiting) = (self.own.backlog(), self.own.waiting.len() - self.own.waited);
        let visits = &mut self.own.bucketed.visited;
        let mut handed = Handed { visits: Vec::new(), states: States::default() };
        let mut hand = |entry, state: &[u8], others| {
            handed.visits.push((entry, others));
            handed.states.push(state);
        };
        if waiting >= FEW as usize {
            let left = self.own.waiting.len() - (waiting / 2).min(MANY as usize);
            for DeferredVisit { visit, others } in self.own.waiting.drain(left..) {
                let (entry, state) = visits.get(visit);
                hand(entry, state, Some(others));
            }
        } else if backlog >= FEW {
            visits.give_last((backlog / 2).min(MANY), |entry, state| hand(entry, state, None));
        }
        if !handed.visits.is_empty() {
            lock(&team.handed).push_back(handed);
        }
    }
}

impl<S: System + ?Sized, L: VisitMemory<Key: InPart> + Send> Worker for Thread<'_, '_, S, L> {
    fn work(&mut self) -> Result<bool, Halt> {
        if !self.own.run_batch()? {
            return self.take();
        }
        self.share();
        self.parts += 1;
        if self.parts.is_multiple_of(REPORT_EVERY) {
            let bytes = self.own_bytes();
            self.team.bytes.fetch_add(bytes.wrapping_sub(self.reported), Ordering::Relaxed);
            self.reported = bytes;
        }
        Ok(true)
    }

    fn counts(&self) -> (u64, u64) {
        (self.own.bucketed.states, self.own.bucketed.transitions)
    }

    fn progress(&self) -> Progress {
        let (states, transitions) = self.team.workers.counts();
        Progress {
            states,
            transitions,
            queue: u64::from(self.own.backlog()) * self.team.workers.threads() as u64,
            memory: self.team.visited.bytes() + self.team.bytes.load(Ordering::Relaxed),
            ..Progress::default()
        }
    }
}

/// The search by all threads.
struct Together<'t, 'v, S: System + ?Sized, L: VisitMemory<Key: InPart>> {
    team: &'t Team<'v, L>,
    threads: Vec<Thread<'t, 'v, S, L>>,
}

impl<S: System + ?Sized, L: VisitMemory<Key: InPart> + Send> PhasedSearch
    for Together<'_, '_, S, L>
{
    fn start(&mut self) -> Result<(), Halt> {
        self.threads.first_mut().map_or(Ok(()), |thread| thread.own.start())
    }

    fn run_phase(&mut self, budget: &mut Budget) -> Result<(), Halt> {
        self.team.workers.run(&mut self.threads, budget)
    }

    fn has_next(&mut self) -> bool {
        each(&mut self.threads, |thread| thread.keeps_back = thread.own.has_next());
        self.threads.iter().any(|thread| thread.keeps_back)
    }

    fn begin_next(&mut self) -> Result<(), Halt> {
        self.threads.iter_mut().try_for_each(|thread| thread.own.begin_next())
    }

    fn row(&self) -> BoundRow {
        row(self.threads.iter().map(|thread| &thread.own.bucketed))
    }
}
