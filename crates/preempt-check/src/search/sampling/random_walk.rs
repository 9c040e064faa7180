//! One random execution after the other.
//!
//! Paper: [MQ07] section 4, the random walk it compares with
//!
//! Every step is chosen among all enabled ones with equal chances, from a seed. It finds what is easy
//! to run into and proves nothing; the distinct states it saw are counted, so that its coverage can be
//! compared with that of the other searches.

use crate::options::Sampler;
use crate::search::shared::statistics::Counters;
use crate::store::Store;
use crate::{Budget, Counterexample, Finding, Options, Progress};
use preempt_core::{Enabled, Outcome, Stop, System};

/// Executions per search, unless a time limit ends it earlier.
const WALKS: u64 = 10_000;
/// Steps per execution, unless a depth limit is given.
const STEPS: u64 = 10_000;

pub(crate) const SAMPLER: Sampler = Sampler { name: "random", run: random_walk };

/// Walks at random until a violation is met, or the limit is.
fn random_walk(
    system: &dyn System,
    store: &mut dyn Store,
    seed: u64,
    options: &Options,
    budget: &mut Budget,
) -> Finding {
    let mut counters = Counters::new(system, options);
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut state, mut enabled, mut path) = (Vec::new(), Enabled::new(), Vec::new());
    let longest = options.depth.unwrap_or(STEPS);
    let mut steps_taken = 0;
    'walks: for _ in 0..WALKS {
        state.clear();
        path.clear();
        let outcome = system.initial(&mut state);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome
            && counters.reports(system, fault)
            && counters.error(|| Counterexample::from_fault(system, Vec::new(), fault))
        {
            break;
        }
        if let Outcome::Broken(_) = outcome {
            break;
        }
        for depth in 0..longest {
            enabled.clear();
            system.enabled(&mut state, &mut enabled);
            if !system.is_transient(&state) && store.insert(&state).is_err() {
                counters.stop = Some(Stop::Memory);
                break 'walks;
            }
            counters.depth = counters.depth.max(depth);
            if enabled.is_empty() {
                if counters.is_invalid_end(system, &state, &enabled)
                    && counters.error(|| Counterexample::invalid_end(path.clone()))
                {
                    break 'walks;
                }
                break;
            }
            let step = enabled.steps()[random.below(enabled.steps().len())];
            path.push(step);
            steps_taken += 1;
            counters.take(system, step);
            let outcome = system.apply(&mut state, step);
            if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome
                && counters.reports(system, fault)
                && counters.error(|| Counterexample::from_fault(system, path.clone(), fault))
            {
                break 'walks;
            }
            if let Outcome::Broken(_) = outcome {
                break;
            }
            let stop = budget.poll(|| Progress {
                states: store.len() as u64,
                transitions: steps_taken,
                depth,
                memory: store.bytes(),
                ..Progress::default()
            });
            if stop.is_some() {
                counters.stop = stop;
                break 'walks;
            }
        }
    }
    let mut finding = counters.finish(system, store.len() as u64);
    finding.stop = finding.stop.or(Some(Stop::Sampling));
    finding.unreached.clear();
    finding.statistics.count_arrivals(steps_taken + 1);
    finding
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
