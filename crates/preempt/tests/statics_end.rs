//! Destructors of what belongs to an execution, but to none of its threads, see the values that the
//! threads have left.

use preempt::cell::UnsafeCell;
use preempt::sync::LazyLock;
use preempt::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
use preempt::{Check, FailureKind, Outcome, thread};

static DROPS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

struct Last {
    number: AtomicUsize,
    pointer: AtomicPtr<u32>,
}

impl Drop for Last {
    fn drop(&mut self) {
        assert_eq!(self.number.load(SeqCst), 7);
        assert_eq!(self.number.swap(9, SeqCst), 7);
        assert_eq!(self.number.compare_exchange(8, 1, SeqCst, SeqCst), Err(9));
        assert_eq!(self.number.compare_exchange(9, 10, SeqCst, SeqCst), Ok(9));
        assert_eq!(self.number.fetch_add(1, SeqCst), 10);
        assert_eq!(self.number.load(SeqCst), 11);
        let pointer = self.pointer.load(SeqCst);
        self.pointer.store(std::ptr::null_mut(), SeqCst);
        assert!(self.pointer.load(SeqCst).is_null());
        // SAFETY: made by `Box::into_raw` below and freed here only.
        assert_eq!(*unsafe { Box::from_raw(pointer) }, 3);
        DROPS.fetch_add(1, SeqCst);
    }
}

static LAST: LazyLock<Last> = LazyLock::new(|| Last {
    number: AtomicUsize::new(5),
    pointer: AtomicPtr::new(Box::into_raw(Box::new(3))),
});

#[test]
fn a_static_is_dropped_with_the_values_its_threads_have_left() {
    let report = Check::new().run(|| {
        let other = thread::spawn(|| LAST.number.load(SeqCst));
        LAST.number.store(7, SeqCst);
        other.join().unwrap();
    });
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
    assert!(DROPS.load(SeqCst) as u64 >= report.executions);
}

/// Participants that register with a static when their thread first asks, as an epoch-based collector
/// has them.
struct Members {
    present: AtomicUsize,
    /// Made by the thread that registers last.
    latest: AtomicPtr<AtomicUsize>,
}

static MEMBERS: LazyLock<Members> = LazyLock::new(|| Members {
    present: AtomicUsize::new(0),
    latest: AtomicPtr::new(std::ptr::null_mut()),
});

impl Drop for Members {
    fn drop(&mut self) {
        assert_eq!(self.present.load(SeqCst), 0, "a thread has not said goodbye");
        let latest = self.latest.load(SeqCst);
        // SAFETY: made by `Box::into_raw` in `Member::new` and not freed: no thread has swapped it out.
        let latest = unsafe { Box::from_raw(latest) };
        assert_eq!(latest.load(SeqCst), 3);
        // Objects and threads made here, too.
        let fresh = preempt::sync::Arc::new(AtomicUsize::new(1));
        let theirs = fresh.clone();
        thread::spawn(move || theirs.fetch_add(1, SeqCst)).join().unwrap();
        assert_eq!(fresh.load(SeqCst), 2);
        LOCAL.with(|local| assert_eq!(local.load(SeqCst), 5));
    }
}

struct Member;

impl Member {
    fn new() -> Self {
        MEMBERS.present.fetch_add(1, SeqCst);
        let fresh = Box::into_raw(Box::new(AtomicUsize::new(3)));
        let before = MEMBERS.latest.swap(fresh, SeqCst);
        if !before.is_null() {
            // SAFETY: as above; the swap made it ours.
            drop(unsafe { Box::from_raw(before) });
        }
        Member
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        MEMBERS.present.fetch_sub(1, SeqCst);
    }
}

preempt::thread_local! {
    static MEMBER: Member = Member::new();
    static LOCAL: AtomicUsize = AtomicUsize::new(5);
}

/// The first executions are stopped in the middle, because pointers in atomics and plain cells are
/// only found out about then. Their threads run on, and the destructor of the static must see what
/// they do, not what there was when the execution was stopped.
#[test]
fn a_static_of_an_execution_that_was_stopped_sees_how_its_threads_ended() {
    let report = Check::new().run(|| {
        let cell = UnsafeCell::new(0);
        let other = thread::spawn(|| MEMBER.with(|_| MEMBERS.present.load(SeqCst)));
        MEMBER.with(|_| ());
        // SAFETY: this thread's own.
        cell.with_mut(|value| unsafe { *value += 1 });
        assert!(other.join().unwrap() >= 1);
    });
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
}

struct Bad(AtomicUsize);

impl Drop for Bad {
    fn drop(&mut self) {
        struct Worse;
        impl Drop for Worse {
            fn drop(&mut self) {
                panic!("second");
            }
        }
        let _worse = Worse;
        assert_eq!(self.0.load(SeqCst), 1, "first");
    }
}

static BAD: LazyLock<Bad> = LazyLock::new(|| Bad(AtomicUsize::new(0)));
static BRITTLE: LazyLock<Brittle> = LazyLock::new(|| Brittle(AtomicUsize::new(0)));

struct Brittle(AtomicUsize);

impl Drop for Brittle {
    fn drop(&mut self) {
        assert_eq!(self.0.load(SeqCst), 1, "brittle");
    }
}

#[test]
fn destructors_of_statics_may_panic_as_they_like() {
    let report = Check::new().run(|| {
        thread::spawn(|| BRITTLE.0.store(2, SeqCst)).join().unwrap();
    });
    let failure = report.failure().expect("a failure");
    assert_eq!(failure.kind, FailureKind::Panic, "{report}");
    assert!(failure.message.contains("brittle"), "{report}");
    let report = Check::new().run(|| {
        thread::spawn(|| BAD.0.store(2, SeqCst)).join().unwrap();
    });
    let failure = report.failure().expect("a failure");
    assert_eq!(failure.kind, FailureKind::Panic, "{report}");
    assert!(failure.message.contains("a destructor panicked during unwinding"), "{report}");
}

static ORDER: std::sync::Mutex<Vec<&str>> = std::sync::Mutex::new(Vec::new());

struct Named(&'static str);

impl Drop for Named {
    fn drop(&mut self) {
        // Made by the first destructor, and dropped after it.
        let late = LATE.try_with(|late| late.0);
        // Gone from the moment its own destructor begins.
        let early = EARLY.try_with(|early| early.0);
        let word = match (late, early) {
            (Ok(_), Ok(_)) => "both",
            (Ok(_), Err(_)) => "late only",
            (Err(_), Ok(_)) => "early only",
            (Err(_), Err(_)) => "none",
        };
        let mut order = ORDER.lock().unwrap();
        order.push(self.0);
        order.push(word);
    }
}

preempt::thread_local! {
    static EARLY: Named = Named("early");
    static LATE: Named = Named("late");
    static PLAIN: std::cell::Cell<u32> = std::cell::Cell::new(7);
}

/// As std's thread-locals behave.
#[test]
fn a_thread_local_is_gone_once_its_destructor_has_begun() {
    let report = Check::new().executions(1).run(|| {
        thread::spawn(|| {
            PLAIN.set(8);
            EARLY.with(|_| ());
        })
        .join()
        .unwrap();
    });
    assert!(report.passed(), "{report}");
    assert_eq!(*ORDER.lock().unwrap(), ["early", "late only", "late", "none"]);
}
