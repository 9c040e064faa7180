//! Bucket by bucket of preemptions: one owner's part.
//!
//! Paper: [MQ07] Algorithm 1
//!
//! As `iterative/parallel.rs`: a visit is a state and its last mover; each owner judges the visits to its states
//! by the exact rule. Inside a bucket visits are expanded round by round, so that between two rounds nothing is under way,
//! and the way back to a visit leads through the round before.
//!
//! Differs from the paper: round 0 of a bucket runs the processes that had to wait in the bucket before. There is no loop over
//! bounds here, as in `iterative/phases.rs`: a bucket ends when no message is under way, which only the driver of all owners knows.

use super::arrived::Arrived;
use super::batch::{BatchReader, Batches, Outbox, read_batch};
use super::moves::{Moves, Taken};
use super::owner_map::OwnerMap;
use super::retrace::{TraceSegment, TraceTarget, steps_to};
use super::visit_log::{Merged, Visit, VisitLog, mark, mover};
use super::wire::Damaged;
use super::{Owner, Partition, PartitionResult, Time, ViolationSite};
use preempt_check::engine::Counters;
use preempt_check::engine::{Due, Turn, turn};
use preempt_check::engine::{LARGEST_BOUND, LeastPreemptions, StateRecord, Visit as Judged};
use preempt_check::store::{Adaptive, Pending, Store, StoreFull, hash_for_all};
use preempt_check::{Budget, Counterexample, Options, Progress};
use preempt_core::engine::ProcessSelection;
use preempt_core::{BoundRow, Enabled, Outcome, ProcessId, Step, Stop, System};

/// Visits that are expanded before the driver looks after what has arrived.
const PORTION: usize = 2048;
/// How many visits ahead the state of one is fetched.
const FETCHED: usize = 8;

/// One owner's states, bucket by bucket.
pub struct Buckets<'a> {
    system: &'a dyn System,
    deal: OwnerMap,
    store: Adaptive,
    least: LeastPreemptions,
    log: VisitLog,
    arrived: Arrived,
    /// The next visit to expand.
    cursor: usize,
    /// Visits after which a process waits for the next bucket.
    deferred: Vec<u32>,
    /// Visits of the bucket before after which a process waited, and that are being expanded.
    waiting: Vec<u32>,
    /// The bucket of what is being done.
    bucket: u32,
    last_bucket: u32,
    rows: Vec<BoundRow>,
    counters: Counters,
    moves: Moves,
    transitions: u64,
    revisits: u64,
    first: First,
    /// A violation that was found before the search was interrupted and went on.
    earlier: Option<ViolationSite>,
    stopped: bool,
    state: Vec<u8>,
    received: BatchReader,
}

impl<'a> Buckets<'a> {
    /// An owner that has no state yet.
    pub fn new(
        system: &'a dyn System,
        options: &Options,
        owner: Owner,
        budget: &mut Budget<'_>,
    ) -> Self {
        let (deal, stop) = OwnerMap::new(system, owner, budget);
        let limit = options.preemptions.limit().unwrap_or(LARGEST_BOUND);
        let mut part = Buckets {
            system,
            deal,
            store: Adaptive::new(budget.memory_limit()),
            least: LeastPreemptions::default(),
            log: VisitLog::default(),
            arrived: Arrived::default(),
            cursor: 0,
            deferred: Vec::new(),
            waiting: Vec::new(),
            bucket: 0,
            last_bucket: limit.min(LARGEST_BOUND),
            rows: Vec::new(),
            counters: Counters::new(system, options),
            moves: Moves::new(),
            transitions: 0,
            revisits: 0,
            first: First::default(),
            earlier: None,
            stopped: false,
            state: Vec::new(),
            received: BatchReader::default(),
        };
        if let Some(stop) = stop {
            part.fail(stop);
        }
        part
    }

    fn fail(&mut self, stop: Stop) {
        self.counters.stop.get_or_insert(stop);
        self.stopped = true;
    }

    /// Everything of earlier buckets is done, here and elsewhere.
    fn enter(&mut self, bucket: u32) {
        if bucket > self.bucket {
            self.rows.push(self.row());
            self.bucket = bucket;
        }
    }

    fn row(&self) -> BoundRow {
        BoundRow {
            stale: None,
            bound: self.bucket,
            states: self.store.len() as u64,
            transitions: self.transitions,
            errors: self.counters.errors,
        }
    }

    /// Adds a visit to those that are judged together.
    #[inline]
    fn visit(&mut self, time: Time, state: &[u8], mover: Option<ProcessId>) {
        self.arrived.push(state, mover);
        if self.arrived.is_full() {
            self.judge(time);
        }
    }

    /// Notes the visits that have arrived, unless earlier ones cover them.
    fn judge(&mut self, time: Time) {
        let mut arrived = std::mem::take(&mut self.arrived);
        let Arrived { bytes, states, movers } = &mut arrived;
        for state in &mut *states {
            state.hash = self.store.hash(&bytes[state.start..state.end]);
            self.store.prefetch(state.hash);
        }
        let known = self.store.len();
        let result = self.store.insert_batch(bytes, states);
        for (state, mover) in states.iter().zip(movers).take_while(|_| result.is_ok()) {
            self.note(time, state, *mover, known);
        }
        if result.is_err() {
            self.fail(Stop::Memory);
        }
        arrived.clear();
        self.arrived = arrived;
    }

    /// Notes a visit, unless an earlier one covers it, with the number of states that were known before it.
    fn note(
        &mut self,
        time: Time,
        Pending { inserted, start, end, .. }: &Pending,
        mover: Option<ProcessId>,
        known: usize,
    ) {
        if self.least.visit(inserted.id, time.bucket, mover) == Judged::Covered {
            return;
        }
        self.revisits += u64::from(!inserted.new);
        if self.log.len() >= u32::MAX as usize {
            return self.fail(Stop::Memory);
        }
        self.log.push(time, Visit { state: inserted.id, mover }, known);
        let longest = &mut self.counters.state_bytes;
        *longest = (*longest).max(end - start);
    }

    /// Finds what can happen in `self.state`; says whether that was possible.
    fn look(&mut self) -> bool {
        let found = self.moves.find(self.system, &mut self.state);
        self.is_found(found.map(|()| true))
    }

    /// What a look has found; the search ends where there was no room for it.
    fn is_found(&mut self, found: Result<bool, StoreFull>) -> bool {
        found.unwrap_or_else(|StoreFull| {
            self.fail(Stop::Memory);
            false
        })
    }

    fn expand_visit(&mut self, at: u32, time: Time, outbox: &mut Outbox<'_>) {
        let Visit { state: id, mover: last } = self.log.get(at);
        let together = match self.log.take_movers(at) {
            Merged::Elsewhere => return,
            Merged::Alone => 0,
            Merged::Here(movers) => movers,
        };
        self.store.load(id, &mut self.state);
        let record = self.least.get(id);
        // An earlier visit has seen to the others, unless the mover cannot go on.
        if let Some(mover) = last.filter(|_| record.is_expanded()) {
            let found = self.moves.find_of(self.system, &mut self.state, mover);
            if self.is_found(found) {
                let is_mover = |process| process == mover;
                return self.take((at, Turn::Nothing), time, outbox, is_mover);
            }
        }
        let is_found = match last {
            Some(mover) if !self.stopped => {
                let without = record.small_movers();
                let movers = ProcessSelection { first: Some(mover), also: together, without };
                let found = self.moves.find_selection(self.system, &mut self.state, movers);
                self.is_found(found)
            }
            _ => false,
        };
        if !is_found && (self.stopped || !self.look()) {
            return;
        }
        if !record.is_expanded() {
            self.least.update(id, StateRecord::expanded);
            if self.moves.is_empty()
                && self.counters.is_invalid_without_steps(self.system, &self.state)
            {
                self.first.report(&mut self.counters, at, &[], None);
            }
        }
        let is_mover = |process: ProcessId| {
            Some(process) == last || process.0 < 64 && together >> process.0 & 1 != 0
        };
        let can_move = last.is_some_and(|mover| self.moves.has_all(mover, together));
        let turn = turn(can_move, record.all_run() && last.is_some());
        if turn == Turn::All {
            self.least.update(id, StateRecord::freed);
        }
        self.take((at, turn), time, outbox, is_mover);
        // Whether the others have steps is not known, and need not be before the next bucket.
        if turn == Turn::Mover && !record.all_run() && self.least.defer(id) {
            self.deferred.push(at);
        }
    }

    /// Whether a process that waited after a visit may still do so.
    fn has_waiting(&self, at: u32) -> bool {
        !self.least.get(self.log.get(at).state).all_run()
    }

    /// Whether a process that has steps waits after one of these visits.
    fn keeps_back<'v>(&self, visits: impl IntoIterator<Item = &'v u32>) -> bool {
        let (mut state, mut enabled) = (Vec::new(), Enabled::new());
        visits.into_iter().filter(|at| self.has_waiting(**at)).any(|at| {
            let visit = self.log.get(*at);
            self.store.load(visit.state, &mut state);
            enabled.clear();
            self.system.enabled(&mut state, &mut enabled);
            let mut processes = enabled.by_process().map(|(process, _)| process);
            processes.any(|one| Some(one) != visit.mover && one != ProcessId::PROPERTY)
        })
    }

    fn expand_deferred(&mut self, at: u32, time: Time, outbox: &mut Outbox<'_>) {
        let id = self.log.get(at).state;
        let record = self.least.get(id);
        if record.all_run() {
            return;
        }
        self.store.load(id, &mut self.state);
        let rest = ProcessSelection { first: None, also: 0, without: record.small_movers() };
        let found = self.moves.find_selection(self.system, &mut self.state, rest);
        // Should there be none, then perhaps one that is enabled because no other can move.
        if !self.is_found(found) && (self.stopped || !self.look()) {
            return;
        }
        self.least.update(id, StateRecord::freed);
        self.take((at, Turn::Waited), time, outbox, |_| false);
    }

    /// Takes the steps of the processes of a visit that are due, and has what they lead to dealt with by its owners.
    fn take(
        &mut self,
        (at, turn): (u32, Turn),
        time: Time,
        outbox: &mut Outbox<'_>,
        is_mover: impl Fn(ProcessId) -> bool,
    ) {
        let Visit { state: id, mover: before } = self.log.get(at);
        let (system, deal, least) = (self.system, &self.deal, &self.least);
        let (counters, first) = (&mut self.counters, &mut self.first);
        let (transitions, arrived) = (&mut self.transitions, &mut self.arrived);
        let each = |taken: Taken<'_>| match taken {
            Taken::Step(step) => counters.take(system, step),
            Taken::Fault(fault, path) => {
                if counters.reports(system, fault) {
                    first.report(counters, at, path, Some(fault));
                }
            }
            Taken::Arrival(state, mover) => {
                *transitions += 1;
                let mover = mover.or(before);
                let owner = deal.of_state(state);
                if owner == deal.owner.me {
                    arrived.push(state, mover);
                } else if !outbox.was_sent(|| hash_for_all(state), mark(mover), state) {
                    outbox.push(owner, (mark(mover).into(), 0), state);
                }
            }
        };
        let has_run = |process| least.has_mover(id, process);
        self.moves.take(|process| turn.due(process, &is_mover, has_run) == Due::Now, each);
        if self.arrived.is_full() {
            self.judge(time.next());
        }
    }
}

/// The first violation: the visit, the steps behind it and, unless it is an end, the fault.
#[derive(Default)]
struct First(Option<(u32, Vec<Step>, Option<u32>)>);

impl First {
    fn report(&mut self, counters: &mut Counters, at: u32, path: &[Step], fault: Option<u32>) {
        if counters.is_enough() {
            return;
        }
        self.0.get_or_insert_with(|| (at, path.to_vec(), fault));
        counters.error(|| Counterexample::invalid_end(Vec::new()));
    }
}

/// What is saved of a visit beside its mover.
const EXPANDED: u64 = 1;
const FREE: u64 = 2;
const DEFERRED: u64 = 4;
/// This visit, and not only its state, waits for the next bucket.
const WAITS: u64 = 8;
/// The visit is not expanded yet.
const AHEAD: u64 = 16;

impl Partition for Buckets<'_> {
    fn begin(&mut self) {
        if self.stopped {
            return;
        }
        let mut initial = Vec::new();
        let outcome = self.system.initial(&mut initial);
        if self.deal.of_state(&initial) != self.deal.owner.me {
            return;
        }
        self.visit(Time::default(), &initial, None);
        self.judge(Time::default());
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            if self.counters.reports(self.system, fault) {
                self.first.report(&mut self.counters, 0, &[], Some(fault));
                self.stopped = true;
            }
            self.stopped |= matches!(outcome, Outcome::Broken(_));
        }
    }

    fn receive(&mut self, time: Time, batch: &[u8]) -> Result<(), Damaged> {
        self.enter(time.bucket);
        let mut states = std::mem::take(&mut self.received);
        let result = read_batch(batch, &mut states, |(mark, _), state| {
            let mover = mover(mark)?;
            if !self.stopped {
                self.visit(time, state, mover);
            }
            Ok(())
        });
        self.received = states;
        self.judge(time);
        result
    }

    fn waits(&self) -> Option<Time> {
        if self.stopped {
            return None;
        }
        if !self.waiting.is_empty() {
            return Some(Time { bucket: self.bucket, round: 0 });
        }
        let next = (self.cursor < self.log.len()).then(|| self.log.time_of(self.cursor));
        // Processes that wait belong to the last bucket in which something was expanded here.
        let woken = self
            .deferred
            .first()
            .map(|at| Time { bucket: self.log.time_of(*at as usize).bucket + 1, round: 0 });
        let woken = woken.filter(|time| time.bucket <= self.last_bucket);
        next.into_iter().chain(woken).min()
    }

    fn expand(&mut self, outbox: &mut Outbox<'_>) {
        let Some(time) = self.waits() else { return };
        if time.round == 0 && self.waiting.is_empty() && !self.deferred.is_empty() {
            let mut waiting = std::mem::take(&mut self.deferred);
            waiting.retain(|at| self.has_waiting(*at));
            if !self.keeps_back(&waiting) {
                // All processes were run in the bucket before after all: for this owner there is no other one.
                return;
            }
            waiting.reverse();
            self.waiting = waiting;
        }
        self.enter(time.bucket);
        let end = self.log.end_of(time);
        // The steps of a property belong to each of the visits.
        if self.waiting.is_empty() && self.system.is_compiled() {
            self.log.merge(self.cursor..end);
        }
        for _ in 0..PORTION {
            if self.counters.is_enough() || self.stopped {
                break;
            }
            if let Some(at) = self.waiting.pop() {
                if let Some(ahead) = self.waiting.len().checked_sub(FETCHED) {
                    self.store.prefetch_id(self.log.get(self.waiting[ahead]).state);
                }
                self.expand_deferred(at, time, outbox);
            } else if self.cursor < end {
                if let Some(ahead) = self.log.state(self.cursor + FETCHED) {
                    self.store.prefetch_id(ahead);
                }
                self.expand_visit(self.cursor as u32, time, outbox);
                self.cursor += 1;
            } else {
                break;
            }
        }
        self.judge(time.next());
    }

    fn errors(&self) -> u64 {
        self.counters.errors
    }

    fn has_enough(&self) -> bool {
        self.counters.is_enough() || self.stopped
    }

    fn stop(&mut self, stop: Option<Stop>) {
        let own = &mut self.counters.stop;
        *own = own.or(stop);
        self.stopped = true;
    }

    fn progress(&self) -> Progress {
        Progress {
            states: self.store.len() as u64,
            transitions: self.transitions,
            queue: (self.log.len() - self.cursor) as u64,
            memory: self.store.bytes()
                + self.least.bytes()
                + self.log.bytes()
                + self.arrived.bytes.capacity()
                + self.moves.bytes()
                + (self.deferred.capacity() + self.waiting.capacity()) * 4,
            ..Progress::default()
        }
    }

    fn share(&self) -> PartitionResult {
        let own = self.first.0.as_ref().map(|(at, path, fault)| {
            let Visit { state: id, mover } = self.log.get(*at);
            let mut state = Vec::new();
            self.store.load(id, &mut state);
            let time = self.log.time_of(*at as usize);
            ViolationSite { time, state, mover, path: path.clone(), fault: *fault }
        });
        let site = self.earlier.clone().or(own);
        let mut rows = self.rows.clone();
        // After a search went on with other owners one may have counts and rows of all, but no state: what it has in this
        // bucket is not what all had in the last one.
        if !self.store.is_empty() || !rows.is_empty() || self.transitions > 0 {
            rows.push(self.row());
        }
        PartitionResult {
            states: self.store.len() as u64,
            transitions: self.transitions,
            revisits: self.revisits,
            memory: self.progress().memory as u64,
            deferred: self.keeps_back(self.deferred.iter().chain(&self.waiting)).into(),
            rows,
            site,
            ..PartitionResult::counted(&self.counters)
        }
    }

    fn seek(&mut self, goal: &TraceTarget) -> Option<TraceSegment> {
        let Time { bucket, round } = goal.time;
        let before = Time { bucket, round: round.checked_sub(1)? };
        // What was deferred in the bucket before is expanded in round 0.
        let deferred = before.round == 0 && bucket > 0;
        let mut state = Vec::new();
        let fits = |time: Time| match deferred {
            true => time.bucket + 1 == bucket,
            false => time == before,
        };
        for (time, visits) in self.log.times().filter(|(time, _)| fits(*time)) {
            for visit in visits {
                let Visit { state: id, mover } = self.log.get(visit as u32);
                self.store.load(id, &mut state);
                let (from, cost) = ((&state[..], mover), Some(u32::from(deferred)));
                let steps = steps_to(self.system, from, goal, cost, false);
                if let Some(steps) = steps {
                    return Some(TraceSegment { from: TraceTarget { time, state, mover }, steps });
                }
            }
        }
        None
    }

    fn save(&self, each: &mut dyn FnMut(Time, Vec<u8>) -> bool) {
        let waits: std::collections::HashSet<u32> =
            self.deferred.iter().chain(&self.waiting).copied().collect();
        let mut state = Vec::new();
        for (time, visits) in self.log.times() {
            let mut go_on = true;
            let mut send = |_: usize, bytes: Vec<u8>| go_on = go_on && each(time, bytes);
            let mut batches = Batches::new(1);
            let mut outbox = batches.outbox(&mut send);
            for visit in visits {
                let Visit { state: id, mover } = self.log.get(visit as u32);
                let record = self.least.get(id);
                let mut flags = 0;
                for (bit, is_set) in [
                    (EXPANDED, record.is_expanded()),
                    (FREE, record.all_run()),
                    (DEFERRED, record.is_deferred()),
                    (WAITS, waits.contains(&(visit as u32))),
                    (AHEAD, visit >= self.cursor),
                ] {
                    flags |= if is_set { bit } else { 0 };
                }
                self.store.load(id, &mut state);
                outbox.push(0, (mark(mover).into(), flags), &state);
            }
            outbox.flush();
            if !go_on {
                return;
            }
        }
    }

    fn restore(&mut self, time: Time, saved: &[u8]) -> Result<(), Damaged> {
        let mut states = BatchReader::default();
        read_batch(saved, &mut states, |(mark, flags), state| {
            let mover = mover(mark)?;
            if self.deal.of_state(state) != self.deal.owner.me || self.stopped {
                return Ok(());
            }
            // Visits are given in the order in which they were made: none of them is covered but by its flags.
            let known = self.store.len();
            let Ok(inserted) = self.store.insert(state) else {
                self.fail(Stop::Memory);
                return Ok(());
            };
            self.least.visit(inserted.id, time.bucket, mover);
            let visit = self.log.len() as u32;
            self.log.push(time, Visit { state: inserted.id, mover }, known);
            if flags & EXPANDED != 0 {
                self.least.update(inserted.id, StateRecord::expanded);
            }
            if flags & FREE != 0 {
                self.least.update(inserted.id, StateRecord::freed);
            }
            if flags & DEFERRED != 0 {
                self.least.defer(inserted.id);
            }
            if flags & WAITS != 0 {
                self.deferred.push(visit);
            }
            if flags & AHEAD == 0 {
                self.cursor = self.log.len();
            }
            Ok(())
        })
    }

    fn restore_counts(&mut self, all: &PartitionResult) {
        // The last row is that of the bucket which goes on.
        let (last, finished) = match all.rows.split_last() {
            Some((last, finished)) => (last.bound, finished),
            None => (0, &[][..]),
        };
        self.bucket = last;
        self.rows.clear();
        if self.deal.owner.me == 0 {
            all.restore(&mut self.counters);
            self.earlier = all.site.clone();
            self.transitions = all.transitions;
            self.revisits = all.revisits;
            self.rows.extend_from_slice(finished);
        }
    }
}
