//! The threads of a reduced search, and what they share: shards of states, violations, and what one hands to another.
//!
//! Invariant: within a phase the count of the bucket does not change.

use super::agenda::{Agenda, CHUNK, Chunk, Item};
use super::explorer::{CurrentVisit, Explorer, Visits};
use super::shard::{ArrivalOutcome, NO_PARENT, Shard, Visit, VisitOrigin};
use super::violations::{FoundViolation, Violations, visits_to};
use crate::platform::sync::atomic::{AtomicU32, Ordering};
use crate::platform::sync::{Mutex, MutexGuard};
use crate::search::iterative::conclusion::Conclusion;
use crate::search::iterative::phases::{Phases, last_bound};
use crate::search::shared::halt::Halt;
use crate::search::shared::statistics::Counters;
use crate::search::shared::workers::{Worker, Workers, lock};
use crate::store::{Store, hash};
use crate::{Options, Preemptions, Progress};
use preempt_core::{Outcome, Step, System};
use std::collections::VecDeque;

/// Visits that a thread deals with before it looks around.
const PORTION: u32 = 64;

/// What the threads share.
pub(super) struct Team<'s, S: ?Sized, T> {
    system: &'s S,
    shards: Vec<Mutex<Shard<'s, T>>>,
    preemptions: Preemptions,
    /// The last bound.
    last: u32,
    pub(super) workers: Workers,
    queue: Mutex<VecDeque<Chunk>>,
    /// The count of the present bucket.
    bucket: AtomicU32,
    violations: Mutex<Violations>,
}

impl<'s, S: System + ?Sized, T: Store> Team<'s, S, T> {
    pub(super) fn new(
        system: &'s S,
        stores: &'s mut [T],
        options: &Options,
        threads: usize,
    ) -> Self {
        let shards = stores.len();
        let shards = stores.iter_mut().map(|store| Mutex::new(Shard::new(store, shards)));
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

    pub(super) fn bucket(&self) -> u32 {
        self.bucket.load(Ordering::Relaxed)
    }

    pub(super) fn begin_next(&self) {
        self.bucket.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether bounds are tried one after the other.
    pub(super) fn iterates(&self) -> bool {
        matches!(self.preemptions, Preemptions::Iterate { .. })
    }

    /// The number of preemptions that a violation must keep to.
    fn judged_by(&self) -> u32 {
        if self.iterates() { self.bucket() } else { self.last }
    }

    /// Whether violations were met, and those that were replayed need more preemptions than they may.
    pub(super) fn violations_are_beyond(&self) -> bool {
        lock(&self.violations).are_beyond(self.judged_by())
    }

    pub(super) fn errors(&self) -> u64 {
        lock(&self.violations).errors()
    }

    /// The shard and the place in its log of a visit.
    fn place(&self, number: u32) -> (&Mutex<Shard<'s, T>>, u32) {
        let shards = self.shards.len() as u32;
        (&self.shards[(number % shards) as usize], number / shards)
    }

    /// The shard of a state with this hash, and its number.
    #[inline]
    fn shard_of(&self, hash: u64) -> (MutexGuard<'_, Shard<'s, T>>, u32) {
        let of = (hash >> 1 & 0x7fff_ffff) as usize % self.shards.len();
        (lock(&self.shards[of]), of as u32)
    }

    fn visit(&self, number: u32) -> Visit {
        let (shard, at) = self.place(number);
        lock(shard).log[at as usize]
    }

    pub(super) fn is_current(&self, number: u32) -> bool {
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

    /// The longest execution in the log, counted in visits; 0 where the log is in parts, of which none has its visits in the
    /// order in which they were made.
    fn depth(&self) -> u64 {
        let [shard] = &self.shards[..] else { return 0 };
        let shard = lock(shard);
        let mut depths: Vec<u32> = Vec::with_capacity(shard.log.len());
        for visit in &shard.log {
            let before = depths.get(visit.parent as usize).filter(|_| visit.parent != NO_PARENT);
            depths.push(before.map_or(0, |before| before + 1));
        }
        depths.into_iter().max().unwrap_or(0).into()
    }

    /// What the search came to, where all threads together have counted this, and use so much memory beside the shards.
    pub(super) fn conclude(
        &self,
        mut counters: Counters,
        (states, transitions): (u64, u64),
        memory: usize,
        Phases { rows, bound, end }: Phases,
    ) -> Conclusion {
        lock(&self.violations).finish(&mut counters);
        let revisits = self.shards.iter().map(|shard| lock(shard).revisits).sum();
        let (depth, memory) = (self.depth(), memory + self.bytes());
        Conclusion { counters, states, transitions, revisits, depth, memory, rows, bound, end }
    }
}

/// One of the threads; no two of them share a cache line.
#[repr(align(128))]
pub(super) struct Thread<'a, 's, S: ?Sized, T> {
    me: usize,
    team: &'a Team<'s, S, T>,
    pub(super) explorer: Explorer<'s, S>,
    pub(super) table: Table<'a, 's, S, T>,
    /// Where last movers are judged again: the shard, and the next visit in its log.
    judges: Option<(usize, u32)>,
}

/// The visits, as one thread sees them.
pub(super) struct Table<'a, 's, S: ?Sized, T> {
    team: &'a Team<'s, S, T>,
    pub(super) agenda: Agenda,
    /// New states.
    pub(super) states: u64,
}

impl<S: System + ?Sized, T: Store> Worker for Thread<'_, '_, S, T> {
    fn work(&mut self) -> Result<bool, Halt> {
        if self.judges.is_some() {
            return self.judge_some();
        }
        let bucket = self.team.bucket();
        for done in 0..PORTION {
            let Some(item) = self.table.agenda.next(bucket) else {
                let Some(chunk) = lock(&self.team.queue).pop_front() else { return Ok(done > 0) };
                self.table.agenda.take(chunk);
                continue;
            };
            self.deal_with(item)?;
            self.hand_on();
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
            queue: (lock(&team.queue).len() * CHUNK + self.table.agenda.len()) as u64,
            memory: team.bytes() + self.bytes() * team.workers.threads(),
            ..Progress::default()
        }
    }
}

impl<'a, 's, S: System + ?Sized, T: Store> Thread<'a, 's, S, T> {
    pub(super) fn new(me: usize, team: &'a Team<'s, S, T>, explorer: Explorer<'s, S>) -> Self {
        let table = Table { team, agenda: Agenda::default(), states: 0 };
        Thread { me, team, explorer, table, judges: None }
    }

    pub(super) fn start(&mut self) -> Result<(), Halt> {
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

    /// Memory in use beside what the threads share, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.explorer.bytes() + self.table.agenda.bytes()
    }

    /// Hands work to threads that have none.
    fn hand_on(&mut self) {
        let mine = self.table.agenda.len();
        let is_wanted = mine > 8 && self.team.workers.has_idle();
        if (is_wanted || mine > 4 * CHUNK && self.team.workers.threads() > 1)
            && let Some(chunk) = self.table.agenda.give()
        {
            lock(&self.team.queue).push_back(chunk);
        }
    }

    /// Deals with a visit, unless it is not needed any more.
    fn deal_with(&mut self, item: Item) -> Result<(), Halt> {
        let number = item.number();
        let (shard, at) = self.team.place(number);
        let begun = lock(shard).begin(item, at, &mut self.explorer.state);
        let Some(visit) = begun else { return Ok(()) };
        self.explorer.deal_with(item, CurrentVisit::of(number, visit), &mut self.table)
    }

    /// From now on, until that is done, judges again which last movers are robust, in some of the shards.
    pub(super) fn begin_to_judge(&mut self) {
        self.judges = Some((self.me, 0));
    }

    pub(super) fn end_judging(&mut self) {
        self.judges = None;
    }

    /// Judges the last movers of some visits again; says whether there were any.
    fn judge_some(&mut self) -> Result<bool, Halt> {
        let team = self.team;
        let Some((of, first)) = self.judges.filter(|(of, _)| *of < team.shards.len()) else {
            return Ok(false);
        };
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
                self.table.enter(became, count, of as u32);
            }
        }
        let next_shard = of + team.workers.threads();
        self.judges = Some(if end == visits { (next_shard, 0) } else { (of, end) });
        Ok(true)
    }
}

impl<S: System + ?Sized, T: Store> Table<'_, '_, S, T> {
    /// Puts a new visit into its bucket; says whether the arrival led to one that is yet to be expanded.
    #[inline]
    fn enter(&mut self, became: ArrivalOutcome, count: u16, shard: u32) -> bool {
        if let ArrivalOutcome::Visit(at) = became {
            self.agenda.open(count, at * self.team.shards.len() as u32 + shard);
        }
        became != ArrivalOutcome::Closed
    }
}

impl<S: System + ?Sized, T: Store> Visits for Table<'_, '_, S, T> {
    #[inline]
    fn hash(&self, state: &[u8]) -> u64 {
        let hash = hash(state);
        // With many shards another thread may be in this one.
        if let [shard] = &self.team.shards[..] {
            let store = &lock(shard).store;
            store.prefetch(store.accept_hash(hash).unwrap_or(0));
        }
        hash
    }

    #[inline]
    fn arrive(&mut self, hash: u64, state: &[u8], reached: VisitOrigin) -> Result<bool, Halt> {
        let (mut shard, of) = self.team.shard_of(hash);
        let own = shard.store.accept_hash(hash).unwrap_or_else(|| shard.store.hash(state));
        let before = shard.states;
        let became = shard.arrive(own, state, reached)?;
        self.states += shard.states - before;
        drop(shard);
        Ok(self.enter(became, reached.count, of))
    }

    fn forget_mover(&mut self, visit: u32) {
        let (shard, at) = self.team.place(visit);
        let mut shard = lock(shard);
        let Visit { state, count, .. } = shard.log[at as usize];
        shard.visited.set_nobody(state, count.into());
    }

    fn wait(&mut self, at: CurrentVisit) {
        self.agenda.keep(at.count, at.number);
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
