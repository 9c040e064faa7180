//! Nothing a test does ends the process or hangs: it becomes a report.

use preempt::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use preempt::sync::{Arc, Mutex, mpsc};
use preempt::{Check, FailureKind, Outcome, Report, Strategy, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// No test depends on the speed of the machine.
fn patient() -> Check {
    Check::new().time(std::time::Duration::from_secs(3600))
}

fn kind(report: &Report) -> FailureKind {
    report.failure().unwrap_or_else(|| panic!("no failure: {report}")).kind
}

struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

/// A test that preempt sees something of.
fn little() {
    AtomicUsize::new(0).load(SeqCst);
}

#[test]
fn panic_in_drop() {
    let report = patient().run(|| {
        let handle = thread::spawn(|| drop(PanicsOnDrop));
        handle.join().unwrap();
    });
    assert_eq!(kind(&report), FailureKind::Panic);
    assert!(report.failure().unwrap().message.contains("dropped"));
}

#[test]
fn panic_while_panicking() {
    for _ in 0..3 {
        let report = patient().run(|| {
            let _bad = PanicsOnDrop;
            panic!("first");
        });
        assert_eq!(kind(&report), FailureKind::Panic);
        assert!(report.failure().unwrap().message.contains("destructor"), "{report}");
    }
    // The process is still fit for use.
    assert!(catch_unwind(|| panic!("ordinary")).is_err());
    assert!(matches!(patient().run(little).outcome, Outcome::Holds));
}

#[test]
fn panic_while_holding_guards_of_others() {
    let report = patient().run(|| {
        let lock = Arc::new(Mutex::new(0));
        let theirs = lock.clone();
        let handle = thread::spawn(move || {
            let _guard = theirs.lock().unwrap();
            panic!("with a guard");
        });
        let _ = lock.lock();
        handle.join().unwrap();
    });
    assert_eq!(kind(&report), FailureKind::Panic);
    assert!(report.failure().unwrap().message.contains("with a guard"));
}

#[test]
fn deadlock_with_live_guards_and_destructors() {
    static DROPPED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    struct Locks(Arc<Mutex<i32>>);
    impl Drop for Locks {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, SeqCst);
            *self.0.lock().unwrap() += 1;
        }
    }
    let report = patient().run(|| {
        let a = Arc::new(Mutex::new(0));
        let b = Arc::new(Mutex::new(0));
        let (c, d) = (a.clone(), b.clone());
        let handle = thread::spawn(move || {
            let _locks = Locks(c.clone());
            let _d = d.lock().unwrap();
            let _c = c.lock().unwrap();
        });
        {
            let _locks = Locks(b.clone());
            let _a = a.lock().unwrap();
            let _b = b.lock().unwrap();
        }
        handle.join().unwrap();
    });
    assert_eq!(kind(&report), FailureKind::Deadlock);
}

/// Threads of a deadlock are abandoned: none of their code runs any more, whatever they own.
#[test]
fn threads_of_a_deadlock_are_abandoned() {
    static AFTER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    struct Noticed(Arc<Mutex<i32>>);
    impl Drop for Noticed {
        fn drop(&mut self) {
            drop(self.0.lock());
            AFTER.fetch_add(1, SeqCst);
        }
    }
    let deadlock = || {
        let (a, b) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
        let (first, second) = (Noticed(a.clone()), Noticed(b.clone()));
        thread::scope(|scope| {
            scope.spawn(|| {
                let _own = Noticed(a.clone());
                let _b = b.lock().unwrap();
                let _a = a.lock().unwrap();
                let _ = &first;
            });
            let _a = a.lock().unwrap();
            // There is no panic to be caught.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(b.lock())));
            AFTER.fetch_add(1, SeqCst);
            let _ = &second;
        });
    };
    let schedule = {
        let report = patient().run(deadlock);
        assert_eq!(kind(&report), FailureKind::Deadlock, "{report}");
        report.failure().unwrap().schedule.clone()
    };
    AFTER.store(0, SeqCst);
    let report = patient().replay(&schedule).run(deadlock);
    assert_eq!(kind(&report), FailureKind::Deadlock, "{report}");
    assert_eq!(AFTER.load(SeqCst), 0);
}

#[test]
fn destructors_of_unfinished_threads_may_panic() {
    let body = || {
        let (a, b) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
        let (c, d) = (a.clone(), b.clone());
        let handle = thread::spawn(move || {
            let _bad = PanicsOnDrop;
            let _d = d.lock().unwrap();
            let _c = c.lock().unwrap();
            std::mem::forget(_bad);
        });
        let _a = a.lock().unwrap();
        let _b = b.lock().unwrap();
        drop((_a, _b));
        handle.join().unwrap();
    };
    for _ in 0..3 {
        let report = patient().run(body);
        assert_eq!(kind(&report), FailureKind::Deadlock, "{report}");
    }
    assert!(matches!(patient().run(little).outcome, Outcome::Holds));
}

#[test]
fn double_lock_is_named() {
    let report = patient().run(|| {
        let lock = Mutex::new(0);
        let _first = lock.lock().unwrap();
        let _second = lock.lock().unwrap();
    });
    assert_eq!(kind(&report), FailureKind::Deadlock);
    assert!(report.failure().unwrap().message.contains("double lock"), "{report}");
}

#[test]
fn a_thread_that_never_yields_hits_the_step_limit() {
    for strategy in [Strategy::PartialOrders, Strategy::ContextBoundedDfs, Strategy::SleepSets] {
        let report = patient().steps(200).strategy(strategy).run(|| {
            let flag = Arc::new(AtomicUsize::new(0));
            let theirs = flag.clone();
            let handle = thread::spawn(move || while theirs.fetch_add(1, SeqCst) < 1000 {});
            flag.store(1000, SeqCst);
            handle.join().unwrap();
        });
        assert_eq!(kind(&report), FailureKind::StepLimit, "{strategy:?}");
        assert!(report.failure().unwrap().message.contains("yield_now"), "{report}");
    }
}

#[test]
fn an_endless_loop_that_writes_and_yields_hits_the_step_limit() {
    let report = patient().steps(200).run(|| {
        let counter = Arc::new(AtomicUsize::new(0));
        loop {
            counter.fetch_add(1, SeqCst);
            thread::yield_now();
        }
    });
    assert_eq!(kind(&report), FailureKind::StepLimit);
}

#[cfg(target_os = "linux")]
#[test]
fn stack_overflow_is_a_failure() {
    fn deep(n: u64) -> u64 {
        let block = [n; 64];
        if n == 0 { block[7] } else { deep(n - 1) + std::hint::black_box(block)[3] }
    }
    let body = || {
        let handle = thread::spawn(|| std::hint::black_box(deep(2000)));
        handle.join().unwrap();
    };
    for _ in 0..3 {
        let report = patient().stack(64 << 10).run(body);
        assert_eq!(kind(&report), FailureKind::Panic);
        assert!(report.failure().unwrap().message.contains("Check::stack"), "{report}");
    }
    let report = patient().stack(8 << 20).run(|| {
        body();
        little();
    });
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
}

#[test]
fn nondeterminism_is_explained() {
    use std::sync::atomic::AtomicUsize as Real;
    let runs = Real::new(0);
    let report = patient().run(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let handle = thread::spawn(move || y.store(1, SeqCst));
        if runs.fetch_add(1, SeqCst) % 2 == 0 {
            x.load(SeqCst);
        } else {
            x.store(2, SeqCst);
        }
        handle.join().unwrap();
    });
    assert_eq!(kind(&report), FailureKind::Nondeterminism);
    let message = &report.failure().unwrap().message;
    assert!(message.contains("load at") && message.contains("store at"), "{message}");
    assert_eq!(message.matches("robustness.rs").count(), 2, "{message}");
}

#[test]
fn panics_caught_by_the_test_poison_and_go_on() {
    let report = patient().unbounded().run(|| {
        let lock = Arc::new(Mutex::new(0));
        let theirs = lock.clone();
        let handle = thread::spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(|| {
                let _guard = theirs.lock().unwrap();
                panic!("caught");
            }));
            assert!(result.is_err());
        });
        // Before or after the panic, but never in between.
        let poisoned = lock.lock().is_err();
        handle.join().unwrap();
        assert!(lock.is_poisoned() || !poisoned);
        assert!(lock.lock().is_err());
    });
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
    assert!(report.partial_orders >= 2);
}

#[test]
fn sixty_four_threads() {
    let check = patient().strategy(Strategy::PartialOrders);
    let report = check.preemptions(0).states(20_000).run(|| {
        let counter = Arc::new(AtomicUsize::new(0));
        let handles: Vec<_> = (0..64)
            .map(|_| {
                let counter = counter.clone();
                thread::spawn(move || counter.fetch_add(1, SeqCst))
            })
            .collect();
        for handle in handles {
            handle.join().unwrap();
        }
        assert_eq!(counter.load(SeqCst), 64);
    });
    assert!(report.passed(), "{report}");
    let report = patient().strategy(Strategy::Random { seed: 1 }).executions(50).run(|| {
        let (sender, receiver) = mpsc::channel();
        for i in 0..64 {
            let sender = sender.clone();
            thread::spawn(move || sender.send(i).unwrap());
        }
        drop(sender);
        assert_eq!(receiver.iter().sum::<i32>(), 63 * 64 / 2);
    });
    assert!(report.passed(), "{report}");
}

#[test]
fn ten_thousand_private_steps_per_thread() {
    for threads in [1, 2] {
        let check = patient().strategy(Strategy::PartialOrders).threads(threads);
        let report = check.preemptions(1).states(100_000).run(|| {
            let shared = Arc::new(AtomicUsize::new(0));
            let handles: Vec<_> = (0..2)
                .map(|_| {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        let own = AtomicUsize::new(0);
                        for i in 0..10_000 {
                            own.store(i, SeqCst);
                        }
                        shared.fetch_add(1, SeqCst);
                    })
                })
                .collect();
            for handle in handles {
                handle.join().unwrap();
            }
            assert_eq!(shared.load(SeqCst), 2);
        });
        assert!(matches!(report.outcome, Outcome::HoldsWithinBound(1)), "{report}");
        assert_eq!(report.partial_orders, 2, "{report}");
        assert!(report.states < 1_000, "{report}");
    }
}

/// Every step conflicts: each of the 1,000 places for the one preemption is another partial
/// order, and each is run. The states between need no memory.
#[test]
fn a_thousand_shared_steps() {
    let check = patient().strategy(Strategy::PartialOrders).preemptions(1);
    let report = check.states(100_000).run(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        let theirs = shared.clone();
        let handle = thread::spawn(move || theirs.fetch_add(1, SeqCst));
        for _ in 0..1_000 {
            shared.fetch_add(1, SeqCst);
        }
        handle.join().unwrap();
    });
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
    assert_eq!(report.partial_orders, 1_001, "{report}");
    assert!(report.executions <= report.partial_orders, "{report}");
}

/// A std mutex held across an operation blocks the operating system thread that all threads of the
/// test share.
#[cfg(target_os = "linux")]
#[test]
fn a_std_mutex_by_mistake_is_named() {
    for threads in [1, 2] {
        let check = patient().threads(threads).patience(std::time::Duration::from_millis(100));
        let report = check.run(|| {
            let lock = std::sync::Arc::new(std::sync::Mutex::new(0));
            let x = Arc::new(AtomicUsize::new(0));
            let (theirs, y) = (lock.clone(), x.clone());
            let handle = thread::spawn(move || {
                y.store(1, SeqCst);
                let mut guard = theirs.lock().unwrap();
                *guard += 1;
                y.store(2, SeqCst);
            });
            {
                let _guard = lock.lock().unwrap();
                x.load(SeqCst);
            }
            handle.join().unwrap();
        });
        assert_eq!(kind(&report), FailureKind::Blocked, "{report}");
        let message = &report.failure().unwrap().message;
        assert!(message.contains("std::sync::Mutex"), "{message}");
        assert!(message.contains("robustness.rs"), "{message}");
    }
}

#[test]
fn a_std_thread_by_mistake_is_named() {
    let report = patient().run(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let address = std::ptr::from_ref::<AtomicUsize>(&x).expose_provenance();
        let other = std::thread::spawn(move || {
            // SAFETY: the thread is joined before `x` is dropped.
            let x = unsafe { &*std::ptr::with_exposed_provenance::<AtomicUsize>(address) };
            x.store(1, SeqCst)
        });
        let panic = other.join().unwrap_err();
        let message = panic.downcast_ref::<String>().cloned();
        let message = message.or(panic.downcast_ref::<&str>().map(|s| s.to_string()));
        panic!("{}", message.unwrap_or_default());
    });
    assert_eq!(kind(&report), FailureKind::Panic);
    let message = &report.failure().unwrap().message;
    assert!(message.contains("preempt::thread::spawn"), "{message}");
}

#[test]
fn nested_checks() {
    let report = patient().run(|| {
        let inner = patient().run(|| {
            let x = AtomicUsize::new(1);
            assert_eq!(x.load(SeqCst), 1);
        });
        assert!(inner.passed());
    });
    assert!(report.passed(), "{report}");
}

#[test]
fn bad_schedules_are_reported() {
    let report = patient().replay("nonsense").run(|| ());
    assert_eq!(kind(&report), FailureKind::Input);
    // A schedule that is none of the test's executions repeats nothing.
    let report = patient().replay("p1.7x3").run(|| ());
    assert_eq!(kind(&report), FailureKind::Input);
}
