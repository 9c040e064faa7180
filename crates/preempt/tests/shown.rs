//! What reports show: numbers with their signs, the counts of references by the name of what they count, statics by their names.

use preempt::sync::atomic::{AtomicI8, AtomicI32, AtomicIsize, AtomicU64, Ordering::*};
use preempt::sync::{Arc, Weak};
use preempt::{Check, Failure, thread};
use std::time::Duration;

fn failure(body: impl Fn() + Sync) -> Failure {
    let report = Check::new().time(Duration::from_secs(60)).run(body);
    report.failure().unwrap_or_else(|| panic!("{report}")).clone()
}

/// All that a report shows, also as data.
fn texts(failure: &Failure) -> String {
    format!("{failure}\n{:?}", failure.trace)
}

#[test]
fn numbers_have_their_signs() {
    static BELOW: AtomicI32 = AtomicI32::new(-1);
    let found = failure(|| {
        let wide = Arc::new(AtomicIsize::new(-5));
        let narrow = Arc::new(AtomicI8::new(-3));
        let most = AtomicU64::new(u64::MAX);
        let (theirs, others) = (wide.clone(), narrow.clone());
        let changes = thread::spawn(move || {
            theirs.store(-7, SeqCst);
            assert_eq!(others.compare_exchange(-4, 1, SeqCst, SeqCst), Err(-3));
            assert_eq!(others.swap(i8::MIN, SeqCst), -3);
            BELOW.fetch_sub(1, SeqCst);
        });
        changes.join().unwrap();
        assert_eq!(most.load(SeqCst), u64::MAX);
        assert_eq!(wide.load(SeqCst) + isize::from(narrow.load(SeqCst)), -135);
        assert_eq!(BELOW.load(SeqCst), 0, "on purpose");
    });
    let text = texts(&found);
    for expected in [
        "wide.store(-7)",
        "wide: -5 -> -7",
        "narrow.compare_exchange fails: -3",
        "narrow.swap -> -3",
        "narrow: -3 -> -128",
        "wide.load -> -7",
        "BELOW.fetch_sub -> -1",
        "BELOW: -1 -> -2",
        "BELOW.load -> -2",
        "most.load -> 18446744073709551615",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(text.matches("18446744073709551").count(), 2, "{text}");
    assert!(!text.contains("4294967"), "{text}");
}

/// The same where a thread reads what is no longer the newest value.
#[test]
fn stale_numbers_have_their_signs() {
    let report = Check::new().time(Duration::from_secs(60)).run(|| {
        let pair = Arc::new((AtomicI32::new(-1), AtomicI32::new(-1)));
        let theirs = pair.clone();
        let other = thread::spawn(move || {
            theirs.0.store(-2, Relaxed);
            theirs.1.load(Relaxed)
        });
        pair.1.store(-2, Relaxed);
        let seen = pair.0.load(Relaxed);
        assert!(seen == -2 || other.join().unwrap() == -2, "on purpose");
    });
    let text = format!("{report}\n{}\n{:?}", texts(report.failure().unwrap()), report.notes);
    assert!(text.contains("reads -1") && text.contains("though -2 was stored"), "{text}");
    assert!(!text.contains("42949672"), "{text}");
}

/// Statics bear their names, and what is done to an object is said as it would be said.
#[test]
fn operations_read_well() {
    use preempt::sync::{Barrier, Condvar, LazyLock, Mutex, mpsc};
    static ACCOUNTS: [Mutex<i32>; 2] = [const { Mutex::new(0) }; 2];
    static LAZY: LazyLock<Mutex<i32>> = LazyLock::new(|| Mutex::new(1));
    let found = failure(|| {
        let barrier = Arc::new(Barrier::new(2));
        let (theirs, (sender, receiver)) = (barrier.clone(), mpsc::channel());
        let other = thread::spawn(move || {
            *ACCOUNTS[1].lock().unwrap() += *LAZY.lock().unwrap();
            theirs.wait();
            drop(sender);
        });
        barrier.wait();
        other.join().unwrap();
        assert_eq!(receiver.recv(), Err::<u8, _>(mpsc::RecvError));
        let condition = Condvar::new();
        let guard = LAZY.lock().unwrap();
        drop(condition.wait_timeout(guard, Duration::from_secs(1)).unwrap());
        assert_eq!(*ACCOUNTS[1].lock().unwrap(), 0, "on purpose");
    });
    let text = texts(&found);
    for expected in [
        "ACCOUNTS[1].lock",
        "begin initialisation of LAZY",
        "LAZY is initialised",
        "arrive at barrier",
        "drop a sender of channel1",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

/// A count of references bears the name of the `Arc`, and never goes below zero.
#[test]
fn counts_are_shown_as_they_are() {
    let found = failure(|| {
        let mut shared = Arc::new(AtomicU64::new(1));
        let weak = Arc::downgrade(&shared);
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.load(SeqCst);
            Arc::into_inner(theirs).is_some()
        });
        drop(weak.upgrade());
        Arc::get_mut(&mut shared);
        let ours = Arc::into_inner(shared).is_some();
        assert!(ours || other.join().unwrap());
        assert!(weak.upgrade().is_none());
        assert_eq!(weak.strong_count(), 1, "on purpose");
    });
    let text = texts(&found);
    assert!(text.contains("shared.count.fetch_sub -> 1"), "{text}");
    assert!(text.contains("shared.count.load -> 0") && text.contains("shared.load -> 1"), "{text}");
    assert!(!text.contains("18446744073709551615") && !text.contains("atomic1"), "{text}");

    let found = failure(|| {
        let unwrapped = Arc::new(AtomicU64::new(1));
        let kept = Arc::downgrade(&unwrapped);
        assert!(Arc::try_unwrap(unwrapped).is_ok() && kept.upgrade().is_none());
        let mut cyclic = Arc::new_cyclic(|me: &Weak<u8>| u8::from(me.upgrade().is_some()));
        let clone = cyclic.clone();
        *Arc::make_mut(&mut cyclic) += 1;
        let raw = Arc::into_raw(clone);
        // SAFETY: every reference is given back once.
        unsafe {
            Arc::increment_strong_count(raw);
            Arc::decrement_strong_count(raw);
            drop(Arc::from_raw(raw));
        }
        drop(cyclic);
        assert_eq!(kept.strong_count(), 1, "on purpose");
    });
    let text = texts(&found);
    assert!(text.contains("cyclic.count.fetch_sub") && text.contains("unwrapped.count"), "{text}");
    assert!(!text.contains("18446744073709551615"), "{text}");
}
