//! Explores everything in the plainest way, to compare with.

use preempt_core::{Enabled, Outcome, System};
use std::collections::{BTreeSet, HashSet, VecDeque};

/// All there is to know about a small system.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Truth {
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) atomic_steps: u64,
    pub(crate) faults: u64,
    pub(crate) fault_numbers: BTreeSet<u32>,
    pub(crate) deadlocks: u64,
    pub(crate) taken: BTreeSet<usize>,
    /// More states than were asked for: nothing else is meaningful.
    pub(crate) too_large: bool,
}

pub(crate) fn explore(system: &impl System, limit: usize) -> Truth {
    let mut truth = Truth { transitions: 1, ..Truth::default() };
    let mut initial = Vec::new();
    assert_eq!(system.initial(&mut initial), Outcome::Done);
    let mut seen = HashSet::from([initial.clone()]);
    let mut queue = VecDeque::from([initial]);
    while let Some(state) = queue.pop_front() {
        if seen.len() > limit {
            truth.too_large = true;
            return truth;
        }
        if steps(system, &state).0.steps().is_empty() && !system.is_valid_end(&state) {
            truth.deadlocks += 1;
        }
        for arrival in arrivals(system, &state, &mut truth) {
            truth.transitions += 1;
            if seen.insert(arrival.clone()) {
                queue.push_back(arrival);
            }
        }
    }
    truth.states = seen.len() as u64;
    truth
}

fn steps(system: &impl System, state: &[u8]) -> (Enabled, Vec<u8>) {
    let (mut enabled, mut state) = (Enabled::new(), state.to_vec());
    system.enabled(&mut state, &mut enabled);
    (enabled, state)
}

fn arrivals(system: &impl System, state: &[u8], truth: &mut Truth) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let (enabled, state) = steps(system, state);
    for step in enabled.steps() {
        truth.taken.insert(system.transitions_of(*step).0);
        let mut next = state.clone();
        match system.apply(&mut next, *step) {
            Outcome::Done => {}
            Outcome::Violated(number) => {
                truth.faults += 1;
                truth.fault_numbers.insert(number);
            }
            Outcome::Broken(number) => {
                truth.faults += 1;
                truth.fault_numbers.insert(number);
                continue;
            }
        }
        if !system.is_transient(&next) {
            found.push(next);
            continue;
        }
        truth.atomic_steps += 1;
        let (_, settled) = steps(system, &next);
        if system.is_transient(&settled) {
            found.extend(arrivals(system, &next, truth));
        } else {
            found.push(settled);
        }
    }
    found
}
