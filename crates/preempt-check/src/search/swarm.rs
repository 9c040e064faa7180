//! Many different searches at once; the first violation wins.
//!
//! Paper: [HF] section 6 proposes to run searches with different bounds side by side
//!
//! Each search has its own bound, its own order of the processes and its own hash functions, over a
//! bitstate store that shares the memory with the others. Together they look at different corners of
//! a space that is too large for any of them.

use super::bounded::depth_first;
use super::random_walk::Random;
use super::visited::Replicated;
use crate::store::{Bitstate, Inserted, StateId, Store, StoreFull, hash_with_seed};
use crate::{Budget, Finding, Options, Progress};
use preempt_core::{Enabled, Fault, Outcome, ProcessId, Statistics, Step, Stop, System, Unreached};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The bounds of the searches, in turn; each comes with another order and other hash functions.
const BOUNDS: [u32; 8] = [0, 1, 2, 3, 4, 6, 10, 32];
/// Searches per bound.
const ORDERS: usize = 4;

/// Runs the searches on `options.threads` threads.
pub(crate) fn swarm<S: System + ?Sized>(
    system: &S,
    seed: u64,
    options: &Options,
    budget: &mut Budget,
) -> Finding {
    let threads = options.threads.max(1);
    let memory = budget.memory_limit().min(1 << 34) / threads;
    let (next, running) = (AtomicUsize::new(0), AtomicUsize::new(threads));
    let ended = AtomicBool::new(false);
    let total = Mutex::new(Finding { stop: Some(Stop::LossyStore), ..Finding::default() });
    let worker = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= BOUNDS.len() * ORDERS || ended.load(Ordering::Relaxed) {
                break;
            }
            let bound = BOUNDS[number % BOUNDS.len()];
            let own_seed = seed.wrapping_add(number as u64);
            let shuffled = Shuffled { system, seed: own_seed };
            let mut store = Seeded::new(Bitstate::new(Bitstate::bits_for(memory / 2), 3), own_seed);
            let mut limits = Budget::unlimited().memory(memory).interrupt(&ended);
            let visited = Replicated::new(&mut store, bound);
            let finding = depth_first(&shuffled, visited, bound, false, options, &mut limits);
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            add(&mut total.statistics, &finding.statistics);
            if finding.counterexample.is_some() && total.counterexample.is_none() {
                total.counterexample = finding.counterexample;
                total
                    .notes
                    .push(format!("found by the search with bound {bound} and order {number}"));
                ended.store(true, Ordering::Relaxed);
            }
        }
        running.fetch_sub(1, Ordering::SeqCst);
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(worker);
        }
        while running.load(Ordering::SeqCst) > 0 {
            let progress = Progress::default();
            if let Some(stop) = budget.check(progress) {
                total.lock().unwrap_or_else(PoisonError::into_inner).stop = Some(stop);
                ended.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    let mut finding = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    finding.coverage =
        Some(format!("{} searches with different bounds and orders", BOUNDS.len() * ORDERS));
    finding.statistics.seconds = budget.elapsed().as_secs_f64();
    finding
}

/// The largest of the searches stands for all; work adds up.
fn add(total: &mut Statistics, one: &Statistics) {
    total.states = total.states.max(one.states);
    total.depth = total.depth.max(one.depth);
    total.transitions += one.transitions;
    total.matched += one.matched;
    total.revisits += one.revisits;
    total.errors += one.errors;
    total.memory_bytes += one.memory_bytes;
}

/// A store with hash functions of its own.
struct Seeded<T> {
    store: T,
    seed: u64,
}

impl<T> Seeded<T> {
    fn new(store: T, seed: u64) -> Self {
        Seeded { store, seed: seed | 1 << 63 }
    }
}

impl<T: Store> Store for Seeded<T> {
    fn hash(&self, state: &[u8]) -> u64 {
        hash_with_seed(state, self.seed)
    }
    fn insert_hashed(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        self.store.insert_hashed(hash, state)
    }
    fn lookup_hashed(&self, hash: u64, state: &[u8]) -> Option<StateId> {
        self.store.lookup_hashed(hash, state)
    }
    fn load(&self, id: StateId, out: &mut Vec<u8>) -> bool {
        self.store.load(id, out)
    }
    fn len(&self) -> usize {
        self.store.len()
    }
    fn bytes(&self) -> usize {
        self.store.bytes()
    }
    fn set_limit(&mut self, bytes: usize) {
        self.store.set_limit(bytes);
    }
    fn is_exact(&self) -> bool {
        false
    }
}

/// A system whose processes are listed in another order, the same for the same state.
struct Shuffled<'a, S: ?Sized> {
    system: &'a S,
    seed: u64,
}

impl<S: System + ?Sized> System for Shuffled<'_, S> {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        self.system.initial(state)
    }
    fn process_count(&self, state: &[u8]) -> usize {
        self.system.process_count(state)
    }
    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        self.system.enabled(state, enabled);
        let mut groups: Vec<Vec<Step>> =
            enabled.by_process().map(|(_, steps)| steps.to_vec()).collect();
        let mut random = Random(hash_with_seed(state, self.seed) | 1);
        for at in (1..groups.len()).rev() {
            groups.swap(at, random.below(at + 1));
        }
        enabled.clear();
        groups.into_iter().flatten().for_each(|step| enabled.push(step));
    }
    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        self.system.apply(state, step)
    }
    fn is_transient(&self, state: &[u8]) -> bool {
        self.system.is_transient(state)
    }
    fn depth_of(&self, step: Step) -> u32 {
        self.system.depth_of(step)
    }
    fn transition_count(&self) -> usize {
        self.system.transition_count()
    }
    fn transition_key(&self, step: Step) -> usize {
        self.system.transition_key(step)
    }
    fn partner_key(&self, step: Step) -> Option<usize> {
        self.system.partner_key(step)
    }
    fn unreached(&self, taken: &[bool]) -> Vec<Unreached> {
        self.system.unreached(taken)
    }
    fn is_valid_end(&self, state: &[u8]) -> bool {
        self.system.is_valid_end(state)
    }
    fn fault(&self, number: u32) -> Fault {
        self.system.fault(number)
    }
    fn process_name(&self, state: &[u8], process: ProcessId) -> String {
        self.system.process_name(state, process)
    }
}
