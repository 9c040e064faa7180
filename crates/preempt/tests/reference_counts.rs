//! The numbers of partial orders per bound that an independent prototype and a patched loom give
//! for the same bodies.

mod bodies;

use bodies::Steal;
use preempt::{Check, Outcome, Strategy};

/// No test depends on the speed of the machine.
fn patient() -> Check {
    Check::new().time(std::time::Duration::from_secs(3600))
}

fn counts(bound: Option<u32>, body: impl Fn() + Sync) -> Vec<u64> {
    let check = patient().strategy(Strategy::PartialOrders);
    let check = match bound {
        Some(bound) => check.preemptions(bound),
        None => check.unbounded(),
    };
    let report = check.run(body);
    assert!(!matches!(report.outcome, Outcome::Failed(_)), "{report}");
    assert!(report.executions <= report.partial_orders, "{report}");
    if bound.is_none() {
        assert!(matches!(report.outcome, Outcome::Holds), "{report}");
    }
    report.per_bound.iter().map(|row| row.partial_orders).collect()
}

/// Counts at bounds 0, 1, 2, …; the last one stands for all further bounds.
fn check(bound: Option<u32>, expected: &[u64], body: impl Fn() + Sync) {
    let found = counts(bound, body);
    let padded: Vec<u64> = (0..found.len()).map(|i| expected[i.min(expected.len() - 1)]).collect();
    assert_eq!(found, padded);
    assert!(found.len() >= expected.len());
}

#[test]
fn counters() {
    check(None, &[2, 4], || bodies::racy_counter(2, false));
    check(None, &[6, 24, 36], || bodies::racy_counter(3, false));
    check(None, &[6, 24, 60, 90], || bodies::mutex_counter(3));
    assert_eq!(counts(None, || bodies::racy_counter(4, false)).last(), Some(&576));
}

#[test]
fn logs() {
    check(None, &[6, 24, 60, 90], || _ = bodies::seqlog(3, 2));
    check(Some(2), &[24, 168, 672], || _ = bodies::seqlog(4, 2));
    assert_eq!(counts(None, || _ = bodies::seqlog(4, 2)).last(), Some(&2520));
}

#[test]
fn independent_threads_have_one_partial_order() {
    check(None, &[1], || bodies::independent(4));
    check(None, &[1], || bodies::independent(6));
}

#[test]
fn bluetooth() {
    let found = counts(None, || bodies::bluetooth(1, false));
    assert_eq!(found[1..].iter().take(2).collect::<Vec<_>>(), [&8, &11]);
    assert_eq!(found.last(), Some(&11));
    let found = counts(None, || bodies::bluetooth(2, false));
    assert_eq!(found[1..4], [58, 182, 288]);
    assert_eq!(found.last(), Some(&314));
    assert_eq!(counts(Some(2), || bodies::bluetooth(3, false))[2], 2814);
}

#[test]
fn work_stealing() {
    let found = counts(None, || bodies::work_stealing(2, Steal::Correct));
    assert_eq!(found[1..4], [8, 25, 63]);
    assert_eq!(found.last(), Some(&88));
    let found = counts(None, || bodies::work_stealing(3, Steal::Correct));
    assert_eq!(found[1..5], [11, 57, 230, 413]);
    assert_eq!(found.last(), Some(&1000));
    let found = counts(Some(4), || bodies::work_stealing(4, Steal::Correct));
    assert_eq!(found, [1, 14, 103, 561, 1396]);
    assert_eq!(counts(Some(4), || bodies::work_stealing(5, Steal::Correct))[4], 3595);
}

#[test]
fn philosophers() {
    for (n, expected) in [(3, 6), (4, 14), (5, 30)] {
        check(None, &[expected], || bodies::philosophers(n, false));
    }
}

#[test]
fn lock_free_stack() {
    let found = counts(None, || bodies::treiber(3, false));
    assert_eq!(found[1..4], [4, 14, 26]);
    assert_eq!(found.last(), Some(&55));
}

#[test]
fn loops_that_yield_are_exhausted() {
    check(None, &[2, 4], || bodies::spinlock(2, false));
    assert_eq!(counts(None, || bodies::spinlock(3, false)).last(), Some(&60));
    check(None, &[2, 6], || bodies::ticketlock(2, false));
    let found = counts(None, || bodies::ticketlock(3, false));
    assert_eq!(found[1..3], [102, 126]);
    assert_eq!(found.last(), Some(&126));
    let found = counts(None, bodies::seqlock);
    assert!(!found.is_empty());
}

#[test]
fn bounded_queue() {
    check(None, &[80], || bodies::bounded_queue(1, false));
}
