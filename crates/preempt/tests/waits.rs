//! Time, waits that end by themselves, recursive locks, threads that outlive the body.

use preempt::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use preempt::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
use preempt::time::Instant;
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

fn kind(report: &Report) -> Option<FailureKind> {
    report.failure().map(|f| f.kind)
}

fn holds(body: impl Fn() + Sync) {
    for strategy in EXHAUSTIVE {
        let report = check(strategy).run(&body);
        assert!(matches!(report.outcome, Outcome::Holds), "{strategy:?}: {report}");
    }
}

#[test]
fn time_never_runs_backwards_along_happens_before() {
    const SECOND: Duration = Duration::from_secs(1);
    holds(|| {
        let start = Instant::now();
        let child = thread::spawn(|| {
            thread::sleep(SECOND);
            Instant::now()
        });
        let theirs = child.join().unwrap();
        assert!(theirs - start >= SECOND);
        assert!(Instant::now() >= theirs);
    });
    holds(|| {
        let lock = Arc::new(Mutex::new(None));
        let theirs = lock.clone();
        let child = thread::spawn(move || {
            thread::sleep(SECOND);
            *theirs.lock().unwrap() = Some(Instant::now());
        });
        if let Some(then) = *lock.lock().unwrap() {
            assert!(Instant::now() >= then);
        }
        child.join().unwrap();
    });
    holds(|| {
        let (sender, receiver) = mpsc::channel();
        let child = thread::spawn(move || {
            thread::sleep(SECOND);
            sender.send(Instant::now()).unwrap();
        });
        let sent = receiver.recv().unwrap();
        assert!(Instant::now() >= sent);
        child.join().unwrap();
    });
}

#[test]
fn loops_that_wait_for_time_end() {
    holds(|| {
        let (start, limit) = (Instant::now(), Duration::from_secs(3));
        while start.elapsed() < limit {
            thread::yield_now();
        }
    });
    holds(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let child = thread::spawn(move || {
            let start = Instant::now();
            while !theirs.load(SeqCst) && start.elapsed() < Duration::from_millis(20) {
                preempt::hint::spin_loop();
            }
        });
        flag.store(true, SeqCst);
        child.join().unwrap();
    });
}

#[test]
fn a_recursive_read_may_deadlock_behind_a_writer() {
    let body = |recursive: bool| {
        move || {
            let lock = Arc::new(RwLock::new(0));
            let theirs = lock.clone();
            let writer = thread::spawn(move || *theirs.write().unwrap() += 1);
            {
                let _first = lock.read().unwrap();
                if recursive {
                    drop(lock.read().unwrap());
                }
            }
            writer.join().unwrap();
        }
    };
    for strategy in EXHAUSTIVE {
        let report = check(strategy).run(body(true));
        assert_eq!(kind(&report), Some(FailureKind::Deadlock), "{strategy:?}: {report}");
        assert!(report.failure().unwrap().message.contains("behind a writer"), "{report}");
        let report = check(strategy).run(body(false));
        assert!(matches!(report.outcome, Outcome::Holds), "{strategy:?}: {report}");
        assert_eq!(report.partial_orders, 2, "{strategy:?}: {report}");
    }
}

#[test]
fn waits_may_end_for_no_reason_on_request() {
    // Right only if a wait returns after a notification: a classic mistake.
    let condvar = || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = pair.clone();
        let other = thread::spawn(move || {
            *theirs.0.lock().unwrap() = true;
            theirs.1.notify_one();
        });
        let mut ready = pair.0.lock().unwrap();
        if !*ready {
            ready = pair.1.wait(ready).unwrap();
        }
        assert!(*ready, "woken too early");
        drop(ready);
        other.join().unwrap();
    };
    let park = || {
        let flag = Arc::new(AtomicBool::new(false));
        let (theirs, me) = (flag.clone(), thread::current());
        let other = thread::spawn(move || {
            theirs.store(true, SeqCst);
            me.unpark();
        });
        thread::park();
        assert!(flag.load(SeqCst), "woken too early");
        other.join().unwrap();
    };
    let future = || {
        let polls = Arc::new(AtomicUsize::new(0));
        let (theirs, woken) = (polls.clone(), Arc::new(AtomicBool::new(false)));
        let wakes = woken.clone();
        preempt::future::block_on(std::future::poll_fn(move |context| {
            if theirs.fetch_add(1, SeqCst) == 0 {
                let (waker, wakes) = (context.waker().clone(), wakes.clone());
                thread::spawn(move || {
                    wakes.store(true, SeqCst);
                    waker.wake();
                });
                return std::task::Poll::Pending;
            }
            std::task::Poll::Ready(())
        }));
        assert!(woken.load(SeqCst), "woken too early");
    };
    let bodies: [&(dyn Fn() + Sync); 3] = [&condvar, &park, &future];
    for (number, body) in bodies.into_iter().enumerate() {
        for strategy in EXHAUSTIVE {
            let report = check(strategy).run(body);
            assert!(matches!(report.outcome, Outcome::Holds), "{number} {strategy:?}: {report}");
            let report = check(strategy).spurious(1).run(body);
            assert_eq!(kind(&report), Some(FailureKind::Panic), "{number} {strategy:?}: {report}");
        }
    }
    // A wait that ends for no reason is no way out of a deadlock.
    for strategy in EXHAUSTIVE {
        let report = check(strategy).spurious(1).run(|| {
            loop {
                thread::park();
            }
        });
        assert_eq!(kind(&report), Some(FailureKind::Deadlock), "{strategy:?}: {report}");
    }
}

#[test]
fn threads_may_outlive_the_body_on_request() {
    let body = || {
        let (sender, receiver) = mpsc::channel::<u32>();
        let kept = Arc::new(Mutex::new(Some(sender)));
        let theirs = kept.clone();
        thread::spawn(move || {
            // Never closed: the sender is kept by this thread itself.
            for _ in receiver.iter() {
                let _ = &theirs;
            }
        });
        kept.lock().unwrap().as_ref().unwrap().send(1).unwrap();
    };
    for strategy in EXHAUSTIVE {
        let report = check(strategy).run(body);
        assert_eq!(kind(&report), Some(FailureKind::Deadlock), "{strategy:?}: {report}");
        let report = check(strategy).daemons().run(body);
        assert!(matches!(report.outcome, Outcome::Holds), "{strategy:?}: {report}");
    }
}

#[test]
fn names_and_stacks_of_threads() {
    holds(|| {
        let builder = thread::Builder::new().name("worker".into()).stack_size(2 << 20);
        let handle = builder.spawn(|| {
            // Before the first operation.
            assert_eq!(thread::current().name(), Some("worker"));
            let large = std::hint::black_box([1u8; 1 << 20]);
            large.iter().map(|&b| usize::from(b)).sum::<usize>()
        });
        assert_eq!(handle.unwrap().join().unwrap(), 1 << 20);
        // A test that preempt sees nothing of proves nothing.
        AtomicUsize::new(0).load(SeqCst);
    });
}

/// A task that wakes itself for ever is a livelock, not a long execution.
#[test]
fn tasks_that_wake_themselves() {
    for strategy in EXHAUSTIVE {
        let report = check(strategy).run(|| {
            let lock = Arc::new(Mutex::new(0));
            let _held = lock.lock().unwrap();
            preempt::future::block_on(async {
                while lock.try_lock().is_err() {
                    preempt::future::yield_now().await;
                }
            });
        });
        assert_eq!(kind(&report), Some(FailureKind::Livelock), "{strategy:?}: {report}");
    }
    holds(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let other = thread::spawn(move || theirs.store(true, SeqCst));
        preempt::future::block_on(async {
            while !flag.load(SeqCst) {
                preempt::future::yield_now().await;
            }
        });
        other.join().unwrap();
    });
}

/// `is_finished` is an operation: what it returns is explored, and the same after the same history.
#[test]
fn is_finished_is_explored() {
    use std::collections::BTreeSet;
    for strategy in
        [Strategy::Portfolio, Strategy::PartialOrders, Strategy::Optimal, Strategy::SleepSets]
    {
        let seen = std::sync::Mutex::new(BTreeSet::new());
        let report = Check::new().time(Duration::from_secs(600)).strategy(strategy).run(|| {
            let number = Arc::new(AtomicUsize::new(0));
            let theirs = number.clone();
            let other = thread::spawn(move || theirs.store(1, SeqCst));
            let finished = other.is_finished();
            let stored = number.load(SeqCst);
            assert!(!finished || stored == 1, "ended before its last operation");
            let later = other.is_finished();
            assert!(later || !finished, "ended and is back");
            other.join().unwrap();
            seen.lock().unwrap().insert((finished, stored, later));
        });
        assert!(matches!(report.outcome, Outcome::Holds), "{strategy:?}: {report}");
        let all = [
            (false, 0, false),
            (false, 0, true),
            (false, 1, false),
            (false, 1, true),
            (true, 1, true),
        ];
        assert!(seen.lock().unwrap().iter().all(|outcome| all.contains(outcome)));
        // A search over imagined states need not execute every one.
        if strategy == Strategy::Optimal {
            assert_eq!(seen.lock().unwrap().len(), all.len(), "{strategy:?}: {report}");
        }
    }
}

/// A loop that waits for the end of a thread without joining it.
#[test]
fn waiting_for_the_end_of_a_thread_ends() {
    let report = Check::new().time(Duration::from_secs(600)).run(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let theirs = number.clone();
        let other = thread::spawn(move || {
            theirs.fetch_add(1, SeqCst);
            theirs.fetch_add(1, SeqCst);
        });
        while !other.is_finished() {
            thread::yield_now();
        }
        assert_eq!(number.load(SeqCst), 2);
    });
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
}
