//! Each bug is found at its least number of preemptions, and no earlier.

mod bodies;

use bodies::Steal;
use preempt::cell::UnsafeCell;
use preempt::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use preempt::sync::{Arc, Condvar, Mutex};
use preempt::{Check, Failure, FailureKind, Outcome, Strategy, thread};

/// No test depends on the speed of the machine.
fn patient() -> Check {
    Check::new().time(std::time::Duration::from_secs(3600))
}

/// The failure, checked to need exactly `preemptions` and to replay.
fn found_at(preemptions: u32, body: impl Fn() + Sync) -> Failure {
    if let Some(less) = preemptions.checked_sub(1) {
        let report = patient().preemptions(less).run(&body);
        assert!(matches!(report.outcome, Outcome::HoldsWithinBound(b) if b == less), "{report}");
        let oracle = patient().strategy(Strategy::ContextBoundedDfs).preemptions(less).run(&body);
        assert!(oracle.passed(), "{oracle}");
    }
    let report = patient().run(&body);
    let failure = report.failure().unwrap_or_else(|| panic!("{report}")).clone();
    assert_eq!(failure.preemptions, preemptions, "{failure}");
    let again = patient().replay(&failure.schedule).run(&body);
    let again = again.failure().unwrap_or_else(|| panic!("{again}")).clone();
    assert_eq!((again.kind, &again.message), (failure.kind, &failure.message));
    assert_eq!(again.preemptions, preemptions);
    failure
}

#[test]
fn bluetooth_driver_needs_one() {
    let failure = found_at(1, || bodies::bluetooth(1, true));
    assert_eq!(failure.kind, FailureKind::Panic);
    assert!(failure.message.contains("operation on a stopped driver"), "{failure}");
    found_at(1, || bodies::bluetooth(2, true));
}

#[test]
fn work_stealing_bugs_need_three_two_and_one() {
    found_at(3, || bodies::work_stealing(2, Steal::PopWithoutCompare));
    found_at(2, || bodies::work_stealing(2, Steal::TopWithoutCompare));
    found_at(1, || bodies::work_stealing(2, Steal::PopReadsTopEarly));
}

#[test]
fn bounded_queue_deadlocks_without_preemption() {
    let failure = found_at(0, || bodies::bounded_queue(1, true));
    assert_eq!(failure.kind, FailureKind::Deadlock);
    assert!(failure.message.contains("waits to be notified, at "), "{failure}");
}

#[test]
fn philosophers_deadlock_with_one() {
    for n in [2, 3, 4] {
        let failure = found_at(1, || bodies::philosophers(n, true));
        assert_eq!(failure.kind, FailureKind::Deadlock);
        assert!(failure.message.contains("cycle:"), "{failure}");
    }
}

#[test]
fn treiber_stack_without_tags_needs_one() {
    found_at(1, || bodies::treiber(3, true));
}

#[test]
fn broken_spin_and_ticket_locks() {
    found_at(2, || bodies::spinlock(2, true));
    let failure = found_at(1, || bodies::ticketlock(2, true));
    assert_eq!(failure.kind, FailureKind::Livelock);
}

#[test]
fn lost_update_needs_one_and_order_none() {
    found_at(1, || bodies::racy_counter(2, true));
    found_at(0, || bodies::order(true));
}

/// A channel that is closed and freed by one thread while another still uses its lock, in the
/// style of [MQ07] Figure 4: one preemption and several forced switches.
fn use_after_free() {
    struct Channel {
        users: Mutex<usize>,
        idle: Condvar,
        freed: AtomicBool,
    }
    let channel = Arc::new(Channel {
        users: Mutex::new(1),
        idle: Condvar::new(),
        freed: AtomicBool::new(false),
    });
    let touch = |c: &Channel| assert!(!c.freed.load(SeqCst), "used after it was freed");
    let worker = {
        let channel = channel.clone();
        thread::spawn(move || {
            let mut users = channel.users.lock().unwrap();
            *users -= 1;
            channel.idle.notify_all();
            drop(users);
            // The mistake: the last look comes after the worker has signed off.
            touch(&channel);
        })
    };
    let mut users = channel.users.lock().unwrap();
    while *users > 0 {
        users = channel.idle.wait(users).unwrap();
    }
    drop(users);
    channel.freed.store(true, SeqCst);
    worker.join().unwrap();
}

#[test]
fn use_after_free_needs_one() {
    let failure = found_at(1, use_after_free);
    assert!(failure.message.contains("used after it was freed"));
    assert!(failure.trace.cost().switches > 1, "{failure}");
}

/// A file system in miniature: inodes and blocks have locks and busy flags; the mistake is to
/// check a flag under one lock and set it under another.
fn file_system(broken: bool) {
    const THREADS: usize = 2;
    let inode_lock = Arc::new(Mutex::new(0usize));
    let busy: Arc<Vec<_>> = Arc::new((0..2).map(|_| Mutex::new(false)).collect());
    let taken = Arc::new(AtomicUsize::new(0));
    let handles: Vec<_> = (0..THREADS)
        .map(|_| {
            let (inode_lock, busy, taken) = (inode_lock.clone(), busy.clone(), taken.clone());
            thread::spawn(move || {
                let mut inode = inode_lock.lock().unwrap();
                if *inode == 0 {
                    for (index, block) in busy.iter().enumerate() {
                        let free = !*block.lock().unwrap();
                        if free {
                            if broken {
                                drop(inode);
                                inode = inode_lock.lock().unwrap();
                            }
                            *block.lock().unwrap() = true;
                            taken.fetch_add(1, SeqCst);
                            *inode = index + 1;
                            break;
                        }
                    }
                }
            })
        })
        .collect();
    for handle in handles {
        handle.join().unwrap();
    }
    assert_eq!(taken.load(SeqCst), 1, "one inode, two blocks");
}

#[test]
fn file_system_model() {
    found_at(1, || file_system(true));
    let report = patient().unbounded().run(|| file_system(false));
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
}

struct Shared(UnsafeCell<u32>, AtomicBool);
// SAFETY: the test is about whether this is true.
unsafe impl Sync for Shared {}

fn publish(wait: bool) {
    let shared = Arc::new(Shared(UnsafeCell::new(0), AtomicBool::new(false)));
    let theirs = shared.clone();
    let writer = thread::spawn(move || {
        // SAFETY: see `Shared`.
        theirs.0.with_mut(|p| unsafe { *p = 7 });
        theirs.1.store(true, SeqCst);
    });
    if !wait || shared.1.load(SeqCst) {
        // SAFETY: see `Shared`.
        shared.0.with(|p| unsafe { p.read() });
    }
    writer.join().unwrap();
}

#[test]
fn data_races_are_reported_with_both_places() {
    let failure = found_at(0, || publish(false));
    assert_eq!(failure.kind, FailureKind::DataRace);
    assert_eq!(failure.message.matches("bugs.rs:").count(), 2, "{failure}");
    let report = patient().unbounded().run(|| publish(true));
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
}

#[test]
fn races_are_found_whoever_runs_first() {
    for strategy in [Strategy::ContextBoundedDfs, Strategy::SleepSets, Strategy::Random { seed: 1 }]
    {
        let report = patient().strategy(strategy).executions(1000).run(|| publish(false));
        assert_eq!(report.failure().map(|f| f.kind), Some(FailureKind::DataRace), "{report}");
    }
}

#[test]
fn sampling_finds_bugs_too() {
    for strategy in [
        Strategy::Random { seed: 1 },
        Strategy::Pct { depth: 3, seed: 1 },
        Strategy::Sampling { seed: 1 },
    ] {
        let report =
            patient().strategy(strategy).executions(20_000).run(|| bodies::bluetooth(2, true));
        assert!(report.failure().is_some(), "{strategy:?}: {report}");
        let report =
            patient().strategy(strategy).executions(500).run(|| bodies::bluetooth(1, false));
        assert!(matches!(report.outcome, Outcome::Inconclusive(_)), "{report}");
        assert!(report.partial_orders <= 11);
        assert!(report.unseen.is_some());
    }
}
