//! One thread of a parallel search: expands chunks of states and inserts their successors in batches.

use super::leftover::{Attempt, Leftover};
use super::queues::{Chunk, LOCKING, Waiting};
use super::team::{Part, Site, Team};
use crate::platform::sync::PoisonError;
use crate::platform::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::reduce::{EVERYTHING, Gain, Selector};
use crate::search::shared::expansion::{Expander, Watch};
use crate::search::shared::statistics::Counters;
use crate::store::concurrent::{ConcurrentStore, Place};
use crate::store::{Pending, StateId, StoreFull};
use crate::{Budget, Counterexample};
use preempt_core::engine::SleepSet;
use preempt_core::{Contention, Step, System};

/// States per chunk of work.
const CHUNK: usize = 256;
/// How many states ahead the bytes of one are fetched.
const AHEAD: usize = 8;
/// Successors per batch of insertions: more than one thread alone would take, since each batch begins with
/// something that all threads share. On a model of 6.5 million states two threads so took a fifth less.
const BATCH: usize = 256;
/// Chunks whose memory a thread keeps.
const SPARE: usize = 64;

/// Works until nothing is left for anybody, or something ends the search. The first thread also watches the budget.
pub(super) fn work<S: System + ?Sized, T: ConcurrentStore>(
    team: &Team<'_, S, T>,
    number: usize,
    local: T::Local,
    mut budget: Option<&mut Budget>,
) -> Part<T::Local> {
    let mut worker = Worker::new(team, number, local);
    let _end = EndForAll(&team.ended);
    let mut patience = 0;
    let mut leftovers = true;
    while !team.ended.load(Ordering::Relaxed) {
        if let Some(stop) = budget
            .as_mut()
            .and_then(|budget| budget.check_every(16, || team.progress(&worker.events.counters)))
        {
            worker.events.counters.stop = Some(stop);
            break;
        }
        let leftover = leftovers.then(|| team.leftover()).flatten();
        leftovers = leftover.is_some();
        let result = match leftover {
            Some(leftover) => Some(worker.resume(leftover)),
            None => worker.take().map(|chunk| worker.process(chunk)),
        };
        if let Some(result) = result {
            patience = 0;
            if let Err(StoreFull) = result {
                team.full.store(true, Ordering::Relaxed);
                break;
            }
            let enough = team.options.max_errors;
            if enough != 0 && team.errors.load(Ordering::Relaxed) >= enough {
                break;
            }
            if team.watches.load(Ordering::Relaxed) && team.is_in_vain(worker.gain.take()) {
                break;
            }
            continue;
        }
        if team.idle.fetch_add(1, Ordering::SeqCst) + 1 == team.threads {
            break;
        }
        patience += 1;
        // Levels are short at the beginning and the end of a search: do not sleep at once.
        match patience {
            0..200 => crate::platform::hint::spin_loop(),
            200..400 => crate::platform::thread::yield_now(),
            _ => crate::platform::thread::sleep(std::time::Duration::from_micros(100)),
        }
        team.idle.fetch_sub(1, Ordering::SeqCst);
    }
    worker.finish()
}

/// Ends the search for all threads when one of them leaves it, be it by a panic.
struct EndForAll<'a>(&'a AtomicBool);

impl Drop for EndForAll<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Worker<'a, S: System + ?Sized, T: ConcurrentStore> {
    team: &'a Team<'a, S, T>,
    number: usize,
    local: T::Local,
    pub(super) events: Events<'a, S>,
    selector: Selector,
    pub(super) gain: Gain,
    expander: Expander,
    /// The state from which each arrival was reached.
    parents: Vec<Place>,
    /// How many arrivals are inserted.
    inserted: usize,
    /// New states that are not queued yet.
    found: Chunk,
    /// Chunks whose memory is free.
    spare: Vec<Chunk>,
    state: Vec<u8>,
    /// With reduction: the state that is being expanded,
    attempt: Option<Attempt>,
    /// and its steps that were taken for selections which did not do.
    tried: Vec<Step>,
    contention: Contention,
}

impl<'a, S: System + ?Sized, T: ConcurrentStore> Worker<'a, S, T> {
    pub(super) fn new(team: &'a Team<'a, S, T>, number: usize, local: T::Local) -> Self {
        Worker {
            team,
            number,
            local,
            events: Events {
                system: team.system,
                errors: &team.errors,
                counters: Counters::new(team.system, team.options),
                at: 0,
                first: None,
            },
            selector: Selector::new(team.options),
            gain: Gain::new(team.options),
            expander: Expander::new().run_sequences(),
            parents: Vec::new(),
            inserted: 0,
            found: Chunk::default(),
            spare: Vec::new(),
            state: Vec::new(),
            attempt: None,
            tried: Vec::new(),
            contention: Contention::default(),
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
        self.restart();
        for (at, waiting) in chunk.waiting.iter().enumerate() {
            if let Some(ahead) = chunk.waiting.get(at + AHEAD) {
                self.team.store.prefetch(ahead.place);
            }
            match self.team.store.keeps_states() {
                true => self.team.store.load(&mut self.local, waiting.place, &mut self.state),
                false => {
                    self.state.clear();
                    self.state.extend_from_slice(chunk.state(at));
                }
            }
            if let Err(full) = self.expand_one(*waiting) {
                self.leave(chunk.rest(at + 1));
                return Err(full);
            }
        }
        if let Err(full) = self.insert() {
            self.leave(Chunk::default());
            return Err(full);
        }
        if self.found.len() > 0 {
            self.queue_found();
        }
        self.keep(chunk);
        Ok(())
    }

    /// Expands `self.state`.
    fn expand_one(&mut self, waiting: Waiting) -> Result<(), StoreFull> {
        self.events.at = waiting.place;
        match self.selector.reduces() {
            false => self.expand(waiting)?,
            true => self.expand_selections(waiting, 0)?,
        }
        if self.expander.arrivals.len() >= BATCH {
            self.insert()?;
            self.restart();
        }
        Ok(())
    }

    /// Does what was left over when another store was full.
    pub(super) fn resume(&mut self, leftover: Leftover) -> Result<(), StoreFull> {
        let Leftover { bytes, arrivals, attempt, rest } = leftover;
        if rest.len() > 0 {
            self.team.queues.put(self.number, rest);
        }
        self.restart();
        self.expander.successors.data = bytes;
        for (pending, parent, sleep_set) in arrivals {
            self.expander.arrivals.push(pending);
            self.parents.push(parent);
            self.expander.sleep_sets.push(sleep_set);
        }
        self.attempt = attempt;
        let result = self.resume_attempt(attempt);
        match result {
            Ok(()) => self.queue_found(),
            Err(_) => self.leave(Chunk::default()),
        }
        result
    }

    fn resume_attempt(&mut self, attempt: Option<Attempt>) -> Result<(), StoreFull> {
        self.insert()?;
        let any_new = self.any_new();
        self.restart();
        let Some(Attempt { waiting, from, accepted }) = attempt else { return Ok(()) };
        self.attempt = None;
        // Before the first selection what is new was reached from other states.
        if accepted || any_new && from > 0 {
            return Ok(());
        }
        self.team.store.load(&mut self.local, waiting.place, &mut self.state);
        self.events.at = waiting.place;
        self.expand_selections(waiting, from)?;
        self.insert()
    }

    /// Leaves everything for another store, with the states that wait behind the present one.
    fn leave(&mut self, rest: Chunk) {
        let data = &self.expander.successors.data;
        let mut leftover =
            Leftover { bytes: Vec::new(), arrivals: Vec::new(), attempt: None, rest };
        let mut any_new = false;
        for (at, arrival) in self.expander.arrivals.iter().enumerate() {
            any_new |= arrival.inserted.new;
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
        leftover.attempt = self.attempt.take().map(|attempt| Attempt {
            accepted: attempt.accepted || any_new && attempt.from > 0,
            ..attempt
        });
        if self.found.len() > 0 {
            self.queue_found();
        }
        self.team.leftovers.lock().unwrap_or_else(PoisonError::into_inner).push(leftover);
    }

    fn restart(&mut self) {
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
            self.check_end();
        }
        self.collect(place, first)
    }

    /// Notes and hashes the successors from `first` on.
    #[inline(always)]
    fn collect(&mut self, place: Place, first: usize) -> Result<(), StoreFull> {
        self.parents.resize(self.expander.arrivals.len(), place);
        let store = &self.team.store;
        if !store.hashes_near() {
            return Ok(());
        }
        let bytes = &self.expander.successors.data;
        store.hash_successors(&mut self.local, place, bytes, &mut self.expander.arrivals[first..])
    }

    /// Tries one selection after the other, from the one with this number, until one leads to something new. No step is
    /// taken twice: what led to nothing new does not now.
    fn expand_selections(&mut self, waiting: Waiting, mut from: u16) -> Result<(), StoreFull> {
        let system = self.team.system;
        self.expander.enabled.clear();
        system.enabled(&mut self.state, &mut self.expander.enabled);
        if self.expander.enabled.is_empty() {
            self.check_end();
            return Ok(());
        }
        self.tried.clear();
        let mut before = 0;
        while before < from {
            let pick = self.selector.next(system, &self.state, &self.expander.enabled, before);
            if pick >= from {
                break;
            }
            self.tried.extend_from_slice(self.selector.selected());
            before = pick + 1;
        }
        loop {
            let pick = self.selector.next(system, &self.state, &self.expander.enabled, from);
            let tried = &self.tried;
            self.selector.leave_out(|step| tried.contains(step));
            self.attempt = Some(Attempt { waiting, from, accepted: false });
            self.insert()?;
            self.restart();
            let next = if pick == EVERYTHING { None } else { Some(pick + 1) };
            self.attempt = next.map(|from| Attempt { waiting, from, accepted: false });
            self.expander.expand_selected(
                system,
                &self.state,
                self.selector.selected(),
                &mut self.events,
            )?;
            self.collect(waiting.place, 0)?;
            let Some(next) = next else { return Ok(()) };
            self.insert()?;
            let accepted = self.any_new();
            self.restart();
            if accepted {
                self.gain.count();
                self.attempt = None;
                return Ok(());
            }
            from = next;
            self.tried.extend_from_slice(self.selector.selected());
            // Sequences that were followed have used the list of enabled steps.
            self.expander.enabled.clear();
            system.enabled(&mut self.state, &mut self.expander.enabled);
        }
    }

    fn any_new(&self) -> bool {
        self.expander.arrivals.iter().any(|arrival| arrival.inserted.new)
    }

    /// Inserts the arrivals that are not inserted yet.
    fn insert(&mut self) -> Result<(), StoreFull> {
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
        for (at, arrival) in arrivals.iter().enumerate() {
            if arrival.inserted.new {
                let state = &bytes[arrival.start..arrival.end];
                *longest = (*longest).max(state.len());
                let sleep_set = sleep_sets.get(at).copied().unwrap_or(SleepSet::EMPTY);
                let place = arrival.inserted.id.0;
                self.found.push(place, sleep_set, (!keeps_states).then_some(state));
            } else if result.is_ok() || arrival.inserted.id != StateId::UNKNOWN {
                self.events.counters.matched += 1;
            }
        }
        if result.is_ok() {
            self.inserted += arrivals.len();
        }
        if self.found.len() >= CHUNK {
            self.queue_found();
        }
        result
    }

    fn queue_found(&mut self) {
        let free = self.spare.pop().unwrap_or_default();
        let found = std::mem::replace(&mut self.found, free);
        if found.len() > 0 {
            self.contention.locks += 1;
            self.contention.shared_bytes += LOCKING;
            self.team.queues.put(self.number, found);
        }
    }

    /// Keeps the memory of a chunk for another one.
    fn keep(&mut self, mut chunk: Chunk) {
        if self.spare.len() < SPARE {
            chunk.clear();
            self.spare.push(chunk);
        }
    }

    fn check_end(&mut self) {
        let counters = &self.events.counters;
        if counters.reports_deadlocks() && !self.team.system.is_valid_end(&self.state) {
            self.events.error(&[], || Counterexample::invalid_end(Vec::new()));
        }
    }
}

/// Counts what happens during expansions and remembers where the first error was.
pub(super) struct Events<'a, S: ?Sized> {
    system: &'a S,
    /// The errors of all threads.
    errors: &'a AtomicU64,
    pub(super) counters: Counters,
    /// The state that is being expanded.
    at: Place,
    first: Option<Site>,
}

impl<S: System + ?Sized> Events<'_, S> {
    fn error(&mut self, path: &[Step], example: impl FnOnce() -> Counterexample) {
        if self.first.is_none() {
            self.first = Some((self.at, path.to_vec()));
        }
        self.counters.error(example);
        self.errors.fetch_add(1, Ordering::Relaxed);
    }
}

impl<S: System + ?Sized> Watch for Events<'_, S> {
    #[inline(always)]
    fn step(&mut self, step: Step, transient: bool) {
        self.counters.take(self.system, step);
        self.counters.atomic_steps += u64::from(transient);
    }

    fn fault(&mut self, path: &[Step], fault: u32) {
        if self.counters.reports(self.system, fault) {
            let system = self.system;
            self.error(path, || Counterexample::from_fault(system, Vec::new(), fault));
        }
    }
}
