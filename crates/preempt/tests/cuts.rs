//! What is never explored to its end is said, and not accepted by strict checks: loops that give up very late, waits that time
//! out again and again, comparisons that fail for no reason again and again.

use preempt::hint::spin_loop;
use preempt::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use preempt::sync::{Arc, Condvar, Mutex};
use preempt::{Check, FailureKind, Outcome, thread};
use std::time::Duration;

fn check() -> Check {
    Check::new().time(Duration::from_secs(600)).executions(50_000)
}

/// Holds, and nothing is left out, also if the check is strict, or strict and unbounded.
fn is_proved(what: &str, body: impl Fn() + Sync) {
    for check in [check(), check().strict(), check().strict().unbounded()] {
        let report = check.run(&body);
        assert!(matches!(report.outcome, Outcome::Holds), "{what}: {report}");
        assert!(report.unexplored.is_empty(), "{what}: {report}");
    }
}

/// Holds with a remark, which a strict check does not accept.
fn is_cut(what: &str, remark: &str, check: Check, body: impl Fn() + Sync) {
    let report = check.clone().run(&body);
    assert!(report.passed(), "{what}: {report}");
    assert!(report.to_string().contains(remark), "{what}: {report}");
    let strict = check.strict().run(&body);
    assert_eq!(strict.failure().map(|f| f.kind), Some(FailureKind::Inconclusive), "{what}");
}

fn fails(what: &str, kind: FailureKind, check: Check, body: impl Fn() + Sync) {
    let report = check.run(body);
    assert_eq!(report.failure().map(|f| f.kind), Some(kind), "{what}: {report}");
}

/// Waits for a flag; the other thread sets it.
fn waits(wait: impl Fn(&AtomicBool) + Send + Sync + Copy + 'static) -> impl Fn() + Sync {
    move || {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let other = thread::spawn(move || wait(&theirs));
        flag.store(true, SeqCst);
        other.join().unwrap();
    }
}

/// Looks at a flag so often, and fails then.
fn gives_up_after(rounds: u32) -> impl Fn(&AtomicBool) + Send + Sync + Copy + 'static {
    move |flag| {
        for _ in 0..rounds {
            if flag.load(SeqCst) {
                return;
            }
            thread::yield_now();
        }
        panic!("gives up");
    }
}

#[test]
fn a_loop_that_gives_up_very_late_is_no_proof() {
    for rounds in [30_000, 100_000] {
        let late = waits(gives_up_after(rounds));
        let remark = "of loops that count more than 20,000 rounds";
        is_cut("late", remark, check(), &late);
        is_cut("late, unbounded", remark, check().unbounded(), &late);
    }
}

#[test]
fn a_loop_that_gives_up_after_thousands_of_rounds_is_seen_to() {
    for rounds in [1_500, 15_000] {
        fails("late", FailureKind::Panic, check(), waits(gives_up_after(rounds)));
    }
}

#[test]
fn a_loop_that_waits_for_ever_is_proved() {
    is_proved(
        "spins",
        waits(|flag| {
            while !flag.load(SeqCst) {
                spin_loop()
            }
        }),
    );
    is_proved(
        "yields",
        waits(|flag| {
            while !flag.load(SeqCst) {
                thread::yield_now()
            }
        }),
    );
    is_proved("nothing", waits(|flag| while !flag.load(SeqCst) {}));
    is_proved(
        "backs off",
        waits(|flag| {
            let mut backoff = 0_u32;
            while !flag.load(SeqCst) {
                (0..1 << backoff).for_each(|_| spin_loop());
                backoff = 8.min(backoff + 1);
            }
        }),
    );
    is_proved(
        "spins, then yields",
        waits(|flag| {
            let mut round = 0_u8;
            while !flag.load(SeqCst) {
                if round < 10 {
                    spin_loop()
                } else {
                    thread::yield_now()
                }
                round = round.saturating_add(1);
            }
        }),
    );
    is_proved("a lock by exchange", || {
        let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let work = |shared: &(AtomicBool, AtomicUsize)| {
            while shared.0.compare_exchange(false, true, SeqCst, SeqCst).is_err() {
                spin_loop();
            }
            shared.1.store(shared.1.load(SeqCst) + 1, SeqCst);
            shared.0.store(false, SeqCst);
        };
        let other = thread::spawn(move || work(&theirs));
        work(&shared);
        other.join().unwrap();
        assert_eq!(shared.1.load(SeqCst), 2);
    });
}

/// Two threads add one by `compare_exchange_weak`; the loop may look at how often it has failed.
fn adds(give_up: impl Fn(usize) -> bool + Send + Sync + Copy + 'static) -> impl Fn() + Sync {
    move || {
        let number = Arc::new(AtomicUsize::new(0));
        let theirs = number.clone();
        let add = move |number: &AtomicUsize| {
            let mut failures = 0;
            let mut old = number.load(Relaxed);
            while let Err(new) = number.compare_exchange_weak(old, old + 1, AcqRel, Relaxed) {
                failures += 1;
                assert!(!give_up(failures), "gives up");
                old = new;
            }
        };
        let other = thread::spawn(move || add(&theirs));
        add(&number);
        other.join().unwrap();
        assert_eq!(number.load(Relaxed), 2);
    }
}

#[test]
fn failures_for_no_reason_are_counted_where_they_matter() {
    let adds_simply = || {
        let number = Arc::new(AtomicUsize::new(0));
        let theirs = number.clone();
        let add = |number: &AtomicUsize| {
            let mut old = number.load(Relaxed);
            while let Err(new) = number.compare_exchange_weak(old, old + 1, AcqRel, Relaxed) {
                old = new;
            }
        };
        let other = thread::spawn(move || add(&theirs));
        add(&number);
        other.join().unwrap();
        assert_eq!(number.load(Relaxed), 2);
    };
    for check in [check().strict(), check().strict().unbounded()] {
        let report = check.run(adds_simply);
        assert!(matches!(report.outcome, Outcome::Holds), "{report}");
    }
    // The other thread causes at most one of them.
    let twice = adds(|failures| failures == 4);
    let report = check().run(&twice);
    assert!(report.to_string().contains("of compare_exchange_weak"), "{report}");
    fails("unbounded", FailureKind::Panic, check().unbounded(), &twice);
    fails("strict", FailureKind::Panic, check().strict(), &twice);
    is_cut("without end", "of compare_exchange_weak", check(), adds(|n| n == 1000));
}

#[test]
fn unbounded_checks_let_waits_time_out_again() {
    let body = |rounds: usize| {
        move || {
            let shared = Arc::new((Mutex::new(false), Condvar::new()));
            let theirs = shared.clone();
            let waits = thread::spawn(move || {
                let mut guard = theirs.0.lock().unwrap();
                for _ in 0..rounds {
                    if *guard {
                        return;
                    }
                    guard = theirs.1.wait_timeout(guard, Duration::from_secs(1)).unwrap().0;
                }
                assert!(*guard, "gave up");
            });
            *shared.0.lock().unwrap() = true;
            shared.1.notify_one();
            waits.join().unwrap();
        }
    };
    is_cut("two timeouts", "Check::timeouts", check().timeouts(1), body(2));
    fails("unbounded", FailureKind::Panic, check().unbounded(), body(2));
    fails("strict", FailureKind::Panic, check().strict(), body(3));
    is_cut("twenty", "Check::timeouts", check().unbounded(), body(20));
}
