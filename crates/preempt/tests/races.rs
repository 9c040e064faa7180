//! Data races: what orders plain accesses, and how a race is shown.

use preempt::cell::UnsafeCell;
use preempt::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use preempt::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
use preempt::sync::{Arc, RwLock};
use preempt::{Check, FailureKind, Outcome, Report, Strategy, thread};

const EXHAUSTIVE: [Strategy; 5] = [
    Strategy::PartialOrders,
    Strategy::ContextBoundedDfs,
    Strategy::HappensBeforeCaching,
    Strategy::Optimal,
    Strategy::SleepSets,
];

struct Shared {
    data: UnsafeCell<u32>,
    flag: AtomicUsize,
    other: AtomicUsize,
    lock: RwLock<()>,
}

// SAFETY: accesses to the data are what is tested; all threads share one operating system thread.
unsafe impl Sync for Shared {}

impl Shared {
    fn new() -> Arc<Self> {
        let (flag, other) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Shared { data: UnsafeCell::new(0), flag, other, lock: RwLock::new(()) })
    }

    fn write(&self) {
        // SAFETY: see above.
        self.data.with_mut(|data| unsafe { *data += 1 });
    }

    fn read(&self) -> u32 {
        // SAFETY: see above.
        self.data.with(|data| unsafe { *data })
    }
}

fn races(
    body: impl Fn(&Shared) + Sync,
    other: impl Fn(&Shared) + Sync + Copy + Send + 'static,
) -> bool {
    let mut verdicts = Vec::new();
    for strategy in EXHAUSTIVE {
        let check = Check::new().time(std::time::Duration::from_secs(3600)).strategy(strategy);
        let report: Report = check.run(|| {
            let shared = Shared::new();
            let theirs = shared.clone();
            let handle = thread::spawn(move || other(&theirs));
            body(&shared);
            handle.join().unwrap();
        });
        verdicts.push(match report.failure().map(|f| f.kind) {
            None => {
                assert!(matches!(report.outcome, Outcome::Holds), "{strategy:?}: {report}");
                false
            }
            Some(FailureKind::DataRace) => true,
            Some(_) => panic!("{strategy:?}: {report}"),
        });
    }
    assert!(verdicts.iter().all(|v| *v == verdicts[0]), "{verdicts:?}");
    verdicts[0]
}

fn message_passing(store: Ordering, load: Ordering) -> bool {
    races(
        move |shared| {
            shared.write();
            shared.flag.store(1, store);
        },
        move |shared| {
            if shared.flag.load(load) == 1 {
                assert_eq!(shared.read(), 1);
            }
        },
    )
}

/// A lock held for reading is shared: it orders readers and writers, not readers among each other.
#[test]
fn readers_do_not_exclude_each_other() {
    let write_as_reader = |s: &Shared| {
        let _guard = s.lock.read();
        s.write();
    };
    let read = |s: &Shared| {
        let _guard = s.lock.read();
        s.read();
    };
    let write = |s: &Shared| {
        let _guard = s.lock.write();
        s.write();
    };
    assert!(races(write_as_reader, read));
    assert!(races(read, write_as_reader));
    assert!(races(write_as_reader, write_as_reader));
    assert!(!races(write_as_reader, write));
    assert!(!races(write, read));
    assert!(!races(read, read));
}

#[test]
fn only_release_and_acquire_order_plain_accesses() {
    assert!(!message_passing(Release, Acquire));
    assert!(!message_passing(SeqCst, SeqCst));
    assert!(!message_passing(Release, SeqCst));
    assert!(message_passing(Relaxed, Acquire));
    assert!(message_passing(Release, Relaxed));
    assert!(message_passing(Relaxed, Relaxed));
}

#[test]
fn fences_order_plain_accesses() {
    let with = |release: bool, acquire: bool| {
        races(
            move |shared| {
                shared.write();
                if release {
                    fence(Release);
                }
                shared.flag.store(1, Relaxed);
            },
            move |shared| {
                if shared.flag.load(Relaxed) == 1 {
                    if acquire {
                        fence(Acquire);
                    }
                    shared.read();
                }
            },
        )
    };
    assert!(!with(true, true));
    assert!(with(true, false));
    assert!(with(false, true));
    // What is done after the fence is not released by it.
    assert!(races(
        |shared| {
            fence(Release);
            shared.write();
            shared.flag.store(1, Relaxed);
        },
        |shared| {
            if shared.flag.load(Acquire) == 1 {
                shared.read();
            }
        },
    ));
}

#[test]
fn read_modify_writes_continue_a_release_sequence() {
    let with = |middle: fn(&AtomicUsize)| {
        races(
            move |shared| {
                shared.write();
                shared.flag.store(1, Release);
                middle(&shared.flag);
            },
            |shared| {
                if shared.flag.load(Acquire) == 2 {
                    shared.read();
                }
            },
        )
    };
    assert!(!with(|flag| {
        flag.fetch_add(1, Relaxed);
    }));
    // A relaxed store begins anew.
    assert!(with(|flag| flag.store(2, Relaxed)));
}

#[test]
fn a_compare_exchange_that_fails_has_its_own_order() {
    let with = |failure: Ordering| {
        races(
            |shared| {
                shared.write();
                shared.flag.store(1, Release);
            },
            move |shared| {
                if shared.flag.compare_exchange(7, 8, AcqRel, failure) == Err(1) {
                    shared.read();
                }
            },
        )
    };
    assert!(!with(Acquire));
    assert!(with(Relaxed));
}

/// An access lasts as long as its closure synchronises.
#[test]
fn races_inside_a_closure() {
    // The other thread sees `flag` while this one is still inside.
    assert!(races(
        |shared| {
            // SAFETY: see above.
            shared.data.with_mut(|data| unsafe {
                shared.flag.store(1, Release);
                *data += 1;
                shared.other.store(1, Release);
            });
        },
        |shared| {
            if shared.flag.load(Acquire) == 1 {
                shared.write();
            }
        },
    ));
    assert!(races(
        |shared| {
            shared.data.with(|_| {
                shared.other.load(Acquire);
                shared.data.with(|_| shared.flag.store(1, Release));
                shared.other.load(Acquire);
            });
        },
        |shared| {
            if shared.flag.load(Acquire) == 1 {
                shared.write();
            }
        },
    ));
    // Published by the last operation inside: nothing is done after it.
    assert!(!races(
        |shared| {
            // SAFETY: see above.
            shared.data.with_mut(|data| unsafe {
                *data += 1;
                shared.flag.store(1, Release);
            });
        },
        |shared| {
            if shared.flag.load(Acquire) == 1 {
                shared.write();
            }
        },
    ));
}

/// The count of an `Arc` orders what its payload's destructor does, as std's does.
#[test]
fn dropping_an_arc_synchronises() {
    struct Payload(Shared);
    impl Drop for Payload {
        fn drop(&mut self) {
            self.0.write();
        }
    }
    for strategy in EXHAUSTIVE {
        let check = Check::new().time(std::time::Duration::from_secs(3600)).strategy(strategy);
        let report = check.run(|| {
            let (flag, other) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let shared = Shared { data: UnsafeCell::new(0), flag, other, lock: RwLock::new(()) };
            let first = Arc::new(Payload(shared));
            let second = first.clone();
            let handle = thread::spawn(move || second.0.read());
            first.0.read();
            drop(first);
            handle.join().unwrap();
        });
        assert!(matches!(report.outcome, Outcome::Holds), "{strategy:?}: {report}");
    }
}

/// An atomic read as plain memory races with atomic writes that nothing orders, and with nothing else.
#[test]
fn plain_reads_of_atomics_race_with_unordered_writes() {
    let body = |store: Ordering, load: Ordering, waits: bool| {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.0.store(1, Relaxed);
            theirs.1.store(1, store);
        });
        let seen = shared.1.load(load) == 1;
        if seen || !waits {
            // SAFETY: what is tested; the value is never written at the same time really.
            unsafe { shared.0.unsync_load() };
        }
        other.join().unwrap();
        // SAFETY: the writer has ended.
        assert_eq!(unsafe { shared.0.unsync_load() }, 1);
    };
    let kind = |store, load, waits| {
        let report = Check::new().run(|| body(store, load, waits));
        report.failure().map(|failure| failure.kind)
    };
    assert_eq!(kind(Release, Acquire, true), None);
    assert_eq!(kind(Relaxed, Acquire, true), Some(FailureKind::DataRace));
    assert_eq!(kind(Release, Relaxed, true), Some(FailureKind::DataRace));
    assert_eq!(kind(Release, Acquire, false), Some(FailureKind::DataRace));
    for strategy in EXHAUSTIVE {
        // Here the write comes last in every execution.
        let report = Check::new().strategy(strategy).run(|| {
            let number = Arc::new(AtomicUsize::new(0));
            let theirs = number.clone();
            // SAFETY: as above.
            let other = thread::spawn(move || unsafe { theirs.unsync_load() });
            number.store(1, SeqCst);
            other.join().unwrap();
        });
        let kind = report.failure().map(|failure| failure.kind);
        assert_eq!(kind, Some(FailureKind::DataRace), "{strategy:?}: {report}");
    }
}

/// Reports name lines of the test, for every kind of atomic and every way to make one.
#[test]
fn reports_name_the_lines_of_the_test_for_every_atomic() {
    macro_rules! race {
        ($atomic:expr, $value:expr) => {
            Check::new().run(|| {
                let atomic = Arc::new($atomic);
                let theirs = atomic.clone();
                let other = thread::spawn(move || {
                    // SAFETY: what is tested; the value is never written at the same time really.
                    unsafe { theirs.unsync_load() };
                });
                atomic.store($value, SeqCst);
                other.join().unwrap();
            })
        };
    }
    let nowhere = std::ptr::null_mut::<u8>;
    let reports = [
        race!(AtomicUsize::default(), 1),
        race!(AtomicUsize::from(0), 1),
        race!(AtomicPtr::<u8>::default(), nowhere()),
        race!(AtomicPtr::from(nowhere()), nowhere()),
    ];
    for report in reports {
        let failure = report.failure().expect("a race");
        assert_eq!(failure.kind, FailureKind::DataRace, "{report}");
        let text = report.to_string();
        assert!(text.contains("tests/races.rs"), "{text}");
        assert!(!text.contains("preempt/src"), "{text}");
    }
}
