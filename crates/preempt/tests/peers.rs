//! Mistakes of other tools that must not be ours.

mod bodies;

use preempt::sync::Arc;
use preempt::sync::atomic::{AtomicUsize, Ordering, Ordering::SeqCst};
use preempt::{Check, FailureKind, Outcome, Strategy, thread};
use std::collections::BTreeSet;
use std::sync::Mutex as Real;

/// No test depends on the speed of the machine.
fn patient() -> Check {
    Check::new().time(std::time::Duration::from_secs(3600))
}

/// loom's bound loses switches that are free: it sees 1, 18, 48, 78 of these logs.
#[test]
fn a_bound_keeps_free_switches() {
    for (bound, expected) in [(0, 6), (1, 24), (2, 60), (3, 90)] {
        let logs = Real::new(BTreeSet::new());
        let report = patient().preemptions(bound).run(|| {
            logs.lock().unwrap().insert(bodies::seqlog(3, 2));
        });
        assert!(report.passed());
        assert_eq!(logs.lock().unwrap().len(), expected, "bound {bound}");
    }
    let report = patient().preemptions(2).run(|| _ = bodies::seqlog(4, 2));
    assert_eq!(report.partial_orders, 672);
}

/// loom completes four philosophers at bound 1 and reports success.
#[test]
fn four_philosophers_deadlock_within_one_preemption() {
    let report = patient().preemptions(1).run(|| bodies::philosophers(4, true));
    assert_eq!(report.failure().map(|f| f.kind), Some(FailureKind::Deadlock));
}

fn outcomes(body: impl Fn() -> usize + Sync) -> BTreeSet<usize> {
    let seen = Real::new(BTreeSet::new());
    let report = patient().unbounded().run(|| {
        let outcome = body();
        seen.lock().unwrap().insert(outcome);
    });
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
    seen.into_inner().unwrap()
}

/// loom reports store buffering for SeqCst code.
#[test]
fn no_store_buffering_under_sequential_consistency() {
    let seen = outcomes(|| {
        let pair = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let theirs = pair.clone();
        let other = thread::spawn(move || {
            theirs.0.store(1, SeqCst);
            theirs.1.load(SeqCst)
        });
        pair.1.store(1, SeqCst);
        let here = pair.0.load(SeqCst);
        2 * here + other.join().unwrap()
    });
    assert_eq!(seen, BTreeSet::from([1, 2, 3]));
}

/// loom allows readers of independent writes to disagree, and does not finish.
#[test]
fn independent_reads_of_independent_writes_agree() {
    let seen = outcomes(|| {
        let pair = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let [a, b, c, d] = [(); 4].map(|()| pair.clone());
        let first = thread::spawn(move || a.0.store(1, SeqCst));
        let second = thread::spawn(move || b.1.store(1, SeqCst));
        let left = thread::spawn(move || 2 * c.0.load(SeqCst) + c.1.load(SeqCst));
        let right = thread::spawn(move || 2 * d.1.load(SeqCst) + d.0.load(SeqCst));
        first.join().unwrap();
        second.join().unwrap();
        4 * left.join().unwrap() + right.join().unwrap()
    });
    assert_eq!(seen.len(), 15);
    assert!(!seen.contains(&10));
}

/// shuttle's depth-first search never ends on a loop that spins; loom exceeds its branches.
#[test]
fn spin_loops_end() {
    for strategy in [Strategy::PartialOrders, Strategy::SleepSets, Strategy::ContextBoundedDfs] {
        let report = patient().unbounded().strategy(strategy).run(|| bodies::spinlock(2, false));
        assert!(matches!(report.outcome, Outcome::Holds), "{report}");
        assert_eq!(report.partial_orders, 4);
    }
}

/// Where memory is sequentially consistent, weaker orderings are run as SeqCst, and noted.
#[test]
fn weak_orderings_are_noted() {
    let body = || {
        let x = AtomicUsize::new(0);
        x.store(1, Ordering::Release);
    };
    assert!(patient().run(body).notes.is_empty());
    let report = patient().memory(preempt::Memory::Sc).run(body);
    assert!(report.notes.iter().any(|n| n.contains("SeqCst") && n.contains("peers.rs")));
    assert!(patient().run(|| AtomicUsize::new(0).store(1, SeqCst)).notes.is_empty());
}

/// Several operating system threads find the same.
#[test]
fn parallel_exploration() {
    let one = patient().strategy(Strategy::SleepSets).run(|| bodies::mutex_counter(3));
    let two = patient().strategy(Strategy::SleepSets).threads(2).run(|| bodies::mutex_counter(3));
    assert!(matches!(two.outcome, Outcome::Holds), "{two}");
    assert_eq!(one.graphs(), two.graphs());
    for threads in [1, 2, 4] {
        let check = patient().threads(threads).strategy(Strategy::PartialOrders);
        let alone = patient().strategy(Strategy::PartialOrders);
        let body = || bodies::mutex_counter(3);
        let report = check.clone().preemptions(3).run(body);
        assert!(matches!(report.outcome, Outcome::HoldsWithinBound(3)), "{report}");
        assert_eq!(report.graphs(), alone.clone().preemptions(3).run(body).graphs());
        let body = || bodies::work_stealing(3, bodies::Steal::Correct);
        let report = check.clone().unbounded().run(body);
        assert_eq!(report.graphs(), alone.clone().unbounded().run(body).graphs());
        // The failure needs as few preemptions as on one thread.
        let report = patient().threads(threads).run(|| bodies::bluetooth(2, true));
        assert_eq!(report.failure().map(|f| f.preemptions), Some(1), "{report}");
        let body = || bodies::work_stealing(2, bodies::Steal::PopWithoutCompare);
        let report = check.run(body);
        assert_eq!(report.failure().map(|f| f.preemptions), Some(3), "{report}");
    }
}
