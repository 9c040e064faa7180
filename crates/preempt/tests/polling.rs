//! Loops that wait by yielding: bounded ones go on, endless ones end, and only real ones are livelocks.

use preempt::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use preempt::sync::{Arc, Mutex, RwLock};
use preempt::{Check, FailureKind, Outcome, Report, Strategy, thread};
use std::time::Duration;

const EXHAUSTIVE: [Strategy; 5] = [
    Strategy::PartialOrders,
    Strategy::ContextBoundedDfs,
    Strategy::HappensBeforeCaching,
    Strategy::Optimal,
    Strategy::SleepSets,
];

fn check(strategy: Strategy) -> Check {
    Check::new().time(Duration::from_secs(3600)).strategy(strategy)
}

fn holds(what: &str, body: impl Fn() + Sync + Copy) {
    for strategy in EXHAUSTIVE {
        let report = check(strategy).executions(20_000).run(body);
        assert!(matches!(report.outcome, Outcome::Holds), "{what}, {strategy:?}: {report}");
    }
}

/// Also where an unbounded search would not end: every bound does.
fn holds_within(bound: u32, what: &str, body: impl Fn() + Sync + Copy) -> Report {
    let report = check(Strategy::PartialOrders).preemptions(bound).executions(2_000).run(body);
    let within = |b: &u32| *b >= bound;
    let done = match &report.outcome {
        Outcome::Holds => true,
        Outcome::HoldsWithinBound(b) => within(b),
        _ => false,
    };
    assert!(done, "{what}: {report}");
    report
}

fn livelock(what: &str, body: impl Fn() + Sync + Copy) {
    for strategy in EXHAUSTIVE {
        let report = check(strategy).run(body);
        let kind = report.failure().map(|f| f.kind);
        assert_eq!(kind, Some(FailureKind::Livelock), "{what}, {strategy:?}: {report}");
        let failure = report.failure().unwrap();
        assert!(failure.schedule.len() < 200, "{}", failure.schedule);
        let again = check(strategy).replay(&failure.schedule).run(body);
        assert_eq!(again.failure().map(|f| f.kind), kind, "{what}, {strategy:?}: {again}");
    }
}

#[test]
fn bounded_waiting_is_no_livelock() {
    holds("three loads in one thread", || {
        let flag = AtomicBool::new(false);
        for _ in 0..3 {
            flag.load(SeqCst);
            thread::yield_now();
        }
    });
    holds("spin three times, then block", || {
        let shared = Arc::new((AtomicBool::new(false), Mutex::new(0)));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            for _ in 0..3 {
                if theirs.0.load(SeqCst) {
                    return;
                }
                thread::yield_now();
            }
            thread::park();
        });
        *shared.1.lock().unwrap() += 1;
        other.thread().unpark();
        other.join().unwrap();
    });
    holds("try_lock three times, then give up", || {
        let lock = Arc::new(Mutex::new(0));
        let theirs = lock.clone();
        let guard = lock.lock().unwrap();
        let other = thread::spawn(move || {
            for _ in 0..3 {
                if theirs.try_lock().is_ok() {
                    return true;
                }
                thread::yield_now();
            }
            false
        });
        // Joins while it holds the lock: only giving up ends this.
        assert!(!other.join().unwrap());
        drop(guard);
    });
}

#[test]
fn endless_waiting_is_a_livelock() {
    livelock("for a flag that nobody sets", || {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let other = thread::spawn(move || {
            while !theirs.load(SeqCst) {
                thread::yield_now();
            }
        });
        other.join().unwrap();
    });
    livelock("under a lock, with two who wait", || {
        let flag = Arc::new(Mutex::new(false));
        let theirs = flag.clone();
        let wait = |flag: &Mutex<bool>| {
            while !*flag.lock().unwrap() {
                thread::yield_now();
            }
        };
        let other = thread::spawn(move || wait(&theirs));
        wait(&flag);
        other.join().unwrap();
    });
}

#[test]
fn polling_under_a_lock_ends() {
    holds("a mutex", || {
        let flag = Arc::new(Mutex::new(false));
        let theirs = flag.clone();
        let other = thread::spawn(move || *theirs.lock().unwrap() = true);
        while !*flag.lock().unwrap() {
            thread::yield_now();
        }
        other.join().unwrap();
    });
    holds("two who poll a mutex", || {
        let flag = Arc::new(Mutex::new(false));
        let others = [flag.clone(), flag.clone()].map(|flag| {
            thread::spawn(move || {
                while !*flag.lock().unwrap() {
                    thread::yield_now();
                }
            })
        });
        *flag.lock().unwrap() = true;
        let _ = others.map(|other| other.join().unwrap());
    });
    holds("a read-write lock", || {
        let flag = Arc::new(RwLock::new(false));
        let theirs = flag.clone();
        let other = thread::spawn(move || *theirs.write().unwrap() = true);
        while !*flag.read().unwrap() {
            thread::yield_now();
        }
        other.join().unwrap();
    });
    holds("try_lock", || {
        let flag = Arc::new(Mutex::new(false));
        let theirs = flag.clone();
        let other = thread::spawn(move || *theirs.lock().unwrap() = true);
        while !flag.try_lock().is_ok_and(|flag| *flag) {
            thread::yield_now();
        }
        other.join().unwrap();
    });
    holds("a weak reference", || {
        let strong = Arc::new(1);
        let weak = Arc::downgrade(&strong);
        let other = thread::spawn(move || drop(strong));
        while weak.upgrade().is_some() {
            thread::yield_now();
        }
        other.join().unwrap();
    });
}

#[test]
fn polling_with_a_statistics_counter_ends() {
    for bound in 0..2 {
        let report = holds_within(bound, "a counter in the loop", || {
            let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
            let theirs = shared.clone();
            let other = thread::spawn(move || theirs.0.store(true, SeqCst));
            while !shared.0.load(SeqCst) {
                shared.1.fetch_add(1, SeqCst);
                thread::yield_now();
            }
            other.join().unwrap();
        });
        assert!(report.partial_orders < 100, "{report}");
    }
    holds_within(0, "two with one counter", || {
        let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
        let others = [shared.clone(), shared.clone()].map(|shared| {
            thread::spawn(move || {
                while !shared.0.load(SeqCst) {
                    shared.1.fetch_add(1, SeqCst);
                    thread::yield_now();
                }
            })
        });
        shared.0.store(true, SeqCst);
        let _ = others.map(|other| other.join().unwrap());
    });
}

/// A thread that yields between steps that others see is not held back.
#[test]
fn yields_between_changes_lose_nothing() {
    let seen = |with_yields: bool| {
        let seen = std::sync::Mutex::new(std::collections::BTreeSet::new());
        let report = check(Strategy::PartialOrders).unbounded().run(|| {
            let numbers = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
            let theirs = numbers.clone();
            let other = thread::spawn(move || {
                for i in 1..=3 {
                    theirs[i % 2].fetch_add(1, SeqCst);
                    if with_yields {
                        thread::yield_now();
                    }
                }
            });
            let first = (numbers[1].load(SeqCst), numbers[0].load(SeqCst));
            other.join().unwrap();
            seen.lock().unwrap().insert(first);
        });
        assert!(matches!(report.outcome, Outcome::Holds), "{report}");
        seen.into_inner().unwrap()
    };
    assert_eq!(seen(true), seen(false));
}

/// A task polls while a waker is in use: it wakes itself, parks with the token that it has just got, and looks
/// again. That is waiting, although every round takes and gives a token, and although one of the rounds may
/// leave the token where it is.
#[test]
fn polling_with_a_token_of_ones_own_ends() {
    use preempt::thread::{current, park};
    for strategy in [Strategy::PartialOrders, Strategy::Optimal] {
        let report = Check::new().time(Duration::from_secs(600)).strategy(strategy).run(|| {
            let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
            let theirs = shared.clone();
            let other = thread::spawn(move || {
                theirs.0.store(1, SeqCst);
                theirs.1.store(1, SeqCst);
                theirs.0.store(0, SeqCst);
            });
            let mut may_skip = true;
            loop {
                let busy = shared.0.load(SeqCst) == 1;
                if busy {
                    current().unpark();
                    thread::yield_now();
                }
                if shared.1.load(SeqCst) == 1 && !busy {
                    break;
                }
                if !busy {
                    thread::yield_now();
                } else if may_skip && preempt::choose_bool() {
                    may_skip = false;
                } else {
                    park();
                }
            }
            other.join().unwrap();
        });
        assert!(matches!(report.outcome, Outcome::Holds), "{strategy:?}: {report}");
        assert!(report.executions < 200, "{strategy:?}: {report}");
    }
}

const NAP: Duration = Duration::from_millis(1);

/// Sleeping is yielding: such loops used to go on for as long as there was time.
#[test]
fn loops_that_wait_by_sleeping_end() {
    holds("a flag", || {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let other = thread::spawn(move || theirs.store(true, SeqCst));
        while !flag.load(SeqCst) {
            thread::sleep(NAP);
        }
        other.join().unwrap();
    });
    holds("a flag and what a mutex protects", || {
        let shared = Arc::new((AtomicUsize::new(0), Mutex::new(0)));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            *theirs.1.lock().unwrap() += 1;
            theirs.0.fetch_add(1, SeqCst);
        });
        shared.0.fetch_add(1, SeqCst);
        while shared.0.load(SeqCst) != 2 {
            assert!(*shared.1.lock().unwrap() < 2);
            thread::sleep(NAP);
        }
        other.join().unwrap();
    });
    livelock("a flag that nobody sets", || {
        let flag = AtomicBool::new(false);
        while !flag.load(SeqCst) {
            thread::sleep(NAP);
        }
    });
}

/// A thread that believes that a nap is long enough for others is wrong, and so is one that gives up after a few.
#[test]
fn naps_are_never_long_enough() {
    fn late(naps: usize) {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let other = thread::spawn(move || theirs.store(true, SeqCst));
        for _ in 0..naps {
            if flag.load(SeqCst) {
                break;
            }
            thread::sleep(NAP);
        }
        assert!(flag.load(SeqCst), "late");
        other.join().unwrap();
    }
    for naps in [1, 3] {
        for strategy in EXHAUSTIVE {
            let report = check(strategy).run(|| late(naps));
            assert_eq!(report.failure().map(|f| f.kind), Some(FailureKind::Panic), "{report}");
        }
    }
}

/// Every few rounds the loop does more than it usually does.
#[test]
fn a_loop_with_some_long_rounds_waits() {
    let body = || {
        let shared = Arc::new((AtomicBool::new(false), Mutex::new(0)));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            *theirs.1.lock().unwrap() += 1;
            theirs.0.store(true, SeqCst);
        });
        let mut rounds = 0;
        while !shared.0.load(SeqCst) {
            rounds += 1;
            for _ in 0..if rounds % 4 == 0 { 100 } else { 1 } {
                assert!(*shared.1.lock().unwrap() < 2);
            }
            thread::yield_now();
        }
        other.join().unwrap();
    };
    holds_within(1, "long rounds", body);
}
