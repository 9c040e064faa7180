//! The same on several threads.
//!
//! Paper: [MQ07] Algorithm 1
//!
//! States are dealt out to shards by their hash, and a shard is locked while something is looked up or noted in it.
//! So whether a visit is yet to be expanded is always known, whichever thread will expand it, and the proviso holds as
//! on one thread: along steps taken ahead visits begin to be expanded ever later. Each thread learns for
//! itself what is signalled ahead. When a bucket is finished all that was learned is put together, and if that is
//! more than some thread knew, last movers are judged again.
//!
//! Invariant: within a phase the count of the bucket does not change.

use super::explorer::{CurrentVisit, Explorer, Visits};
use super::shard::{ArrivalOutcome, Shard, Visit, VisitOrigin};
use super::violations::{FoundViolation, Violations, visits_to};
use super::{Reduced, last_bound};
use crate::platform::sync::Mutex;
use crate::platform::sync::atomic::{AtomicU32, Ordering};
use crate::reduce::{Learned, Signalled};
use crate::search::iterative::conclusion::Conclusion;
use crate::search::iterative::phases::{PhasedSearch, Phases, iterate};
use crate::search::shared::halt::Halt;
use crate::search::shared::workers::{Worker, Workers, lock, with_as_many_as_possible};
use crate::store::{Store, hash};
use crate::{Budget, Finding, Options, Preemptions, Progress};
use preempt_core::{BoundRow, Outcome, Step, System};
use std::collections::VecDeque;

/// More than there are threads, so that these seldom wait for each other.
const SHARDS: usize = 32;
/// Visits that a thread hands to others at once.
const CHUNK: usize = 64;
/// Visits that a thread deals with before it looks around.
const PORTION: u32 = 64;

/// As [`super::iterative_reduced`] with `options.threads` workers; `make_store` makes a store that may use one in so many
/// parts of the memory.
pub(crate) fn iterative_reduced_parallel<S: System + ?Sized, T: Store + Send>(
    system: &S,
    make_store: impl Fn(usize) -> T,
    options: &Options,
    signalled: &Signalled,
    budget: &mut Budget,
) -> Reduced {
    let mut undecided = false;
    let finding = with_as_many_as_possible(options.threads, |threads| {
        let mut stores: Vec<T> = (0..SHARDS).map(|_| make_store(SHARDS)).collect();
        let team = Team::new(system, &mut stores, options, threads);
        let explorer = || Explorer::new(team.system, options, signalled.clone());
        let workers = (0..threads).map(|me| Thread::new(me, &team, explorer())).collect();
        let mut search = Together { team: &team, workers, waiting: Vec::new() };
        let phases = iterate(&mut search, options, budget).unless_fewer()?;
        undecided = lock(&team.violations).are_beyond(team.judged_by());
        Ok(team.finish(search.workers, phases, budget))
    });
    match undecided {
        true => Reduced::Undecided(Box::new(finding)),
        false => Reduced::Decided(Box::new(finding)),
    }
}

/// A visit to expand, or one whose waiting processes get their turn.
#[derive(Clone, Copy)]
enum Item {
    Visit(u32),
    Others(u32),
}

/// What the threads share.
struct Team<'s, S: ?Sized, T> {
    system: &'s S,
    shards: Vec<Mutex<Shard<'s, T>>>,
    preemptions: Preemptions,
    last: u32,
    workers: Workers,
    queue: Mutex<VecDeque<Vec<Item>>>,
    bucket: AtomicU32,
    violations: Mutex<Violations>,
}

/// The search by all threads.
struct Together<'a, 's, S: ?Sized, T> {
    team: &'a Team<'s, S, T>,
    workers: Vec<Thread<'a, 's, S, T>>,
    /// The visits at which processes have to wait for the next bucket.
    waiting: Vec<u32>,
}

impl<S: System + ?Sized, T: Store + Send> PhasedSearch for Together<'_, '_, S, T> {
    fn start(&mut self) -> Result<(), Halt> {
        self.workers.first_mut().map_or(Ok(()), Thread::start)
    }

    fn run_phase(&mut self, budget: &mut Budget) -> Result<(), Halt> {
        loop {
            self.team.workers.run(&mut self.workers, budget)?;
            if !put_together(&mut self.workers) {
                return Ok(());
            }
            self.workers.iter_mut().for_each(Thread::begin_to_judge);
            self.team.workers.run(&mut self.workers, budget)?;
            self.workers.iter_mut().for_each(|worker| worker.judges = None);
        }
    }

    fn has_next(&mut self) -> bool {
        let waiting = self.workers.iter_mut().flat_map(|worker| worker.table.kept.drain(..));
        self.waiting = waiting.filter(|visit| self.team.is_current(*visit)).collect();
        !self.waiting.is_empty()
    }

    fn begin_next(&mut self) -> Result<(), Halt> {
        self.team.bucket.fetch_add(1, Ordering::SeqCst);
        let items: Vec<Item> = self.waiting.drain(..).map(Item::Others).collect();
        lock(&self.team.queue).extend(items.chunks(CHUNK).map(<[Item]>::to_vec));
        Ok(())
    }

    /// What needs more preemptions than the bucket it was met in, an exact search must judge.
    fn must_end(&self) -> bool {
        let iterates = matches!(self.team.preemptions, Preemptions::Iterate { .. });
        iterates && lock(&self.team.violations).are_beyond(self.team.judged_by())
    }

    fn row(&self) -> BoundRow {
        BoundRow {
            stale: None,
            bound: self.team.bucket(),
            states: self.workers.iter().map(|worker| worker.table.states).sum(),
            transitions: 1 + transitions(&self.workers),
            errors: lock(&self.team.violations).errors(),
        }
    }
}

fn transitions<S: ?Sized, T>(workers: &[Thread<'_, '_, S, T>]) -> u64 {
    workers.iter().map(|worker| worker.explorer.transitions).sum()
}

/// Puts together what the workers learned; says whether that is more than some of them knew.
fn put_together<S: System + ?Sized, T: Store>(workers: &mut [Thread<'_, '_, S, T>]) -> bool {
    let mut all = Learned::default();
    let mut grew = false;
    for worker in workers.iter_mut() {
        let Signalled::Learned(learned) = &mut worker.explorer.ahead.signalled else {
            return false;
        };
        grew |= learned.has_grown();
        all.absorb(learned);
    }
    if grew {
        all.has_grown();
        for worker in workers {
            worker.explorer.ahead.signalled = Signalled::Learned(all.clone());
        }
    }
    grew
}

impl<'s, S: System + ?Sized, T: Store> Team<'s, S, T> {
    fn new(system: &'s S, stores: &'s mut [T], options: &Options, threads: usize) -> Self {
        let shards = stores.iter_mut().map(|store| Mutex::new(Shard::new(store, SHARDS)));
        Team {
            system,
            shards: shards.collect(),
            preemptions: options.preemptions,
            last: last_bound(options),
            workers: Workers::new(threads),
            queue: Mutex::default(),
            bucket: AtomicU32::new(0),
            violations: Mutex::new(Violations::new(options)),
        }
    }

    fn bucket(&self) -> u32 {
        self.bucket.load(Ordering::Relaxed)
    }

    /// The number of preemptions that a violation must keep to.
    fn judged_by(&self) -> u32 {
        match self.preemptions {
            Preemptions::Iterate { .. } => self.bucket(),
            Preemptions::Any | Preemptions::AtMost(_) => self.last,
        }
    }

    /// The shard and the place in its log of a visit.
    fn place(&self, number: u32) -> (&Mutex<Shard<'s, T>>, u32) {
        let shards = SHARDS as u32;
        (&self.shards[(number % shards) as usize], number / shards)
    }

    fn visit(&self, number: u32) -> Visit {
        let (shard, at) = self.place(number);
        lock(shard).log[at as usize]
    }

    fn is_current(&self, number: u32) -> bool {
        let (shard, at) = self.place(number);
        lock(shard).is_current(at)
    }

    /// Takes note of a fault, or an invalid end, behind a visit and these steps.
    fn note(&self, visit: Option<u32>, path: &[Step], fault: Option<u32>) -> Result<(), Halt> {
        let met = || {
            let to = |last| visits_to(last, |number| self.visit(number));
            FoundViolation { visits: visit.map_or(Vec::new(), to), path, fault }
        };
        let mut target = Vec::new();
        lock(&self.violations).note(self.system, self.judged_by(), met, |number, state| {
            let (shard, at) = self.place(number);
            let shard = lock(shard);
            shard.store.load(shard.log[at as usize].state, &mut target);
            target == state
        })
    }

    fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).bytes()).sum()
    }

    fn finish(
        &self,
        workers: Vec<Thread<'_, 's, S, T>>,
        Phases { rows, bound, end }: Phases,
        budget: &Budget,
    ) -> Finding {
        let states = workers.iter().map(|worker| worker.table.states).sum();
        let transitions = 1 + transitions(&workers);
        let memory = self.bytes() + workers.iter().map(|w| w.explorer.bytes()).sum::<usize>();
        let all = workers.into_iter().map(|worker| worker.explorer.outgoing.counters);
        let counters = all.reduce(|mut all, one| {
            all.absorb(one);
            all
        });
        let mut counters = counters.expect("there is at least one worker");
        let options = Options { max_errors: 0, ..Options::default() };
        let met = std::mem::replace(&mut *lock(&self.violations), Violations::new(&options));
        met.finish(&mut counters);
        let conclusion = Conclusion {
            counters,
            states,
            transitions,
            revisits: self.shards.iter().map(|shard| lock(shard).revisits).sum(),
            depth: 0,
            memory,
            rows,
            bound,
            end,
        };
        conclusion.finding(self.system, budget)
    }
}

/// One of the threads; no two of them share a cache line.
#[repr(align(128))]
struct Thread<'a, 's, S: ?Sized, T> {
    me: usize,
    team: &'a Team<'s, S, T>,
    explorer: Explorer<'s, S>,
    table: Table<'a, 's, S, T>,
    /// Where last movers are judged again: the shard, and the next visit in its log.
    judges: Option<(usize, u32)>,
}

/// The visits, as one worker sees them.
struct Table<'a, 's, S: ?Sized, T> {
    team: &'a Team<'s, S, T>,
    /// What it found to do in this bucket,
    found: VecDeque<Item>,
    /// and visits at which others wait for the next one.
    kept: Vec<u32>,
    /// New states.
    states: u64,
}

impl<S: System + ?Sized, T: Store> Worker for Thread<'_, '_, S, T> {
    fn work(&mut self) -> Result<bool, Halt> {
        if self.judges.is_some() {
            return self.judge_some();
        }
        for done in 0..PORTION {
            let Some(item) = self.table.found.pop_front() else {
                let Some(chunk) = lock(&self.team.queue).pop_front() else { return Ok(done > 0) };
                self.table.found.extend(chunk);
                continue;
            };
            self.deal_with(item)?;
            self.share();
        }
        Ok(true)
    }

    fn counts(&self) -> (u64, u64) {
        (self.table.states, self.explorer.transitions)
    }

    fn progress(&self) -> Progress {
        let team = self.team;
        let (states, transitions) = team.workers.counts();
        Progress {
            states,
            transitions: 1 + transitions,
            queue: (lock(&team.queue).len() * CHUNK + self.table.found.len()) as u64,
            memory: team.bytes() + self.explorer.bytes() * team.workers.threads(),
            ..Progress::default()
        }
    }
}

impl<'a, 's, S: System + ?Sized, T: Store> Thread<'a, 's, S, T> {
    fn new(me: usize, team: &'a Team<'s, S, T>, explorer: Explorer<'s, S>) -> Self {
        let table = Table { team, found: VecDeque::new(), kept: Vec::new(), states: 0 };
        Thread { me, team, explorer, table, judges: None }
    }

    fn start(&mut self) -> Result<(), Halt> {
        let mut initial = Vec::new();
        let outcome = self.team.system.initial(&mut initial);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome
            && self.explorer.outgoing.counters.reports(self.team.system, fault)
        {
            self.team.note(None, &[], Some(fault))?;
        }
        if !matches!(outcome, Outcome::Broken(_)) {
            let hash = self.table.hash(&initial);
            self.table.arrive(hash, &initial, VisitOrigin::INITIALLY)?;
        }
        Ok(())
    }

    /// Hands work to threads that have none.
    fn share(&mut self) {
        let mine = self.table.found.len();
        if mine > 4 * CHUNK || mine > 8 && self.team.workers.has_idle() {
            let chunk = self.table.found.split_off(mine - CHUNK.min(mine / 2));
            lock(&self.team.queue).push_back(chunk.into());
        }
    }

    fn deal_with(&mut self, item: Item) -> Result<(), Halt> {
        let (Item::Visit(number) | Item::Others(number)) = item;
        let (shard, at) = self.team.place(number);
        let is_first = matches!(item, Item::Visit(_));
        let visit = {
            let mut shard = lock(shard);
            let visit = shard.log[at as usize];
            let needed = match is_first {
                true => shard.visited.begin(visit.state, visit.count.into(), visit.mover()),
                false => shard.is_current(at),
            };
            if !needed {
                return Ok(());
            }
            shard.store.load(visit.state, &mut self.explorer.state);
            visit
        };
        let at = CurrentVisit { number, count: visit.count, mover: visit.mover() };
        match is_first {
            true => self.explorer.expand(at, &mut self.table),
            false => self.explorer.expand_others(at, &mut self.table),
        }
    }

    /// From now on, until that is done, judges again which last movers are robust, in some of the shards.
    fn begin_to_judge(&mut self) {
        self.judges = Some((self.me, 0));
    }

    /// Judges the last movers of some visits again; says whether there were any.
    fn judge_some(&mut self) -> Result<bool, Halt> {
        let Some((of, first)) = self.judges.filter(|(of, _)| *of < SHARDS) else {
            return Ok(false);
        };
        let team = self.team;
        let shard = &team.shards[of];
        let visits = lock(shard).log.len() as u32;
        let end = visits.min(first + PORTION);
        for at in first..end {
            let mut shard = lock(shard);
            let visit = shard.log[at as usize];
            let Some(mover) = visit.mover().filter(|_| shard.is_current(at)) else { continue };
            shard.store.load(visit.state, &mut self.explorer.state);
            if !self.explorer.is_still_robust(mover)? {
                let Visit { parent, count, .. } = visit;
                let reached = VisitOrigin { parent, count, mover: None, exact: false };
                let became = shard.arrive_at(visit.state, reached)?;
                self.table.enter(became, of as u32);
            }
        }
        let next_shard = of + team.workers.threads();
        self.judges = Some(if end == visits { (next_shard, 0) } else { (of, end) });
        Ok(true)
    }
}

impl<S: System + ?Sized, T: Store> Table<'_, '_, S, T> {
    fn enter(&mut self, became: ArrivalOutcome, shard: u32) -> bool {
        if let ArrivalOutcome::Visit(at) = became {
            self.found.push_back(Item::Visit(at * SHARDS as u32 + shard));
        }
        became != ArrivalOutcome::Closed
    }
}

impl<S: System + ?Sized, T: Store> Visits for Table<'_, '_, S, T> {
    fn hash(&self, state: &[u8]) -> u64 {
        hash(state)
    }

    fn arrive(&mut self, hash: u64, state: &[u8], reached: VisitOrigin) -> Result<bool, Halt> {
        let of = (hash & 0xffff_ffff) as usize % SHARDS;
        let mut shard = lock(&self.team.shards[of]);
        let (own, before) = (shard.store.hash(state), shard.states);
        let became = shard.arrive(own, state, reached)?;
        self.states += shard.states - before;
        drop(shard);
        Ok(self.enter(became, of as u32))
    }

    fn forget_mover(&mut self, visit: u32) {
        let (shard, at) = self.team.place(visit);
        let mut shard = lock(shard);
        let Visit { state, count, .. } = shard.log[at as usize];
        shard.visited.set_nobody(state, count.into());
    }

    fn wait(&mut self, visit: u32) {
        match u32::from(self.team.visit(visit).count) < self.team.bucket() {
            true => self.found.push_back(Item::Others(visit)),
            false => self.kept.push(visit),
        }
    }

    fn fault(&mut self, visit: u32, path: &[Step], fault: u32) -> Result<(), Halt> {
        self.team.note(Some(visit), path, Some(fault))
    }

    fn invalid_end(&mut self, visit: u32) -> Result<(), Halt> {
        let (shard, at) = self.team.place(visit);
        let is_first = {
            let mut shard = lock(shard);
            let state = shard.log[at as usize].state;
            shard.visited.checks_end(state)
        };
        if is_first { self.team.note(Some(visit), &[], None) } else { Ok(()) }
    }
}
