//! A hunt for false alarms and for silence: random programs of real code that are right by
//! construction, and the same with one seeded mistake.
//!
//! A correct program protects every plain number by its own lock, takes locks in one order, waits only for
//! what is certain to come, and knows the sums that must come out. The mistake is a lost update, a lock
//! order turned around, or a plain or relaxed access without its lock. Every strategy must accept the one and
//! every exhaustive strategy reject the other, with the same least number of preemptions.
//!
//! What the programs do is in `program.rs`, over whatever library its parent names: another test runs the same programs over
//! std itself, unmodified.
//!
//! `PREEMPT_HUNT` sets how many programs of each kind there are, `PREEMPT_HUNT_SEED` the first.

mod library {
    pub(crate) use preempt::cell::UnsafeCell;
    pub(crate) use preempt::sync::{Arc, Condvar, Mutex, OnceLock, RwLock, Weak, atomic, mpsc};
    pub(crate) use preempt::{hint, thread};
}
mod program;

use preempt::{Check, Failure, FailureKind, Outcome, Strategy};
use program::{body, mistake, program};
use std::time::Duration;

const EXHAUSTIVE: [Strategy; 5] = [
    Strategy::PartialOrders,
    Strategy::ContextBoundedDfs,
    Strategy::HappensBeforeCaching,
    Strategy::Optimal,
    Strategy::SleepSets,
];

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// With as many timeouts as a program has: those that fire because nothing else can move count, too.
fn check(strategy: Strategy) -> Check {
    Check::new().time(Duration::from_secs(3600)).strategy(strategy).timeouts(4)
}

#[test]
fn correct_programs_are_accepted() {
    let first = number("PREEMPT_HUNT_SEED", 0);
    let (mut complete, mut cut) = (0u64, 0u64);
    for seed in first..first + number("PREEMPT_HUNT", 30) {
        let program = program(seed, None);
        let samplers = [
            Strategy::Random { seed },
            Strategy::Pct { depth: 3, seed },
            Strategy::Sampling { seed },
        ];
        for strategy in EXHAUSTIVE {
            let report = check(strategy).executions(1_500).states(100_000).run(|| body(&program));
            assert!(report.passed(), "seed {seed}, {strategy:?}: {program:?}\n{report}");
            match report.outcome {
                Outcome::Holds => complete += 1,
                _ => cut += 1,
            }
        }
        for strategy in samplers {
            let report = check(strategy).executions(60).run(|| body(&program));
            assert!(report.passed(), "seed {seed}, {strategy:?}: {program:?}\n{report}");
        }
    }
    println!("{complete} explored to the end, {cut} cut");
    assert!(complete > cut, "{complete} explored to the end, {cut} cut");
}

/// Which thread holds what at the end, by the steps of the execution, is what the remarks about a deadlock say.
fn waits_name_the_holders(failure: &Failure) {
    let mut holders = std::collections::HashMap::new();
    for step in &failure.trace.steps {
        match step.text.rsplit_once('.') {
            Some((lock, "lock" | "wake and lock again")) => holders.insert(lock, step.pid),
            Some((lock, "unlock" | "wait")) => holders.remove(lock),
            _ => None,
        };
    }
    let waiting = &failure.trace.observations.waiting;
    assert!(!waiting.is_empty(), "{failure}");
    for waits in waiting {
        let reason = &waits.reasons[0];
        assert!(!waits.waits_for.is_empty(), "{reason}\n{failure}");
        if let Some((lock, _)) = reason.split_once(".lock at ") {
            assert_eq!(waits.waits_for, [holders[lock]], "{reason}\n{failure}");
            assert!(reason.contains(": held by ") && reason.contains(", taken at "), "{reason}");
        }
    }
}

#[test]
fn mistakes_are_found_with_the_fewest_preemptions() {
    let first = number("PREEMPT_HUNT_SEED", 0);
    let mut compared = 0;
    for seed in first..first + number("PREEMPT_HUNT", 30) {
        let wanted = match seed % 4 {
            1 => FailureKind::Deadlock,
            3 => FailureKind::DataRace,
            _ => FailureKind::Panic,
        };
        let program = program(seed, Some(mistake(seed)));
        let mut least = None;
        for strategy in EXHAUSTIVE {
            let report = check(strategy).executions(30_000).states(400_000).run(|| body(&program));
            let Some(failure) = report.failure() else {
                let cut = matches!(report.outcome, Outcome::Inconclusive(_));
                let slow = matches!(strategy, Strategy::ContextBoundedDfs | Strategy::Optimal);
                assert!(cut && slow, "seed {seed}, {strategy:?}: {program:?}\n{report}");
                continue;
            };
            // A deadlock while the main thread polls is called a livelock, with the same cycle.
            let kind = match failure.kind {
                FailureKind::Livelock if program.polls => FailureKind::Deadlock,
                kind => kind,
            };
            assert_eq!(kind, wanted, "seed {seed}, {strategy:?}: {program:?}\n{report}");
            if failure.kind == FailureKind::Deadlock {
                waits_name_the_holders(failure);
            }
            let expected = *least.get_or_insert(failure.preemptions);
            assert_eq!(failure.preemptions, expected, "seed {seed}, {strategy:?}: {program:?}");
            compared += 1;
        }
    }
    println!("{compared} findings compared");
}
