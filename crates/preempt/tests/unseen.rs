//! Tests whose threads share something that preempt does not see: the count of a std `Arc`. They
//! are explored by schedules, never take that for a failure, and never end as *holds*.

use preempt::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use preempt::{Check, FailureKind, Outcome, Reason, Strategy, thread};
use std::sync::Arc;
use std::time::Duration;

/// Strategies that compare what threads do with what they did after the same observations.
const BY_OBSERVATIONS: [Strategy; 2] = [Strategy::Portfolio, Strategy::PartialOrders];

/// The others do not notice.
const OTHERS: [Strategy; 4] = [
    Strategy::ContextBoundedDfs,
    Strategy::HappensBeforeCaching,
    Strategy::Optimal,
    Strategy::SleepSets,
];

fn check(strategy: Strategy) -> Check {
    Check::new().time(Duration::from_secs(600)).strategy(strategy)
}

/// The first thread looks at a count that another changes without an operation, and does one thing or
/// the other. A third one makes sure that there are several executions.
fn look(a: usize, b: usize) -> usize {
    let shared = Arc::new([0, 0, 0].map(AtomicUsize::new));
    let (mine, theirs, third) = (shared.clone(), shared.clone(), shared.clone());
    let looks = thread::spawn(move || {
        mine[0].load(SeqCst);
        mine[0].fetch_add(if Arc::strong_count(&mine) == 4 { a } else { b }, SeqCst);
    });
    let changes = thread::spawn(move || {
        theirs[1].store(1, SeqCst);
        drop(theirs);
    });
    let watches = thread::spawn(move || third[1].load(SeqCst));
    looks.join().unwrap();
    changes.join().unwrap();
    watches.join().unwrap();
    shared[0].load(SeqCst)
}

#[test]
fn the_count_of_a_std_arc_is_no_failure_and_no_proof() {
    for strategy in BY_OBSERVATIONS {
        let report = check(strategy).run(|| assert!(look(1, 2) > 0));
        let unseen = matches!(report.outcome, Outcome::Inconclusive(Reason::Unseen));
        assert!(unseen, "{strategy:?}: {report}");
        assert!(report.per_bound.len() > 1, "{strategy:?}: {report}");
        assert!(report.notes.iter().any(|note| note.contains("std::sync::Arc")), "{report}");
        let report = check(strategy).strict().run(|| assert!(look(1, 2) > 0));
        let kind = report.failure().map(|failure| failure.kind);
        assert_eq!(kind, Some(FailureKind::Inconclusive), "{strategy:?}: {report}");
    }
    for strategy in OTHERS {
        let report = check(strategy).run(|| assert!(look(1, 2) > 0));
        assert!(report.passed(), "{strategy:?}: {report}");
    }
}

#[test]
fn a_bug_behind_the_count_of_a_std_arc_is_found() {
    for strategy in BY_OBSERVATIONS {
        let report = check(strategy).run(|| assert_eq!(look(1, 2), 1));
        let failure = report.failure().unwrap_or_else(|| panic!("{strategy:?}: {report}"));
        assert_eq!((failure.kind, failure.preemptions), (FailureKind::Panic, 0), "{report}");
    }
}

/// A test on std by mistake is no proof of anything.
#[test]
fn a_test_on_std_holds_nothing() {
    let nothing = |what: &str, body: &(dyn Fn() + Sync)| {
        let report = Check::new().run(body);
        let unseen = matches!(report.outcome, Outcome::Inconclusive(Reason::Nothing));
        assert!(unseen, "{what}: {report}");
        assert!(report.to_string().contains("preempt::sync"), "{what}: {report}");
        let report = Check::new().strict().run(body);
        assert_eq!(report.failure().map(|f| f.kind), Some(FailureKind::Inconclusive), "{what}");
    };
    nothing("an empty body", &|| {});
    nothing("threads and locks", &|| {
        let shared = Arc::new(std::sync::Mutex::new(0));
        let theirs = shared.clone();
        let other = std::thread::spawn(move || *theirs.lock().unwrap() += 1);
        *shared.lock().unwrap() += 1;
        other.join().unwrap();
    });
    nothing("locks only", &|| {
        let shared = Arc::new(std::sync::Mutex::new(0));
        let theirs = shared.clone();
        let other = thread::spawn(move || *theirs.lock().unwrap() += 1);
        *shared.lock().unwrap() += 1;
        other.join().unwrap();
    });
    nothing("atomics only", &|| {
        let shared = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let theirs = shared.clone();
        let other = thread::spawn(move || theirs.store(1, SeqCst));
        shared.load(SeqCst);
        other.join().unwrap();
    });
}
