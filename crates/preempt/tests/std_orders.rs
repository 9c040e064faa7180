//! Which operations of std synchronise, and which do not: a plain cell is written before one of them and read after the
//! other. If std promises an order there is no race; if it does not, the race is found.

use preempt::cell::UnsafeCell;
use preempt::sync::atomic::{AtomicBool, Ordering::*, fence};
use preempt::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use preempt::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard, Weak};
use preempt::{Check, FailureKind, Outcome, thread};
use std::time::Duration;

struct Data(UnsafeCell<u32>);
// SAFETY: accesses race on purpose, and preempt says so.
unsafe impl Sync for Data {}
// SAFETY: as above.
unsafe impl Send for Data {}

impl Data {
    fn set(&self) {
        // SAFETY: see above.
        self.0.with_mut(|p| unsafe { *p = 1 });
    }

    fn get(&self) {
        // SAFETY: see above.
        self.0.with(|p| unsafe { assert_eq!(*p, 1) });
    }
}

/// One object of every kind.
struct Objects {
    data: Data,
    flag: AtomicBool,
    mutex: Mutex<bool>,
    lock: RwLock<bool>,
    condition: Condvar,
    barrier: Barrier,
    once: Once,
    cell: OnceLock<()>,
    sender: Sender<()>,
    receiver: Mutex<Receiver<()>>,
    rendezvous: SyncSender<()>,
    other: Mutex<Receiver<()>>,
    main: thread::Thread,
}

impl Objects {
    fn new() -> Arc<Self> {
        let (sender, receiver) = channel();
        let (rendezvous, other) = sync_channel(0);
        Arc::new(Objects {
            data: Data(UnsafeCell::new(0)),
            flag: AtomicBool::new(false),
            mutex: Mutex::new(false),
            lock: RwLock::new(false),
            condition: Condvar::new(),
            barrier: Barrier::new(2),
            once: Once::new(),
            cell: OnceLock::new(),
            sender,
            receiver: Mutex::new(receiver),
            rendezvous,
            other: Mutex::new(other),
            main: thread::current(),
        })
    }
}

type Give = fn(&Objects);
type Take = fn(&Objects) -> bool;

/// A thread writes and then gives; another one takes, and reads if that has worked.
fn message(give: Give, take: Take) -> impl Fn() + Sync {
    move || {
        let objects = Objects::new();
        let theirs = objects.clone();
        let other = thread::spawn(move || {
            theirs.data.set();
            give(&theirs);
        });
        if take(&objects) {
            objects.data.get();
        }
        other.join().unwrap();
    }
}

fn check() -> Check {
    Check::new().time(Duration::from_secs(60)).preemptions(2).stale(1)
}

fn is_ordered(what: &str, give: Give, take: Take) {
    let report = check().run(message(give, take));
    let holds = matches!(report.outcome, Outcome::Holds | Outcome::HoldsWithinBound(_));
    assert!(holds, "{what}: {report}");
}

fn is_not_ordered(what: &str, give: Give, take: Take) {
    let report = check().run(message(give, take));
    let kind = report.failure().map(|failure| failure.kind);
    assert_eq!(kind, Some(FailureKind::DataRace), "{what}: {report}");
}

#[test]
fn atomics_synchronise_by_their_orders() {
    fn store<const RELEASES: bool>(o: &Objects) {
        o.flag.store(true, if RELEASES { Release } else { Relaxed });
    }
    is_ordered("store and load", store::<true>, |o| o.flag.load(Acquire));
    is_not_ordered("a relaxed load", store::<true>, |o| o.flag.load(Relaxed));
    is_not_ordered("a relaxed store", store::<false>, |o| o.flag.load(Acquire));
    is_ordered("swap", |o| _ = o.flag.swap(true, AcqRel), |o| o.flag.swap(false, AcqRel));
    is_not_ordered("a relaxed swap", store::<true>, |o| o.flag.swap(false, Release));
    is_ordered(
        "fetch",
        |o| _ = o.flag.fetch_or(true, Release),
        |o| o.flag.fetch_and(true, Acquire),
    );
    is_ordered(
        "update",
        |o| _ = o.flag.update(Release, Relaxed, |_| true),
        |o| o.flag.try_update(Relaxed, Acquire, |_| None).unwrap_err(),
    );
    is_ordered("an exchange that succeeds", store::<true>, |o| {
        o.flag.compare_exchange(true, false, Acquire, Relaxed).is_ok()
    });
    is_ordered("one that fails, acquiring", store::<true>, |o| {
        o.flag.compare_exchange(false, false, Relaxed, Acquire).is_err()
    });
    is_not_ordered("one that fails, relaxed", store::<true>, |o| {
        o.flag.compare_exchange(false, false, Acquire, Relaxed).is_err()
    });
    fn fenced(o: &Objects) {
        fence(Release);
        o.flag.store(true, Relaxed);
    }
    is_ordered("fences", fenced, |o| {
        let seen = o.flag.load(Relaxed);
        fence(Acquire);
        seen
    });
    is_not_ordered("one fence", fenced, |o| o.flag.load(Relaxed));
}

#[test]
fn locks_synchronise() {
    fn locked(o: &Objects) {
        *o.mutex.lock().unwrap() = true;
    }
    is_ordered("lock", locked, |o| *o.mutex.lock().unwrap());
    is_ordered("try_lock", locked, |o| o.mutex.try_lock().is_ok_and(|guard| *guard));
    is_not_ordered(
        "try_lock that fails",
        |o| {
            let _guard = o.mutex.lock().unwrap();
            o.flag.store(true, Relaxed);
        },
        |o| o.mutex.try_lock().is_err(),
    );
    fn written(o: &Objects) {
        *o.lock.write().unwrap() = true;
    }
    is_ordered("read", written, |o| *o.lock.read().unwrap());
    is_ordered("write", written, |o| *o.lock.write().unwrap());
    is_ordered("try_read", written, |o| o.lock.try_read().is_ok_and(|guard| *guard));
    is_ordered("try_write", written, |o| o.lock.try_write().is_ok_and(|guard| *guard));
    is_ordered(
        "a reader and a writer",
        |o| {
            let _guard = o.lock.read().unwrap();
            o.flag.store(true, Relaxed);
        },
        |o| {
            let _guard = o.lock.write().unwrap();
            o.flag.load(Relaxed)
        },
    );
    is_not_ordered(
        "two readers",
        |o| {
            let _guard = o.lock.read().unwrap();
            o.flag.store(true, Relaxed);
        },
        |o| {
            let _guard = o.lock.read().unwrap();
            o.flag.load(Relaxed)
        },
    );
    is_ordered(
        "downgrade",
        |o| {
            let mut guard = o.lock.write().unwrap();
            *guard = true;
            drop(RwLockWriteGuard::downgrade(guard));
        },
        |o| *o.lock.read().unwrap(),
    );
}

#[test]
fn waiting_synchronises() {
    is_ordered(
        "a condition variable, by its lock",
        |o| {
            *o.mutex.lock().unwrap() = true;
            o.condition.notify_one();
        },
        |o| *o.condition.wait_while(o.mutex.lock().unwrap(), |ready| !*ready).unwrap(),
    );
    is_ordered(
        "wait_timeout",
        |o| {
            *o.mutex.lock().unwrap() = true;
            o.condition.notify_all();
        },
        |o| {
            let guard = o.mutex.lock().unwrap();
            *o.condition.wait_timeout(guard, Duration::from_secs(1)).unwrap().0
        },
    );
    fn arrives(o: &Objects) {
        o.barrier.wait();
    }
    is_ordered("a barrier", arrives, |o| {
        o.barrier.wait();
        true
    });
    is_ordered(
        "park",
        |o| o.main.unpark(),
        |_| {
            thread::park();
            true
        },
    );
    is_not_ordered(
        "park_timeout",
        |o| o.main.unpark(),
        |_| {
            thread::park_timeout(Duration::from_secs(1));
            true
        },
    );
    is_not_ordered(
        "yield_now",
        |_| thread::yield_now(),
        |_| {
            thread::yield_now();
            true
        },
    );
    is_not_ordered(
        "sleep",
        |_| (),
        |_| {
            thread::sleep(Duration::from_secs(1));
            true
        },
    );
}

#[test]
fn initialisation_synchronises() {
    fn once(o: &Objects) {
        o.once.call_once(|| ());
    }
    is_ordered("is_completed", once, |o| o.once.is_completed());
    is_ordered("Once::wait", once, |o| {
        o.once.wait();
        true
    });
    is_ordered("Once::wait_force", once, |o| {
        o.once.wait_force();
        true
    });
    is_ordered(
        "call_once",
        |o| o.once.call_once(|| o.flag.store(true, Relaxed)),
        |o| {
            o.once.call_once(|| ());
            o.flag.load(Relaxed)
        },
    );
    fn set(o: &Objects) {
        o.cell.set(()).unwrap();
    }
    is_ordered("get", set, |o| o.cell.get().is_some());
    is_ordered("OnceLock::wait", set, |o| {
        o.cell.wait();
        true
    });
    is_ordered("set that fails", |o| _ = o.cell.set(()), |o| o.cell.set(()).is_err());
}

#[test]
fn channels_synchronise() {
    fn send(o: &Objects) {
        o.sender.send(()).unwrap();
    }
    is_ordered("recv", send, |o| o.receiver.lock().unwrap().recv().is_ok());
    is_ordered("try_recv", send, |o| o.receiver.lock().unwrap().try_recv().is_ok());
    is_ordered("recv_timeout", send, |o| {
        o.receiver.lock().unwrap().recv_timeout(Duration::from_secs(1)).is_ok()
    });
    is_ordered(
        "a rendezvous",
        |o| o.rendezvous.send(()).unwrap(),
        |o| o.other.lock().unwrap().recv().is_ok(),
    );
    is_not_ordered("try_recv that fails", send, |o| o.receiver.lock().unwrap().try_recv().is_err());
}

/// What a thread did before it dropped its reference happens before what a thread does that then finds itself the
/// only owner.
#[test]
fn counts_synchronise_where_they_promise_to() {
    type Alone = fn(Arc<Data>, Weak<Data>) -> Option<Arc<Data>>;
    let body = |alone: Alone| {
        move || {
            let data = Arc::new(Data(UnsafeCell::new(0)));
            let theirs = data.clone();
            let other = thread::spawn(move || {
                theirs.set();
                drop(theirs);
            });
            let weak = Arc::downgrade(&data);
            if let Some(data) = alone(data, weak) {
                data.get();
            }
            other.join().unwrap();
        }
    };
    let ordered: [(&str, Alone); 3] = [
        ("try_unwrap", |data, _| Arc::try_unwrap(data).ok().map(Arc::new)),
        ("into_inner", |data, _| Arc::into_inner(data).map(Arc::new)),
        ("get_mut", |mut data, weak| {
            drop(weak);
            Arc::get_mut(&mut data).is_some().then_some(data)
        }),
    ];
    for (what, alone) in ordered {
        let report = check().run(body(alone));
        assert!(report.passed(), "{what}: {report}");
    }
    let not_ordered: [(&str, Alone); 2] = [
        ("strong_count", |data, _| (Arc::strong_count(&data) == 1).then_some(data)),
        ("strong_count of a weak one", |data, weak| (weak.strong_count() == 1).then_some(data)),
    ];
    for (what, alone) in not_ordered {
        let report = check().run(body(alone));
        let kind = report.failure().map(|failure| failure.kind);
        assert_eq!(kind, Some(FailureKind::DataRace), "{what}: {report}");
    }
}

/// Nothing comes between exclusive and shared access.
#[test]
fn a_downgrade_lets_no_writer_in() {
    let report = check().run(|| {
        let lock = Arc::new(RwLock::new(0));
        let theirs = lock.clone();
        let other = thread::spawn(move || *theirs.write().unwrap() = 2);
        let mut guard = lock.write().unwrap();
        *guard = 1;
        let guard = RwLockWriteGuard::downgrade(guard);
        assert_eq!(*guard, 1);
        assert_eq!(*lock.read().unwrap(), 1, "readers come in");
        drop(guard);
        other.join().unwrap();
    });
    // The second read may wait for the writer, which waits for the first: std allows that, too.
    let kind = report.failure().map(|failure| failure.kind);
    assert_eq!(kind, Some(FailureKind::Deadlock), "{report}");
    let report = check().run(|| {
        let lock = Arc::new(RwLock::new(0));
        let theirs = lock.clone();
        let other = thread::spawn(move || *theirs.write().unwrap() = 2);
        let mut guard = lock.write().unwrap();
        *guard = 1;
        let guard = RwLockWriteGuard::downgrade(guard);
        assert_eq!(*guard, 1);
        drop(guard);
        other.join().unwrap();
    });
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
}

/// A wait ends with the initialisation, and fails with it.
#[test]
fn waits_for_initialisation_end_with_it() {
    let report = check().run(|| {
        let once = Arc::new(Once::new());
        let theirs = once.clone();
        let other = thread::spawn(move || theirs.call_once(|| panic!("on purpose")));
        let waits = {
            let once = once.clone();
            thread::spawn(move || once.wait())
        };
        assert!(other.join().is_err());
        assert!(waits.join().is_err(), "poisoned");
        once.call_once_force(|state| assert!(state.is_poisoned()));
        once.wait();
    });
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
    let report = check().run(|| Once::new().wait());
    let kind = report.failure().map(|failure| failure.kind);
    assert_eq!(kind, Some(FailureKind::Deadlock), "{report}");
}
