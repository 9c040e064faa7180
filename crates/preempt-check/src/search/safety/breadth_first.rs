//! Breadth-first search in batches.
//!
//! Successors are collected until there are about a hundred, and their slots in the store are
//! fetched into the cache while more are computed: 1.3 to 2 times faster than one at a time.
//! States are numbered in the order of insertion, so the queue is the store itself: the states
//! from `head` on wait. Stores that cannot give states back quickly get a queue of their own.
//!
//! With reduction, a selection is accepted if it leads to a state that waits or is new. Invariant:
//! every state expanded by a selection has a successor with a higher number in it, so following
//! these successors every step that was left for later is taken in the end.
//!
//! Without reduction other threads help (`breadth_first/together.rs`), and nothing else changes.

mod helpers;
mod package;
mod phased_store;
mod pool;
#[cfg(test)]
mod tests;
mod together;
mod unfinished;

use crate::reduce::{EVERYTHING, Selector};
use crate::search::shared::events::Events;
use crate::search::shared::expansion::{Expander, Watch};
use crate::search::shared::frontier::{Frontier, Links, Sleepers};
use crate::search::shared::trace;
use crate::store::{StateId, Store, StoreFull};
use crate::{Budget, Finding, Options, Progress, Reduction};
use helpers::Helpers;
use package::BATCH;
use phased_store::{Lock, PhasedStore};
use preempt_core::{Outcome, Step, Stop, System};
use std::ops::Range;
use unfinished::Unfinished;

/// How many states ahead the bytes of one are fetched.
const AHEAD: usize = 8;

/// Searches all executions breadth-first; with several threads, all but the insertion of states is done by all of them.
pub(crate) fn breadth_first<S: System + ?Sized, T: Store>(
    system: &S,
    store: &mut T,
    options: &Options,
    threads: usize,
    budget: &mut Budget,
) -> Finding {
    breadth_first_with(system, store, options, Helpers::new(threads), budget)
}

fn breadth_first_with<S: System + ?Sized, T: Store>(
    system: &S,
    store: &mut T,
    options: &Options,
    helpers: Helpers,
    budget: &mut Budget,
) -> Finding {
    let store = Lock::new(store);
    let store = PhasedStore::new(&store);
    let mut search = BreadthFirst {
        system,
        frontier: Frontier::new(!store.loads_fast()),
        links: Links::new(!store.is_exact()),
        // Where a lossy store takes one state for another, it should not matter more than once.
        sleepers: Sleepers::new(store.is_exact() && options.reduction == Reduction::None),
        store,
        depth_limit: options.depth.unwrap_or(u64::MAX),
        events: Events::new(system, options),
        levels: vec![0],
        level_end: 0,
        head: 0,
        unfinished: Unfinished::default(),
        helpers,
        selector: Selector::new(options),
        expander: Expander::default().run_sequences(),
        state: Vec::new(),
        tries: Vec::new(),
        states: Vec::new(),
    };
    if let Err(StoreFull) = search.explore(options, budget) {
        search.events.counters.stop = Some(Stop::Memory);
    }
    search.finish()
}

struct BreadthFirst<'a, 'b, S: System + ?Sized, T> {
    system: &'a S,
    store: PhasedStore<'a, 'b, T>,
    frontier: Frontier,
    links: Links,
    sleepers: Sleepers,
    depth_limit: u64,
    events: Events<'a, S, usize>,
    /// The number of the first state of each level.
    levels: Vec<usize>,
    /// One more than the number of the last state of the present level.
    level_end: usize,
    /// The next state to expand.
    head: usize,
    /// The beginning of the present batch.
    unfinished: Unfinished,
    helpers: Helpers,
    selector: Selector,
    expander: Expander,
    state: Vec<u8>,
    /// The states of the batch whose selection must still pass the proviso.
    tries: Vec<Try>,
    /// Their bytes.
    states: Vec<u8>,
}

/// A state, its present selection, and where its successors are among the pending.
#[derive(Clone, Copy)]
struct Try {
    number: usize,
    pick: u16,
    state: (usize, usize),
    pending: (usize, usize),
}

impl<S: System + ?Sized, T: Store> BreadthFirst<'_, '_, S, T> {
    fn explore(&mut self, options: &Options, budget: &mut Budget) -> Result<(), StoreFull> {
        let outcome = self.system.initial(&mut self.state);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            self.events.fault(&[], fault);
            if matches!(outcome, Outcome::Broken(_)) || self.events.counters.is_enough() {
                return Ok(());
            }
        }
        self.events.counters.state_bytes = self.state.len();
        self.store.insert(&self.state)?;
        self.frontier.push(&self.state);
        self.links.push(0, 0);
        self.sleepers.begin();
        loop {
            if self.head == self.level_end && !self.next_level() {
                return Ok(());
            }
            if self.calls_helpers() {
                if self.explore_together(options, budget)? {
                    return Ok(());
                }
                continue;
            }
            let result = match self.selector.reduces() {
                false => self.batch(),
                true => self.reduced_batch(),
            };
            result?;
            if self.events.counters.is_enough() {
                return Ok(());
            }
            let stop = budget.check_every(16, || self.progress_with(0));
            if stop.is_some() {
                self.events.counters.stop = stop;
                return Ok(());
            }
        }
    }

    /// Goes on to the next level; says whether there is one and the limit of depth allows it.
    fn next_level(&mut self) -> bool {
        if self.level_end == self.store.len() {
            return false;
        }
        self.level_end = self.store.len();
        if self.head > 0 {
            self.levels.push(self.head);
        }
        self.events.counters.depth = self.levels.len() as u64 - 1;
        self.frontier.advance();
        self.sleepers.advance();
        if self.levels.len() as u64 >= self.depth_limit {
            self.events.counters.stop = Some(Stop::Depth);
            return false;
        }
        true
    }

    /// The number of the first state of the present level.
    fn level_start(&self) -> usize {
        self.levels.last().copied().unwrap_or(0)
    }

    /// How far the search is, with so many bytes in use beside its own.
    fn progress_with(&self, more: usize) -> Progress {
        Progress {
            states: self.store.len() as u64,
            transitions: self.store.len() as u64 + self.events.counters.matched,
            depth: self.levels.len() as u64,
            queue: (self.store.len() - self.head) as u64,
            memory: self.store.bytes()
                + self.frontier.bytes()
                + self.links.bytes()
                + self.sleepers.bytes()
                + self.expander.bytes()
                + more,
            ..Progress::default()
        }
    }

    /// Whether successors are hashed one state at a time.
    fn hashes_at_once(&self) -> bool {
        self.links.is_used() || self.store.hashes_near()
    }

    /// Expands states of the present level until there are enough successors; inserts these.
    fn batch(&mut self) -> Result<(), StoreFull> {
        self.expander.clear();
        let at_once = self.hashes_at_once();
        if self.unfinished.len() > 0 {
            self.expander.leave_room(self.unfinished.len());
            self.unfinished.put_before(self.unfinished.len(), &mut self.expander);
        }
        while self.head < self.level_end && self.expander.arrivals.len() < BATCH {
            self.next_state();
            let first = self.expander.arrivals.len();
            if self.expand()? == 0 {
                self.events.check_end(&self.state);
            }
            if at_once {
                self.collect(first..self.expander.arrivals.len())?;
            }
        }
        let all = 0..self.expander.arrivals.len();
        // Bytes that were just written one by one are slow to read in words: hash them later.
        if !at_once {
            self.collect(all.clone())?;
        }
        self.insert(all)
    }

    /// Adds the successors of `self.state`; says how many steps it has.
    #[inline(always)]
    fn expand(&mut self) -> Result<usize, StoreFull> {
        let (system, state) = (self.system, &mut self.state);
        if !self.sleepers.are_used() {
            return self.expander.expand(system, state, &mut self.events);
        }
        let sleep_set = self.sleepers.pop();
        let (steps, slept) =
            self.expander.expand_awake(system, state, sleep_set, &mut self.events)?;
        self.events.counters.matched += slept as u64;
        Ok(steps)
    }

    /// As [`Self::batch`], with a selection of each state's steps.
    fn reduced_batch(&mut self) -> Result<(), StoreFull> {
        self.expander.clear();
        self.tries.clear();
        self.states.clear();
        while self.head < self.level_end && self.expander.arrivals.len() < BATCH {
            self.next_state();
            let number = self.head - 1;
            let start = self.states.len();
            self.states.extend_from_slice(&self.state);
            let state = (start, self.states.len());
            let (pick, pending) = self.expand_selection(0)?;
            self.tries.push(Try { number, pick, state, pending });
        }
        self.insert(0..self.expander.arrivals.len())?;
        loop {
            let pending = &self.expander.arrivals;
            self.tries.retain(|attempt| {
                let accepted =
                    pending[attempt.pending.0..attempt.pending.1].iter().any(|arrival| {
                        let inserted = arrival.inserted;
                        let waits =
                            inserted.id != StateId::UNKNOWN && inserted.id.index() > attempt.number;
                        inserted.new || waits
                    });
                attempt.pick != EVERYTHING && !accepted
            });
            if self.tries.is_empty() {
                return Ok(());
            }
            self.expander.clear();
            for at in 0..self.tries.len() {
                let Try { number, pick, state: (start, end), .. } = self.tries[at];
                self.events.at = number;
                self.state.clear();
                self.state.extend_from_slice(&self.states[start..end]);
                let (pick, pending) = self.expand_selection(pick + 1)?;
                self.tries[at].pick = pick;
                self.tries[at].pending = pending;
            }
            self.insert(0..self.expander.arrivals.len())?;
        }
    }

    /// Expands `self.state` by its first selection numbered `from` or more.
    fn expand_selection(&mut self, from: u16) -> Result<(u16, (usize, usize)), StoreFull> {
        self.expander.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.expander.enabled);
        if self.expander.enabled.is_empty() {
            self.events.check_end(&self.state);
        }
        let pick = self.selector.next(self.system, &self.state, &self.expander.enabled, from);
        let first = self.expander.arrivals.len();
        let steps = self.selector.selected();
        self.expander.expand_selected(self.system, &self.state, steps, &mut self.events)?;
        self.collect(first..self.expander.arrivals.len())?;
        Ok((pick, (first, self.expander.arrivals.len())))
    }

    /// Replaces `self.state` by the state at the head of the queue.
    #[inline]
    fn next_state(&mut self) {
        if !self.frontier.pop(&mut self.state) {
            let ahead = self.head + AHEAD;
            if ahead < self.store.len() {
                self.store.prefetch_id(StateId(ahead as u32));
            }
            self.store.load_parent(StateId(self.head as u32), &mut self.state);
        }
        self.events.at = self.head;
        self.head += 1;
    }

    /// Notes from where some arrivals were reached.
    #[inline(always)]
    fn note_owner(&mut self, some: &Range<usize>) {
        self.links.note_owner(self.events.at, some.len());
    }

    /// Hashes some arrivals, and fetches what their insertion will need.
    #[inline]
    fn hash(&mut self, some: Range<usize>) -> Result<(), StoreFull> {
        let bytes = &self.expander.successors.data;
        let arrivals = &mut self.expander.arrivals[some];
        self.store.hash_successors(StateId(self.events.at as u32), bytes, arrivals)
    }

    /// As [`Self::hash`], for arrivals from one state.
    #[inline]
    fn collect(&mut self, some: Range<usize>) -> Result<(), StoreFull> {
        self.note_owner(&some);
        self.hash(some)
    }

    /// Inserts some arrivals, which were collected.
    fn insert(&mut self, some: Range<usize>) -> Result<(), StoreFull> {
        let before = self.store.len();
        let arrivals = &mut self.expander.arrivals[some.clone()];
        self.store.insert_batch(&self.expander.successors.data, arrivals)?;
        let new = self.store.len() - before;
        self.events.counters.matched += (arrivals.len() - new) as u64;
        let sleep_sets = self.expander.sleep_sets.get(some.clone()).unwrap_or_default();
        self.sleepers.push(arrivals, sleep_sets);
        if new > 0 {
            self.keep(some);
        }
        self.links.forget_owners();
        Ok(())
    }

    /// Queues and links the new states of the batch, where the store does not do it.
    fn keep(&mut self, some: Range<usize>) {
        let arrivals = &self.expander.arrivals[some];
        let lengths = arrivals.iter().map(|arrival| arrival.end - arrival.start);
        let longest = &mut self.events.counters.state_bytes;
        *longest = lengths.fold(*longest, usize::max);
        if !self.frontier.is_used() && !self.links.is_used() {
            return;
        }
        for (at, arrival) in arrivals.iter().enumerate().filter(|(_, a)| a.inserted.new) {
            self.frontier.push(&self.expander.successors.data[arrival.start..arrival.end]);
            self.links.push(self.links.owner(at), arrival.hash);
        }
    }

    /// The steps to state `at`, followed by `tail`.
    fn steps_to(&mut self, at: usize, tail: &[Step]) -> Option<Vec<Step>> {
        if self.links.is_used() {
            return trace::along_links(self.system, &self.links, &*self.store, at, tail);
        }
        trace::through_levels(self.system, &*self.store, &self.levels, at, tail)
    }

    fn finish(mut self) -> Finding {
        let mut notes = Vec::new();
        for other in self.helpers.take_counters() {
            self.events.counters.absorb(other);
        }
        if let Some((at, path)) = self.events.first.take()
            && self.events.counters.first.is_some()
        {
            let steps = self.steps_to(at, &path);
            match (steps, &mut self.events.counters.first) {
                (Some(steps), Some(found)) => found.steps = steps,
                _ => {
                    notes.push(trace::LOST.to_owned());
                    self.events.counters.first = None;
                    self.events.counters.stop = Some(Stop::LossyStore);
                }
            }
        }
        let mut finding = self.events.counters.finish(self.system, self.store.len() as u64);
        finding.notes = notes;
        finding
    }
}
