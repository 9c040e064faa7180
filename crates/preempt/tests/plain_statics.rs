//! Statics as they are written for std, made by constructors that are `const`: every execution finds them as the compiler made
//! them, whatever is in them, and an object that a `const fn` makes in the body is made there.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use preempt::cell::{Cell, UnsafeCell};
use preempt::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::*};
use preempt::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock};
use preempt::{Check, FailureKind, Outcome, Reason, Report, thread};
use std::ptr::null_mut;
use std::time::Duration;

fn check() -> Check {
    Check::new().time(Duration::from_secs(60))
}

fn holds(what: &str, body: impl Fn() + Sync) -> Report {
    let report = check().run(&body);
    assert!(matches!(report.outcome, Outcome::Holds), "{what}: {report}");
    for check in [check().threads(2), check().reuse_addresses()] {
        let again = check.run(&body);
        assert!(matches!(again.outcome, Outcome::Holds), "{what}: {again}");
        assert_eq!(again.partial_orders, report.partial_orders, "{what}: {again}");
    }
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

/// A queue as it would be written for std.
struct Queue {
    items: Mutex<Vec<String>>,
    changed: Condvar,
    closed: AtomicBool,
}

impl Queue {
    const fn new() -> Self {
        Queue {
            items: Mutex::new(Vec::new()),
            changed: Condvar::new(),
            closed: AtomicBool::new(false),
        }
    }

    fn push(&self, item: u32) {
        self.items.lock().unwrap().push(item.to_string());
        self.changed.notify_one();
    }

    fn pop(&self) -> u32 {
        let items = self.items.lock().unwrap();
        let mut items = self.changed.wait_while(items, |items| items.is_empty()).unwrap();
        items.remove(0).parse().unwrap()
    }
}

#[test]
fn every_execution_finds_what_the_compiler_made() {
    static QUEUE: Queue = Queue::new();
    let executions = std::sync::atomic::AtomicUsize::new(0);
    let report = holds("a queue", || {
        executions.fetch_add(1, Relaxed);
        assert!(QUEUE.items.lock().unwrap().is_empty());
        assert!(!QUEUE.closed.swap(true, SeqCst));
        let other = thread::spawn(|| QUEUE.push(1));
        QUEUE.push(2);
        assert_eq!(QUEUE.pop() + QUEUE.pop(), 3);
        // Something is left behind.
        QUEUE.push(3);
        other.join().unwrap();
    });
    assert!(report.executions > 1 && executions.into_inner() > 2, "{report}");
}

#[test]
fn all_kinds_of_objects_may_be_static() {
    static NUMBER: AtomicUsize = AtomicUsize::new(7);
    static POINTER: AtomicPtr<u32> = AtomicPtr::new(null_mut());
    static LOCK: RwLock<[u64; 3]> = RwLock::new([1, 2, 3]);
    static ONCE: Once = Once::new();
    static CELL: OnceLock<String> = OnceLock::new();
    static LAZY: LazyLock<Mutex<u32>> = LazyLock::new(|| Mutex::new(5));
    static BARRIER: Barrier = Barrier::new(2);
    static TABLE: [Mutex<usize>; 4] = [const { Mutex::new(0) }; 4];
    static NESTED: Mutex<(AtomicUsize, OnceLock<Box<u32>>)> =
        Mutex::new((AtomicUsize::new(3), OnceLock::new()));
    holds("all of them", || {
        assert_eq!(NUMBER.fetch_add(1, SeqCst), 7);
        assert!(POINTER.load(SeqCst).is_null());
        let other = thread::spawn(|| {
            let mut first = false;
            ONCE.call_once(|| first = true);
            BARRIER.wait();
            (first, CELL.get_or_init(|| "there".into()).len())
        });
        let mut first = false;
        ONCE.call_once(|| first = true);
        BARRIER.wait();
        assert_eq!(
            CELL.get_or_init(|| "here".into()).len() + 1,
            5 + usize::from(CELL.get().unwrap() == "there")
        );
        let (theirs, length) = other.join().unwrap();
        assert!(first ^ theirs);
        assert_eq!(length, CELL.get().unwrap().len());
        LOCK.write().unwrap()[1] += 1;
        assert_eq!(*LOCK.read().unwrap(), [1, 3, 3]);
        *LAZY.lock().unwrap() += 1;
        assert_eq!(*LAZY.lock().unwrap(), 6);
        for (number, entry) in TABLE.iter().enumerate() {
            *entry.lock().unwrap() += number;
            assert_eq!(*entry.lock().unwrap(), number);
        }
        let nested = NESTED.lock().unwrap();
        assert_eq!(nested.0.fetch_sub(3, SeqCst), 3);
        assert_eq!(**nested.1.get_or_init(|| Box::new(9)), 9);
        POINTER.store(Box::into_raw(Box::new(1)), SeqCst);
    });
}

/// More statics than an exploration begins again for.
#[test]
fn a_large_table_may_be_static() {
    static TABLE: [AtomicUsize; 600] = [const { AtomicUsize::new(1) }; 600];
    holds("a table", || {
        let other = thread::spawn(|| TABLE[599].store(5, SeqCst));
        let sum: usize = TABLE.iter().map(|entry| entry.load(SeqCst)).sum();
        assert!(sum == 600 || sum == 604);
        other.join().unwrap();
    });
}

#[test]
fn mistakes_with_statics_are_found() {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    fails("a lost update", FailureKind::Panic, || {
        let add = || COUNT.store(COUNT.load(SeqCst) + 1, SeqCst);
        let other = thread::spawn(add);
        add();
        other.join().unwrap();
        assert_eq!(COUNT.load(SeqCst), 2);
    });
    static LEFT: Mutex<()> = Mutex::new(());
    static RIGHT: Mutex<()> = Mutex::new(());
    fails("two locks", FailureKind::Deadlock, || {
        let other = thread::spawn(|| {
            let _left = LEFT.lock().unwrap();
            let _right = RIGHT.lock().unwrap();
        });
        {
            let _right = RIGHT.lock().unwrap();
            let _left = LEFT.lock().unwrap();
        }
        other.join().unwrap();
    });
    struct Shared(UnsafeCell<u32>, Cell<u32>);
    // SAFETY: accesses race on purpose, and preempt says so.
    unsafe impl Sync for Shared {}
    static SHARED: Shared = Shared(UnsafeCell::new(1), Cell::new(2));
    fails("a cell", FailureKind::DataRace, || {
        // SAFETY: see above.
        let add = || SHARED.0.with_mut(|value| unsafe { *value += 1 });
        let other = thread::spawn(add);
        add();
        other.join().unwrap();
    });
    holds("a cell of one thread", || {
        // SAFETY: see above.
        let seen = unsafe { *SHARED.0.get() };
        assert_eq!((seen, SHARED.1.get()), (1, 2));
        SHARED.1.set(5);
        // SAFETY: see above.
        SHARED.0.with_mut(|value| unsafe { *value = 7 });
        // SAFETY: see above.
        assert_eq!(SHARED.0.with(|value| unsafe { *value }) + SHARED.1.replace(0), 12);
    });
}

/// Poison belongs to one execution, like the data.
#[test]
fn poison_does_not_outlive_an_execution() {
    static LOCK: Mutex<u32> = Mutex::new(0);
    let report = holds("poison", || {
        let other = thread::spawn(|| {
            let _guard = LOCK.lock().unwrap();
            panic!("while it holds the lock");
        });
        let seen = LOCK.lock().is_err();
        assert!(other.join().is_err());
        assert!(LOCK.is_poisoned() && LOCK.lock().is_err());
        if !seen {
            LOCK.clear_poison();
            assert!(LOCK.lock().is_ok());
        }
    });
    assert!(report.executions > 1, "{report}");
}

/// Two tests may use the same static at the same time.
#[test]
fn tests_do_not_disturb_each_other() {
    static LIST: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || {
                for _ in 0..20 {
                    let report = check().run(|| {
                        let other = thread::spawn(move || LIST.lock().unwrap().push(number));
                        LIST.lock().unwrap().push(number);
                        other.join().unwrap();
                        assert_eq!(*LIST.lock().unwrap(), [number, number]);
                    });
                    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
                }
            });
        }
    });
}

/// What code outside of checks has changed is no business of one test alone.
#[test]
fn a_static_that_is_also_used_outside_is_shared() {
    static LIST: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    LIST.lock().unwrap().push(1);
    let report = check().run(|| assert_eq!(*LIST.lock().unwrap(), [1]));
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
    let report = check().run(|| LIST.lock().unwrap().push(2));
    assert!(matches!(report.outcome, Outcome::Inconclusive(Reason::Outside(_))), "{report}");
}

/// A constructor of the test's own may be `const`; what it makes in the body is made there, so that it has to be published.
#[test]
fn what_a_const_fn_makes_in_the_body_has_to_be_published() {
    struct Node {
        value: AtomicUsize,
        lock: Mutex<u32>,
    }
    impl Node {
        const fn new(value: usize) -> Self {
            Node { value: AtomicUsize::new(value), lock: Mutex::new(1) }
        }
    }
    let body = |order| {
        move || {
            let place = Arc::new(AtomicPtr::<Node>::new(null_mut()));
            let theirs = place.clone();
            let other = thread::spawn(move || {
                theirs.store(Box::into_raw(Box::new(Node::new(7))), order);
            });
            let node = place.load(Acquire);
            if !node.is_null() {
                // SAFETY: never freed.
                let node = unsafe { &*node };
                assert_eq!(node.value.load(Relaxed) as u32 + *node.lock.lock().unwrap(), 8);
            }
            other.join().unwrap();
        }
    };
    let report = fails("relaxed", FailureKind::DataRace, body(Relaxed));
    assert!(report.failure().unwrap().message.contains("makes an object"), "{report}");
    holds("release", body(Release));
    // As many as one likes, and all of them are told apart.
    holds("many", || {
        let many: Vec<AtomicUsize> = (0..5000).map(AtomicUsize::new).collect();
        assert!(many.iter().enumerate().step_by(500).all(|(n, number)| number.load(SeqCst) == n));
        let lazy = LazyLock::new(|| many.len());
        assert_eq!(*lazy, 5000);
    });
}

/// Where a constant was copied is not known, so nothing is proved about its copies.
#[test]
fn copies_of_constants_are_failures() {
    #[allow(clippy::declare_interior_mutable_const, reason = "on purpose")]
    const FLAG: AtomicBool = AtomicBool::new(false);
    let copies = |what: &str, body: &(dyn Fn() + Sync)| {
        let report = check().run(body);
        let failure = report.failure().unwrap_or_else(|| panic!("{what}: {report}"));
        assert_eq!(failure.kind, FailureKind::Uncontrolled, "{what}: {report}");
        assert!(failure.message.contains("plain_statics.rs:"), "{what}: {report}");
        assert!(failure.message.contains("copy of a constant"), "{what}: {report}");
    };
    copies("a constant", &|| {
        let flag = FLAG;
        flag.store(true, SeqCst);
    });
    copies("in an array", &|| {
        let flags = Arc::new([const { AtomicBool::new(false) }; 4]);
        let theirs = flags.clone();
        let other = thread::spawn(move || theirs[3].store(true, SeqCst));
        flags[3].load(SeqCst);
        other.join().unwrap();
    });
    copies("a lock", &|| {
        let lock = Box::new(const { Mutex::new(1) });
        *lock.lock().unwrap() = 2;
    });
}

/// The destructor of what is left in a static runs at the end of the execution, once.
#[test]
fn what_is_left_is_dropped() {
    static DROPS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPS.fetch_add(1, Relaxed);
        }
    }
    static PLACE: Mutex<Option<Counted>> = Mutex::new(None);
    static SHARED: OnceLock<Arc<u32>> = OnceLock::new();
    let report = check().run(|| {
        *PLACE.lock().unwrap() = Some(Counted);
        // No leak: the static is as good as dropped.
        SHARED.set(Arc::new(1)).unwrap();
    });
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
    // Executions that only found out about the statics are not counted, but run.
    assert!(DROPS.load(Relaxed) as u64 >= report.executions, "{report}");
}

/// What is made in a static is dropped once: also in the execution that finds out that there is one, because it comes to
/// nothing else before.
#[test]
fn values_in_statics_are_dropped_as_often_as_they_are_made() {
    use std::sync::atomic::AtomicUsize as Count;
    /// Owns memory and an object, so that no copy of its bytes goes unnoticed.
    struct Counted(Vec<AtomicUsize>, &'static [Count; 2]);
    impl Counted {
        fn new(counts: &'static [Count; 2]) -> Self {
            counts[0].fetch_add(1, SeqCst);
            Counted(vec![AtomicUsize::new(7)], counts)
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0[0].swap(0, SeqCst);
            self.1[1].fetch_add(1, SeqCst);
        }
    }
    struct Shared<T>(T);
    // SAFETY: used by one thread only.
    unsafe impl<T> Sync for Shared<T> {}
    macro_rules! kept_in {
        ($name:literal, $type:ty = $new:expr, |$value:ident, $counts:ident| $use:expr) => {{
            static COUNTS: [Count; 2] = [const { Count::new(0) }; 2];
            static STATIC: $type = $new;
            holds($name, || {
                let ($value, $counts) = (&STATIC, &COUNTS);
                $use;
                let other = thread::spawn(|| preempt::choose(2));
                preempt::choose(2);
                other.join().unwrap();
            });
            let [made, dropped] = [&COUNTS[0], &COUNTS[1]].map(|count| count.load(SeqCst));
            assert!(made > 4 && made == dropped, "{}: {made} made, {dropped} dropped", $name);
        }};
    }
    kept_in!("a mutex", Mutex<Option<Counted>> = Mutex::new(None), |mutex, counts| {
        assert!(mutex.lock().unwrap().replace(Counted::new(counts)).is_none());
    });
    kept_in!("a lock", RwLock<Vec<Counted>> = RwLock::new(Vec::new()), |lock, counts| {
        lock.write().unwrap().push(Counted::new(counts));
        assert_eq!(lock.read().unwrap().len(), 1);
    });
    kept_in!("a cell that is set once", OnceLock<Counted> = OnceLock::new(), |cell, counts| {
        assert_eq!(cell.get_or_init(|| Counted::new(counts)).0[0].load(SeqCst), 7);
    });
    kept_in!("one that is looked at first", OnceLock<Counted> = OnceLock::new(), |cell, counts| {
        assert!(cell.get().is_none() && cell.set(Counted::new(counts)).is_ok());
    });
    kept_in!("a lazy value", LazyLock<Counted> = LazyLock::new(|| Counted::new(&COUNTS)), |lazy, _counts| {
        assert_eq!(lazy.0[0].fetch_add(1, SeqCst), 7);
    });
    kept_in!("a lazy value in a lock", LazyLock<Mutex<Counted>> = LazyLock::new(|| Mutex::new(Counted::new(&COUNTS))), |lazy, counts| {
        assert!(LazyLock::get(lazy).is_none());
        *lazy.lock().unwrap() = Counted::new(counts);
    });
    kept_in!("a cell", Shared<Cell<Option<Counted>>> = Shared(Cell::new(None)), |cell, counts| {
        assert!(cell.0.replace(Some(Counted::new(counts))).is_none());
    });
    kept_in!("an unsafe cell", Shared<UnsafeCell<Option<Counted>>> = Shared(UnsafeCell::new(None)), |cell, counts| {
        // SAFETY: used by one thread only.
        cell.0.with_mut(|cell| assert!(unsafe { &mut *cell }.replace(Counted::new(counts)).is_none()));
    });
}

/// A static is one object, also in the execution that finds out that there is one: what was made in it is not made again, which
/// would drop what threads refer to.
#[test]
fn lazy_values_are_made_once_in_every_execution() {
    use std::sync::atomic::AtomicUsize as Count;
    static MADE: Count = Count::new(0);
    static FULL: Count = Count::new(0);
    static LAZY: LazyLock<Box<AtomicUsize>> = LazyLock::new(|| {
        MADE.fetch_add(1, SeqCst);
        Box::new(AtomicUsize::new(0))
    });
    static CELL: OnceLock<Box<AtomicUsize>> = OnceLock::new();
    let executions = Count::new(0);
    holds("used again and again", || {
        executions.fetch_add(1, SeqCst);
        let make = || {
            FULL.fetch_add(1, SeqCst);
            Box::new(AtomicUsize::new(0))
        };
        let (lazy, cell): (&AtomicUsize, &AtomicUsize) = (&LAZY, CELL.get_or_init(make));
        let other = thread::spawn(move || {
            LAZY.fetch_add(1, SeqCst);
            CELL.get_or_init(make).fetch_add(1, SeqCst);
        });
        lazy.fetch_add(1, SeqCst);
        cell.fetch_add(1, SeqCst);
        other.join().unwrap();
        assert_eq!((LAZY.load(SeqCst), CELL.get().unwrap().load(SeqCst)), (2, 2));
    });
    let executions = executions.into_inner();
    assert_eq!((MADE.load(SeqCst), FULL.load(SeqCst)), (executions, executions));
}
