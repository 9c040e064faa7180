//! What std promises, and no more: order, atomicity, and what may happen in between. Each test pins one point, and
//! where std's own behaviour can show it, a program on std does.

use preempt::cell::UnsafeCell;
use preempt::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use preempt::sync::{Arc, Condvar, Mutex, mpsc};
use preempt::{Check, FailureKind, Outcome, Report, thread};
use std::time::Duration;

fn check() -> Check {
    Check::new().time(Duration::from_secs(60)).executions(5_000)
}

fn holds(what: &str, body: impl Fn() + Sync) -> Report {
    // A test that preempt sees nothing of proves nothing.
    let report = check().run(|| {
        AtomicBool::new(false).load(SeqCst);
        body();
    });
    assert!(matches!(report.outcome, Outcome::Holds), "{what}: {report}");
    report
}

fn fails(what: &str, kind: FailureKind, body: impl Fn() + Sync) -> Report {
    let report = check().run(&body);
    let failure = report.failure().unwrap_or_else(|| panic!("{what}: {report}"));
    assert_eq!(failure.kind, kind, "{what}: {report}");
    let again = check().replay(&failure.schedule).run(&body);
    assert_eq!(again.failure().map(|f| f.kind), Some(kind), "{what}: {again}");
    report
}

/// A wait that has timed out still has to take the mutex: a notification in between goes to no waiter, and is lost.
#[test]
fn a_wait_that_times_out_takes_the_lock_later() {
    fails("the permit is lost", FailureKind::Deadlock, || {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let theirs = shared.clone();
        let first = thread::spawn(move || {
            let (permits, changed) = &*theirs;
            let guard = permits.lock().unwrap();
            if *guard == 0 {
                // Gives up for good when time is up, without looking for a permit again.
                let (mut guard, result) =
                    changed.wait_timeout(guard, Duration::from_secs(1)).unwrap();
                if !result.timed_out() {
                    *guard -= 1;
                }
            }
        });
        let theirs = shared.clone();
        let second = thread::spawn(move || {
            let (permits, changed) = &*theirs;
            let mut guard = permits.lock().unwrap();
            while *guard == 0 {
                guard = changed.wait(guard).unwrap();
            }
        });
        {
            let mut guard = shared.0.lock().unwrap();
            *guard += 1;
            shared.1.notify_one();
        }
        first.join().unwrap();
        second.join().unwrap();
    });
    // Between the timeout and the lock another thread may take the lock and find no thread to notify.
    let seen = std::sync::Mutex::new(std::collections::BTreeSet::new());
    holds("all outcomes", || {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = shared.clone();
        let waits = thread::spawn(move || {
            let guard = theirs.0.lock().unwrap();
            let (guard, result) = theirs.1.wait_timeout(guard, Duration::from_secs(1)).unwrap();
            (*guard, result.timed_out())
        });
        *shared.0.lock().unwrap() = true;
        shared.1.notify_one();
        seen.lock().unwrap().insert(waits.join().unwrap());
    });
    let seen = seen.into_inner().unwrap();
    assert!(seen.contains(&(true, true)), "timed out, and the other was faster: {seen:?}");
    assert!(seen.contains(&(true, false)) && seen.contains(&(false, true)), "{seen:?}");
}

/// Of all callers of `into_inner` exactly one gets the value; of those of `try_unwrap` perhaps none.
#[test]
fn one_caller_of_into_inner_gets_the_value() {
    holds("into_inner", || {
        let ours = Arc::new(AtomicUsize::new(7));
        let theirs = ours.clone();
        let other = thread::spawn(move || Arc::into_inner(theirs).is_some());
        let ours = Arc::into_inner(ours).is_some();
        assert!(ours ^ other.join().unwrap());
    });
    fails("try_unwrap", FailureKind::Panic, || {
        let ours = Arc::new(AtomicUsize::new(7));
        let theirs = ours.clone();
        let other = thread::spawn(move || Arc::try_unwrap(theirs).is_ok());
        let ours = Arc::try_unwrap(ours).is_ok();
        assert!(ours || other.join().unwrap(), "both were dropped");
    });
    let report = fails("counts are shown as they are", FailureKind::Panic, || {
        let arc = Arc::new(());
        let kept = arc.clone();
        assert!(Arc::try_unwrap(arc).is_ok(), "shared");
        drop(kept);
    });
    let text = format!("{:?}", report.failure().unwrap().trace);
    assert!(!text.contains("18446744073709551615"), "{text}");
}

struct Plain(UnsafeCell<u32>);
// SAFETY: accesses race on purpose, and preempt says so.
unsafe impl Sync for Plain {}

impl Plain {
    fn set(&self) {
        // SAFETY: see above.
        self.0.with_mut(|p| unsafe { *p = 1 });
    }

    fn get(&self) -> u32 {
        // SAFETY: see above.
        self.0.with(|p| unsafe { *p })
    }
}

/// Looking whether something is over does not synchronise with what was done before.
#[test]
fn looking_at_counts_does_not_synchronise() {
    fails("strong_count", FailureKind::DataRace, || {
        let data = Arc::new(Plain(UnsafeCell::new(0)));
        let theirs = data.clone();
        let other = thread::spawn(move || {
            theirs.set();
            drop(theirs);
        });
        if Arc::strong_count(&data) == 1 {
            data.get();
        }
        other.join().unwrap();
    });
    fails("is_finished", FailureKind::DataRace, || {
        let data = Arc::new(Plain(UnsafeCell::new(0)));
        let theirs = data.clone();
        let other = thread::spawn(move || theirs.set());
        if other.is_finished() {
            data.get();
        }
        other.join().unwrap();
    });
    holds("get_mut does", || {
        let mut data = Arc::new(Plain(UnsafeCell::new(0)));
        let theirs = data.clone();
        let other = thread::spawn(move || theirs.set());
        if let Some(data) = Arc::get_mut(&mut data) {
            data.get();
        }
        other.join().unwrap();
    });
}

/// A scope waits for the closures of its threads, not for the destructors of their thread-locals.
#[test]
fn a_scope_does_not_wait_for_thread_locals() {
    preempt::statics! {
        static DROPPED: AtomicBool = AtomicBool::new(false);
    }
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            DROPPED.store(true, SeqCst);
        }
    }
    preempt::thread_local! {
        static LATE: Late = const { Late };
    }
    fails("the scope is over first", FailureKind::Panic, || {
        thread::scope(|scope| {
            scope.spawn(|| LATE.with(|_| ()));
        });
        assert!(DROPPED.load(SeqCst), "not dropped yet");
    });
    holds("a join waits", || {
        thread::scope(|scope| {
            scope.spawn(|| LATE.with(|_| ())).join().unwrap();
        });
        assert!(DROPPED.load(SeqCst), "not dropped yet");
    });
}

/// A panic reaches the thread that joins the one that panicked, with its payload; it is a failure if none does.
#[test]
fn panics_reach_join() {
    holds("the payload", || {
        let other = thread::spawn(|| panic!("on purpose"));
        let payload = other.join().unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"on purpose"));
    });
    holds("a value", || {
        let other = thread::spawn(|| std::panic::panic_any(42_u32));
        assert_eq!(other.join().unwrap_err().downcast_ref::<u32>(), Some(&42));
    });
    holds("poison, without catching anything", || {
        let shared = Arc::new(Mutex::new(0));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            let mut guard = theirs.lock().unwrap();
            *guard = 1;
            panic!("while it holds the lock");
        });
        assert!(other.join().is_err());
        assert!(shared.is_poisoned());
        assert_eq!(*shared.lock().unwrap_err().into_inner(), 1);
    });
    holds("in a scope", || {
        thread::scope(|scope| {
            let other = scope.spawn(|| panic!("on purpose"));
            assert!(other.join().is_err());
        });
    });
    holds("only in some executions", || {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let other = thread::spawn(move || assert!(theirs.load(SeqCst), "too early"));
        flag.store(true, SeqCst);
        let _ = other.join();
    });
    let told = |what: &str, message: &str, body: &(dyn Fn() + Sync)| {
        let report = fails(what, FailureKind::Panic, body);
        let found = &report.failure().unwrap().message;
        assert!(found.contains(message), "{what}: {found}");
    };
    told("nobody joins", "nobody sees it", &|| {
        let other = thread::spawn(|| panic!("nobody sees it"));
        drop(other);
    });
    told("unwrapped", "the cause", &|| {
        thread::spawn(|| panic!("the cause")).join().unwrap();
    });
    told("in a scope", "the cause", &|| {
        thread::scope(|scope| {
            scope.spawn(|| panic!("the cause"));
        });
    });
    told("resumed", "the cause", &|| {
        let first = thread::spawn(|| panic!("the cause"));
        let payload = first.join().unwrap_err();
        let _ = std::panic::catch_unwind(|| panic!("something else"));
        std::panic::resume_unwind(payload);
    });
    told("one of two", "the second", &|| {
        let first = thread::spawn(|| panic!("the first"));
        let second = thread::spawn(|| panic!("the second"));
        assert!(first.join().is_err());
        second.join().unwrap();
    });
}

/// Senders that do not wait meet a receiver that does.
#[test]
fn a_rendezvous_needs_a_receiver_that_waits() {
    let seen = std::sync::Mutex::new(std::collections::BTreeSet::new());
    holds("try_send", || {
        let (sender, receiver) = mpsc::sync_channel(0);
        let other = thread::spawn(move || sender.try_send(1).is_ok());
        let received = receiver.recv().is_ok();
        let sent = other.join().unwrap();
        assert_eq!(received, sent);
        seen.lock().unwrap().insert(sent);
    });
    assert_eq!(seen.into_inner().unwrap().len(), 2, "both are possible");
    // std's does the same: there is no receiver that waits.
    let (sender, _receiver) = std::sync::mpsc::sync_channel(0);
    assert!(sender.try_send(1).is_err());
    holds("without a receiver that waits", || {
        let (sender, _receiver) = mpsc::sync_channel(0);
        assert!(sender.try_send(1).is_err());
    });
}
