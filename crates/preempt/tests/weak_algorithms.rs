//! Published algorithms that rely on memory orders: correct, and with one order too weak.

#[path = "bodies/weak.rs"]
mod weak;

mod tool {
    pub(crate) use preempt::cell::UnsafeCell;
    pub(crate) use preempt::hint;
    pub(crate) use preempt::sync::atomic::{AtomicUsize, Ordering, fence};
    pub(crate) use preempt::sync::{Arc, Mutex};
    pub(crate) use preempt::thread;
}

use preempt::{Check, FailureKind, Memory, Outcome};
use std::time::Duration;

fn check() -> Check {
    Check::new().time(Duration::from_secs(60))
}

/// How each mistake shows: the kind of failure, and the fewest stale choices and preemptions that it takes.
/// (0, 0) are data races that a sequentially consistent execution shows, because a relaxed access
/// synchronises nothing.
const MISTAKES: [(&str, FailureKind, (u32, u32)); 16] = [
    // Either thread reads the other's flag as it was in the beginning.
    ("dekker", FailureKind::DataRace, (1, 0)),
    // The first fences still order the flags, so it is the turn: the second thread's store comes before
    // the first one's, while the first thread has the lock.
    ("peterson", FailureKind::DataRace, (1, 1)),
    // The writer runs between the two reads of the reader, and the reader's second look is outdated.
    ("seqlock", FailureKind::Panic, (1, 1)),
    // The owner does not see that the thief has come so far.
    ("chase_lev", FailureKind::Panic, (1, 0)),
    // The other thread sees neither the hazard pointer nor the active reader.
    ("hazard_pointer", FailureKind::DataRace, (1, 0)),
    // Once the tail has moved, reading it synchronises: the enqueuer must stop before.
    ("michael_scott", FailureKind::DataRace, (0, 1)),
    // The second must queue while the first has the lock.
    ("mcs_lock", FailureKind::DataRace, (0, 1)),
    ("clh_lock", FailureKind::DataRace, (0, 0)),
    ("epochs", FailureKind::DataRace, (1, 0)),
    ("double_checked", FailureKind::DataRace, (0, 0)),
    ("reference_count", FailureKind::DataRace, (0, 0)),
    ("ring_buffer", FailureKind::DataRace, (0, 0)),
    // The notifier does not see that a thread waits.
    ("event_count", FailureKind::Deadlock, (1, 0)),
    ("spin_barrier", FailureKind::DataRace, (0, 0)),
    ("ticket_lock", FailureKind::DataRace, (0, 0)),
    ("left_right", FailureKind::DataRace, (1, 0)),
];

#[test]
fn correct_algorithms_hold_in_every_execution() {
    for (name, body) in weak::ALGORITHMS {
        let report = check().unbounded().run(move || body(false));
        println!("{name}: {report}");
        assert!(matches!(report.outcome, Outcome::Holds), "{name}: {report}");
        assert!(report.executions <= report.partial_orders, "{name}: {report}");
    }
}

#[test]
fn one_order_too_weak_is_found_with_the_least_cost() {
    for ((name, body), (same, kind, cost)) in weak::ALGORITHMS.into_iter().zip(MISTAKES) {
        assert_eq!(name, same);
        let report = check().run(move || body(true));
        let Some(failure) = report.failure() else { panic!("{name}: {report}") };
        println!("{name}: {} {}", failure.stale, failure.preemptions);
        let found = (failure.kind, (failure.stale, failure.preemptions));
        assert_eq!(found, (kind, cost), "{name}: {failure}");
        let again = check().replay(&failure.schedule).run(move || body(true));
        assert_eq!(again.failure().map(|f| f.kind), Some(kind), "{name}: {again}");
        // What takes a stale choice is not there if memory is sequentially consistent.
        let report = check().memory(Memory::Sc).unbounded().run(move || body(true));
        assert_eq!(report.passed(), cost.0 > 0, "{name}: {report}");
    }
}
