//! Some waiting states, and what their expansion gives: all that goes to other threads and back.
//!
//! A package is first numbers of states, then their bytes, then their successors, then hashes of these.
//!
//! Invariant: what a package gives follows from its states alone, so it does not matter which thread expands it, or when. Where it
//! would (errors that may end the search), it says so, and the
//! search expands these states itself.

use crate::search::shared::events::Events;
use crate::search::shared::expansion::Expander;
use crate::search::shared::states::States;
use crate::search::shared::statistics::Counters;
use crate::store::{Pending, Reader, StateId, Store, StoreFull};
use crate::{Counterexample, Options};
use preempt_core::engine::SleepSet;
use preempt_core::{Step, Stop, System};
use std::ops::Range;

/// Successors that are inserted together.
pub(super) const BATCH: usize = 96;
/// States of a package, unless they are long.
pub(super) const STATES: usize = 256;
/// States of a package take about so many bytes at most.
const BYTES: usize = 1 << 16;
/// How many states ahead the bytes of one are fetched.
const AHEAD: usize = 8;

/// How many states a package has if they are at most so long.
pub(super) fn size(longest: usize) -> usize {
    (BYTES / longest.max(1)).clamp(1, STATES)
}

/// States to be expanded, and the result.
#[derive(Default, Debug)]
pub(super) struct Package {
    /// The numbers of its states.
    pub(super) states: Range<usize>,
    /// The states, as far as they were loaded.
    loaded: States,
    /// The processes that sleep in each of them; empty in a search without sleep sets.
    sleepers: Vec<SleepSet>,
    /// Their successors, after room for the beginning of a batch, with the processes that sleep in these.
    pub(super) successors: Vec<u8>,
    pub(super) arrivals: Vec<Pending>,
    pub(super) sleep_sets: Vec<SleepSet>,
    /// Of each state whether its successors are hashed, and the generation of the store by which they are.
    pub(super) hashed: Vec<bool>,
    pub(super) generation: u32,
    /// What was counted up to the end of each state.
    pub(super) counted: Vec<Counted>,
    /// What else happened, with the number of the state.
    pub(super) cut: Option<(usize, Stop)>,
    pub(super) error: Option<(usize, Vec<Step>, Counterexample)>,
    /// The result must not be used: these states have to be expanded in their turn.
    pub(super) needs_order: bool,
}

/// What was counted in the states of a package so far.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counted {
    pub(super) arrivals: usize,
    pub(super) matched: u64,
    pub(super) atomic_steps: u64,
    pub(super) errors: u64,
}

impl Package {
    /// Empties it for these states.
    pub(super) fn begin(&mut self, states: Range<usize>) {
        self.states = states;
        self.loaded.clear();
        self.sleepers.clear();
        self.hashed.clear();
    }

    pub(super) fn push_sleeper(&mut self, sleeper: SleepSet) {
        self.sleepers.push(sleeper);
    }

    pub(super) fn push(&mut self, state: &[u8]) {
        self.loaded.push(state);
    }

    /// Loads its states, unless they are there.
    pub(super) fn load(&mut self, store: &impl Store, reader: &mut Reader, state: &mut Vec<u8>) {
        for number in self.states.clone().skip(self.loaded.len()) {
            if number + AHEAD < self.states.end {
                store.prefetch_id(StateId((number + AHEAD) as u32));
            }
            store.load_ahead(reader, StateId(number as u32), state);
            self.push(state);
        }
    }

    /// Hashes the successors.
    pub(super) fn hash(&mut self, store: &impl Store, reader: &mut Reader) {
        if self.needs_order {
            return;
        }
        self.generation = store.generation();
        if !store.hashes_near() {
            let first = StateId(self.states.start as u32);
            store.hash_ahead(reader, first, &self.successors, &mut self.arrivals[BATCH..]);
            self.hashed.resize(self.len(), true);
            return;
        }
        let mut start = BATCH;
        for (number, counted) in self.states.clone().zip(&self.counted) {
            let arrivals = &mut self.arrivals[start..counted.arrivals];
            let parent = StateId(number as u32);
            self.hashed.push(store.hash_ahead(reader, parent, &self.successors, arrivals));
            start = counted.arrivals;
        }
    }

    /// How many states it has.
    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.loaded.bytes()
            + self.successors.capacity()
            + self.arrivals.capacity() * size_of::<Pending>()
            + self.sleep_sets.capacity() * size_of::<SleepSet>()
    }
}

/// Expands packages.
pub(super) struct Expansion<'a, S: ?Sized> {
    system: &'a S,
    events: Events<'a, S, usize>,
    expander: Expander,
    state: Vec<u8>,
    /// Whether an error may end the search.
    errors_end: bool,
}

impl<'a, S: System + ?Sized> Expansion<'a, S> {
    pub(super) fn new(system: &'a S, options: &Options) -> Self {
        Expansion {
            system,
            events: Events::new(system, options),
            expander: Expander::default().run_sequences(),
            state: Vec::new(),
            errors_end: options.max_errors != 0,
        }
    }

    /// Expands all states of a package, unless `is_over` says after one of them that it is not needed any more.
    pub(super) fn run(&mut self, package: &mut Package, mut is_over: impl FnMut() -> bool) {
        std::mem::swap(&mut self.expander.successors.data, &mut package.successors);
        std::mem::swap(&mut self.expander.arrivals, &mut package.arrivals);
        std::mem::swap(&mut self.expander.sleep_sets, &mut package.sleep_sets);
        self.expander.clear();
        self.expander.leave_room(BATCH);
        package.counted.clear();
        (package.cut, package.error) = (None, None);
        let mut needs_order = false;
        for at in 0..package.len() {
            self.state.clear();
            self.state.extend_from_slice(package.loaded.get(at));
            self.events.at = package.states.start + at;
            let expanded = self.expand(package.sleepers.get(at).copied());
            let counters = &mut self.events.counters;
            let (matched, atomic_steps, errors) =
                (counters.matched, counters.atomic_steps, counters.errors);
            let arrivals = self.expander.arrivals.len();
            package.counted.push(Counted { arrivals, matched, atomic_steps, errors });
            if let Some(stop) = counters.stop.take() {
                package.cut.get_or_insert((self.events.at, stop));
            }
            needs_order |= expanded.is_err() || errors > 0 && self.errors_end;
            if needs_order || is_over() {
                break;
            }
        }
        package.needs_order = needs_order || package.counted.len() < package.len();
        let counters = &mut self.events.counters;
        if let (Some((at, path)), Some(first)) = (self.events.first.take(), counters.first.take()) {
            package.error = Some((at, path, first));
        }
        (counters.matched, counters.atomic_steps, counters.errors) = (0, 0, 0);
        std::mem::swap(&mut self.expander.successors.data, &mut package.successors);
        std::mem::swap(&mut self.expander.arrivals, &mut package.arrivals);
        std::mem::swap(&mut self.expander.sleep_sets, &mut package.sleep_sets);
    }

    fn expand(&mut self, sleeper: Option<SleepSet>) -> Result<(), StoreFull> {
        let (system, state) = (self.system, &mut self.state);
        let steps = match sleeper {
            None => self.expander.expand(system, state, &mut self.events)?,
            Some(sleep_set) => {
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

    /// Which transitions were taken; all else is in the packages.
    pub(super) fn finish(self) -> Counters {
        self.events.counters
    }
}
