//! The searches by several threads.

use crate::property::{Buchi, Stutter};
use crate::search::nested::{NestedOptions, Scheme};
use crate::search::nested_together::nested_together;
use crate::{Answer, Options, Preemptions, Reduction, Storage};
use preempt::Check;
use preempt_core::{
    Describe, Enabled, Independence, Outcome, ProcessId, Step, Stop, System, Verdict,
};
use std::time::Duration;

/// Processes that count to their limits.
struct Counters {
    limits: [u8; 2],
    /// Where an assertion fails.
    bad: Option<[u8; 2]>,
}

impl System for Counters {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.resize(2, 0);
        Outcome::Done
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        2
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        for (process, limit) in self.limits.iter().enumerate() {
            if state[process] + 1 < *limit {
                enabled.push(Step::new(ProcessId(process as u16), 0));
            }
        }
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        state[step.process.index()] += 1;
        let is_bad = self.bad.is_some_and(|bad| state == &bad);
        if is_bad { Outcome::Violated(1) } else { Outcome::Done }
    }

    fn is_valid_end(&self, _state: &[u8]) -> bool {
        true
    }

    fn proposition_count(&self) -> usize {
        1
    }

    /// Whether the first process has reached its limit.
    fn proposition(&self, state: &[u8], _index: usize) -> Result<bool, u32> {
        Ok(state[0] + 1 == self.limits[0])
    }
}

impl Independence for Counters {}

impl Describe for Counters {}

fn options(storage: Storage) -> Options {
    Options {
        threads: 2,
        storage,
        first: true,
        reduction: Reduction::None,
        memory: Some(1 << 26),
        ..Options::default()
    }
}

/// Searches in every order of two threads that differs, and looks at what comes out.
fn in_all_orders(
    name: &str,
    bad: Option<[u8; 2]>,
    options: &Options,
    look: impl Fn(&Answer) + Sync,
) {
    let system = Counters { limits: [2, 2], bad };
    let check = Check::new().preemptions(1).stale(1).time(Duration::from_secs(40)).name(name);
    check.test(|| look(&crate::Check::new(&system).options(options.clone()).run()));
}

fn is_whole(answer: &Answer) {
    assert_eq!(answer.claim.statistics.states, 4);
    assert_eq!(answer.claim.statistics.transitions, 5);
}

/// Every state is counted once, and every step.
pub fn all_states_are_found() {
    in_all_orders("all_states_are_found", None, &options(Storage::Tree), |answer| {
        assert_eq!(answer.verdict(), Verdict::Holds);
        is_whole(answer);
    });
}

/// The same where hashes stand for states.
pub fn all_hashes_are_found() {
    in_all_orders("all_hashes_are_found", None, &options(Storage::Compact), |answer| {
        assert_eq!(answer.verdict(), Verdict::Inconclusive(Stop::LossyStore));
        is_whole(answer);
    });
}

/// Reduction, whose threads decide together what need not be expanded.
pub fn a_reduced_search_ends() {
    let options = Options { reduction: Reduction::Full, ..options(Storage::Tree) };
    in_all_orders("a_reduced_search_ends", None, &options, |answer| {
        assert_eq!(answer.verdict(), Verdict::Holds);
    });
}

/// A process that goes round and round between two states once it has come to either, on its own, and another one whose only step
/// is a mistake.
struct Rounds;

impl System for Rounds {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.resize(2, 0);
        Outcome::Done
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        2
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        for to in [1, 2].into_iter().filter(|to| *to != state[0]) {
            enabled.push(Step::new(ProcessId(0), to.into()));
        }
        enabled.push(Step::new(ProcessId(1), 0));
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        if step.process == ProcessId(1) {
            return Outcome::Violated(1);
        }
        state[0] = step.transition as u8;
        Outcome::Done
    }
}

impl Independence for Rounds {
    fn is_ample(&self, _state: &[u8], process: ProcessId, _observed: bool) -> bool {
        process == ProcessId(0)
    }
}

impl Describe for Rounds {}

/// Two threads expand the two states of a cycle at the same time: one of them takes the step that the cycle leaves for later.
pub fn no_step_waits_for_ever() {
    let options = Options { reduction: Reduction::Spin, ..options(Storage::Tree) };
    let check = Check::new().preemptions(1).stale(1).time(Duration::from_secs(40));
    check.name("no_step_waits_for_ever").test(|| {
        let answer = crate::Check::new(&Rounds).options(options.clone()).run();
        assert_eq!(answer.verdict(), Verdict::Violated);
    });
}

/// A violation ends the work of all, and the way to it is found back.
pub fn a_violation_is_found() {
    in_all_orders("a_violation_is_found", Some([1, 1]), &options(Storage::Tree), |answer| {
        assert_eq!(answer.verdict(), Verdict::Violated);
        assert_eq!(answer.steps().map(<[Step]>::len), Some(2));
    });
}

/// Buckets of preemptions end when no thread has anything left in them.
pub fn all_states_of_a_bound_are_found() {
    let preemptions = Preemptions::AtMost(0);
    let options = Options { preemptions, ..options(Storage::Tree) };
    in_all_orders("all_states_of_a_bound_are_found", None, &options, |answer| {
        assert_eq!(answer.verdict(), Verdict::Holds);
        is_whole(answer);
    });
}

/// The same where hashes stand for states.
pub fn all_hashes_of_a_bound_are_found() {
    let preemptions = Preemptions::AtMost(0);
    let options = Options { preemptions, ..options(Storage::Compact) };
    in_all_orders("all_hashes_of_a_bound_are_found", None, &options, |answer| {
        assert_eq!(answer.verdict(), Verdict::Inconclusive(Stop::LossyStore));
        assert_eq!(answer.claim.statistics.states, 4);
    });
}

/// One bound after the other, up to the one with a violation.
pub fn every_bound_is_searched() {
    let preemptions = Preemptions::Iterate { last: None };
    let options = Options { preemptions, ..options(Storage::Tree) };
    in_all_orders("every_bound_is_searched", Some([1, 1]), &options, |answer| {
        assert_eq!(answer.verdict(), Verdict::Violated);
    });
}

/// One thread searches for an infinite execution, another expands states ahead of it: what is found, and how much was
/// searched, does not depend on the order.
pub fn a_helper_changes_nothing_of_a_nested_search() {
    let system = Counters { limits: [3, 2], bad: None };
    let search = |formula: &str, threads| {
        let negated = preempt_ltl::parse(&format!("!({formula})")).expect("a formula");
        let automaton = preempt_ltl::translate(&negated.formula).expect("an automaton");
        let property = Buchi::new(automaton, vec![0]);
        let options = NestedOptions::to_the_first(Scheme::Full);
        let mut budget = crate::Budget::unlimited().memory(1 << 26);
        let found =
            nested_together(&system, &property, Stutter::Extend, threads, &mut budget, options)
                .expect("a search that knows such systems");
        let steps = found.counterexample.map(|found| (found.steps, found.cycle_start));
        (steps, found.stop, found.statistics.states, found.statistics.transitions)
    };
    for (name, formula) in [("a_helper, holds", "<>[] p"), ("a_helper, violated", "[] !p")] {
        let alone = search(formula, 1);
        let check = Check::new().preemptions(2).stale(1).time(Duration::from_secs(40)).name(name);
        check.test(|| assert_eq!(search(formula, 2), alone));
    }
}
