//! Executions drawn at random.
//!
//! Paper: [MQ07] section 4, the random walk it compares with
//!
//! Every step is chosen among all enabled ones with equal chances, from a seed. A *walk* begins at the initial state and goes on
//! as long as it may. It spends most of its steps near that state. *Restarts* are shorter rounds, each from
//! a random point of the last execution, so that deep states are left in many directions; now and then
//! an execution begins anew. Both find what is easy to run into and prove nothing; the distinct states they saw are counted, so that
//! their coverage can be compared with that of the other searches.

use crate::options::Sampler;
use crate::search::shared::statistics::Counters;
use crate::store::Store;
use crate::{Budget, Counterexample, Finding, Options, Progress};
use preempt_core::{Enabled, Outcome, Step, Stop, System};

pub(crate) const WALK: Sampler = Sampler { name: "random", run: random_walk };
pub(crate) const RESTARTS: Sampler = Sampler { name: "restarts", run: random_restarts };

/// Walks per search, unless a time limit ends it earlier.
const WALKS: u64 = 10_000;
/// Steps per walk, unless a depth limit is given.
const STEPS: u64 = 10_000;
/// Rounds per search by restarts, unless a time limit ends it earlier.
const ROUNDS: u64 = 40_000;
/// Steps per round, unless a depth limit is given that is reached before.
const LEAP: u64 = 250;
/// So many rounds branch off from one execution before another one begins.
const BRANCHES: u64 = 16;

fn random_walk(
    system: &dyn System,
    store: &mut dyn Store,
    seed: u64,
    options: &Options,
    budget: &mut Budget,
) -> Finding {
    let sampling = Sampling::new(system, seed, options, options.depth.unwrap_or(STEPS));
    sampling.run(WALKS, store, budget)
}

fn random_restarts(
    system: &dyn System,
    store: &mut dyn Store,
    seed: u64,
    options: &Options,
    budget: &mut Budget,
) -> Finding {
    let longest = options.depth.map_or(usize::MAX, |depth| depth as usize);
    let sampling = Sampling::new(system, seed, options, LEAP);
    Sampling { longest, branches: BRANCHES, ..sampling }.run(ROUNDS, store, budget)
}

/// The last execution. Between rounds it has one state more than steps.
struct Sampling<'a> {
    system: &'a dyn System,
    counters: Counters,
    random: Random,
    /// Steps per round.
    leap: u64,
    longest: usize,
    /// So many rounds belong to one execution; only where it is more than one its states are kept.
    branches: u64,
    /// The state the execution is in, and its steps.
    state: Vec<u8>,
    enabled: Enabled,
    path: Vec<Step>,
    /// The states of this path one behind the other, and where each ends.
    trail: Vec<u8>,
    ends: Vec<usize>,
    taken: u64,
}

impl<'a> Sampling<'a> {
    fn new(system: &'a dyn System, seed: u64, options: &Options, leap: u64) -> Self {
        Sampling {
            system,
            counters: Counters::new(system, options),
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            leap,
            longest: usize::MAX,
            branches: 1,
            state: Vec::new(),
            enabled: Enabled::new(),
            path: Vec::new(),
            trail: Vec::new(),
            ends: Vec::new(),
            taken: 0,
        }
    }

    fn run(mut self, rounds: u64, store: &mut dyn Store, budget: &mut Budget) -> Finding {
        for round in 0..rounds {
            if self.round(round % self.branches == 0, store, budget) {
                break;
            }
        }
        let mut finding = self.counters.finish(self.system, store.len() as u64);
        finding.stop = finding.stop.or(Some(Stop::Sampling));
        finding.unreached.clear();
        finding.statistics.count_arrivals(self.taken + 1);
        finding
    }

    /// Goes back to a random point, or to the beginning, and walks on; says whether the search is over.
    fn round(&mut self, anew: bool, store: &mut dyn Store, budget: &mut Budget) -> bool {
        self.state.clear();
        let branches = if anew { 0 } else { self.ends.len() };
        if branches == 0 {
            self.ends.clear();
            self.path.clear();
            self.trail.clear();
            let outcome = self.system.initial(&mut self.state);
            if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome
                && (self.is_enough(fault) || matches!(outcome, Outcome::Broken(_)))
            {
                return true;
            }
        } else {
            let kept = self.random.below(branches);
            let start = kept.checked_sub(1).map_or(0, |before| self.ends[before]);
            self.state.extend_from_slice(&self.trail[start..self.ends[kept]]);
            self.ends.truncate(kept);
            self.path.truncate(kept);
            self.trail.truncate(start);
        }
        for _ in 0..self.leap {
            self.enabled.clear();
            self.system.enabled(&mut self.state, &mut self.enabled);
            if self.branches > 1 {
                self.trail.extend_from_slice(&self.state);
                self.ends.push(self.trail.len());
            }
            if !self.system.is_transient(&self.state) && store.insert(&self.state).is_err() {
                self.counters.stop = Some(Stop::Memory);
                return true;
            }
            self.counters.depth = self.counters.depth.max(self.path.len() as u64);
            if self.enabled.is_empty() {
                let path = &self.path;
                return self.counters.is_invalid_without_steps(self.system, &self.state)
                    && self.counters.error(|| Counterexample::invalid_end(path.clone()));
            }
            if self.path.len() >= self.longest {
                return false;
            }
            let steps = self.enabled.steps();
            let step = steps[self.random.below(steps.len())];
            self.path.push(step);
            self.taken += 1;
            self.counters.take(self.system, step);
            let outcome = self.system.apply(&mut self.state, step);
            if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome
                && self.is_enough(fault)
            {
                return true;
            }
            if let Outcome::Broken(_) = outcome {
                self.path.pop();
                return false;
            }
            let stop = budget.poll(|| Progress {
                states: store.len() as u64,
                transitions: self.taken,
                depth: self.path.len() as u64,
                memory: store.bytes() + self.trail.len(),
                ..Progress::default()
            });
            if stop.is_some() {
                self.counters.stop = stop;
                return true;
            }
        }
        // The state behind the last step belongs to no branch.
        self.path.pop();
        false
    }

    /// Whether a fault ends the search.
    fn is_enough(&mut self, fault: u32) -> bool {
        let (system, path) = (self.system, &self.path);
        self.counters.reports(system, fault)
            && self.counters.error(|| Counterexample::from_fault(system, path.clone(), fault))
    }
}

/// Numbers that look random: xorshift, multiplied.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let mixed = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        (mixed as usize * n) >> 32
    }
}
