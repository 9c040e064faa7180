//! Exhaustive search by several threads.
//!
//! All threads share one store. Each takes the newest chunk of waiting states from its own queue, whose
//! bytes are still near (a sixth less time than with the oldest), or the oldest from another's when it
//! has none, and queues the new states it finds: in no particular order, but every state once, so that
//! without reduction states and transitions are the same at any number of threads.
//!
//! With reduction, a selection is accepted if this thread found a new state through it. Invariant:
//! that state is expanded later than the one that was reduced, so no step waits for ever.

use crate::reduce::{EVERYTHING, Selector};
use crate::search::shared::expansion::{Expander, Watch};
use crate::search::shared::statistics::Counters;
use crate::search::shared::trace;
use crate::search::shared::workers::{Fewer, run_together, with_as_many_as_possible};
use crate::store::StoreFull;
use crate::store::shared::{Arrived, Local, Place, Shared};
use crate::store::sorted::Sorted;
use crate::{Budget, Counterexample, Finding, Options, Progress};
use preempt_core::engine::SleepSet;
use preempt_core::{Outcome, Step, Stop, System};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// States per chunk of work.
const CHUNK: usize = 256;
/// How many states ahead the bytes of one are fetched.
const AHEAD: usize = 8;
/// Successors per batch of insertions: more than one thread alone would take, since each batch begins with
/// something that all threads share. On a model of 6.5 million states two threads so took a fifth less.
const BATCH: usize = 256;
/// Chunks whose memory a thread keeps.
const SPARE: usize = 64;

/// Searches all executions with `options.threads` threads; also says how many bytes the store
/// took.
pub(crate) fn parallel<S: System + ?Sized>(
    system: &S,
    options: &Options,
    budget: &mut Budget,
) -> (Finding, usize) {
    let mut bytes = 0;
    let finding = with_as_many_as_possible(options.threads, |threads| {
        let (finding, taken) = search(system, options, threads, budget)?;
        bytes = taken;
        Ok(finding)
    });
    (finding, bytes)
}

fn search<S: System + ?Sized>(
    system: &S,
    options: &Options,
    threads: usize,
    budget: &mut Budget,
) -> Result<(Finding, usize), Fewer> {
    let team = Team {
        system,
        options,
        store: Shared::new(budget.memory_limit(), threads),
        queues: (0..threads).map(|_| Mutex::default()).collect(),
        idle: AtomicUsize::new(0),
        ended: AtomicBool::new(false),
        errors: AtomicU64::new(0),
        waiting: AtomicUsize::new(0),
    };
    let mut counters = Counters::new(system, options);
    let root = match team.begin(&mut counters) {
        Ok(Some(root)) => root,
        Ok(None) => return Ok((counters.finish(system, 0), 0)),
        Err(StoreFull) => {
            counters.stop = Some(Stop::Memory);
            return Ok((counters.finish(system, 0), 0));
        }
    };
    let others = (1..threads).map(|number| {
        let team = &team;
        move || team.work(number, None)
    });
    let outcomes = run_together(|| team.work(0, Some(budget)), others.collect())?;
    for (mut part, first) in outcomes {
        if let (Some((place, path)), Some(mut found)) = (first, part.first.take())
            && counters.first.is_none()
        {
            found.steps = team.trace(root, place, &path);
            counters.first = Some(found);
        }
        counters.absorb(part);
    }
    if options.max_errors != 0 {
        counters.errors = counters.errors.min(options.max_errors);
    }
    let bytes = team.store.bytes();
    Ok((counters.finish(system, team.store.len() as u64), bytes))
}

struct Team<'a, S: ?Sized> {
    system: &'a S,
    options: &'a Options,
    store: Shared,
    queues: Vec<Mutex<VecDeque<Vec<Waiting>>>>,
    /// Threads that have nothing to do. When all are idle, nothing is queued either: only busy
    /// threads queue, and a thread is idle only once its own queue is empty.
    idle: AtomicUsize,
    ended: AtomicBool,
    errors: AtomicU64,
    /// States in queues, for the progress report.
    waiting: AtomicUsize,
}

/// A state that is not expanded yet, and who sleeps in it.
#[derive(Clone, Copy)]
struct Waiting {
    place: Place,
    sleep_set: SleepSet,
}

/// Where an error was: the expanded state, and the steps from there.
type Site = (Place, Vec<Step>);

impl<S: System + ?Sized> Team<'_, S> {
    /// Stores and queues the initial state.
    fn begin(&self, counters: &mut Counters) -> Result<Option<Place>, StoreFull> {
        let mut state = Vec::new();
        let outcome = self.system.initial(&mut state);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            if counters.reports(self.system, fault) {
                counters.error(|| Counterexample::from_fault(self.system, Vec::new(), fault));
            }
            if matches!(outcome, Outcome::Broken(_)) || counters.is_enough() {
                return Ok(None);
            }
        }
        let mut local = Local::new();
        counters.state_bytes = state.len();
        let hash = self.store.hash(&state);
        let arrived = {
            let index = self.store.index();
            let at = index.slot(hash);
            self.store.insert((&index, at), &mut local, hash, &state, 0)?
        };
        self.store.settle(1, false)?;
        let Arrived::New(root) = arrived else { return Ok(None) };
        self.queue(0, vec![Waiting { place: root, sleep_set: SleepSet::EMPTY }]);
        Ok(Some(root))
    }

    fn queue(&self, owner: usize, chunk: Vec<Waiting>) {
        self.waiting.fetch_add(chunk.len(), Ordering::Relaxed);
        let mut queue = self.queues[owner].lock().unwrap_or_else(PoisonError::into_inner);
        queue.push_back(chunk);
    }

    /// The newest chunk of the thread's own queue, or the oldest of another's.
    fn take(&self, number: usize) -> Option<Vec<Waiting>> {
        let threads = self.queues.len();
        let queue = |of: usize| self.queues[of].lock().unwrap_or_else(PoisonError::into_inner);
        let mut others = (1..threads).map(|distance| (number + distance) % threads);
        let own = queue(number).pop_back();
        let chunk = own.or_else(|| others.find_map(|other| queue(other).pop_front()))?;
        self.waiting.fetch_sub(chunk.len(), Ordering::Relaxed);
        Some(chunk)
    }

    fn work(&self, number: usize, mut budget: Option<&mut Budget>) -> (Counters, Option<Site>) {
        let mut worker = Worker {
            team: self,
            number,
            local: Local::new(),
            events: Events {
                system: self.system,
                errors: &self.errors,
                counters: Counters::new(self.system, self.options),
                at: 0,
                first: None,
            },
            selector: Selector::new(self.options),
            expander: Expander::new().run_sequences(),
            parents: Vec::new(),
            inserted: 0,
            sorted: Sorted::default(),
            found: Vec::new(),
            spare: Vec::new(),
            state: Vec::new(),
        };
        let _end = EndForAll(&self.ended);
        let mut patience = 0;
        while !self.ended.load(Ordering::Relaxed) {
            if let Some(stop) = budget.as_mut().and_then(|budget| {
                budget.check_every(16, || self.progress(&worker.events.counters))
            }) {
                worker.events.counters.stop = Some(stop);
                break;
            }
            if let Some(chunk) = self.take(number) {
                patience = 0;
                if let Err(StoreFull) = worker.process(&chunk) {
                    worker.events.counters.stop = Some(Stop::Memory);
                    break;
                }
                worker.keep(chunk);
                let enough = self.options.max_errors;
                if enough != 0 && self.errors.load(Ordering::Relaxed) >= enough {
                    break;
                }
                continue;
            }
            if self.idle.fetch_add(1, Ordering::SeqCst) + 1 == self.queues.len() {
                break;
            }
            patience += 1;
            // Levels are short at the beginning and the end of a search: do not sleep at once.
            match patience {
                0..200 => std::hint::spin_loop(),
                200..400 => std::thread::yield_now(),
                _ => std::thread::sleep(std::time::Duration::from_micros(100)),
            }
            self.idle.fetch_sub(1, Ordering::SeqCst);
        }
        (worker.events.counters, worker.events.first)
    }

    fn progress(&self, counters: &Counters) -> Progress {
        let states = self.store.len() as u64;
        let matched = counters.matched * self.queues.len() as u64;
        Progress {
            states,
            transitions: states + matched,
            depth: 0,
            queue: self.waiting.load(Ordering::Relaxed) as u64,
            memory: self.store.bytes()
                + self.waiting.load(Ordering::Relaxed) * size_of::<Waiting>(),
            ..Progress::default()
        }
    }

    /// The steps from the initial state to `place`, and `tail` behind them.
    fn trace(&self, root: Place, place: Place, tail: &[Step]) -> Vec<Step> {
        let mut sequence = vec![place];
        while let Some(&last) = sequence.last()
            && last != root
        {
            sequence.push(self.store.parent(last));
        }
        sequence.reverse();
        let (mut from, mut to) = (Vec::new(), Vec::new());
        let mut steps = Vec::new();
        for link in sequence.windows(2) {
            self.store.load(link[0], &mut from);
            self.store.load(link[1], &mut to);
            steps.extend(trace::between(self.system, &mut from, &to));
        }
        steps.extend_from_slice(tail);
        steps
    }
}

/// Ends the search for all threads when one of them leaves it, be it by a panic.
struct EndForAll<'a>(&'a AtomicBool);

impl Drop for EndForAll<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Worker<'a, S: System + ?Sized> {
    team: &'a Team<'a, S>,
    number: usize,
    local: Local,
    events: Events<'a, S>,
    selector: Selector,
    expander: Expander,
    /// The state from which each arrival was reached.
    parents: Vec<Place>,
    /// How many arrivals are inserted.
    inserted: usize,
    sorted: Sorted,
    /// New states that are not queued yet.
    found: Vec<Waiting>,
    /// Chunks whose memory is free.
    spare: Vec<Vec<Waiting>>,
    state: Vec<u8>,
}

impl<S: System + ?Sized> Worker<'_, S> {
    /// Expands the states of a chunk and queues all that is new.
    fn process(&mut self, chunk: &[Waiting]) -> Result<(), StoreFull> {
        self.restart();
        for (at, &Waiting { place, sleep_set }) in chunk.iter().enumerate() {
            if let Some(ahead) = chunk.get(at + AHEAD) {
                self.team.store.prefetch(ahead.place);
            }
            self.team.store.load(place, &mut self.state);
            self.events.at = place;
            match self.selector.reduces() {
                false => self.expand(place, sleep_set)?,
                true => self.expand_selections(place)?,
            }
            if self.expander.arrivals.len() >= BATCH {
                self.insert()?;
                self.restart();
            }
        }
        self.insert()?;
        if !self.found.is_empty() {
            self.queue_found();
        }
        Ok(())
    }

    fn restart(&mut self) {
        self.expander.clear();
        self.parents.clear();
        self.inserted = 0;
    }

    fn expand(&mut self, place: Place, sleep_set: SleepSet) -> Result<(), StoreFull> {
        let (system, state) = (self.team.system, &mut self.state);
        let (steps, slept) =
            self.expander.expand_awake(system, state, sleep_set, &mut self.events)?;
        self.events.counters.matched += slept as u64;
        if steps == 0 {
            self.check_end();
        }
        self.parents.resize(self.expander.arrivals.len(), place);
        Ok(())
    }

    /// Tries one selection after the other until one leads to something new.
    fn expand_selections(&mut self, place: Place) -> Result<(), StoreFull> {
        let system = self.team.system;
        self.expander.enabled.clear();
        system.enabled(&mut self.state, &mut self.expander.enabled);
        if self.expander.enabled.is_empty() {
            self.check_end();
            return Ok(());
        }
        let mut from = 0;
        loop {
            let pick = self.selector.next(system, &self.state, &self.expander.enabled, from);
            self.insert()?;
            self.restart();
            self.expander.expand_selected(
                system,
                &self.state,
                self.selector.selected(),
                &mut self.events,
            )?;
            self.parents.resize(self.expander.arrivals.len(), place);
            if pick == EVERYTHING {
                return Ok(());
            }
            self.insert()?;
            if self.expander.arrivals.iter().any(|arrival| arrival.inserted.new) {
                self.restart();
                return Ok(());
            }
            self.restart();
            from = pick + 1;
            // Sequences that were followed have used the list of enabled steps.
            self.expander.enabled.clear();
            system.enabled(&mut self.state, &mut self.expander.enabled);
        }
    }

    /// Inserts the arrivals that are not inserted yet.
    fn insert(&mut self) -> Result<(), StoreFull> {
        let store = &self.team.store;
        let bytes = &self.expander.successors.data;
        let arrivals = &mut self.expander.arrivals[self.inserted..];
        if arrivals.is_empty() {
            return Ok(());
        }
        let parents = &self.parents[self.inserted..];
        // With reduction nobody sleeps.
        let sleep_sets = self.expander.sleep_sets.get(self.inserted..).unwrap_or_default();
        self.inserted += arrivals.len();
        let (mut first, mut next) = (true, 0);
        while first || next < self.sorted.new.len() {
            let (mut added, mut crowded) = (0, false);
            {
                // Shared by all threads: taken once for the whole batch.
                let index = store.index();
                if first {
                    store.hash_all(&index, bytes, arrivals);
                    store.sort(&index, arrivals, &mut self.sorted);
                }
                let Sorted { candidates, known, new } = &mut self.sorted;
                for number in known.drain(..) {
                    let arrival = &arrivals[number as usize];
                    let at = candidates[number as usize];
                    match store.is_at(&index, at, &bytes[arrival.start..arrival.end]) {
                        true => self.events.counters.matched += 1,
                        false => new.push(number),
                    }
                }
                for &number in &new[next..] {
                    let arrival = &mut arrivals[number as usize];
                    let state = &bytes[arrival.start..arrival.end];
                    // Slots of an index that was left behind say nothing.
                    let at = match first {
                        true => candidates[number as usize],
                        false => index.slot(arrival.hash),
                    };
                    let (local, parent) = (&mut self.local, parents[number as usize]);
                    match store.insert((&index, at), local, arrival.hash, state, parent)? {
                        Arrived::New(place) => {
                            let longest = &mut self.events.counters.state_bytes;
                            *longest = (*longest).max(state.len());
                            arrival.inserted.new = true;
                            added += 1;
                            let sleep_set =
                                sleep_sets.get(number as usize).copied().unwrap_or_default();
                            self.found.push(Waiting { place, sleep_set });
                        }
                        Arrived::Known => self.events.counters.matched += 1,
                        Arrived::Crowded => {
                            crowded = true;
                            break;
                        }
                    }
                    next += 1;
                }
            }
            first = false;
            store.settle(added, crowded)?;
        }
        if self.found.len() >= CHUNK {
            self.queue_found();
        }
        Ok(())
    }

    fn queue_found(&mut self) {
        let free = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK + BATCH));
        let found = std::mem::replace(&mut self.found, free);
        self.team.queue(self.number, found);
    }

    /// Keeps the memory of a chunk for another one.
    fn keep(&mut self, mut chunk: Vec<Waiting>) {
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
struct Events<'a, S: ?Sized> {
    system: &'a S,
    /// The errors of all threads.
    errors: &'a AtomicU64,
    counters: Counters,
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
