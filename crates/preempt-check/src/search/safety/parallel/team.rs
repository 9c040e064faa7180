//! What the threads of a parallel search share: the store, the queues, and how it stands.

use super::leftover::Leftover;
use super::queues::{Chunk, Queues};
use super::unexpanded::Unexpanded;
use crate::platform::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::platform::sync::{Mutex, PoisonError};
use crate::reduce::{LOOK, is_too_little, may_be_dropped};
use crate::search::shared::statistics::Counters;
use crate::search::shared::trace;
use crate::search::shared::workers::Workers;
use crate::store::Pending;
use crate::store::concurrent::exact::SharedExact;
use crate::store::concurrent::{ConcurrentStore, Place};
use crate::{Counterexample, Options, Progress, Reduction};
use preempt_core::{Contention, Outcome, Step, Stop, System};

/// Where an error was: the expanded state, and the steps from there.
pub(super) type ViolationSite = (Place, Vec<Step>);

/// What a thread did.
pub(super) struct Part<L> {
    pub(super) counters: Counters,
    pub(super) site: Option<ViolationSite>,
    pub(super) contention: Contention,
    pub(super) local: L,
}

/// What all threads share.
pub(super) struct Team<'a, S: ?Sized, T> {
    pub(super) system: &'a S,
    pub(super) options: &'a Options,
    pub(super) store: T,
    pub(super) queues: Queues,
    /// With reduction: the states that are queued, if the store keeps states.
    pub(super) unexpanded: Unexpanded,
    pub(super) workers: Workers,
    pub(super) full: AtomicBool,
    pub(super) errors: AtomicU64,
    /// States that reduction did not expand by all their steps.
    pub(super) reduced: AtomicUsize,
    /// Whether to look, once, if these are enough.
    pub(super) watches: AtomicBool,
    pub(super) reduction_useless: AtomicBool,
    /// What threads had in hand when the store was full.
    pub(super) leftovers: Mutex<Vec<Leftover>>,
}

impl<'a, S: System + ?Sized, T: ConcurrentStore> Team<'a, S, T> {
    pub(super) fn new(system: &'a S, options: &'a Options, store: T, threads: usize) -> Self {
        Team {
            system,
            options,
            store,
            queues: Queues::new(threads, options.reduction != Reduction::None),
            unexpanded: Unexpanded::new(),
            workers: Workers::new(threads),
            full: AtomicBool::new(false),
            errors: AtomicU64::new(0),
            reduced: AtomicUsize::new(0),
            watches: AtomicBool::new(may_be_dropped(options)),
            reduction_useless: AtomicBool::new(false),
            leftovers: Mutex::default(),
        }
    }

    /// Stores and queues the initial state; gives its place and what the first thread keeps, `None` if that ends the search.
    pub(super) fn begin(&self, counters: &mut Counters) -> Option<(Place, T::Local)> {
        let mut state = Vec::new();
        let outcome = self.system.initial(&mut state);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            if counters.reports(self.system, fault) {
                counters.error(|| Counterexample::from_fault(self.system, Vec::new(), fault));
            }
            if matches!(outcome, Outcome::Broken(_)) || counters.is_enough() {
                return None;
            }
        }
        counters.state_bytes = state.len();
        let mut batch = [Pending::new(0, 0, state.len())];
        let mut local = self.store.local(0);
        if self.store.insert(&mut local, &state, &mut batch, &[0]).is_err() {
            counters.stop = Some(Stop::Memory);
            return None;
        }
        let root = batch[0].inserted.id.0;
        let mut chunk = Chunk::default();
        let bytes = (!self.store.keeps_states()).then_some(state.as_slice());
        chunk.push(root, Default::default(), bytes);
        self.queues.put(0, chunk, &mut Contention::default());
        Some((root, local))
    }

    /// Whether reduction leaves nothing out, as far as can be seen, where a thread has reduced so many more states.
    pub(super) fn is_reduction_useless(&self, reduced: usize) -> bool {
        let reduced = self.reduced.fetch_add(reduced, Ordering::Relaxed) + reduced;
        let states = self.store.len();
        let reduction_useless = states >= LOOK
            && self.watches.swap(false, Ordering::Relaxed)
            && is_too_little(reduced, states);
        self.reduction_useless.fetch_or(reduction_useless, Ordering::Relaxed);
        reduction_useless
    }

    pub(super) fn leftover(&self) -> Option<Leftover> {
        self.leftovers.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Memory for states.
    fn bytes(&self) -> usize {
        let store = self.store.bytes();
        match self.options.reduction {
            Reduction::None => store,
            _ => store + Unexpanded::bytes_beside(store),
        }
    }

    pub(super) fn progress(&self) -> Progress {
        let states = self.store.len() as u64;
        let (_, matched) = self.workers.counts();
        Progress {
            states,
            transitions: states + matched,
            depth: 0,
            queue: self.queues.waiting() as u64,
            memory: self.bytes() + self.queues.bytes(),
            ..Progress::default()
        }
    }

    /// The steps from the initial state to `place`, and `tail` behind them.
    pub(super) fn trace(&self, root: Place, place: Place, tail: &[Step]) -> Option<Vec<Step>> {
        let mut sequence = vec![place];
        while let Some(&last) = sequence.last()
            && last != root
        {
            sequence.push(self.store.parent(last));
        }
        sequence.reverse();
        if !self.store.keeps_states() {
            let agrees = |at: usize, state: &[u8]| self.store.agrees(sequence[at + 1], state);
            return trace::along(self.system, sequence.len() - 1, agrees, tail);
        }
        let mut local = self.store.local(0);
        let (mut from, mut to) = (Vec::new(), Vec::new());
        let mut steps = Vec::new();
        for link in sequence.windows(2) {
            self.store.load(&mut local, link[0], &mut from);
            self.store.load(&mut local, link[1], &mut to);
            steps.extend(trace::between(self.system, &mut from, &to));
        }
        steps.extend_from_slice(tail);
        Some(steps)
    }
}

impl<'a, S: System + ?Sized> Team<'a, S, SharedExact> {
    /// The same team over a store into which all states were moved: their old places [say](compress::to_tree) the new ones.
    pub(super) fn over<T: ConcurrentStore>(self, store: T) -> Team<'a, S, T> {
        let unexpanded = Unexpanded::new();
        let place = |old: Place| self.store.parent(old);
        let waiting = |old: Place| {
            let place = place(old);
            unexpanded.add(place);
            place
        };
        self.queues.move_places(waiting);
        let mut leftovers = self.leftovers.into_inner().unwrap_or_else(PoisonError::into_inner);
        leftovers.iter_mut().for_each(|leftover| leftover.move_places(place, waiting));
        Team {
            system: self.system,
            options: self.options,
            store,
            queues: self.queues,
            unexpanded,
            workers: self.workers,
            full: self.full,
            errors: self.errors,
            reduced: self.reduced,
            watches: self.watches,
            reduction_useless: self.reduction_useless,
            leftovers: Mutex::new(leftovers),
        }
    }
}
