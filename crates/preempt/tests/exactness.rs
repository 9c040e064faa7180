//! Every strategy against plain depth-first search, on real code.

mod bodies;

use bodies::Steal;
use preempt::{Check, Report, Strategy};

/// No test depends on the speed of the machine.
fn patient() -> Check {
    Check::new().time(std::time::Duration::from_secs(3600))
}

fn run(strategy: Strategy, bound: Option<u32>, body: &(impl Fn() + Sync)) -> Report {
    let check = patient().strategy(strategy).keep_going();
    let check = match bound {
        Some(bound) => check.preemptions(bound),
        None => check.unbounded(),
    };
    check.run(body)
}

/// All strategies visit the same graphs, and the optimal reduction each by one execution.
fn compare(bounds: u32, unbounded: bool, body: impl Fn() + Sync) {
    let optimal = compare_graphs(bounds, unbounded, body);
    assert_eq!(optimal.executions, optimal.partial_orders);
}

/// The same graphs; gives the report of the optimal reduction, which leaves bodies that yield to the default strategy.
fn compare_graphs(bounds: u32, unbounded: bool, body: impl Fn() + Sync) -> Report {
    for bound in 0..=bounds {
        let oracle = run(Strategy::ContextBoundedDfs, Some(bound), &body);
        let ours = run(Strategy::PartialOrders, Some(bound), &body);
        assert_eq!(oracle.graphs(), ours.graphs(), "bound {bound}");
        assert!(ours.executions <= ours.partial_orders);
        let cached = run(Strategy::HappensBeforeCaching, Some(bound), &body);
        assert_eq!(oracle.graphs(), cached.graphs(), "bound {bound}");
    }
    if unbounded {
        let oracle = run(Strategy::ContextBoundedDfs, None, &body);
        let ours = run(Strategy::PartialOrders, None, &body);
        assert_eq!(oracle.graphs(), ours.graphs());
    }
    let ours = run(Strategy::PartialOrders, None, &body);
    let sleeping = run(Strategy::SleepSets, None, &body);
    let strip = |report: &Report| -> Vec<_> {
        report.graphs().into_iter().map(|(hash, _, end)| (hash, end)).collect()
    };
    assert_eq!(strip(&ours), strip(&sleeping));
    assert!(sleeping.executions <= sleeping.partial_orders);
    let optimal = run(Strategy::Optimal, None, &body);
    assert_eq!(strip(&ours), strip(&optimal));
    optimal
}

#[test]
fn counters() {
    compare(4, true, || bodies::racy_counter(2, false));
    compare(4, true, || bodies::racy_counter(3, false));
    compare(4, false, || bodies::mutex_counter(3));
    compare(4, true, || bodies::mutex_counter(2));
}

#[test]
fn logs_and_orders() {
    compare(4, false, || _ = bodies::seqlog(3, 2));
    compare(4, true, || bodies::order(false));
    compare(2, false, || bodies::independent(3));
}

#[test]
fn condition_variables() {
    compare(3, false, || bodies::bluetooth(1, false));
    compare(3, false, || bodies::bluetooth(1, true));
    compare(0, false, || bodies::bounded_queue(1, true));
}

#[test]
fn lock_free() {
    compare(3, false, || bodies::work_stealing(2, Steal::Correct));
    compare(3, false, || bodies::work_stealing(2, Steal::PopWithoutCompare));
    compare(3, false, || bodies::work_stealing(2, Steal::PopReadsTopEarly));
    compare(3, false, || bodies::treiber(3, false));
    compare(3, false, || bodies::treiber(3, true));
}

#[test]
fn deadlocks() {
    compare(4, true, || bodies::philosophers(2, true));
    compare(3, false, || bodies::philosophers(3, true));
    compare(3, false, || bodies::philosophers(3, false));
}

#[test]
fn spinning() {
    compare_graphs(4, false, || bodies::spinlock(2, false));
    compare_graphs(3, false, || bodies::spinlock(2, true));
    compare_graphs(3, false, || bodies::ticketlock(2, false));
    compare_graphs(3, false, || bodies::ticketlock(2, true));
    compare_graphs(3, false, bodies::seqlock);
}

/// A thread that unwinds is not interrupted: what it does until it has caught its panic is one step.
#[test]
fn caught_panics() {
    use preempt::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use preempt::sync::{Arc, Mutex};
    use preempt::thread;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    struct Bump(Arc<AtomicUsize>);
    impl Drop for Bump {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let body = || {
        let (lock, count) = (Arc::new(Mutex::new(0)), Arc::new(AtomicUsize::new(0)));
        let (theirs, counted) = (lock.clone(), count.clone());
        let handle = thread::spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(|| {
                let _bump = Bump(counted);
                let _guard = theirs.lock().unwrap_or_else(|poison| poison.into_inner());
                panic!("caught");
            }));
            assert!(result.is_err());
        });
        count.store(5, SeqCst);
        drop(lock.lock());
        count.load(SeqCst);
        handle.join().unwrap();
    };
    compare(4, true, body);
}
