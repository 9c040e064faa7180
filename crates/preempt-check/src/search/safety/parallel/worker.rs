//! One thread of a parallel search: expands chunks of states and inserts their successors in batches.

use super::found::Found;
use super::leftover::{Leftover, Try};
use super::queues::{Chunk, Waiting};
use super::team::{Part, Team};
use crate::platform::sync::PoisonError;
use crate::platform::sync::atomic::Ordering;
use crate::reduce::{Gain, Selector};
use crate::search::shared::events::Events;
use crate::search::shared::expansion::Expander;
use crate::search::shared::halt::Halt;
use crate::search::shared::workers;
use crate::store::concurrent::{ConcurrentStore, Place};
use crate::store::{Pending, StateId, StoreFull};
use crate::{Progress, Reduction};
use preempt_core::engine::SleepSet;
use preempt_core::{Contention, Step, Stop, System};

/// How many states ahead the bytes of one are fetched.
const AHEAD: usize = 8;
/// Successors per batch of insertions: more than one thread alone would take, since each batch begins with
/// something that all threads share. On a model of 6.5 million states two threads so took a fifth less.
pub(super) const BATCH: usize = 256;

impl<S: System + ?Sized, T: ConcurrentStore> workers::Worker for Worker<'_, S, T> {
    fn work(&mut self) -> Result<bool, Halt> {
        let team = self.team;
        let leftover = self.resumes.then(|| team.leftover()).flatten();
        self.resumes = leftover.is_some();
        let result = match leftover {
            Some(leftover) => self.resume(leftover),
            None => match self.take() {
                Some(chunk) => self.process(chunk),
                None => return Ok(false),
            },
        };
        if let Err(StoreFull) = result {
            team.full.store(true, Ordering::Relaxed);
            return Err(Halt::Stop(Stop::Memory));
        }
        let enough = team.options.max_errors;
        let is_enough = enough != 0 && team.errors.load(Ordering::Relaxed) >= enough;
        let mut is_useless =
            || team.watches.load(Ordering::Relaxed) && team.is_reduction_useless(self.gain.take());
        if is_enough || is_useless() { Err(Halt::Enough) } else { Ok(true) }
    }

    fn counts(&self) -> (u64, u64) {
        (0, self.events.counters.matched)
    }

    fn progress(&self) -> Progress {
        self.team.progress()
    }
}

/// One of the threads; no two of them share a cache line.
#[repr(align(128))]
pub(super) struct Worker<'a, S: System + ?Sized, T: ConcurrentStore> {
    pub(super) team: &'a Team<'a, S, T>,
    number: usize,
    pub(super) local: T::Local,
    pub(super) events: Events<'a, S, Place>,
    pub(super) selector: Selector,
    pub(super) gain: Gain,
    pub(super) expander: Expander,
    /// The state from which each arrival was reached.
    parents: Vec<Place>,
    /// How many arrivals are inserted.
    inserted: usize,
    found: Found,
    pub(super) state: Vec<u8>,
    /// With reduction: the states of the batch with selections that may not be enough.
    pub(super) tries: Vec<Try>,
    /// The bytes of these states.
    pub(super) states: Vec<u8>,
    /// The steps of one of them that were taken before.
    pub(super) tried: Vec<Step>,
    contention: Contention,
    /// Whether something may be left over from when another store was full.
    resumes: bool,
}

impl<'a, S: System + ?Sized, T: ConcurrentStore> Worker<'a, S, T> {
    pub(super) fn new(team: &'a Team<'a, S, T>, number: usize, local: T::Local) -> Self {
        Worker {
            team,
            number,
            local,
            events: Events {
                all_errors: Some(&team.errors),
                ..Events::new(team.system, team.options)
            },
            selector: Selector::new(team.options),
            gain: Gain::new(team.options),
            expander: Expander::default().run_sequences(),
            parents: Vec::new(),
            inserted: 0,
            found: Found::new(team.options.reduction != Reduction::None),
            state: Vec::new(),
            tries: Vec::new(),
            states: Vec::new(),
            tried: Vec::new(),
            contention: Contention::default(),
            resumes: true,
        }
    }

    pub(super) fn finish(mut self) -> Part<T::Local> {
        self.contention.add(T::contention(&self.local));
        Part {
            counters: self.events.counters,
            site: self.events.first,
            contention: self.contention,
            local: self.local,
        }
    }

    /// The next chunk to expand.
    pub(super) fn take(&mut self) -> Option<Chunk> {
        self.team.queues.take(self.number, &mut self.contention)
    }

    /// Expands the states of a chunk and queues all that is new.
    pub(super) fn process(&mut self, chunk: Chunk) -> Result<(), StoreFull> {
        self.found.follow(chunk.level);
        let (done, result) = match self.selector.reduces() {
            false => self.expand_all(&chunk),
            true => self.expand_selected(&chunk),
        };
        if result.is_err() {
            self.leave(chunk.rest(done));
            return result;
        }
        self.queue_found();
        self.found.keep(chunk);
        Ok(())
    }

    /// Expands the states of a chunk by all their steps; says how many.
    fn expand_all(&mut self, chunk: &Chunk) -> (usize, Result<(), StoreFull>) {
        self.restart();
        for (at, waiting) in chunk.waiting.iter().enumerate() {
            self.load(chunk, at);
            if let Err(full) = self.expand(*waiting) {
                return (at + 1, Err(full));
            }
            if self.expander.arrivals.len() >= BATCH {
                if let Err(full) = self.insert() {
                    return (at + 1, Err(full));
                }
                self.restart();
            }
        }
        (chunk.len(), self.insert())
    }

    /// As [`Self::expand_all`], by selections of their steps.
    fn expand_selected(&mut self, chunk: &Chunk) -> (usize, Result<(), StoreFull>) {
        let mut done = 0;
        let mut result = Ok(());
        while done < chunk.len() && result.is_ok() {
            (done, result) = self.expand_by_selections(chunk, done);
        }
        (done, result)
    }

    /// Replaces `self.state` by a state of a chunk, for what follows to be about it.
    #[inline(always)]
    pub(super) fn load(&mut self, chunk: &Chunk, at: usize) {
        self.events.at = chunk.waiting[at].place;
        if let Some(ahead) = chunk.waiting.get(at + AHEAD) {
            self.team.store.prefetch(ahead.place);
        }
        match self.team.store.keeps_states() {
            true => self.team.store.load(&mut self.local, chunk.waiting[at].place, &mut self.state),
            false => {
                self.state.clear();
                self.state.extend_from_slice(chunk.state(at));
            }
        }
    }

    /// Does what was left over when another store was full.
    pub(super) fn resume(&mut self, leftover: Leftover) -> Result<(), StoreFull> {
        let Leftover { bytes, arrivals, attempts, rest } = leftover;
        if rest.len() > 0 {
            self.team.queues.put(self.number, rest, &mut self.contention);
        }
        self.restart();
        self.expander.successors.data = bytes;
        for (pending, parent, sleep_set) in arrivals {
            self.expander.arrivals.push(pending);
            self.parents.push(parent);
            self.expander.sleep_sets.push(sleep_set);
        }
        let result = self.resume_attempts(attempts);
        match result {
            Ok(()) => self.queue_found(),
            Err(_) => self.leave(Chunk::default()),
        }
        result
    }

    /// Leaves everything for another store, with the states that wait behind the present one.
    fn leave(&mut self, rest: Chunk) {
        let attempts = self.attempts();
        let data = &self.expander.successors.data;
        let mut leftover = Leftover { bytes: Vec::new(), arrivals: Vec::new(), attempts, rest };
        for (at, arrival) in self.expander.arrivals.iter().enumerate() {
            if arrival.inserted.id != StateId::UNKNOWN {
                continue;
            }
            let start = leftover.bytes.len();
            leftover.bytes.extend_from_slice(&data[arrival.start..arrival.end]);
            let pending = Pending::new(0, start, leftover.bytes.len());
            let parent = self.parents.get(at).copied().unwrap_or(self.events.at);
            let sleep_set = self.expander.sleep_sets.get(at).copied().unwrap_or_default();
            leftover.arrivals.push((pending, parent, sleep_set));
        }
        self.queue_found();
        self.team.leftovers.lock().unwrap_or_else(PoisonError::into_inner).push(leftover);
    }

    pub(super) fn restart(&mut self) {
        self.expander.clear();
        self.parents.clear();
        self.inserted = 0;
    }

    fn expand(&mut self, Waiting { place, sleep_set }: Waiting) -> Result<(), StoreFull> {
        let first = self.expander.arrivals.len();
        let (system, state) = (self.team.system, &mut self.state);
        let (steps, slept) =
            self.expander.expand_awake(system, state, sleep_set, &mut self.events)?;
        self.events.counters.matched += slept as u64;
        if steps == 0 {
            self.events.check_end(&self.state);
        }
        self.collect(place, first)
    }

    /// Notes and hashes the successors from `first` on.
    #[inline(always)]
    pub(super) fn collect(&mut self, place: Place, first: usize) -> Result<(), StoreFull> {
        self.parents.resize(self.expander.arrivals.len(), place);
        let store = &self.team.store;
        if !store.hashes_near() {
            return Ok(());
        }
        let bytes = &self.expander.successors.data;
        store.hash_successors(&mut self.local, place, bytes, &mut self.expander.arrivals[first..])
    }

    /// Inserts the arrivals that are not inserted yet.
    pub(super) fn insert(&mut self) -> Result<(), StoreFull> {
        let bytes = &self.expander.successors.data;
        let arrivals = &mut self.expander.arrivals[self.inserted..];
        if arrivals.is_empty() {
            return Ok(());
        }
        let store = &self.team.store;
        let result = store.insert(&mut self.local, bytes, arrivals, &self.parents[self.inserted..]);
        // Without reduction steps sleep, if the store is exact: where it takes one state for another, it should not matter
        // more than once.
        let keeps_states = store.keeps_states();
        let sleep_sets = self.expander.sleep_sets.get(self.inserted..).unwrap_or_default();
        let sleep_sets = if keeps_states { sleep_sets } else { &[] };
        let longest = &mut self.events.counters.state_bytes;
        let can_wait = keeps_states && self.selector.reduces();
        for (at, arrival) in arrivals.iter().enumerate() {
            if arrival.inserted.new {
                let state = &bytes[arrival.start..arrival.end];
                *longest = (*longest).max(state.len());
                let sleep_set = sleep_sets.get(at).copied().unwrap_or(SleepSet::EMPTY);
                let place = arrival.inserted.id.0;
                if can_wait {
                    self.team.unexpanded.add(place);
                }
                let state = (!keeps_states).then_some(state);
                if let Some(full) = self.found.push(place, sleep_set, state) {
                    self.team.queues.put(self.number, full, &mut self.contention);
                }
            } else if result.is_ok() || arrival.inserted.id != StateId::UNKNOWN {
                self.events.counters.matched += 1;
            }
        }
        if result.is_ok() {
            self.inserted += arrivals.len();
        }
        result
    }

    fn queue_found(&mut self) {
        if let Some(chunk) = self.found.take() {
            self.team.queues.put(self.number, chunk, &mut self.contention);
        }
    }
}
