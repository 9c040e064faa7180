//! Loops that wait, whatever they look like: finite where the program ends under fair schedules, and a loop that
//! gives up does so in some execution.

use preempt::hint::spin_loop;
use preempt::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use preempt::sync::{Arc, mpsc};
use preempt::{Check, FailureKind, Outcome, Report, thread};
use std::time::Duration;

fn check() -> Check {
    Check::new().time(Duration::from_secs(60)).executions(2_000)
}

fn holds(what: &str, most: u64, body: impl Fn() + Sync) {
    let report = check().run(body);
    assert!(matches!(report.outcome, Outcome::Holds), "{what}: {report}");
    assert!(report.executions <= most, "{what}: {report}");
}

fn fails(what: &str, kind: FailureKind, body: impl Fn() + Sync) -> Report {
    let report = check().executions(20_000).run(&body);
    let failure = report.failure().unwrap_or_else(|| panic!("{what}: {report}"));
    assert_eq!(failure.kind, kind, "{what}: {report}");
    let again = check().replay(&failure.schedule).run(&body);
    assert_eq!(again.failure().map(|f| f.kind), Some(kind), "{what}: {again}");
    report
}

fn wait_for_flag(wait: impl Fn(&AtomicBool) + Send + Sync + Copy + 'static) -> impl Fn() + Sync {
    move || {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let waits = thread::spawn(move || wait(&theirs));
        flag.store(true, SeqCst);
        waits.join().unwrap();
    }
}

#[test]
fn rounds_may_have_any_number_of_yields() {
    holds(
        "two",
        2,
        wait_for_flag(|flag| {
            while !flag.load(SeqCst) {
                spin_loop();
                spin_loop();
            }
        }),
    );
    holds(
        "a mixture",
        2,
        wait_for_flag(|flag| {
            while !flag.load(SeqCst) {
                spin_loop();
                thread::yield_now();
                thread::sleep(Duration::from_millis(1));
            }
        }),
    );
    holds(
        "more and more",
        2,
        wait_for_flag(|flag| {
            let mut backoff = 0;
            while !flag.load(SeqCst) {
                (0..1 << backoff).for_each(|_| spin_loop());
                backoff = 8.min(backoff + 1);
            }
        }),
    );
    holds(
        "spin, then yield",
        2,
        wait_for_flag(|flag| {
            let mut round = 0;
            while !flag.load(SeqCst) {
                if round < 7 {
                    (0..1 << round).for_each(|_| spin_loop());
                } else {
                    thread::yield_now();
                }
                round += 1;
            }
        }),
    );
    holds("none", 9, wait_for_flag(|flag| while !flag.load(SeqCst) {}));
    holds(
        "under a name",
        2,
        wait_for_flag(|flag| {
            fn pause() {
                spin_loop();
                thread::yield_now();
            }
            while !flag.load(SeqCst) {
                pause();
            }
        }),
    );
}

/// A spin lock whose holder counts.
fn lock(pause: impl Fn(u32) + Send + Sync + Copy + 'static) -> impl Fn() + Sync {
    move || {
        let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let work = move |shared: &(AtomicBool, AtomicUsize)| {
            let mut round = 0;
            while shared.0.compare_exchange(false, true, SeqCst, SeqCst).is_err() {
                pause(round);
                round += 1;
            }
            let old = shared.1.load(SeqCst);
            shared.1.store(old + 1, SeqCst);
            shared.0.store(false, SeqCst);
        };
        let other = thread::spawn(move || work(&theirs));
        work(&shared);
        other.join().unwrap();
        assert_eq!(shared.1.load(SeqCst), 2);
    }
}

#[test]
fn locks_may_back_off_as_they_like() {
    holds(
        "spin and yield",
        20,
        lock(|_| {
            spin_loop();
            thread::yield_now();
        }),
    );
    holds("exponential", 20, lock(|round| (0..1 << round.min(8)).for_each(|_| spin_loop())));
}

#[test]
fn a_lock_by_swap_is_finite() {
    holds("swap", 200, || {
        let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let work = move |shared: &(AtomicBool, AtomicUsize)| {
            while shared.0.swap(true, Acquire) {
                spin_loop();
            }
            let old = shared.1.load(Relaxed);
            shared.1.store(old + 1, Relaxed);
            shared.0.store(false, Release);
        };
        let other = thread::spawn(move || work(&theirs));
        work(&shared);
        other.join().unwrap();
        assert_eq!(shared.1.load(Relaxed), 2);
    });
}

#[test]
fn try_send_in_a_loop_is_finite() {
    for capacity in [0, 1] {
        holds("try_send", 60, move || {
            let (sender, receiver) = mpsc::sync_channel(capacity);
            let sends = thread::spawn(move || {
                for number in 0..2 {
                    while sender.try_send(number).is_err() {
                        thread::yield_now();
                    }
                }
            });
            assert_eq!(receiver.recv(), Ok(0));
            assert_eq!(receiver.recv(), Ok(1));
            sends.join().unwrap();
        });
    }
}

/// Spins `rounds` times, then parks without looking again: the other thread has seen that no thread sleeps.
fn gives_up(rounds: usize, pause: fn()) -> impl Fn() + Sync {
    move || {
        let shared = Arc::new((AtomicBool::new(false), AtomicBool::new(false)));
        let theirs = shared.clone();
        let waits = thread::spawn(move || {
            for _ in 0..rounds {
                if theirs.0.load(SeqCst) {
                    return;
                }
                pause();
            }
            theirs.1.store(true, SeqCst);
            thread::park();
        });
        shared.0.store(true, SeqCst);
        if shared.1.load(SeqCst) {
            waits.thread().unpark();
        }
        waits.join().unwrap();
    }
}

#[test]
fn giving_up_is_explored_however_late() {
    for rounds in [3, 8, 9, 20, 100, 500] {
        for pause in [spin_loop as fn(), thread::yield_now, || ()] {
            let report =
                fails(&format!("{rounds}"), FailureKind::Deadlock, gives_up(rounds, pause));
            assert!(report.executions < 80, "{rounds}: {report}");
        }
    }
}

#[test]
fn a_loop_with_two_yields_waits_for_both() {
    fails("sees the second", FailureKind::Panic, || {
        let shared =
            Arc::new((AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false)));
        let theirs = shared.clone();
        let waits = thread::spawn(move || {
            loop {
                if theirs.0.load(SeqCst) {
                    return;
                }
                thread::yield_now();
                if theirs.1.load(SeqCst) {
                    break;
                }
                thread::yield_now();
            }
            assert!(theirs.2.load(SeqCst), "not yet");
        });
        shared.1.store(true, SeqCst);
        shared.2.store(true, SeqCst);
        waits.join().unwrap();
    });
    fails("looks before it yields", FailureKind::Panic, || {
        let shared = Arc::new((AtomicBool::new(false), AtomicBool::new(false)));
        let theirs = shared.clone();
        let waits = thread::spawn(move || {
            loop {
                let seen = theirs.0.load(SeqCst);
                thread::yield_now();
                if seen {
                    break;
                }
            }
            assert!(theirs.1.load(SeqCst), "not yet");
        });
        shared.0.store(true, SeqCst);
        shared.1.store(true, SeqCst);
        waits.join().unwrap();
    });
}

#[test]
fn politeness_without_end_is_a_livelock() {
    fails("after you", FailureKind::Livelock, || {
        let wants = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let theirs = wants.clone();
        fn enter(wants: &[AtomicBool; 2], me: usize) {
            loop {
                wants[me].store(true, SeqCst);
                thread::yield_now();
                if !wants[1 - me].load(SeqCst) {
                    break;
                }
                thread::yield_now();
                wants[me].store(false, SeqCst);
                thread::yield_now();
            }
            wants[me].store(false, SeqCst);
        }
        let other = thread::spawn(move || enter(&theirs, 1));
        enter(&wants, 0);
        other.join().unwrap();
    });
}

#[test]
fn a_loop_that_changes_something_gives_way() {
    holds("counts for ever", 400, || {
        let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let waits = thread::spawn(move || {
            while !theirs.0.load(SeqCst) {
                theirs.1.fetch_add(1, SeqCst);
                thread::yield_now();
            }
        });
        shared.0.store(true, SeqCst);
        waits.join().unwrap();
    });
    holds("tries and takes back", 400, || {
        let users = Arc::new(AtomicUsize::new(0));
        let theirs = users.clone();
        let enter = |users: &AtomicUsize| {
            while users.fetch_add(1, SeqCst) > 0 {
                users.fetch_sub(1, SeqCst);
                thread::yield_now();
            }
        };
        enter(&users);
        let other = thread::spawn(move || enter(&theirs));
        users.fetch_sub(1, SeqCst);
        other.join().unwrap();
    });
}

/// Rounds that were not explored one by one are no proof of strictness.
#[test]
fn what_was_merged_is_said() {
    let body = |rounds: usize| {
        move || {
            let flag = Arc::new(AtomicBool::new(false));
            let theirs = flag.clone();
            let other = thread::spawn(move || {
                (0..rounds).any(|_| {
                    thread::yield_now();
                    theirs.load(SeqCst)
                })
            });
            flag.store(true, SeqCst);
            other.join().unwrap();
        }
    };
    let few = check().strict().run(body(5));
    assert!(matches!(few.outcome, Outcome::Holds) && few.unexplored.is_empty(), "{few}");
    let many = check().run(body(50));
    assert!(matches!(many.outcome, Outcome::Holds), "{many}");
    assert!(many.to_string().contains("give up after more than 8 rounds"), "{many}");
    let strict = check().strict().run(body(50));
    assert_eq!(strict.failure().map(|f| f.kind), Some(FailureKind::Inconclusive), "{strict}");
    let all = check().strict().unbounded().run(body(50));
    assert!(matches!(all.outcome, Outcome::Holds) && all.unexplored.is_empty(), "{all}");
    assert!(all.partial_orders >= 50, "{all}");
}

/// A value that is seen after exactly so many rounds is found if all rounds are explored.
#[test]
fn unbounded_checks_count_rounds() {
    let body = || {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let other = thread::spawn(move || {
            for round in 0..20 {
                if theirs.load(SeqCst) {
                    assert_ne!(round, 13, "an unlucky number");
                    return;
                }
                thread::yield_now();
            }
        });
        flag.store(true, SeqCst);
        other.join().unwrap();
    };
    let report = check().unbounded().run(body);
    assert_eq!(report.failure().map(|f| f.kind), Some(FailureKind::Panic), "{report}");
}

/// Timeouts that were not explored are mentioned.
#[test]
fn timeouts_that_are_withheld_are_said() {
    let body = || {
        let shared = Arc::new((AtomicBool::new(false), AtomicBool::new(false)));
        let theirs = shared.clone();
        let waits = thread::spawn(move || {
            for _ in 0..3 {
                if theirs.0.load(SeqCst) {
                    return;
                }
                thread::park_timeout(Duration::from_millis(1));
            }
            theirs.1.store(true, SeqCst);
            thread::park();
        });
        shared.0.store(true, SeqCst);
        if shared.1.load(SeqCst) {
            waits.thread().unpark();
        }
        waits.join().unwrap();
    };
    let one = check().run(body);
    assert!(one.to_string().contains("Check::timeouts"), "{one}");
    let three = check().timeouts(3).run(body);
    assert_eq!(three.failure().map(|f| f.kind), Some(FailureKind::Deadlock), "{three}");
}
