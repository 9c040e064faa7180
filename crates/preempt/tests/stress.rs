//! Stress of the runtime itself: whatever destructors, thread-locals and panics do, every execution
//! ends, the report is right, and the next check finds a process fit for use. Meant for valgrind, too.

use preempt::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use preempt::sync::{Arc, Condvar, Mutex, mpsc};
use preempt::{Check, FailureKind, Outcome, Report, Strategy, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize as Real;

const ALL: [Strategy; 8] = [
    Strategy::PartialOrders,
    Strategy::ContextBoundedDfs,
    Strategy::HappensBeforeCaching,
    Strategy::Optimal,
    Strategy::SleepSets,
    Strategy::Random { seed: 1 },
    Strategy::Pct { depth: 3, seed: 1 },
    Strategy::Sampling { seed: 1 },
];

fn check(strategy: Strategy) -> Check {
    Check::new().time(std::time::Duration::from_secs(3600)).strategy(strategy).executions(300)
}

fn kind(report: &Report) -> Option<FailureKind> {
    report.failure().map(|f| f.kind)
}

/// Runs a closure when dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Afterwards everything works as if nothing had happened.
fn is_fit() {
    assert!(!std::thread::panicking());
    assert!(catch_unwind(|| panic!("ordinary")).is_err());
    let report = check(Strategy::Optimal).run(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = x.clone();
        let other = thread::spawn(move || y.fetch_add(1, SeqCst));
        x.fetch_add(1, SeqCst);
        other.join().unwrap();
        assert!(!std::thread::panicking());
    });
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
    assert_eq!(report.partial_orders, 2, "{report}");
}

#[test]
fn destructors_that_panic() {
    for strategy in ALL {
        for keep_going in [false, true] {
            let check = check(strategy);
            let check = if keep_going { check.keep_going() } else { check };
            let report = check.run(|| {
                let x = Arc::new(AtomicUsize::new(0));
                let y = x.clone();
                let other = thread::spawn(move || {
                    let _bad = OnDrop(|| assert!(y.load(SeqCst) == 0, "in a destructor"));
                    y.fetch_add(0, SeqCst);
                });
                x.fetch_add(1, SeqCst);
                other.join().unwrap();
            });
            assert_eq!(kind(&report), Some(FailureKind::Panic), "{strategy:?}: {report}");
        }
    }
    is_fit();
}

#[test]
fn panics_during_unwinding() {
    for strategy in ALL {
        for keep_going in [false, true] {
            let check = check(strategy).executions(50);
            let check = if keep_going { check.keep_going() } else { check };
            let report = check.run(|| {
                let x = Arc::new(AtomicUsize::new(0));
                let y = x.clone();
                let other = thread::spawn(move || {
                    let _bad = OnDrop(|| panic!("second, after {}", y.fetch_add(1, SeqCst)));
                    panic!("first");
                });
                x.fetch_add(1, SeqCst);
                let _ = other.join();
            });
            assert_eq!(kind(&report), Some(FailureKind::Panic), "{strategy:?}: {report}");
            let message = &report.failure().unwrap().message;
            assert!(message.contains("a destructor panicked during unwinding"), "{message}");
        }
    }
    is_fit();
}

#[test]
fn destructors_that_lock_spawn_and_wait() {
    for strategy in ALL {
        let report = check(strategy).executions(2_000).run(|| {
            let lock = Arc::new(Mutex::new(0));
            let (theirs, third) = (lock.clone(), lock.clone());
            let other = thread::spawn(move || {
                let _locks = OnDrop(|| *theirs.lock().unwrap() += 1);
                let _spawns = OnDrop(|| {
                    let lock = third.clone();
                    thread::spawn(move || *lock.lock().unwrap() += 1).join().unwrap();
                });
                *theirs.lock().unwrap() += 1;
            });
            *lock.lock().unwrap() += 1;
            other.join().unwrap();
            assert_eq!(*lock.lock().unwrap(), 4);
        });
        assert!(report.passed(), "{strategy:?}: {report}");
    }
    is_fit();
}

/// The same while the thread unwinds from a panic that it catches.
#[test]
fn destructors_that_lock_and_spawn_while_unwinding() {
    for strategy in ALL {
        let report = check(strategy).executions(2_000).run(|| {
            let lock = Arc::new(Mutex::new(0));
            let (theirs, third) = (lock.clone(), lock.clone());
            let other = thread::spawn(move || {
                let caught = catch_unwind(AssertUnwindSafe(|| {
                    let _locks = OnDrop(|| *theirs.lock().unwrap() += 1);
                    let _spawns = OnDrop(|| {
                        let lock = third.clone();
                        let spawned = thread::spawn(move || {
                            assert!(!std::thread::panicking());
                            *lock.lock().unwrap() += 1;
                        });
                        spawned.join().unwrap();
                    });
                    panic!("caught");
                }));
                assert!(caught.is_err() && !std::thread::panicking());
            });
            let mut guard = lock.lock().unwrap();
            assert!(!std::thread::panicking());
            *guard += 1;
            drop(guard);
            other.join().unwrap();
            assert_eq!(*lock.lock().unwrap(), 3);
        });
        assert!(report.passed(), "{strategy:?}: {report}");
    }
    is_fit();
}

#[test]
fn thread_locals_with_destructors() {
    static DROPPED: Real = Real::new(0);
    struct Local(Arc<Mutex<u32>>);
    impl Drop for Local {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
            DROPPED.fetch_add(1, SeqCst);
        }
    }
    preempt::thread_local! {
        static LOCAL: std::cell::RefCell<Option<Local>> = std::cell::RefCell::new(None);
    }
    for strategy in ALL {
        for fails in [false, true] {
            let report = check(strategy).run(|| {
                let lock = Arc::new(Mutex::new(0));
                let handles: Vec<_> = (0..2)
                    .map(|_| {
                        let lock = lock.clone();
                        thread::spawn(move || {
                            LOCAL.with(|local| *local.borrow_mut() = Some(Local(lock.clone())));
                            assert!(!fails || *lock.lock().unwrap() == 0, "seen after the other");
                        })
                    })
                    .collect();
                for handle in handles {
                    handle.join().unwrap();
                }
                assert_eq!(*lock.lock().unwrap(), 2);
            });
            let expected = fails.then_some(FailureKind::Panic);
            assert_eq!(kind(&report), expected, "{strategy:?}: {report}");
        }
    }
    assert!(DROPPED.load(SeqCst) > 0);
    is_fit();
}

/// Deadlocks in every primitive, again and again.
#[test]
fn deadlocks_of_all_kinds() {
    let bodies: [(&str, fn()); 6] = [
        ("locks", || {
            let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
            let theirs = locks.clone();
            let other =
                thread::spawn(move || drop((theirs.1.lock().unwrap(), theirs.0.lock().unwrap())));
            drop((locks.0.lock().unwrap(), locks.1.lock().unwrap()));
            other.join().unwrap();
        }),
        ("channels", || {
            let (sender, receiver) = mpsc::channel::<Box<u32>>();
            let _kept = sender.clone();
            sender.send(Box::new(1)).unwrap();
            assert_eq!(receiver.iter().map(|b| *b).sum::<u32>(), 1);
        }),
        ("condvars", || {
            let pair = Arc::new((Mutex::new(vec![1, 2, 3]), Condvar::new()));
            let theirs = pair.clone();
            let other = thread::spawn(move || theirs.1.notify_one());
            drop(pair.1.wait(pair.0.lock().unwrap()).unwrap());
            other.join().unwrap();
        }),
        ("parking", || {
            let me = thread::current();
            let other = thread::spawn(move || drop(me));
            thread::park();
            other.join().unwrap();
        }),
        ("rendezvous", || {
            let (sender, _receiver) = mpsc::sync_channel(0);
            sender.send(String::from("nobody receives")).unwrap();
        }),
        ("scopes", || {
            let lock = Mutex::new(String::from("held"));
            let guard = lock.lock().unwrap();
            thread::scope(|scope| {
                scope.spawn(|| lock.lock().unwrap().push('!'));
            });
            drop(guard);
        }),
    ];
    for (name, body) in bodies {
        for strategy in ALL {
            for keep_going in [false, true] {
                let check = check(strategy);
                let check = if keep_going { check.keep_going() } else { check };
                let report = check.run(body);
                assert_eq!(
                    kind(&report),
                    Some(FailureKind::Deadlock),
                    "{name} {strategy:?}: {report}"
                );
            }
        }
    }
    is_fit();
}
