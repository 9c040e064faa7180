//! Many different searches at once; the first violation wins.
//!
//! Paper: [HF] section 6 proposes to run searches with different bounds side by side
//!
//! Each search has its own bound, its own order of the processes and its own hash functions, over a
//! bitstate store that shares the memory with the others. Together they look at different corners of
//! a space that is too large for any of them.

use super::random_executions::Random;
use crate::property::leave_to_system;
use crate::search::bounded::depth_first::depth_first;
use crate::search::bounded::visited::Replicated;
use crate::search::shared::workers::{Fewer, run_together, with_as_many_as_possible};
use crate::store::{Bitstate, hash_with_seed};
use crate::{Budget, Covered, Finding, Options, Progress};
use preempt_core::{
    Describe, Enabled, Fault, Independence, Outcome, ProcessId, Statistics, Step, Stop, System,
    Unreached,
};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The bounds of the searches, in turn; each comes with another order and other hash functions.
const BOUNDS: [u32; 8] = [0, 1, 2, 3, 4, 6, 10, 32];
/// Searches per bound.
const ORDERS: usize = 4;

/// Memory for the tables of all searches that run at once, unless a limit says more.
const USUAL_TABLES: usize = 1 << 30;

/// Runs the searches on `options.threads` threads.
pub(crate) fn swarm<S: System + ?Sized>(
    system: &S,
    seed: u64,
    options: &Options,
    budget: &mut Budget,
) -> Finding {
    // No more threads than searches.
    let most = options.threads.min(BOUNDS.len() * ORDERS);
    with_as_many_as_possible(most, |threads| search(system, seed, options, threads, budget))
}

fn search<S: System + ?Sized>(
    system: &S,
    seed: u64,
    options: &Options,
    threads: usize,
    budget: &mut Budget,
) -> Result<Finding, Fewer> {
    let memory = budget.memory_limit() / threads;
    let table = match options.memory {
        Some(_) => memory / 2,
        None => (memory / 2).min(USUAL_TABLES / threads),
    };
    let swarm = Swarm {
        system,
        seed,
        options,
        memory,
        table,
        next: AtomicUsize::new(0),
        running: AtomicUsize::new(threads),
        ended: AtomicBool::new(false),
        total: Mutex::new(Finding::new(Covered::Part(Stop::LossyStore))),
    };
    let others = (1..threads).map(|_| || swarm.work(None)).collect();
    run_together(|| swarm.work(Some(&mut *budget)), others)?;
    let mut finding = swarm.total.into_inner().unwrap_or_else(PoisonError::into_inner);
    finding.coverage =
        Some(format!("{} searches with different bounds and orders", BOUNDS.len() * ORDERS));
    finding.statistics.seconds = budget.elapsed().as_secs_f64();
    Ok(finding)
}

/// What the searches share.
struct Swarm<'a, S: ?Sized> {
    system: &'a S,
    seed: u64,
    options: &'a Options,
    /// Of each search that runs, and its table.
    memory: usize,
    table: usize,
    next: AtomicUsize,
    running: AtomicUsize,
    ended: AtomicBool,
    total: Mutex<Finding>,
}

impl<S: System + ?Sized> Swarm<'_, S> {
    /// Runs one search after the other; the worker with the budget also watches it for the others.
    fn work(&self, mut budget: Option<&mut Budget>) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= BOUNDS.len() * ORDERS || self.ended.load(Ordering::Relaxed) {
                break;
            }
            let stop = match &mut budget {
                Some(budget) => self.run(number, budget),
                None => {
                    let mut own = Budget::unlimited().memory(self.memory).interrupt(&self.ended);
                    // Others decide why everything ends.
                    self.run(number, &mut own);
                    None
                }
            };
            if let Some(stop @ (Stop::Time | Stop::Interrupted)) = stop {
                self.end(stop);
            }
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        let Some(budget) = budget else { return };
        while self.running.load(Ordering::SeqCst) > 0 {
            if let Some(stop) = budget.check(Progress::default()) {
                self.end(stop);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// One search. Says what ended it early.
    fn run(&self, number: usize, budget: &mut Budget) -> Option<Stop> {
        let bound = BOUNDS[number % BOUNDS.len()];
        let seed = self.seed.wrapping_add(number as u64);
        let shuffled = Shuffled { system: self.system, seed };
        let mut store = Bitstate::with_seed(Bitstate::bits_for(self.table), 3, seed);
        let visited = Replicated::new(&mut store, bound);
        let finding = depth_first(&shuffled, visited, bound, self.options, budget);
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        add(&mut total.statistics, &finding.statistics);
        if finding.counterexample.is_some() && total.counterexample.is_none() {
            total.counterexample = finding.counterexample;
            total.notes.push(format!("found by the search with bound {bound} and order {number}"));
            self.ended.store(true, Ordering::Relaxed);
        }
        finding.stop
    }

    /// Ends all searches.
    fn end(&self, stop: Stop) {
        self.total.lock().unwrap_or_else(PoisonError::into_inner).stop = Some(stop);
        self.ended.store(true, Ordering::Relaxed);
    }
}

/// The largest of the searches stands for all; work adds up.
fn add(total: &mut Statistics, one: &Statistics) {
    total.states = total.states.max(one.states);
    total.depth = total.depth.max(one.depth);
    total.count_arrivals(total.transitions + one.transitions);
    total.revisits += one.revisits;
    total.errors += one.errors;
    total.memory_bytes += one.memory_bytes;
}

/// A system whose processes are listed in another order, the same for the same state.
struct Shuffled<'a, S: ?Sized> {
    system: &'a S,
    seed: u64,
}

impl<S: ?Sized> Shuffled<'_, S> {
    fn inner<'v>(&self, state: &'v [u8]) -> &'v [u8] {
        state
    }
}

impl<S: System + ?Sized> System for Shuffled<'_, S> {
    leave_to_system! {
        fn process_count(state) -> usize;
        fn is_transient(state) -> bool;
        fn is_valid_end(state) -> bool;
        fn depth_of(step: Step) -> u32;
        fn transition_count() -> usize;
        fn transitions_of(step: Step) -> (usize, Option<usize>);
    }

    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        self.system.initial(state)
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
}

impl<S: System + ?Sized> Independence for Shuffled<'_, S> {}

impl<S: System + ?Sized> Describe for Shuffled<'_, S> {
    leave_to_system! {
        fn unreached(taken: &[bool]) -> Vec<Unreached>;
        fn fault(number: u32) -> Fault;
        fn process_name(state, process: ProcessId) -> String;
    }
}
