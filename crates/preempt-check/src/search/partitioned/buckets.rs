//! Bucket by bucket of preemptions: one owner's part.
//!
//! Paper: [MQ07] Algorithm 1
//!
//! As `iterative/parallel.rs`: a visit is a state and who moved last before it; each owner judges the visits to its states
//! by the exact rule. Inside a bucket visits are expanded round by round, so that between two rounds nothing is under way,
//! and the way back to a visit leads through the round before.
//!
//! Differs from the paper: round 0 of a bucket runs the processes that had to wait in the bucket before.

use super::batch::{BatchReader, Batches, Outbox, read_batch};
use super::deal::Deal;
use super::retrace::{Goal, Way, steps_to};
use super::wire::Damaged;
use super::{Owner, Partition, Share, Site, Time};
use crate::search::bounded::least_preemptions::{LARGEST_BOUND, LeastPreemptions, Visit};
use crate::search::iterative::outgoing::Outgoing;
use crate::search::shared::atomic_sequence::AtomicSequence;
use crate::search::shared::expansion::Expander;
use crate::store::{Adaptive, StateId, Store, hash_for_all};
use crate::{Counterexample, Options, Progress};
use preempt_core::{BoundRow, Enabled, Outcome, ProcessId, Step, Stop, System};

/// Visits that are expanded before the driver looks after what has arrived.
const PORTION: usize = 2048;

/// A visit: the state, and who moved last.
type Entry = (StateId, Option<ProcessId>);

/// One owner's states, bucket by bucket.
pub struct Buckets<'a> {
    system: &'a dyn System,
    deal: Deal,
    store: Adaptive,
    least: LeastPreemptions,
    log: Vec<Entry>,
    /// When the visits of the log were made: times, and the first visit of each.
    bounds: Vec<(Time, usize)>,
    /// The next visit to expand.
    cursor: usize,
    /// Visits after which somebody waits for the next bucket,
    deferred: Vec<u32>,
    /// and those of the bucket before that are being expanded.
    waiting: Vec<u32>,
    /// The bucket of what is being done.
    bucket: u32,
    last_bucket: u32,
    rows: Vec<BoundRow>,
    outgoing: Outgoing<'a, dyn System + 'a>,
    expander: Expander,
    transitions: u64,
    revisits: u64,
    first: Option<(u32, Vec<Step>, Option<u32>)>,
    /// A violation that was found before the search was interrupted and went on.
    earlier: Option<Site>,
    stopped: bool,
    enabled: Enabled,
    state: Vec<u8>,
    received: BatchReader,
}

impl<'a> Buckets<'a> {
    /// An owner that has no state yet.
    pub fn new(system: &'a dyn System, options: &Options, owner: Owner, memory: usize) -> Self {
        let limit = options.preemptions.limit().unwrap_or(LARGEST_BOUND);
        Buckets {
            system,
            deal: Deal::new(system, owner),
            store: Adaptive::new(memory),
            least: LeastPreemptions::default(),
            log: Vec::new(),
            bounds: Vec::new(),
            cursor: 0,
            deferred: Vec::new(),
            waiting: Vec::new(),
            bucket: 0,
            last_bucket: limit.min(LARGEST_BOUND),
            rows: Vec::new(),
            outgoing: Outgoing::new(system, options),
            expander: Expander::new(),
            transitions: 0,
            revisits: 0,
            first: None,
            earlier: None,
            stopped: false,
            enabled: Enabled::new(),
            state: Vec::new(),
            received: BatchReader::default(),
        }
    }

    fn fail(&mut self, stop: Stop) {
        self.outgoing.counters.stop.get_or_insert(stop);
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
            errors: self.outgoing.counters.errors,
        }
    }

    /// Notes a visit, unless an earlier one covers it.
    fn visit(&mut self, time: Time, state: &[u8], mover: Option<ProcessId>) {
        let Ok(inserted) = self.store.insert(state) else {
            return self.fail(Stop::Memory);
        };
        if self.least.visit(inserted.id, time.bucket, mover) == Visit::Covered {
            return;
        }
        self.revisits += u64::from(!inserted.new);
        if self.log.len() >= u32::MAX as usize {
            return self.fail(Stop::Memory);
        }
        if self.bounds.last().is_none_or(|(last, _)| *last < time) {
            self.bounds.push((time, self.log.len()));
        }
        self.log.push((inserted.id, mover));
        let longest = &mut self.outgoing.counters.state_bytes;
        *longest = (*longest).max(state.len());
    }

    fn time_of(&self, visit: usize) -> Time {
        let at = self.bounds.partition_point(|(_, first)| *first <= visit);
        self.bounds[at.saturating_sub(1)].0
    }

    fn load(&mut self, state: StateId) {
        self.store.load(state, &mut self.state);
        self.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.enabled);
    }

    fn report(&mut self, at: u32, path: &[Step], fault: Option<u32>) {
        if self.outgoing.counters.is_enough() {
            return;
        }
        self.first.get_or_insert_with(|| (at, path.to_vec(), fault));
        self.outgoing.counters.error(|| Counterexample::invalid_end(Vec::new()));
    }

    fn expand_visit(&mut self, at: u32, time: Time, outbox: &mut Outbox<'_>) {
        let (id, last) = self.log[at as usize];
        self.load(id);
        let record = self.least.get(id);
        if !record.is_expanded() {
            self.least.set_expanded(id);
            if self.outgoing.counters.is_invalid_end(self.system, &self.state, &self.enabled) {
                self.report(at, &[], None);
            }
        }
        let mover = last.filter(|&mover| !self.enabled.of(mover).is_empty());
        let Some(mover) = mover else {
            if last.is_none() || !record.is_free() {
                self.least.set_free(id);
                self.run_all_but_movers(at, time, outbox);
            }
            return;
        };
        let enabled = std::mem::take(&mut self.enabled);
        self.take(at, enabled.of(mover), time, outbox);
        self.take(at, enabled.of(ProcessId::PROPERTY), time, outbox);
        let is_other = |step: &Step| step.process != mover && step.process != ProcessId::PROPERTY;
        let others = enabled.steps().iter().any(is_other);
        self.enabled = enabled;
        if others && !record.is_free() && self.least.defer(id) {
            self.deferred.push(at);
        }
    }

    /// Whether somebody who waited after a visit still does.
    fn has_waiting(&self, at: u32) -> bool {
        !self.least.get(self.log[at as usize].0).is_free()
    }

    fn expand_deferred(&mut self, at: u32, time: Time, outbox: &mut Outbox<'_>) {
        let (id, _) = self.log[at as usize];
        if self.least.get(id).is_free() {
            return;
        }
        self.load(id);
        self.least.set_free(id);
        self.enabled.drop_property();
        self.run_all_but_movers(at, time, outbox);
    }

    fn run_all_but_movers(&mut self, at: u32, time: Time, outbox: &mut Outbox<'_>) {
        let (id, _) = self.log[at as usize];
        let enabled = std::mem::take(&mut self.enabled);
        for (process, steps) in enabled.by_process() {
            if !self.least.has_mover(id, process) {
                self.take(at, steps, time, outbox);
            }
        }
        self.enabled = enabled;
    }

    /// Takes steps of one process in `self.state`, with the sequences behind them.
    fn take(&mut self, at: u32, steps: &[Step], time: Time, outbox: &mut Outbox<'_>) {
        self.expander.clear();
        self.outgoing.clear();
        self.outgoing.begin(at);
        let (system, outgoing) = (self.system, &mut self.outgoing);
        if self.expander.expand_selected(system, &self.state, steps, outgoing).is_err() {
            return self.fail(Stop::Memory);
        }
        let before = self.log[at as usize].1;
        let list = std::mem::take(&mut self.outgoing.list);
        let bytes = std::mem::take(&mut self.expander.successors.data);
        for &edge in &list {
            match edge.arrival().map(|arrival| self.expander.arrivals[arrival]) {
                Some(arrival) => {
                    let mover = edge.mover().or(before);
                    self.arrive(&bytes[arrival.start..arrival.end], mover, time.next(), outbox);
                }
                None => {
                    if let Some((fault, path)) = self.outgoing.fault(edge) {
                        self.report(at, &path, Some(fault));
                    }
                }
            }
        }
        (self.outgoing.list, self.expander.successors.data) = (list, bytes);
    }

    /// Has a visit dealt with by the owner of its state.
    fn arrive(
        &mut self,
        state: &[u8],
        mover: Option<ProcessId>,
        time: Time,
        outbox: &mut Outbox<'_>,
    ) {
        self.transitions += 1;
        let mark = mark(mover);
        let owner = self.deal.of_state(state);
        if owner == self.deal.owner.me {
            self.visit(time, state, mover);
        } else if !outbox.was_sent(|| hash_for_all(state), mark, state) {
            outbox.push(owner, (mark.into(), 0), state);
        }
    }
}

/// A last mover as a number.
pub(super) fn mark(mover: Option<ProcessId>) -> u16 {
    mover.map_or(0, |mover| mover.0 + 1)
}

/// The last mover of a number.
pub(super) fn mover(mark: u64) -> Result<Option<ProcessId>, Damaged> {
    let mark = u16::try_from(mark).map_err(|_| Damaged)?;
    Ok(mark.checked_sub(1).map(ProcessId))
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
        let mut initial = Vec::new();
        let outcome = self.system.initial(&mut initial);
        if self.deal.of_state(&initial) != self.deal.owner.me {
            return;
        }
        self.visit(Time::default(), &initial, None);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            if self.outgoing.counters.reports(self.system, fault) {
                self.report(0, &[], Some(fault));
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
        result
    }

    fn waits(&self) -> Option<Time> {
        if self.stopped {
            return None;
        }
        if !self.waiting.is_empty() {
            return Some(Time { bucket: self.bucket, round: 0 });
        }
        let next = (self.cursor < self.log.len()).then(|| self.time_of(self.cursor));
        // Those who wait belong to the last bucket in which something was expanded here.
        let woken = self
            .deferred
            .first()
            .map(|at| Time { bucket: self.time_of(*at as usize).bucket + 1, round: 0 });
        let woken = woken.filter(|time| time.bucket <= self.last_bucket);
        next.into_iter().chain(woken).min()
    }

    fn expand(&mut self, outbox: &mut Outbox<'_>) {
        let Some(time) = self.waits() else { return };
        if time.round == 0 && self.waiting.is_empty() && !self.deferred.is_empty() {
            let mut waiting = std::mem::take(&mut self.deferred);
            waiting.retain(|at| self.has_waiting(*at));
            if waiting.is_empty() {
                // Everybody was run in the bucket before after all: for this owner there is no other one.
                return;
            }
            waiting.reverse();
            self.waiting = waiting;
        }
        self.enter(time.bucket);
        let end = self.bounds.iter().rfind(|(one, _)| *one <= time).map_or(0, |(one, _)| {
            let at = self.bounds.partition_point(|(other, _)| other <= one);
            self.bounds.get(at).map_or(self.log.len(), |(_, first)| *first)
        });
        for _ in 0..PORTION {
            if self.outgoing.counters.is_enough() || self.stopped {
                return;
            }
            if let Some(at) = self.waiting.pop() {
                self.expand_deferred(at, time, outbox);
            } else if self.cursor < end {
                self.expand_visit(self.cursor as u32, time, outbox);
                self.cursor += 1;
            } else {
                return;
            }
        }
    }

    fn errors(&self) -> u64 {
        self.outgoing.counters.errors
    }

    fn has_enough(&self) -> bool {
        self.outgoing.counters.is_enough() || self.stopped
    }

    fn stop(&mut self, stop: Option<Stop>) {
        let own = &mut self.outgoing.counters.stop;
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
                + self.log.capacity() * size_of::<Entry>()
                + (self.deferred.capacity() + self.waiting.capacity()) * 4,
            ..Progress::default()
        }
    }

    fn share(&self) -> Share {
        let counters = &self.outgoing.counters;
        let own = self.first.as_ref().map(|(at, path, fault)| {
            let (id, mover) = self.log[*at as usize];
            let mut state = Vec::new();
            self.store.load(id, &mut state);
            let time = self.time_of(*at as usize);
            Site { time, state, mover, path: path.clone(), fault: *fault }
        });
        let site = self.earlier.clone().or(own);
        let mut rows = self.rows.clone();
        if !self.store.is_empty() {
            rows.push(self.row());
        }
        Share {
            states: self.store.len() as u64,
            transitions: self.transitions,
            revisits: self.revisits,
            errors: counters.errors,
            state_bytes: counters.state_bytes as u64,
            memory: self.progress().memory as u64,
            deferred: (self.deferred.iter().chain(&self.waiting))
                .filter(|at| self.has_waiting(**at))
                .count() as u64,
            stop: counters.stop,
            taken: counters.taken().to_vec(),
            rows,
            site,
            ..Share::default()
        }
    }

    fn seek(&mut self, goal: &Goal) -> Option<Way> {
        let Time { bucket, round } = goal.time;
        let before = Time { bucket, round: round.checked_sub(1)? };
        // What was deferred in the bucket before is expanded in round 0.
        let deferred = before.round == 0 && bucket > 0;
        let (mut sequence, mut state) = (AtomicSequence::default(), Vec::new());
        let fits = |time: Time| match deferred {
            true => time.bucket + 1 == bucket,
            false => time == before,
        };
        for (at, (time, first)) in self.bounds.iter().enumerate().filter(|(_, (t, _))| fits(*t)) {
            let end = self.bounds.get(at + 1).map_or(self.log.len(), |(_, first)| *first);
            for &(id, mover) in &self.log[*first..end] {
                self.store.load(id, &mut state);
                let (from, cost) = ((&state[..], mover), Some(u32::from(deferred)));
                let steps = steps_to(self.system, &mut sequence, from, goal, cost, false);
                if let Some(steps) = steps {
                    return Some(Way { from: Goal { time: *time, state, mover }, steps });
                }
            }
        }
        None
    }

    fn save(&self, each: &mut dyn FnMut(Time, Vec<u8>) -> bool) {
        let waits: std::collections::HashSet<u32> =
            self.deferred.iter().chain(&self.waiting).copied().collect();
        let mut state = Vec::new();
        for (at, &(time, first)) in self.bounds.iter().enumerate() {
            let end = self.bounds.get(at + 1).map_or(self.log.len(), |(_, first)| *first);
            let mut go_on = true;
            let mut send = |_: usize, bytes: Vec<u8>| go_on = go_on && each(time, bytes);
            let mut batches = Batches::new(1);
            let mut outbox = batches.outbox(&mut send);
            for visit in first..end {
                let (id, mover) = self.log[visit];
                let record = self.least.get(id);
                let mut flags = 0;
                for (bit, is_set) in [
                    (EXPANDED, record.is_expanded()),
                    (FREE, record.is_free()),
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
            let Ok(inserted) = self.store.insert(state) else {
                self.fail(Stop::Memory);
                return Ok(());
            };
            self.least.visit(inserted.id, time.bucket, mover);
            if self.bounds.last().is_none_or(|(last, _)| *last < time) {
                self.bounds.push((time, self.log.len()));
            }
            let visit = self.log.len() as u32;
            self.log.push((inserted.id, mover));
            if flags & EXPANDED != 0 {
                self.least.set_expanded(inserted.id);
            }
            if flags & FREE != 0 {
                self.least.set_free(inserted.id);
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

    fn restore_counts(&mut self, all: &Share) {
        // The last row is that of the bucket which goes on.
        let (last, finished) = match all.rows.split_last() {
            Some((last, finished)) => (last.bound, finished),
            None => (0, &[][..]),
        };
        self.bucket = last;
        self.rows.clear();
        if self.deal.owner.me == 0 {
            self.outgoing.counters.restore(all);
            self.earlier = all.site.clone();
            self.transitions = all.transitions;
            self.revisits = all.revisits;
            self.rows.extend_from_slice(finished);
        }
    }
}
