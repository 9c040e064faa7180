//! Weak memory through the public interface: litmus tests, reports, replay, limits.

use preempt::cell::UnsafeCell;
use preempt::sync::Arc;
use preempt::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use preempt::sync::atomic::{AtomicUsize, fence};
use preempt::{Check, FailureKind, Memory, Outcome, Report, Strategy, thread};
use std::time::Duration;

fn check() -> Check {
    Check::new().time(Duration::from_secs(60))
}

/// Two atomics and what two threads have seen.
struct Pair {
    x: AtomicUsize,
    y: AtomicUsize,
}

/// Runs two threads on two atomics; `forbidden` judges what they return.
fn two<A, B>(
    check: &Check,
    first: A,
    second: B,
    forbidden: impl Fn(usize, usize) -> bool + Sync,
) -> Report
where
    A: Fn(&Pair) -> usize + Sync + Send + Copy + 'static,
    B: Fn(&Pair) -> usize + Sync + Send + Copy + 'static,
{
    check.run(|| {
        let pair = Arc::new(Pair { x: AtomicUsize::new(0), y: AtomicUsize::new(0) });
        let other = pair.clone();
        let one = thread::spawn(move || first(&other));
        let other = pair.clone();
        let two = thread::spawn(move || second(&other));
        let (a, b) = (one.join().unwrap(), two.join().unwrap());
        assert!(!forbidden(a, b), "{a} {b}");
    })
}

fn store_buffering(check: &Check, store: Ordering, load: Ordering, fences: bool) -> Report {
    let half = move |mine: &AtomicUsize, other: &AtomicUsize| {
        mine.store(1, store);
        if fences {
            fence(SeqCst);
        }
        other.load(load)
    };
    let (one, two_) = (move |p: &Pair| half(&p.x, &p.y), move |p: &Pair| half(&p.y, &p.x));
    two(check, one, two_, |a, b| a == 0 && b == 0)
}

#[test]
fn store_buffering_needs_one_stale_choice() {
    for (store, load) in [(Relaxed, Relaxed), (Release, Acquire), (SeqCst, Relaxed)] {
        let report = store_buffering(&check(), store, load, false);
        let failure = report.failure().expect("allowed");
        assert_eq!((failure.stale, failure.preemptions), (1, 0), "{report}");
        assert_eq!(failure.kind, FailureKind::Panic);
    }
    for (store, load, fences) in [(SeqCst, SeqCst, false), (Relaxed, Relaxed, true)] {
        let report = store_buffering(&check().unbounded(), store, load, fences);
        assert!(matches!(report.outcome, Outcome::Holds), "{report}");
        assert_eq!(report.partial_orders, 3);
        assert!(report.executions <= 3);
    }
}

/// The trace says for every load which store it reads, and what a stale one misses.
#[test]
fn traces_say_what_was_read_from_where() {
    let report = message_passing(&check(), Relaxed, Relaxed);
    let failure = report.failure().expect("allowed");
    let trace = &failure.trace;
    let text = |step: usize| trace.steps[step].text.as_str();
    let of = |name: &str| {
        let found = trace.reads.iter().find(|read| text(read.step).contains(name));
        *found.unwrap_or_else(|| panic!("no {name} in {failure}"))
    };
    let (flag, data) = (of("load -> 1"), of("load -> 0"));
    assert!(flag.from.is_some_and(|from| text(from).contains("store(1)")), "{failure}");
    assert_eq!(flag.missed, None);
    assert_eq!(data.from, None, "the initial value");
    assert!(data.missed.is_some_and(|newer| text(newer).contains("store(1)")), "{failure}");
    assert_ne!(flag.from, data.missed, "another atomic");
    // In an interleaving each load reads what was stored last.
    let report = two(&check(), |p| p.x.swap(1, Relaxed), |p| p.x.load(Relaxed), |_, b| b == 1);
    assert!(report.failure().expect("a schedule").trace.reads.is_empty());
}

#[test]
fn memory_can_be_sequentially_consistent() {
    let report = store_buffering(&check().unbounded().memory(Memory::Sc), Relaxed, Relaxed, false);
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
    assert_eq!(report.partial_orders, 3);
    let report = store_buffering(&check().stale(0), Relaxed, Relaxed, false);
    assert!(matches!(report.outcome, Outcome::HoldsWithinBound(_)), "{report}");
    assert!(report.per_bound.iter().all(|row| row.stale == 0));
    // It would fail with one more.
    let report = store_buffering(&check().stale(1), Relaxed, Relaxed, false);
    assert_eq!(report.failure().map(|f| f.stale), Some(1), "{report}");
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    for check in [
        check().memory(Memory::Sc).stale(1),
        check().strategy(Strategy::Optimal).stale(1),
        check().strategy(Strategy::ContextBoundedDfs).stale(2),
    ] {
        let report = check.run(|| {});
        assert_eq!(report.failure().map(|f| f.kind), Some(FailureKind::Input), "{report}");
    }
}

fn message_passing(check: &Check, store: Ordering, load: Ordering) -> Report {
    let one = move |p: &Pair| {
        p.x.store(1, Relaxed);
        p.y.store(1, store);
        0
    };
    let other = move |p: &Pair| if p.y.load(load) == 1 { p.x.load(Relaxed) } else { 1 };
    two(check, one, other, |_, seen| seen == 0)
}

#[test]
fn reports_say_what_was_missed_and_what_would_forbid_it() {
    let report = message_passing(&check(), Relaxed, Acquire);
    let failure = report.failure().expect("the message may be missing");
    assert_eq!((failure.stale, failure.preemptions), (1, 0));
    let text = failure.to_string();
    assert!(text.contains("with 1 stale choice and 0 preemptions"), "{text}");
    let mut steps = failure.trace.steps.iter();
    assert!(steps.any(|step| step.text.contains("-> 0, though 1 was stored at line")), "{text}");
    let notes = report.notes.join("\n");
    assert!(notes.contains("nothing orders that store before this load"), "{notes}");
    let source = include_str!("weak_memory.rs");
    let line = source.lines().position(|l| l.contains("p.y.store(1, store)")).unwrap() + 1;
    let note = format!("with Release at line {line} this execution is impossible");
    assert!(notes.contains(&note), "{notes}, not {note}");
    // Two changes are needed here.
    let report = message_passing(&check(), Relaxed, Relaxed);
    let notes = report.notes.join("\n");
    assert!(notes.contains("with Release at line") && notes.contains("and Acquire at"), "{notes}");
    // No change of orders forbids what only fences or SeqCst do.
    let report = store_buffering(&check(), Release, Acquire, false);
    assert!(!report.notes.join("\n").contains("with Acquire"), "{:?}", report.notes);
    assert!(matches!(message_passing(&check(), Release, Acquire).outcome, Outcome::Holds));
}

#[test]
fn schedules_carry_stale_choices() {
    for run in [
        |check: &Check| store_buffering(check, Relaxed, Relaxed, false),
        |check: &Check| message_passing(check, Relaxed, Relaxed),
    ] {
        let report = run(&check());
        let failure = report.failure().unwrap();
        assert!(failure.schedule.contains("c1"), "{}", failure.schedule);
        let again = run(&check().replay(&failure.schedule));
        let repeated = again.failure().expect("fails again");
        assert_eq!(repeated.schedule, failure.schedule);
        assert_eq!((repeated.stale, repeated.preemptions), (1, 0));
        assert_eq!(repeated.trace.steps.len(), failure.trace.steps.len());
    }
}

#[test]
fn sampling_makes_stale_choices() {
    for strategy in [
        Strategy::Random { seed: 1 },
        Strategy::Pct { depth: 2, seed: 1 },
        Strategy::Sampling { seed: 1 },
    ] {
        let check = check().strategy(strategy).executions(2000);
        let report = message_passing(&check, Relaxed, Relaxed);
        assert!(report.failure().is_some_and(|f| f.stale > 0), "{strategy:?}: {report}");
        let report = message_passing(&check, Release, Acquire);
        assert!(report.passed(), "{strategy:?}: {report}");
        let report = message_passing(&check.memory(Memory::Sc), Relaxed, Relaxed);
        assert!(report.passed(), "{strategy:?}: {report}");
    }
}

/// What each bound covers is said, and the order of bounds is that of stale choices first.
#[test]
fn bounds_are_pairs() {
    let report = message_passing(&check().preemptions(1), Release, Acquire);
    assert!(
        report
            .per_bound
            .windows(2)
            .all(|w| { (w[0].stale, w[0].preemptions) < (w[1].stale, w[1].preemptions) })
    );
    let iriw = || {
        let pair = Arc::new(Pair { x: AtomicUsize::new(0), y: AtomicUsize::new(0) });
        let spawn = |body: fn(&Pair) -> (usize, usize)| {
            let pair = pair.clone();
            thread::spawn(move || body(&pair))
        };
        let threads = [
            spawn(|p| {
                p.x.store(1, Release);
                (0, 0)
            }),
            spawn(|p| {
                p.y.store(1, Release);
                (0, 0)
            }),
            spawn(|p| (p.x.load(Acquire), p.y.load(Acquire))),
            spawn(|p| (p.y.load(Acquire), p.x.load(Acquire))),
        ];
        let seen = threads.map(|t| t.join().unwrap());
        assert!((seen[2], seen[3]) != ((1, 0), (1, 0)), "the readers disagree");
    };
    let report = check().keep_going().unbounded().run(iriw);
    assert_eq!(report.partial_orders, 16, "{report}");
    let failure = report.failure().unwrap();
    assert_eq!((failure.stale, failure.preemptions), (1, 0));
    let without = report.per_bound.iter().rfind(|row| row.stale == 0).unwrap();
    assert_eq!(without.partial_orders, 15);
}

/// A missing fence is found long before everything without a stale choice is explored, here some thousand executions.
#[test]
fn one_stale_choice_comes_early() {
    let body = || {
        let pair = Arc::new(Pair { x: AtomicUsize::new(0), y: AtomicUsize::new(0) });
        let count = Arc::new(AtomicUsize::new(0));
        let spawn = |body: fn(&Pair) -> usize| {
            let pair = pair.clone();
            thread::spawn(move || body(&pair))
        };
        let busy = || {
            let count = count.clone();
            thread::spawn(move || (0..6).map(|_| count.fetch_add(1, SeqCst)).sum())
        };
        let seen = [
            busy(),
            busy(),
            spawn(|p| {
                p.x.store(1, Relaxed);
                p.y.load(Relaxed)
            }),
            spawn(|p| {
                p.y.store(1, Relaxed);
                p.x.load(Relaxed)
            }),
        ]
        .map(|thread| thread.join().unwrap());
        assert_ne!((seen[2], seen[3]), (0, 0), "neither saw the other");
    };
    let report = check().run(body);
    let failure = report.failure().expect("store buffering");
    assert_eq!((failure.stale, failure.preemptions), (1, 0));
    assert!(report.executions < 100, "{report}");
    let report = check().memory(Memory::Sc).executions(1000).run(body);
    assert!(report.failure().is_none() && report.executions == 1000, "{report}");
}

/// A failure that needs several stale choices is found early, and made as simple as it can be; a search by bounds comes to it late.
#[test]
fn several_stale_choices_come_early() {
    let body = || {
        let numbers: Arc<[AtomicUsize; 6]> = Arc::new(Default::default());
        let spawn = |mine: [usize; 3], others: [usize; 3]| {
            let numbers = numbers.clone();
            thread::spawn(move || {
                mine.iter().for_each(|&n| numbers[n].store(1, Relaxed));
                others.map(|n| numbers[n].load(Relaxed))
            })
        };
        let (first, second) = ([0, 1, 2], [3, 4, 5]);
        let threads = [spawn(first, second), spawn(second, first), spawn([5, 0, 1], [2, 3, 4])];
        let [a, b, _] = threads.map(|thread| thread.join().unwrap());
        assert!(a != [0; 3] || b != [0; 3]);
    };
    let report = check().run(body);
    let failure = report.failure().expect("nothing orders the stores before the loads");
    assert_eq!((failure.kind, failure.stale), (FailureKind::Panic, 3), "{failure}");
    assert!(report.first_failure.is_some_and(|first| first <= 100), "{report}");
    assert!(
        check().executions(100).run(body).failure().is_some(),
        "a hundred executions are enough"
    );
    let again = check().replay(&failure.schedule).run(body);
    assert_eq!(again.failure().map(|f| f.kind), Some(FailureKind::Panic));
    // In order of bounds it is beyond a hundred executions, so that looking ahead is what finds it.
    let in_order = check().strategy(Strategy::PartialOrders).executions(1000).run(body);
    assert!(in_order.failure().is_none(), "{in_order}");
    // What the test asks for is respected.
    let limited = check().stale(2).executions(300).run(body);
    assert!(limited.failure().is_none(), "{limited}");
}

/// With a failure that needs no stale choice, though a preemption, it is the one that is shown: it is easier to understand.
#[test]
fn failures_without_stale_choices_come_first() {
    let report = check().run(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let other = count.clone();
        let thread = thread::spawn(move || other.store(other.load(Relaxed) + 1, Relaxed));
        count.store(count.load(Relaxed) + 1, Relaxed);
        thread.join().unwrap();
        assert_eq!(count.load(Relaxed), 2, "an update is lost");
    });
    let failure = report.failure().expect("an update is lost");
    assert_eq!((failure.stale, failure.preemptions), (0, 1), "{report}");
}

/// A weak comparison may fail although the value is the expected one, by default at most once in a row.
#[test]
fn weak_comparisons_fail_for_no_reason() {
    let report = check().run(|| {
        let x = AtomicUsize::new(0);
        assert_eq!(x.compare_exchange_weak(0, 1, SeqCst, SeqCst), Ok(0));
    });
    let failure = report.failure().expect("may fail");
    assert_eq!((failure.stale, failure.preemptions), (1, 0));
    assert!(failure.schedule.contains('f'), "{}", failure.schedule);
    assert!(failure.to_string().contains("fails: 0 for no reason"), "{failure}");
    let body = || {
        let x = AtomicUsize::new(0);
        while x.compare_exchange_weak(0, 1, Relaxed, Relaxed).is_err() {}
        assert_eq!(x.compare_exchange(1, 2, Relaxed, Relaxed), Ok(1));
        assert_eq!(x.fetch_update(Relaxed, Relaxed, |v| Some(v + 1)), Ok(2));
    };
    // It may fail as often as it takes to see that the loop does not count: three times.
    for (check, graphs) in [(check(), 2), (check().unbounded(), 4)] {
        let report = check.run(body);
        assert!(matches!(report.outcome, Outcome::Holds), "{report}");
        assert_eq!(report.partial_orders, graphs);
    }
}

/// A loop that waits may read old values, but not for ever.
#[test]
fn loops_that_wait_end() {
    let body = |store: Ordering, load: Ordering| {
        move || {
            let pair = Arc::new(Pair { x: AtomicUsize::new(0), y: AtomicUsize::new(0) });
            let other = pair.clone();
            let writer = thread::spawn(move || {
                other.x.store(1, Relaxed);
                other.y.store(1, store);
            });
            while pair.y.load(load) == 0 {
                thread::yield_now();
            }
            assert_eq!(pair.x.load(Relaxed), 1, "the message is missing");
            writer.join().unwrap();
        }
    };
    let report = check().unbounded().run(body(Release, Acquire));
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
    let report = check().run(body(Relaxed, Relaxed));
    let failure = report.failure().expect("no order");
    assert_eq!((failure.stale, failure.preemptions), (1, 0));
    // No thread ever stores the value that is waited for.
    let report = check().run(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let other = x.clone();
        let writer = thread::spawn(move || other.store(2, Relaxed));
        while x.load(Relaxed) != 1 {
            thread::yield_now();
        }
        writer.join().unwrap();
    });
    assert_eq!(report.failure().map(|f| f.kind), Some(FailureKind::Livelock), "{report}");
}

/// Plain data: ordered by what synchronises, and by nothing else, also along stale reads.
#[test]
fn races_follow_happens_before() {
    struct Shared {
        data: UnsafeCell<usize>,
        flag: AtomicUsize,
    }
    // SAFETY: races are what is looked for; accesses are one at a time.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}
    let body = |store: Ordering, update: Ordering, load: Ordering| {
        move || {
            let data = UnsafeCell::new(0);
            let shared = Arc::new(Shared { data, flag: AtomicUsize::new(0) });
            let (a, b) = (shared.clone(), shared.clone());
            let writer = thread::spawn(move || {
                // SAFETY: as above.
                a.data.with_mut(|data| unsafe { *data = 1 });
                a.flag.store(1, store);
            });
            let updater = thread::spawn(move || b.flag.fetch_add(1, update));
            if shared.flag.load(load) == 2 {
                // SAFETY: as above.
                let seen = shared.data.with(|data| unsafe { *data });
                assert!(seen <= 1);
            }
            writer.join().unwrap();
            updater.join().unwrap();
        }
    };
    // 2 is reached by the update of 1 only, which continues the release sequence.
    for (store, update, load) in
        [(Release, Relaxed, Acquire), (Release, AcqRel, Acquire), (SeqCst, Relaxed, SeqCst)]
    {
        let report = check().unbounded().run(body(store, update, load));
        assert!(matches!(report.outcome, Outcome::Holds), "{report}");
    }
    for (store, update, load) in [(Relaxed, AcqRel, Acquire), (Release, Release, Relaxed)] {
        let report = check().run(body(store, update, load));
        assert_eq!(report.failure().map(|f| f.kind), Some(FailureKind::DataRace), "{report}");
    }
}

/// An attempt to take a lock that fails does not synchronise with any thread.
#[test]
fn failed_attempts_synchronise_with_nobody() {
    use preempt::sync::Mutex;
    struct Shared {
        data: UnsafeCell<usize>,
        lock: Mutex<()>,
    }
    // SAFETY: races are what is looked for; accesses are one at a time.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}
    let report = check().run(|| {
        let shared = Arc::new(Shared { data: UnsafeCell::new(0), lock: Mutex::new(()) });
        let other = shared.clone();
        let writer = thread::spawn(move || {
            // SAFETY: as above.
            other.data.with_mut(|data| unsafe { *data = 1 });
            drop(other.lock.lock().unwrap());
            let _held = other.lock.lock().unwrap();
        });
        if shared.lock.try_lock().is_err() {
            // SAFETY: as above.
            shared.data.with(|data| unsafe { *data });
        }
        writer.join().unwrap();
    });
    assert_eq!(report.failure().map(|f| f.kind), Some(FailureKind::DataRace), "{report}");
}

/// The thread that drops the last reference comes after all that was done through the others.
#[test]
fn the_last_reference_synchronises() {
    struct Shared(UnsafeCell<usize>);
    // SAFETY: one thread writes, and the destructor comes after it.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}
    impl Drop for Shared {
        fn drop(&mut self) {
            // SAFETY: as above.
            self.0.with(|data| unsafe { assert!(*data <= 1) });
        }
    }
    let report = check().unbounded().run(|| {
        let shared = Arc::new(Shared(UnsafeCell::new(0)));
        let other = shared.clone();
        let flag = Arc::new(AtomicUsize::new(0));
        let theirs = flag.clone();
        let writer = thread::spawn(move || {
            theirs.store(1, Relaxed);
            // SAFETY: as above.
            other.0.with_mut(|data| unsafe { *data = 1 });
        });
        flag.load(Relaxed);
        drop(shared);
        writer.join().unwrap();
    });
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
}

#[preempt::test(stale = 1, preemptions = 2)]
fn the_attribute_takes_a_limit() {
    let x = AtomicUsize::new(0);
    x.store(1, Relaxed);
    assert_eq!(x.load(Relaxed), 1);
}

#[preempt::test(memory = "sc")]
fn the_attribute_takes_the_memory() {
    let pair = Arc::new(Pair { x: AtomicUsize::new(0), y: AtomicUsize::new(0) });
    let other = pair.clone();
    let thread = thread::spawn(move || {
        other.x.store(1, Relaxed);
        other.y.load(Relaxed)
    });
    pair.y.store(1, Relaxed);
    let seen = pair.x.load(Relaxed);
    assert!(seen + thread.join().unwrap() > 0);
}

#[test]
fn a_model_is_a_check() {
    preempt::model(|| {
        let x = AtomicUsize::new(0);
        x.store(1, Relaxed);
        assert_eq!(x.load(Relaxed), 1);
    });
}

/// What two fences forbid remains forbidden if what comes after one of them is stronger.
#[test]
fn stronger_accesses_allow_no_more() {
    for order in [Relaxed, Acquire, SeqCst] {
        let report = check().unbounded().run(move || {
            let [x, y] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
            let (ours, theirs) = (x.clone(), y.clone());
            let first = thread::spawn(move || {
                theirs.store(2, Relaxed);
                fence(SeqCst);
                ours.load(order)
            });
            let ours = x.clone();
            let second = thread::spawn(move || ours.store(1, Relaxed));
            let theirs = y.clone();
            let third = thread::spawn(move || {
                let seen = x.load(Relaxed);
                fence(SeqCst);
                theirs.store(1, Relaxed);
                seen
            });
            let (first, third) = (first.join().unwrap(), third.join().unwrap());
            second.join().unwrap();
            // The third comes before the first, by what they store, and has seen more.
            assert!(y.load(Relaxed) != 2 || first >= third);
        });
        assert!(matches!(report.outcome, Outcome::Holds), "{order:?}: {report}");
    }
}
