//! The same on several threads.
//!
//! States are dealt out to shards by their hash, and a shard is locked while something is looked up or noted in it.
//! So whether a visit is yet to be expanded is always known, whoever will expand it, and the proviso holds as
//! on one thread: along steps taken ahead visits begin to be expanded ever later. Each thread learns for
//! itself what is signalled ahead. When a bucket is finished all that was learned is put together, and if that is
//! more than some thread knew, last movers are judged again.
//!
//! Invariant: within a phase the count of the bucket does not change, and a thread without work is idle; when all
//! are, no work is left.

use super::explorer::{At, Explorer, Visits};
use super::shard::{Became, Reached, Shard, Visit};
use super::violations::{Met, Violations, visits_to};
use super::{Reduced, last_bound};
use crate::platform::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::platform::sync::{Mutex, MutexGuard, PoisonError};
use crate::reduce::{Learned, Signalled};
use crate::search::iterative::conclusion::Conclusion;
use crate::search::shared::end::End;
use crate::search::shared::workers::{Fewer, run_together, with_as_many_as_possible};
use crate::store::{Store, hash};
use crate::{Budget, Finding, Options, Preemptions, Progress};
use preempt_core::{BoundRow, Outcome, Step, System};
use std::collections::VecDeque;
use std::time::Duration;

/// More than there are threads, so that these seldom wait for each other.
const SHARDS: usize = 32;
/// Visits that a thread hands to others at once.
const CHUNK: usize = 64;
/// How often the first thread looks at the clock, in visits.
const LOOK_EVERY: u32 = 64;
const NAP: Duration = Duration::from_micros(50);

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
        let (finding, beyond) = search(&team, options, signalled, threads, budget)?;
        undecided = beyond;
        Ok(finding)
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
    threads: usize,
    queue: Mutex<VecDeque<Vec<Item>>>,
    idle: AtomicUsize,
    bucket: AtomicU32,
    violations: Mutex<Violations>,
    /// Why the search ends before its time.
    end: Mutex<Option<End>>,
    ended: AtomicBool,
    transitions: AtomicU64,
    states: AtomicU64,
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn search<S: System + ?Sized, T: Store + Send>(
    team: &Team<'_, S, T>,
    options: &Options,
    signalled: &Signalled,
    threads: usize,
    budget: &mut Budget,
) -> Result<(Finding, bool), Fewer> {
    let explorer = || Explorer::new(team.system, options, signalled.clone());
    let mut workers: Vec<Worker<'_, '_, S, T>> =
        (0..threads).map(|me| Worker::new(me, team, explorer())).collect();
    let (mut rows, mut bound) = (Vec::new(), None);
    workers[0].start();
    let extra = options.preemptions.extra();
    while !team.has_ended() {
        phase(&mut workers, budget, Worker::work)?;
        if !team.has_ended() && put_together(&mut workers) {
            phase(&mut workers, budget, Worker::judge_again)?;
            continue;
        }
        let waiting: Vec<u32> = workers.iter_mut().flat_map(|w| w.table.kept.drain(..)).collect();
        let bucket = team.bucket();
        let waiting: Vec<u32> = waiting.into_iter().filter(|at| team.is_current(*at)).collect();
        let phase_ends = (bucket + 1).is_multiple_of(extra + 1);
        let is_enough = matches!(*lock(&team.end), Some(End::Enough));
        if is_enough || !team.has_ended() && (phase_ends || waiting.is_empty()) {
            rows.push(team.row());
        }
        if team.has_ended() || waiting.is_empty() {
            break;
        }
        let undecided = lock(&team.violations).are_beyond(team.judged_by());
        let iterates = matches!(options.preemptions, Preemptions::Iterate { .. });
        if bucket >= team.last || iterates && undecided {
            bound = Some(bucket);
            break;
        }
        team.bucket.store(bucket + 1, Ordering::SeqCst);
        let items: Vec<Item> = waiting.into_iter().map(Item::Others).collect();
        lock(&team.queue).extend(items.chunks(CHUNK).map(<[Item]>::to_vec));
    }
    let undecided = lock(&team.violations).are_beyond(team.judged_by());
    Ok((team.finish(workers, rows, bound, budget), undecided))
}

/// Has all workers do something at the same time; the first one watches the budget.
fn phase<'w, 'a: 'w, 's: 'a, S: System + ?Sized, T: Store + Send>(
    workers: &mut [Worker<'a, 's, S, T>],
    budget: &mut Budget,
    work: fn(&mut Worker<'a, 's, S, T>, Option<&mut Budget>),
) -> Result<(), Fewer> {
    let Some((first, rest)) = workers.split_first_mut() else { return Ok(()) };
    first.team.idle.store(0, Ordering::SeqCst);
    let others = rest.iter_mut().map(|worker| move || work(worker, None)).collect();
    run_together(|| work(first, Some(budget)), others).map(|_| ())
}

/// Puts together what the workers learned; says whether that is more than some of them knew.
fn put_together<S: System + ?Sized, T: Store>(workers: &mut [Worker<'_, '_, S, T>]) -> bool {
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
            threads,
            queue: Mutex::default(),
            idle: AtomicUsize::new(0),
            bucket: AtomicU32::new(0),
            violations: Mutex::new(Violations::new(options)),
            end: Mutex::new(None),
            ended: AtomicBool::new(false),
            transitions: AtomicU64::new(0),
            states: AtomicU64::new(0),
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

    fn end(&self, end: End) {
        lock(&self.end).get_or_insert(end);
        self.ended.store(true, Ordering::SeqCst);
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    fn row(&self) -> BoundRow {
        BoundRow {
            stale: None,
            bound: self.bucket(),
            states: self.states.load(Ordering::Relaxed),
            transitions: 1 + self.transitions.load(Ordering::Relaxed),
            errors: lock(&self.violations).errors(),
        }
    }

    /// Takes note of a fault, or an invalid end, behind a visit and these steps.
    fn note(&self, visit: Option<u32>, path: &[Step], fault: Option<u32>) -> Result<(), End> {
        let met = || {
            let to = |last| visits_to(last, |number| self.visit(number));
            Met { visits: visit.map_or(Vec::new(), to), path, fault }
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
        workers: Vec<Worker<'_, 's, S, T>>,
        rows: Vec<BoundRow>,
        bound: Option<u32>,
        budget: &Budget,
    ) -> Finding {
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
            states: self.states.load(Ordering::Relaxed),
            transitions: 1 + self.transitions.load(Ordering::Relaxed),
            revisits: self.shards.iter().map(|shard| lock(shard).revisits).sum(),
            depth: 0,
            memory,
            rows,
            bound,
            end: lock(&self.end).take(),
        };
        conclusion.finding(self.system, budget)
    }
}

struct Worker<'a, 's, S: ?Sized, T> {
    me: usize,
    team: &'a Team<'s, S, T>,
    explorer: Explorer<'s, S>,
    table: Table<'a, 's, S, T>,
    /// What was reported to the team of the explorer's transitions.
    reported: u64,
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

impl<'a, 's, S: System + ?Sized, T: Store> Worker<'a, 's, S, T> {
    fn new(me: usize, team: &'a Team<'s, S, T>, explorer: Explorer<'s, S>) -> Self {
        let table = Table { team, found: VecDeque::new(), kept: Vec::new(), states: 0 };
        Worker { me, team, explorer, table, reported: 0 }
    }

    fn start(&mut self) {
        let mut initial = Vec::new();
        let outcome = self.team.system.initial(&mut initial);
        let mut result = Ok(());
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome
            && self.explorer.outgoing.counters.reports(self.team.system, fault)
        {
            result = self.team.note(None, &[], Some(fault));
        }
        if result.is_ok() && !matches!(outcome, Outcome::Broken(_)) {
            let hash = self.table.hash(&initial);
            result = self.table.arrive(hash, &initial, Reached::INITIALLY).map(|_| ());
        }
        if let Err(end) = result {
            self.team.end(end);
        }
    }

    /// Works until nobody has anything left.
    fn work(&mut self, mut budget: Option<&mut Budget>) {
        let mut done = 0;
        while !self.team.has_ended() {
            if let Some(item) = self.table.found.pop_front() {
                if let Err(end) = self.deal_with(item) {
                    self.team.end(end);
                }
                done += 1;
                if done % LOOK_EVERY == 0 {
                    self.report();
                    self.watch(&mut budget);
                }
                self.share();
            } else if let Some(chunk) = lock(&self.team.queue).pop_front() {
                self.table.found.extend(chunk);
            } else if self.rests(&mut budget) {
                break;
            }
        }
        self.report();
    }

    /// Waits for work; says whether there is none left anywhere.
    fn rests(&mut self, budget: &mut Option<&mut Budget>) -> bool {
        let team = self.team;
        self.report();
        team.idle.fetch_add(1, Ordering::SeqCst);
        while !team.has_ended() {
            if team.idle.load(Ordering::SeqCst) == team.threads {
                return true;
            }
            if !lock(&team.queue).is_empty() {
                team.idle.fetch_sub(1, Ordering::SeqCst);
                return false;
            }
            self.watch(budget);
            crate::platform::thread::sleep(NAP);
        }
        true
    }

    /// Hands work to others who have none.
    fn share(&mut self) {
        let mine = self.table.found.len();
        if mine > 4 * CHUNK || mine > 8 && self.team.idle.load(Ordering::Relaxed) > 0 {
            let chunk = self.table.found.split_off(mine - CHUNK.min(mine / 2));
            lock(&self.team.queue).push_back(chunk.into());
        }
    }

    fn report(&mut self) {
        let new = self.explorer.transitions - self.reported;
        self.reported = self.explorer.transitions;
        self.team.transitions.fetch_add(new, Ordering::Relaxed);
        self.team.states.fetch_add(std::mem::take(&mut self.table.states), Ordering::Relaxed);
    }

    fn watch(&self, budget: &mut Option<&mut Budget>) {
        let Some(budget) = budget else { return };
        let team = self.team;
        let stop = budget.poll(|| Progress {
            states: team.states.load(Ordering::Relaxed),
            transitions: 1 + team.transitions.load(Ordering::Relaxed),
            queue: (lock(&team.queue).len() * CHUNK + self.table.found.len()) as u64,
            memory: team.bytes() + self.explorer.bytes() * team.threads,
            ..Progress::default()
        });
        if let Some(stop) = stop {
            team.end(End::Limit(stop));
        }
    }

    fn deal_with(&mut self, item: Item) -> Result<(), End> {
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
        let at = At { number, count: visit.count, mover: visit.mover() };
        match is_first {
            true => self.explorer.expand(at, &mut self.table),
            false => self.explorer.expand_others(at, &mut self.table),
        }
    }

    /// Judges again, after more was learned, which last movers are robust, in some of the shards.
    fn judge_again(&mut self, mut budget: Option<&mut Budget>) {
        for number in (self.me..SHARDS).step_by(self.team.threads) {
            if let Err(end) = self.judge_shard(number as u32, &mut budget) {
                self.team.end(end);
            }
        }
    }

    fn judge_shard(&mut self, of: u32, budget: &mut Option<&mut Budget>) -> Result<(), End> {
        let shard = &self.team.shards[of as usize];
        let visits = lock(shard).log.len() as u32;
        for at in 0..visits {
            if at % LOOK_EVERY == 0 {
                self.watch(budget);
                if self.team.has_ended() {
                    break;
                }
            }
            let mut shard = lock(shard);
            let visit = shard.log[at as usize];
            let Some(mover) = visit.mover().filter(|_| shard.is_current(at)) else { continue };
            shard.store.load(visit.state, &mut self.explorer.state);
            if !self.explorer.is_still_robust(mover)? {
                let Visit { parent, count, .. } = visit;
                let reached = Reached { parent, count, mover: None, exact: false };
                let became = shard.arrive_at(visit.state, reached)?;
                self.table.enter(became, of);
            }
        }
        Ok(())
    }
}

impl<S: System + ?Sized, T: Store> Table<'_, '_, S, T> {
    fn enter(&mut self, became: Became, shard: u32) -> bool {
        if let Became::Visit(at) = became {
            self.found.push_back(Item::Visit(at * SHARDS as u32 + shard));
        }
        became != Became::Closed
    }
}

impl<S: System + ?Sized, T: Store> Visits for Table<'_, '_, S, T> {
    fn hash(&self, state: &[u8]) -> u64 {
        hash(state)
    }

    fn arrive(&mut self, hash: u64, state: &[u8], reached: Reached) -> Result<bool, End> {
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

    fn fault(&mut self, visit: u32, path: &[Step], fault: u32) -> Result<(), End> {
        self.team.note(Some(visit), path, Some(fault))
    }

    fn invalid_end(&mut self, visit: u32) -> Result<(), End> {
        let (shard, at) = self.team.place(visit);
        let is_first = {
            let mut shard = lock(shard);
            let state = shard.log[at as usize].state;
            shard.visited.checks_end(state)
        };
        if is_first { self.team.note(Some(visit), &[], None) } else { Ok(()) }
    }
}
