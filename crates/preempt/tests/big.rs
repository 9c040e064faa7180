//! Tests that are too large to be explored within any bound still end with a statement.

use preempt::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use preempt::sync::{Arc, Mutex};
use preempt::{Check, Outcome, thread};
use std::time::Duration;

/// Fifteen threads have 15! executions without a preemption.
#[test]
fn many_threads_are_explored_by_delays() {
    let report = Check::new().time(Duration::from_secs(2)).states(5_000).run(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let handles: Vec<_> = (0..15)
            .map(|_| {
                let number = number.clone();
                thread::spawn(move || number.fetch_add(1, SeqCst))
            })
            .collect();
        for handle in handles {
            handle.join().unwrap();
        }
        assert_eq!(number.load(SeqCst), 15);
    });
    assert!(matches!(report.outcome, Outcome::Inconclusive(_)), "{report}");
    assert!(report.delays.is_some_and(|delays| delays >= 1), "{report}");
    assert!(report.to_string().contains("delays were explored"), "{report}");
}

/// A failure that needs one delay is found among them.
#[test]
fn delays_find_failures() {
    let report = Check::new().time(Duration::from_secs(3600)).states(5_000).run(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let handles: Vec<_> = (0..15)
            .map(|_| {
                let number = number.clone();
                thread::spawn(move || {
                    let value = number.load(SeqCst);
                    number.store(value + 1, SeqCst);
                })
            })
            .collect();
        for handle in handles {
            handle.join().unwrap();
        }
        assert_eq!(number.load(SeqCst), 15, "lost update");
    });
    assert!(report.failure().is_some_and(|f| f.message.contains("lost update")), "{report}");
}

/// Long executions: the bound on preemptions comes before the time.
#[test]
fn long_executions_complete_a_bound() {
    let report = Check::new().time(Duration::from_secs(3600)).preemptions(0).run(|| {
        let lock = Arc::new(Mutex::new(0));
        let theirs = lock.clone();
        let add = |lock: &Mutex<u32>| (0..2_000).for_each(|_| *lock.lock().unwrap() += 1);
        let other = thread::spawn(move || add(&theirs));
        add(&lock);
        other.join().unwrap();
        assert_eq!(*lock.lock().unwrap(), 4_000);
    });
    assert!(matches!(report.outcome, Outcome::HoldsWithinBound(0)), "{report}");
}
