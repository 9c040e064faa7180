//! All executions, level by level: one owner's part of a breadth-first search.
//!
//! As `breadth_first.rs`, in batches and with sleep sets that travel with the states. States are numbered in the
//! order of their arrival, so the states of a level have consecutive numbers and the queue is the store itself.
//!
//! With partial-order reduction steps are chosen as `forward.rs` says, and none sleep.

use super::batch::{BatchReader, Batches, Outbox, read_batch};
use super::forward::Forward;
use super::owner_map::OwnerMap;
use super::retrace::{TraceSegment, TraceTarget, steps_to};
use super::wire::{Damaged, Reader};
use super::{Owner, Partition, PartitionResult, Time, ViolationSite};
use preempt_check::engine::Events;
use preempt_check::engine::{Expander, Watch};
use preempt_check::store::{
    Adaptive, Pending, StateId, Store, StoreFull, hash_batch_for_all, hash_for_all,
};
use preempt_check::{Budget, Options, Progress};
use preempt_core::engine::SleepSet;
use preempt_core::{Enabled, Label, Outcome, Stop, System};
use std::collections::VecDeque;

/// How many states ahead the bytes of one are fetched.
const AHEAD: usize = 8;
/// Successors per batch.
const BATCH: usize = 96;
/// Batches before the driver looks after what has arrived.
const PORTION: usize = 48;
/// Received states that are inserted together, and their bytes.
const TOGETHER: usize = 128;
const TOGETHER_BYTES: usize = 1 << 18;

/// One owner's states, level by level.
pub struct Levels<'a> {
    pub(super) system: &'a dyn System,
    pub(super) deal: OwnerMap,
    pub(super) store: Adaptive,
    /// The levels with states of this owner, and the number of the first of each; the last one may still grow.
    bounds: Vec<(u32, usize)>,
    /// The level that is being expanded, among these.
    at: usize,
    /// The next state to expand.
    head: usize,
    /// The processes that sleep in the states from `head` on; unused with a lineage.
    sleepers: VecDeque<SleepSet>,
    /// Where states came from, in a search for cycles.
    pub(super) lineage: Option<Lineage>,
    /// Chooses steps, if not all are taken.
    forward: Option<Forward>,
    pub(super) events: Events<'a, dyn System + 'a, usize>,
    depth_limit: u64,
    pub(super) expander: Expander,
    state: Vec<u8>,
    scratch: Vec<u8>,
    enabled: Enabled,
    /// What travels with each arrival.
    tags: Vec<(u64, u64)>,
    reader: BatchReader,
    received: Vec<u8>,
    arrivals: Vec<Pending>,
    /// A violation that was found before the search was interrupted and went on.
    earlier: Option<ViolationSite>,
    stopped: bool,
}

/// What a search for cycles knows of its states.
#[derive(Default, Debug)]
pub(super) struct Lineage {
    /// The state from which each was reached first, as a [global number](global).
    pub(super) parents: Vec<u64>,
    /// The largest number of an accepting state on the way to it, 0 if there is none.
    pub(super) maxima: Vec<u64>,
    /// Whether each is accepting; known once it was expanded.
    pub(super) accepting: Vec<bool>,
    /// An edge that closes a cycle: from where, and to which accepting state.
    pub(super) closing: Option<(u64, u64)>,
}

/// A state of any owner as one number, which is never 0.
pub(super) fn global(owner: usize, number: usize) -> u64 {
    (owner as u64) << 40 | (number as u64 + 1)
}

impl<'a> Levels<'a> {
    /// An owner that has no state yet.
    pub fn new(
        system: &'a dyn System,
        options: &Options,
        owner: Owner,
        budget: &mut Budget<'_>,
    ) -> Self {
        let (deal, stop) = OwnerMap::new(system, owner, budget);
        let mut part = Levels {
            system,
            deal,
            store: Adaptive::new(budget.memory_limit()),
            bounds: Vec::new(),
            at: 0,
            head: 0,
            sleepers: VecDeque::new(),
            lineage: None,
            forward: None,
            events: Events::new(system, options),
            depth_limit: options.depth.unwrap_or(u64::MAX),
            expander: Expander::default().run_sequences(),
            state: Vec::new(),
            scratch: Vec::new(),
            enabled: Enabled::new(),
            tags: Vec::new(),
            reader: BatchReader::default(),
            received: Vec::new(),
            arrivals: Vec::new(),
            earlier: None,
            stopped: false,
        };
        if let Some(stop) = stop {
            part.fail(stop);
        }
        part
    }

    /// Leaves out steps that may wait, if the options say so and it pays.
    pub(super) fn with_reduction(mut self, options: &Options, budget: &mut Budget<'_>) -> Self {
        match Forward::new(self.system, options, budget) {
            Ok(forward) => self.forward = forward,
            Err(stop) => self.fail(stop),
        }
        self
    }

    /// Remembers where states came from, and looks for cycles on the way.
    pub(super) fn with_lineage(mut self) -> Self {
        self.lineage = Some(Lineage::default());
        self
    }

    /// Where the states of the level that is being expanded end.
    fn end(&self) -> usize {
        self.bounds.get(self.at + 1).map_or(self.store.len(), |(_, first)| *first)
    }

    /// States that are inserted next belong to this level.
    fn open(&mut self, level: u32) {
        if self.bounds.last().is_none_or(|(last, _)| *last < level) {
            self.bounds.push((level, self.store.len()));
        }
    }

    fn fail(&mut self, stop: Stop) {
        self.events.counters.stop.get_or_insert(stop);
        self.stopped = true;
    }

    /// Expands states of the level until there are enough successors; inserts or sends these.
    fn batch(&mut self, outbox: &mut Outbox<'_>) -> Result<(), StoreFull> {
        self.expander.clear();
        self.tags.clear();
        let (level, end) = (self.bounds[self.at].0, self.end());
        let near = self.store.hashes_near();
        let mut dealt = 0;
        while self.head < end && self.expander.arrivals.len() < BATCH {
            let parent = self.head;
            if parent + AHEAD < self.store.len() {
                self.store.prefetch_id(StateId((parent + AHEAD) as u32));
            }
            self.store.load_parent(StateId(parent as u32), &mut self.state);
            self.events.at = parent;
            self.head += 1;
            self.expand_one(parent)?;
            if near {
                self.deal(dealt, outbox);
                self.hash_own(dealt, parent)?;
                dealt = self.expander.arrivals.len();
            }
        }
        if !near {
            // Bytes that were just written one by one are slow to read in words: hash them later.
            match self.deal(0, outbox) {
                true => self.accept_hashes(),
                false => self.hash_own(0, 0)?,
            }
        }
        self.open(level + 1);
        let mut arrivals = std::mem::take(&mut self.expander.arrivals);
        let bytes = std::mem::take(&mut self.expander.successors.data);
        let result = self.insert(&bytes, &mut arrivals);
        (self.expander.arrivals, self.expander.successors.data) = (arrivals, bytes);
        result
    }

    /// Adds the arrivals of `self.state`, with what travels with them.
    fn expand_one(&mut self, parent: usize) -> Result<(), StoreFull> {
        let steps = match &mut self.lineage {
            Some(lineage) => {
                let steps = self.expander.expand(self.system, &mut self.state, &mut self.events)?;
                let me = global(self.deal.owner.me, parent);
                let accepting = self.system.has_label(&self.state, Label::Accept);
                lineage.accepting.resize(parent + 1, false);
                lineage.accepting[parent] = accepting;
                let most = lineage.maxima[parent].max(if accepting { me } else { 0 });
                self.tags.resize(self.expander.arrivals.len(), (most, me));
                steps
            }
            None if self.forward.is_some() => {
                self.sleepers.pop_front();
                let (system, events) = (self.system, &mut self.events);
                let selected = match &mut self.forward {
                    Some(forward) => forward.select(system, &mut self.state)?,
                    None => None,
                };
                let steps = match selected {
                    Some(some) => {
                        self.expander.expand_selected(system, &self.state, some, events)?
                    }
                    None => self.expander.expand(system, &mut self.state, events)?,
                };
                self.expander.sleep_sets.resize(self.expander.arrivals.len(), SleepSet::EMPTY);
                steps
            }
            None => {
                let sleep_set = self.sleepers.pop_front().unwrap_or_default();
                let (system, state) = (self.system, &mut self.state);
                let (steps, slept) =
                    self.expander.expand_awake(system, state, sleep_set, &mut self.events)?;
                self.events.counters.matched += slept as u64;
                steps
            }
        };
        if steps == 0 {
            self.events.check_end(&self.state);
        }
        Ok(())
    }

    /// Sends the arrivals from `first` on that others own, and keeps the rest. Says whether their hashes are such as the
    /// store accepts.
    fn deal(&mut self, first: usize, outbox: &mut Outbox<'_>) -> bool {
        match self.lineage.is_some() {
            true => self.normalize(first),
            false => {
                let sleep_sets = &self.expander.sleep_sets[first..];
                self.tags.extend(sleep_sets.iter().map(|set| (set.bits(), 0)));
            }
        }
        if self.deal.owner.of == 1 {
            return false;
        }
        let (bytes, arrivals) = (&self.expander.successors.data, &mut self.expander.arrivals);
        let whole = self.deal.is_whole();
        let accepted = whole && hash_batch_for_all(bytes, &mut arrivals[first..]);
        let mut kept = first;
        for at in first..arrivals.len() {
            let arrival = arrivals[at];
            let owner = match whole {
                true => self.deal.of_hash(arrival.hash),
                false => self.deal.of_bytes(&bytes[arrival.start..arrival.end]),
            };
            if owner == self.deal.owner.me {
                arrivals[kept] = arrival;
                self.tags[kept] = self.tags[at];
                kept += 1;
                continue;
            }
            let state = &bytes[arrival.start..arrival.end];
            let hash = || if whole { arrival.hash } else { hash_for_all(state) };
            if self.lineage.is_none() && outbox.was_sent(hash, 0, state) {
                self.events.counters.matched += 1;
            } else {
                outbox.push(owner, self.tags[at], state);
            }
        }
        arrivals.truncate(kept);
        self.tags.truncate(kept);
        // As many as there are arrivals: those of the next state go behind them.
        self.expander.sleep_sets.truncate(kept);
        accepted
    }

    /// Arrivals have the hashes that the store would compute; what their insertion reads is fetched.
    fn accept_hashes(&mut self) {
        for arrival in &self.expander.arrivals {
            debug_assert_eq!(
                arrival.hash,
                self.store.hash(&self.expander.successors.data[arrival.start..arrival.end])
            );
            self.store.prefetch(arrival.hash);
        }
    }

    /// Brings arrivals into normal form, see [`System::is_normalized`].
    pub(super) fn normalize(&mut self, first: usize) {
        for at in first..self.expander.arrivals.len() {
            let Pending { start, end, .. } = self.expander.arrivals[at];
            let state = &self.expander.successors.data[start..end];
            if self.system.is_normalized(state) {
                continue;
            }
            self.scratch.clear();
            self.scratch.extend_from_slice(state);
            self.enabled.clear();
            self.system.enabled(&mut self.scratch, &mut self.enabled);
            if self.scratch != state {
                let data = &mut self.expander.successors.data;
                let start = data.len();
                data.extend_from_slice(&self.scratch);
                self.expander.arrivals[at] = Pending::new(0, start, data.len());
            }
        }
    }

    fn hash_own(&mut self, first: usize, parent: usize) -> Result<(), StoreFull> {
        let (bytes, arrivals) = (&self.expander.successors.data, &mut self.expander.arrivals);
        self.store.hash_successors(StateId(parent as u32), bytes, &mut arrivals[first..])
    }

    /// Inserts hashed states, with what travels with them in `self.tags`.
    fn insert(&mut self, bytes: &[u8], arrivals: &mut [Pending]) -> Result<(), StoreFull> {
        let before = self.store.len();
        self.store.insert_batch(bytes, arrivals)?;
        let new = self.store.len() - before;
        let counters = &mut self.events.counters;
        counters.matched += (arrivals.len() - new) as u64;
        for (arrival, &(tag, parent)) in arrivals.iter().zip(&self.tags) {
            let Some(lineage) = &mut self.lineage else {
                if arrival.inserted.new {
                    self.sleepers.push_back(SleepSet::from_bits(tag));
                }
                continue;
            };
            if arrival.inserted.new {
                lineage.parents.push(parent);
                lineage.maxima.push(tag);
            } else if tag != 0 && tag == global(self.deal.owner.me, arrival.inserted.id.index()) {
                lineage.closing.get_or_insert((parent, tag));
            }
        }
        let lengths = arrivals.iter().map(|arrival| arrival.end - arrival.start);
        counters.state_bytes = lengths.fold(counters.state_bytes, usize::max);
        Ok(())
    }

    fn try_receive(&mut self, time: Time, batch: &[u8]) -> Result<Result<(), StoreFull>, Damaged> {
        self.open(time.round);
        let mut reader = Reader::new(batch);
        self.reader.begin();
        while !reader.is_at_end() {
            self.received.clear();
            self.arrivals.clear();
            self.tags.clear();
            while !reader.is_at_end()
                && self.arrivals.len() < TOGETHER
                && self.received.len() < TOGETHER_BYTES
            {
                self.tags.push(self.reader.next(&mut reader)?);
                let start = self.received.len();
                self.received.extend_from_slice(self.reader.state());
                self.arrivals.push(Pending::new(0, start, self.received.len()));
            }
            if let Err(full) = self.insert_received() {
                return Ok(Err(full));
            }
        }
        Ok(Ok(()))
    }

    fn insert_received(&mut self) -> Result<(), StoreFull> {
        let bytes = std::mem::take(&mut self.received);
        let mut arrivals = std::mem::take(&mut self.arrivals);
        for arrival in &mut arrivals {
            arrival.hash = self.store.hash(&bytes[arrival.start..arrival.end]);
            self.store.prefetch(arrival.hash);
        }
        let result = self.insert(&bytes, &mut arrivals);
        (self.received, self.arrivals) = (bytes, arrivals);
        result
    }

    /// Whether the search was stopped.
    pub(super) fn waits_no_more(&self) -> bool {
        self.stopped
    }

    /// When the state with this number was reached.
    pub(super) fn level_of(&self, number: usize) -> u32 {
        let at = self.bounds.partition_point(|(_, first)| *first <= number);
        self.bounds[at.saturating_sub(1)].0
    }

    /// Inserts one state as the next of a level, with what travels with it.
    fn add(&mut self, level: u32, state: &[u8], tag: (u64, u64)) -> Result<(), StoreFull> {
        self.open(level);
        let inserted = self.store.insert(state)?;
        if inserted.new {
            match &mut self.lineage {
                None => self.sleepers.push_back(SleepSet::from_bits(tag.0)),
                Some(lineage) => {
                    lineage.parents.push(tag.1);
                    lineage.maxima.push(tag.0);
                }
            }
        }
        let longest = &mut self.events.counters.state_bytes;
        *longest = (*longest).max(state.len());
        Ok(())
    }
}

impl Levels<'_> {
    /// Gives all states, level by level, each with what `tag` says of its number and of whether it waits to be expanded.
    pub(super) fn save_with(
        &self,
        each: &mut dyn FnMut(Time, Vec<u8>) -> bool,
        tag: impl Fn(usize, bool) -> (u64, u64),
    ) {
        let mut state = Vec::new();
        for (at, &(level, first)) in self.bounds.iter().enumerate() {
            let end = self.bounds.get(at + 1).map_or(self.store.len(), |(_, first)| *first);
            let time = Time { bucket: 0, round: level };
            let mut go_on = true;
            let mut send = |_: usize, bytes: Vec<u8>| go_on = go_on && each(time, bytes);
            let mut batches = Batches::new(1);
            let mut outbox = batches.outbox(&mut send);
            for number in first..end {
                self.store.load(StateId(number as u32), &mut state);
                outbox.push(0, tag(number, number >= self.head), &state);
            }
            outbox.flush();
            if !go_on {
                return;
            }
        }
    }

    /// Takes a state that was saved, if it is this owner's: the processes that sleep there, and whether it waits to be expanded.
    pub(super) fn restore_one(&mut self, time: Time, state: &[u8], (asleep, waits): (u64, u64)) {
        if self.deal.of_state(state) != self.deal.owner.me || self.stopped {
            return;
        }
        if self.add(time.round, state, (asleep, 0)).is_err() {
            self.fail(Stop::Memory);
        }
        if waits == 0 {
            self.head = self.store.len();
            self.sleepers.clear();
        }
    }
}

impl Partition for Levels<'_> {
    fn begin(&mut self) {
        if self.stopped {
            return;
        }
        let mut state = Vec::new();
        let outcome = self.system.initial(&mut state);
        if self.lineage.is_some() {
            self.system.enabled(&mut state, &mut self.enabled);
        }
        if self.deal.of_state(&state) != self.deal.owner.me {
            return;
        }
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            self.events.fault(&[], fault);
        }
        // Also a broken initial state is kept: the way to it is shown.
        if self.add(0, &state, (0, 0)).is_err() {
            self.fail(Stop::Memory);
        }
        if matches!(outcome, Outcome::Broken(_)) {
            self.stopped = true;
        }
    }

    fn receive(&mut self, time: Time, batch: &[u8]) -> Result<(), Damaged> {
        if self.stopped {
            return Ok(());
        }
        if let Err(StoreFull) = self.try_receive(time, batch)? {
            self.fail(Stop::Memory);
        }
        Ok(())
    }

    fn waits(&self) -> Option<Time> {
        if self.stopped || self.head >= self.store.len() {
            return None;
        }
        let behind = self.bounds[self.at..].partition_point(|(_, first)| *first <= self.head);
        Some(Time { bucket: 0, round: self.bounds[self.at + behind - 1].0 })
    }

    fn expand(&mut self, outbox: &mut Outbox<'_>) {
        let Some(time) = self.waits() else { return };
        while self.bounds[self.at].0 < time.round {
            self.at += 1;
        }
        self.events.counters.depth = time.round.into();
        if u64::from(time.round) + 1 >= self.depth_limit {
            return self.fail(Stop::Depth);
        }
        for _ in 0..PORTION {
            if self.head == self.end() || self.events.counters.is_enough() {
                break;
            }
            if let Err(StoreFull) = self.batch(outbox) {
                return self.fail(Stop::Memory);
            }
        }
    }

    fn errors(&self) -> u64 {
        self.events.counters.errors
    }

    fn has_enough(&self) -> bool {
        let closed = self.lineage.as_ref().is_some_and(|lineage| lineage.closing.is_some());
        self.events.counters.is_enough() || closed || self.stopped
    }

    fn stop(&mut self, stop: Option<Stop>) {
        let own = &mut self.events.counters.stop;
        *own = own.or(stop);
        self.stopped = true;
    }

    fn progress(&self) -> Progress {
        let states = self.store.len() as u64;
        let lineage = self.lineage.as_ref().map_or(0, |lineage| lineage.parents.len() * 17);
        Progress {
            states,
            transitions: states + self.events.counters.matched,
            depth: self.events.counters.depth,
            queue: (self.store.len() - self.head) as u64,
            memory: self.store.bytes() + self.expander.bytes() + self.sleepers.len() * 8 + lineage,
            ..Progress::default()
        }
    }

    fn share(&self) -> PartitionResult {
        let own = self.events.first_error().map(|(number, path, fault)| {
            let mut state = Vec::new();
            self.store.load(StateId(number as u32), &mut state);
            let time = Time { bucket: 0, round: self.level_of(number) };
            ViolationSite { time, state, mover: None, path: path.to_vec(), fault }
        });
        let site = self.earlier.clone().or(own);
        let states = self.store.len() as u64;
        let memory = self.progress().memory as u64;
        PartitionResult { states, memory, site, ..PartitionResult::counted(&self.events.counters) }
    }

    fn seek(&mut self, goal: &TraceTarget) -> Option<TraceSegment> {
        let level = goal.time.round.checked_sub(1)?;
        let at = self.bounds.iter().position(|(one, _)| *one == level)?;
        let first = self.bounds[at].1;
        let end = self.bounds.get(at + 1).map_or(self.store.len(), |(_, first)| *first);
        let mut state = Vec::new();
        let normalize = self.lineage.is_some();
        for number in first..end {
            self.store.load(StateId(number as u32), &mut state);
            let from = (&state[..], None);
            let steps = steps_to(self.system, from, goal, None, normalize);
            if let Some(steps) = steps {
                let time = Time { bucket: 0, round: level };
                return Some(TraceSegment {
                    from: TraceTarget { time, state, mover: None },
                    steps,
                });
            }
        }
        None
    }

    fn save(&self, each: &mut dyn FnMut(Time, Vec<u8>) -> bool) {
        self.save_with(each, |number, waits| {
            let asleep = self.sleepers.get(number.wrapping_sub(self.head));
            (asleep.map_or(0, |set| set.bits()), waits.into())
        });
    }

    fn restore(&mut self, time: Time, saved: &[u8]) -> Result<(), Damaged> {
        let mut states = BatchReader::default();
        read_batch(saved, &mut states, |tag, state| {
            self.restore_one(time, state, tag);
            Ok(())
        })
    }

    fn restore_counts(&mut self, all: &PartitionResult) {
        if self.deal.owner.me == 0 {
            all.restore(&mut self.events.counters);
            self.earlier = all.site.clone();
        }
    }
}
