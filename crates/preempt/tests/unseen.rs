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
        // It says where that showed.
        assert!(report.notes.iter().any(|note| note.contains("unseen.rs:31")), "{report}");
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

/// Threads of std are noticed where they are spawned, whatever else the test does.
#[cfg(target_os = "linux")]
#[test]
fn threads_of_std_are_failures() {
    let fails = |what: &str, body: &(dyn Fn() + Sync)| {
        for check in [Check::new(), Check::new().threads(2)] {
            let report = check.run(body);
            let failure = report.failure().unwrap_or_else(|| panic!("{what}: {report}"));
            assert_eq!(failure.kind, FailureKind::Uncontrolled, "{what}: {report}");
            assert!(failure.message.contains("preempt::thread"), "{what}: {report}");
        }
    };
    fails("threads and locks", &|| {
        let shared = Arc::new(std::sync::Mutex::new(0));
        let theirs = shared.clone();
        let other = std::thread::spawn(move || *theirs.lock().unwrap() += 1);
        *shared.lock().unwrap() += 1;
        other.join().unwrap();
    });
    fails("beside objects of ours", &|| {
        let shared = Arc::new(AtomicUsize::new(0));
        shared.fetch_add(1, SeqCst);
        let other = std::thread::spawn(|| 1);
        shared.fetch_add(other.join().unwrap(), SeqCst);
        assert_eq!(shared.load(SeqCst), 2);
    });
    fails("in a scope", &|| {
        let number = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| number.fetch_add(1, SeqCst));
        });
        preempt::choose(2);
    });
    fails("in a thread of ours", &|| {
        thread::spawn(|| std::thread::spawn(|| ()).join().unwrap()).join().unwrap();
        preempt::choose(2);
    });
}

/// Threads that the test does not spawn are none of its business.
#[test]
fn threads_of_others_are_no_failures() {
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(SeqCst) {
                std::thread::spawn(|| ()).join().unwrap();
            }
        });
        for _ in 0..20 {
            let report = Check::new().threads(2).run(|| {
                let shared = preempt::sync::Arc::new(AtomicUsize::new(0));
                let theirs = shared.clone();
                let other = thread::spawn(move || theirs.fetch_add(1, SeqCst));
                shared.fetch_add(1, SeqCst);
                other.join().unwrap();
            });
            assert!(matches!(report.outcome, Outcome::Holds), "{report}");
        }
        stop.store(true, SeqCst);
    });
}

/// What an execution leaves behind for the next one is no proof.
#[test]
fn data_from_outside_that_changes_is_no_proof() {
    use preempt::sync::{Mutex, OnceLock, RwLock};
    let outside = |what: &str, body: &(dyn Fn() + Sync)| {
        let report = Check::new().run(body);
        let found = matches!(report.outcome, Outcome::Inconclusive(Reason::Outside(_)));
        assert!(found, "{what}: {report}");
        assert!(report.to_string().contains("unseen.rs:"), "{what}: {report}");
        let strict = Check::new().strict().run(body);
        assert_eq!(strict.failure().map(|f| f.kind), Some(FailureKind::Inconclusive), "{what}");
    };
    let mutex = Mutex::new(0);
    outside("a mutex", &|| *mutex.lock().unwrap() = 1);
    let lock = RwLock::new(0);
    outside("a lock", &|| *lock.write().unwrap() = 1);
    let shared = Mutex::new(0);
    outside("beside threads", &|| {
        thread::scope(|scope| {
            scope.spawn(|| *shared.lock().unwrap() = 1);
            scope.spawn(|| *shared.lock().unwrap() = 1);
        });
    });

    let holds = |what: &str, body: &(dyn Fn() + Sync)| {
        let report = Check::new().run(body);
        assert!(matches!(report.outcome, Outcome::Holds), "{what}: {report}");
    };
    let only_read = Mutex::new(5);
    holds("only read", &|| assert_eq!(*only_read.lock().unwrap(), 5));
    // Atomics and cells that are set once begin every execution as they were.
    let number = AtomicUsize::new(3);
    holds("an atomic", &|| assert_eq!(number.fetch_add(1, SeqCst), 3));
    let empty = OnceLock::new();
    holds("an empty cell", &|| {
        assert_eq!(empty.get(), None);
        assert_eq!(empty.set(1), Ok(()));
        assert_eq!(empty.get(), Some(&1));
        assert_eq!(empty.set(2), Err(2));
    });
    let full = OnceLock::new();
    full.set(7).unwrap();
    holds("a full cell", &|| {
        assert_eq!(full.get(), Some(&7));
        assert_eq!(full.set(8), Err(8));
        assert_eq!(*full.get_or_init(|| 9), 7);
    });
}
