//! Executions that are stopped half-way: nothing unwinds through the test's own code, and what one
//! thread does while it panics is not seen by another.

use preempt::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use preempt::sync::{Arc, Mutex};
use preempt::{Check, FailureKind, Outcome, Report, Strategy, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize as Real;

const EXHAUSTIVE: [Strategy; 6] = [
    Strategy::Portfolio,
    Strategy::PartialOrders,
    Strategy::ContextBoundedDfs,
    Strategy::HappensBeforeCaching,
    Strategy::Optimal,
    Strategy::SleepSets,
];

fn check(strategy: Strategy) -> Check {
    Check::new().time(std::time::Duration::from_secs(3600)).strategy(strategy)
}

fn kind(report: &Report) -> FailureKind {
    report.failure().unwrap_or_else(|| panic!("no failure: {report}")).kind
}

/// Counts how often it is made and dropped.
struct Counted<'a>(&'a Real);

impl<'a> Counted<'a> {
    fn new(alive: &'a Real) -> Self {
        alive.fetch_add(1, SeqCst);
        Counted(alive)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let before = self.0.fetch_sub(1, SeqCst);
        assert!(before > 0, "dropped twice");
    }
}

/// Sound, because no method of an atomic unwinds.
fn replace_while<T>(slot: &mut T, atomic: &AtomicUsize) {
    // SAFETY: `slot` is read and written back, and nothing in between can unwind.
    unsafe {
        let value = std::ptr::read(slot);
        atomic.fetch_add(1, SeqCst);
        std::ptr::write(slot, value);
    }
}

#[test]
fn atomics_never_unwind() {
    static ALIVE: Real = Real::new(0);
    for strategy in EXHAUSTIVE {
        // The other thread makes the exploration begin again, fail or be cut at every step.
        for fails in [false, true] {
            let report = check(strategy).run(|| {
                let shared = Arc::new(AtomicUsize::new(0));
                let theirs = shared.clone();
                let other = thread::spawn(move || {
                    let mut slot = Counted::new(&ALIVE);
                    replace_while(&mut slot, &theirs);
                    replace_while(&mut slot, &theirs);
                });
                let _count = Arc::strong_count(&shared);
                thread::yield_now();
                assert!(!fails || shared.load(SeqCst) != 1, "seen half-way");
                other.join().unwrap();
            });
            match fails {
                false => {
                    assert!(matches!(report.outcome, Outcome::Holds), "{strategy:?}: {report}")
                }
                true => assert_eq!(kind(&report), FailureKind::Panic, "{strategy:?}: {report}"),
            }
        }
    }
}

#[test]
fn atomics_never_unwind_after_a_deadlock() {
    static ALIVE: Real = Real::new(0);
    for strategy in EXHAUSTIVE {
        let report = check(strategy).keep_going().executions(200).run(|| {
            let (a, b) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
            let (c, d) = (a.clone(), b.clone());
            let other = thread::spawn(move || {
                let _d = d.lock().unwrap();
                let _c = c.lock().unwrap();
            });
            let spinner = thread::spawn(|| {
                let counter = AtomicUsize::new(0);
                let mut slot = Counted::new(&ALIVE);
                replace_while(&mut slot, &counter);
            });
            drop((a.lock().unwrap(), b.lock().unwrap()));
            spinner.join().unwrap();
            other.join().unwrap();
        });
        assert_eq!(kind(&report), FailureKind::Deadlock, "{strategy:?}: {report}");
    }
}

/// A destructor that panics in an execution that is stopped must not make the next ones blind.
#[test]
fn a_panicking_destructor_does_not_hide_a_lost_update() {
    struct Asserts(Arc<AtomicUsize>);
    impl Drop for Asserts {
        fn drop(&mut self) {
            assert_eq!(self.0.load(SeqCst), 2, "lost update");
        }
    }
    for strategy in EXHAUSTIVE {
        let report = check(strategy).run(|| {
            let counter = Arc::new(AtomicUsize::new(0));
            let _asserts = Asserts(counter.clone());
            let add = |counter: &AtomicUsize| {
                let value = counter.load(SeqCst);
                counter.store(value + 1, SeqCst);
            };
            thread::scope(|scope| {
                scope.spawn(|| {
                    assert!(Arc::strong_count(&counter) >= 2);
                    add(&counter);
                });
                add(&counter);
            });
        });
        assert_eq!(kind(&report), FailureKind::Panic, "{strategy:?}: {report}");
        let failure = report.failure().unwrap();
        assert!(failure.message.contains("lost update"), "{strategy:?}: {report}");
    }
}

/// While one thread unwinds, another is not panicking, poisons nothing and may panic itself.
#[test]
fn panicking_belongs_to_one_thread() {
    struct Waits(Arc<Mutex<i32>>);
    impl Drop for Waits {
        fn drop(&mut self) {
            assert!(thread::panicking());
            assert!(std::thread::panicking());
            // Held by the other thread, which goes on meanwhile.
            *self.0.lock().unwrap() += 1;
        }
    }
    for strategy in EXHAUSTIVE {
        let report = check(strategy).unbounded().run(|| {
            let lock = Arc::new(Mutex::new(0));
            let (theirs, second) = (lock.clone(), Arc::new(Mutex::new(0)));
            let other = thread::spawn(move || {
                let result = catch_unwind(AssertUnwindSafe(|| {
                    let _waits = Waits(theirs);
                    panic!("caught");
                }));
                assert!(result.is_err() && !thread::panicking());
            });
            {
                let mut guard = lock.lock().unwrap();
                thread::yield_now();
                assert!(!thread::panicking() && !std::thread::panicking());
                let poisons = catch_unwind(AssertUnwindSafe(|| {
                    let _guard = second.lock().unwrap();
                    panic!("a second panic at the same time");
                }));
                assert!(poisons.is_err() && second.is_poisoned());
                *guard += 1;
            }
            other.join().unwrap();
            assert_eq!(*lock.lock().unwrap(), 2);
        });
        assert!(matches!(report.outcome, Outcome::Holds), "{strategy:?}: {report}");
    }
}

/// An execution that is cut or repeated is run to its end: nothing leaks, nothing blocks.
#[test]
fn stopped_executions_run_to_their_end() {
    static ALIVE: Real = Real::new(0);
    for strategy in EXHAUSTIVE {
        let report = check(strategy).run(|| {
            let flag = Arc::new(AtomicBool::new(false));
            let _counted = Counted::new(&ALIVE);
            let theirs = flag.clone();
            let other = thread::spawn(move || {
                let _counted = Counted::new(&ALIVE);
                while !theirs.load(SeqCst) {
                    thread::yield_now();
                }
            });
            assert!(Arc::strong_count(&flag) > 0);
            flag.store(true, SeqCst);
            other.join().unwrap();
        });
        assert!(matches!(report.outcome, Outcome::Holds), "{strategy:?}: {report}");
        assert_eq!(ALIVE.load(SeqCst), 0, "{strategy:?}");
    }
}
