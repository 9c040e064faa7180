//! The facade behaves like the standard library, in every interleaving.

use preempt::sync::atomic::Ordering::{Relaxed, SeqCst};
use preempt::sync::atomic::{AtomicI8, AtomicPtr, AtomicU8, AtomicUsize};
use preempt::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, Weak, mpsc};
use preempt::time::{Duration, Instant};
use preempt::{Check, FailureKind, Outcome, Report, Strategy, choose, future, thread};
use std::collections::BTreeSet;
use std::sync::Mutex as Real;

/// No test depends on the speed of the machine.
fn patient() -> Check {
    Check::new().time(std::time::Duration::from_secs(3600))
}

/// Explores everything twice, by the default strategy and the oracle, and compares.
#[track_caller]
fn holds(body: impl Fn() + Sync) -> Report {
    let report = patient().unbounded().strategy(Strategy::PartialOrders).run(&body);
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
    let oracle = patient().unbounded().strategy(Strategy::ContextBoundedDfs).run(&body);
    assert!(matches!(oracle.outcome, Outcome::Holds), "{oracle}");
    assert_eq!(report.graphs(), oracle.graphs());
    assert!(report.executions <= report.partial_orders, "{report}");
    let sleeping = patient().strategy(Strategy::SleepSets).run(&body);
    assert_eq!(report.partial_orders, sleeping.partial_orders);
    let optimal = patient().strategy(Strategy::Optimal).run(&body);
    assert_eq!(report.partial_orders, optimal.partial_orders);
    assert_eq!(optimal.executions, optimal.partial_orders, "{optimal}");
    report
}

#[track_caller]
fn fails(kind: FailureKind, body: impl Fn() + Sync) -> String {
    let report = patient().run(&body);
    let failure = report.failure().unwrap_or_else(|| panic!("{report}"));
    assert_eq!(failure.kind, kind, "{failure}");
    let again = patient().replay(&failure.schedule).run(&body);
    assert_eq!(again.failure().map(|f| f.kind), Some(kind), "{again}");
    failure.message.clone()
}

/// The outcomes of a body over all its partial orders.
fn outcomes<T: Ord + Send>(body: impl Fn() -> T + Sync) -> BTreeSet<T> {
    let seen = Real::new(BTreeSet::new());
    holds(|| {
        let value = body();
        seen.lock().unwrap().insert(value);
    });
    seen.into_inner().unwrap()
}

#[test]
fn read_write_locks() {
    let seen = outcomes(|| {
        let lock = Arc::new(RwLock::new(0));
        let (a, b) = (lock.clone(), lock.clone());
        let writer = thread::spawn(move || *a.write().unwrap() += 1);
        let reader = thread::spawn(move || *b.read().unwrap());
        let here = *lock.read().unwrap();
        writer.join().unwrap();
        (here, reader.join().unwrap())
    });
    assert_eq!(seen, BTreeSet::from([(0, 0), (0, 1), (1, 0), (1, 1)]));
    let seen = outcomes(|| {
        let lock = Arc::new(RwLock::new(0));
        let theirs = lock.clone();
        let other = thread::spawn(move || theirs.try_write().map(|mut v| *v += 1).is_ok());
        let reads = lock.try_read().is_ok();
        (other.join().unwrap(), reads)
    });
    assert_eq!(seen, BTreeSet::from([(true, true), (true, false), (false, true)]));
}

#[test]
fn channels() {
    let seen = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        let other = sender.clone();
        let a = thread::spawn(move || sender.send(1).unwrap());
        let b = thread::spawn(move || other.send(2).unwrap());
        let all: Vec<i32> = receiver.iter().collect();
        a.join().unwrap();
        b.join().unwrap();
        all
    });
    assert_eq!(seen, BTreeSet::from([vec![1, 2], vec![2, 1]]));
    let seen = outcomes(|| {
        let (sender, receiver) = mpsc::sync_channel(1);
        let a = thread::spawn(move || (sender.try_send(1).is_ok(), sender.try_send(2).is_ok()));
        let first = receiver.try_recv().is_ok();
        (a.join().unwrap(), first)
    });
    assert!(seen.contains(&((true, false), false)) && seen.contains(&((true, true), true)));
    let seen = outcomes(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        let a = thread::spawn(move || sender.send(1).is_ok());
        let got = if choose(2) == 0 { receiver.recv().ok() } else { None };
        drop(receiver);
        (a.join().unwrap(), got)
    });
    assert_eq!(seen, BTreeSet::from([(true, Some(1)), (false, None)]));
    fails(FailureKind::Deadlock, || {
        let (sender, receiver) = mpsc::channel::<i32>();
        let _ = receiver.recv();
        drop(sender);
    });
}

#[test]
fn timeouts_go_both_ways() {
    let seen = outcomes(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = pair.clone();
        let other = thread::spawn(move || {
            *theirs.0.lock().unwrap() = true;
            theirs.1.notify_one();
        });
        let begin = Instant::now();
        let guard = pair.0.lock().unwrap();
        let (guard, result) =
            pair.1.wait_timeout_while(guard, Duration::from_secs(1), |done| !*done).unwrap();
        let done = *guard;
        drop(guard);
        other.join().unwrap();
        (done, result.timed_out(), begin.elapsed() >= Duration::from_secs(1))
    });
    assert!(seen.contains(&(true, false, false)), "{seen:?}");
    assert!(seen.contains(&(false, true, true)), "{seen:?}");
    let seen = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        let other = thread::spawn(move || sender.send(1));
        let got = receiver.recv_timeout(Duration::from_millis(1)).ok();
        let _ = other.join();
        got
    });
    assert_eq!(seen, BTreeSet::from([None, Some(1)]));
    let seen = outcomes(|| {
        let main = thread::current();
        let other = thread::spawn(move || main.unpark());
        let begin = Instant::now();
        thread::park_timeout(Duration::from_millis(5));
        other.join().unwrap();
        begin.elapsed().as_millis()
    });
    assert_eq!(seen, BTreeSet::from([0, 5]));
}

#[test]
fn parking() {
    holds(|| {
        let flag = Arc::new(AtomicUsize::new(0));
        let theirs = flag.clone();
        let sleeper = thread::spawn(move || {
            while theirs.load(SeqCst) == 0 {
                thread::park();
            }
        });
        flag.store(1, SeqCst);
        sleeper.thread().unpark();
        sleeper.join().unwrap();
    });
    let message = fails(FailureKind::Deadlock, || {
        let flag = Arc::new(AtomicUsize::new(0));
        let theirs = flag.clone();
        let sleeper = thread::spawn(move || {
            if theirs.load(SeqCst) == 0 {
                thread::park();
            }
        });
        // Unparks before the flag is up: the wake-up can be lost.
        sleeper.thread().unpark();
        sleeper.thread().unpark();
        flag.store(1, SeqCst);
        thread::spawn(|| thread::park());
        sleeper.join().unwrap();
    });
    assert!(message.contains("waits to be unparked"), "{message}");
}

#[test]
fn barriers() {
    let seen = outcomes(|| {
        let barrier = Arc::new(Barrier::new(2));
        let before = Arc::new(AtomicUsize::new(0));
        let (b, c) = (barrier.clone(), before.clone());
        let other = thread::spawn(move || {
            c.fetch_add(1, SeqCst);
            let leader = b.wait().is_leader();
            assert_eq!(c.load(SeqCst), 2);
            leader
        });
        before.fetch_add(1, SeqCst);
        let leader = barrier.wait().is_leader();
        assert_eq!(before.load(SeqCst), 2);
        (leader, other.join().unwrap())
    });
    assert_eq!(seen, BTreeSet::from([(false, true), (true, false)]));
}

#[test]
fn once() {
    let seen = outcomes(|| {
        let cell = Arc::new((Once::new(), OnceLock::new()));
        let theirs = cell.clone();
        let other = thread::spawn(move || {
            let mut ran = false;
            theirs.0.call_once(|| ran = true);
            (ran, *theirs.1.get_or_init(|| 1))
        });
        let mut ran = false;
        cell.0.call_once(|| ran = true);
        let value = *cell.1.get_or_init(|| 2);
        let theirs = other.join().unwrap();
        assert_ne!(ran, theirs.0);
        assert_eq!(value, theirs.1);
        assert_eq!(cell.1.set(3), Err(3));
        (ran, value)
    });
    assert_eq!(seen.len(), 4);
}

/// A thread that asks too early may ask again.
#[test]
fn once_is_seen_to_be_done() {
    let seen = outcomes(|| {
        let cell = Arc::new(OnceLock::new());
        let theirs = cell.clone();
        let other = thread::spawn(move || {
            assert_eq!(theirs.get(), None);
            theirs.set(7).unwrap();
            assert_eq!(theirs.get(), Some(&7));
        });
        let (before, after) = (cell.get().copied(), cell.get().copied());
        other.join().unwrap();
        assert_eq!(cell.get(), Some(&7));
        (before, after)
    });
    assert_eq!(seen, BTreeSet::from([(None, None), (None, Some(7)), (Some(7), Some(7))]));
}

/// With weaker orders, too; and a thread that sees a value sees what was done before it was set.
#[test]
fn once_orders_what_was_before() {
    let seen = Real::new(BTreeSet::new());
    let report = patient().run(|| {
        let shared = Arc::new((OnceLock::new(), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.1.store(1, Relaxed);
            theirs.0.set(7).unwrap();
        });
        let look = || shared.0.get().map(|value| (*value, shared.1.load(Relaxed)));
        seen.lock().unwrap().insert((look(), look()));
        other.join().unwrap();
        assert_eq!(shared.0.get(), Some(&7));
    });
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
    let done = Some((7, 1));
    let expected = BTreeSet::from([(None, None), (None, done), (done, done)]);
    assert_eq!(seen.into_inner().unwrap(), expected);
}

static LAZY: LazyLock<AtomicUsize> = LazyLock::new(|| AtomicUsize::new(10));

preempt::statics! {
    static COUNTER: AtomicUsize = AtomicUsize::new(0);
    static NAMES: Mutex<Vec<usize>> = Mutex::new(Vec::new());
}

preempt::thread_local! {
    static LOCAL: std::cell::Cell<usize> = const { std::cell::Cell::new(1) };
}

#[test]
fn statics_begin_anew() {
    holds(|| {
        let other = thread::spawn(|| {
            COUNTER.fetch_add(1, SeqCst);
            NAMES.lock().unwrap().push(1);
            LAZY.fetch_add(1, SeqCst);
        });
        COUNTER.fetch_add(1, SeqCst);
        NAMES.lock().unwrap().push(0);
        LAZY.fetch_add(1, SeqCst);
        other.join().unwrap();
        assert_eq!(COUNTER.load(SeqCst), 2);
        assert_eq!(NAMES.lock().unwrap().len(), 2);
        assert_eq!(LAZY.load(SeqCst), 12);
    });
}

preempt::statics! {
    static READY: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
    static SHARED: RwLock<u32> = RwLock::new(7);
    static ONCE: Once = Once::new();
    static CELL: OnceLock<u32> = OnceLock::new();
    static POINTER: AtomicPtr<u32> = AtomicPtr::new(std::ptr::null_mut());
}

/// Every type of std that has a `const` constructor can be a static, and is reset.
#[test]
fn all_kinds_of_statics() {
    holds(|| {
        assert!(!ONCE.is_completed() && CELL.get().is_none());
        assert!(POINTER.load(SeqCst).is_null());
        let other = thread::spawn(|| {
            ONCE.call_once(|| *SHARED.write().unwrap() += 1);
            *READY.0.lock().unwrap() = true;
            READY.1.notify_one();
        });
        let mut ready = READY.0.lock().unwrap();
        while !*ready {
            ready = READY.1.wait(ready).unwrap();
        }
        drop(ready);
        ONCE.call_once(|| unreachable!("done by the other thread"));
        assert_eq!(*CELL.get_or_init(|| *SHARED.read().unwrap()), 8);
        POINTER.store(std::ptr::dangling_mut(), SeqCst);
        other.join().unwrap();
    });
}

#[test]
fn exclusive_access_to_pointers() {
    holds(|| {
        let (mut a, mut b) = (1, 2);
        let mut pointer = AtomicPtr::new(&raw mut a);
        *pointer.get_mut() = &raw mut b;
        assert_eq!(pointer.load(SeqCst), &raw mut b);
        assert_eq!(pointer.into_inner(), &raw mut b);
    });
}

#[test]
fn thread_locals_belong_to_threads() {
    holds(|| {
        LOCAL.set(5);
        let other = thread::spawn(|| {
            assert_eq!(LOCAL.get(), 1);
            LOCAL.set(7);
        });
        other.join().unwrap();
        assert_eq!(LOCAL.get(), 5);
    });
}

/// Named threads of a scope, in and out of control.
#[test]
fn scopes_build_threads() {
    let body = || {
        let number = AtomicUsize::new(1);
        thread::scope(|scope| {
            let builder = thread::Builder::new().name("adder".into());
            let adder = builder
                .spawn_scoped(scope, || {
                    assert_eq!(thread::current().name(), Some("adder"));
                    number.fetch_add(1, SeqCst)
                })
                .expect("it starts");
            assert_eq!(adder.thread().name(), Some("adder"));
            assert_eq!(adder.join().expect("it ends"), 1);
        });
        assert_eq!(number.load(SeqCst), 2);
    };
    body();
    assert!(Check::new().run(body).passed());
}

#[test]
fn scopes_borrow() {
    let seen = outcomes(|| {
        let counter = AtomicUsize::new(0);
        let mut data = vec![1, 2];
        let (a, b) = data.split_at_mut(1);
        let order = thread::scope(|scope| {
            scope.spawn(|| {
                a[0] += 1;
                counter.fetch_add(1, SeqCst)
            });
            let second = scope.spawn(|| {
                b[0] += 1;
                counter.fetch_add(1, SeqCst)
            });
            second.join().unwrap()
        });
        assert_eq!(counter.load(SeqCst), 2);
        assert_eq!(data, [2, 3]);
        order
    });
    assert_eq!(seen, BTreeSet::from([0, 1]));
}

#[test]
fn leaks_and_counts() {
    let message = fails(FailureKind::Leak, || {
        std::mem::forget(Arc::new(1));
    });
    assert!(message.contains("facade.rs:"), "{message}");
    struct Node(Mutex<Option<Arc<Node>>>);
    fails(FailureKind::Leak, || {
        let node = Arc::new(Node(Mutex::new(None)));
        *node.0.lock().unwrap() = Some(node.clone());
    });
    // Which thread drops last is a race as soon as the destructor synchronises.
    struct Tells(mpsc::Sender<usize>, usize);
    impl Drop for Tells {
        fn drop(&mut self) {
            let who = if thread::current().name() == Some("child") { 1 } else { 0 };
            self.0.send(self.1 + who).unwrap();
        }
    }
    let seen = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        let shared = Arc::new(Tells(sender, 10));
        let theirs = shared.clone();
        let child = thread::Builder::new().name("child".into());
        let handle = child.spawn(move || drop(theirs)).unwrap();
        drop(shared);
        handle.join().unwrap();
        receiver.recv().unwrap()
    });
    assert_eq!(seen, BTreeSet::from([10, 11]));
    let seen = outcomes(|| {
        let shared = Arc::new(1);
        let weak: Weak<i32> = Arc::downgrade(&shared);
        let handle = thread::spawn(move || weak.upgrade().is_some());
        drop(shared);
        handle.join().unwrap()
    });
    assert_eq!(seen, BTreeSet::from([false, true]));
    holds(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        let theirs = shared.clone();
        thread::spawn(move || theirs.fetch_add(1, SeqCst)).join().unwrap();
        assert_eq!(Arc::try_unwrap(shared).unwrap().into_inner(), 1);
    });
}

#[test]
fn numbers() {
    holds(|| {
        let mut small = AtomicU8::new(250);
        assert_eq!(small.fetch_add(10, SeqCst), 250);
        assert_eq!(small.load(SeqCst), 4);
        *small.get_mut() = 9;
        assert_eq!(small.fetch_max(3, SeqCst), 9);
        let signed = AtomicI8::new(-3);
        assert_eq!(signed.fetch_min(-100, SeqCst), -3);
        assert_eq!(signed.fetch_max(5, SeqCst), -100);
        assert_eq!(signed.fetch_sub(6, SeqCst), 5);
        assert_eq!(signed.load(SeqCst), -1);
        assert_eq!(signed.fetch_update(SeqCst, SeqCst, |v| (v < 0).then_some(1)), Ok(-1));
        assert_eq!(signed.into_inner(), 1);
    });
}

#[test]
fn pointers() {
    // A lock-free list of boxes: addresses differ in every execution, and must not matter.
    struct Node {
        value: usize,
        next: *mut Node,
    }
    let seen = outcomes(|| {
        let head = Arc::new(AtomicPtr::new(std::ptr::null_mut()));
        let push = |head: &AtomicPtr<Node>, value| {
            let node = Box::into_raw(Box::new(Node { value, next: std::ptr::null_mut() }));
            loop {
                let first = head.load(SeqCst);
                // SAFETY: the node is not published yet.
                unsafe { (*node).next = first };
                if head.compare_exchange(first, node, SeqCst, SeqCst).is_ok() {
                    break;
                }
            }
        };
        let theirs = head.clone();
        let other = thread::spawn(move || {
            push(&theirs, 1);
            push(&theirs, 2);
        });
        push(&head, 3);
        other.join().unwrap();
        let mut all = Vec::new();
        let mut at = head.swap(std::ptr::null_mut(), SeqCst);
        while !at.is_null() {
            // SAFETY: the list is ours alone now.
            let node = unsafe { Box::from_raw(at) };
            all.push(node.value);
            at = node.next;
        }
        all
    });
    assert_eq!(seen.len(), 3, "{seen:?}");
}

#[test]
fn futures() {
    let seen = outcomes(|| {
        let order = Arc::new(Mutex::new(Vec::new()));
        let (a, b) = (order.clone(), order.clone());
        future::block_on(async move {
            let task = future::spawn(async move {
                a.lock().unwrap().push(1);
                7
            });
            b.lock().unwrap().push(2);
            assert_eq!(task.await, 7);
        });
        let order = order.lock().unwrap();
        order.clone()
    });
    assert_eq!(seen, BTreeSet::from([vec![1, 2], vec![2, 1]]));
    // A future that forgets its waker is never polled again.
    fails(FailureKind::Deadlock, || {
        future::block_on(std::future::pending::<()>());
    });
}

#[test]
fn choices() {
    let seen = outcomes(|| (choose(3), preempt::choose_bool()));
    assert_eq!(seen.len(), 6);
}

#[test]
fn objects_from_outside() {
    let outside = std::sync::Arc::new(AtomicUsize::new(5));
    holds(|| {
        let theirs = outside.clone();
        let handle = thread::spawn(move || theirs.fetch_add(1, SeqCst));
        let seen = outside.load(SeqCst);
        assert!(seen == 5 || seen == 6);
        handle.join().unwrap();
        assert_eq!(outside.load(SeqCst), 6);
    });
}

#[test]
fn outside_a_check_everything_is_std() {
    let counter = Arc::new(Mutex::new(0));
    let ready = Arc::new((Mutex::new(false), Condvar::new()));
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| *counter.lock().unwrap() += 1);
        }
        scope.spawn(|| {
            *ready.0.lock().unwrap() = true;
            ready.1.notify_all();
        });
        let guard = ready.0.lock().unwrap();
        drop(ready.1.wait_while(guard, |r| !*r).unwrap());
        thread::spawn(move || sender.send(COUNTER.fetch_add(1, SeqCst)).unwrap());
        receiver.recv().unwrap();
    });
    assert_eq!(*counter.lock().unwrap(), 4);
    assert_eq!(future::block_on(future::spawn(async { 3 })), 3);
    LOCAL.set(3);
    assert_eq!(LOCAL.get(), 3);
}

#[preempt::test]
fn attribute() {
    let x = Arc::new(AtomicUsize::new(0));
    let y = x.clone();
    let handle = thread::spawn(move || y.fetch_add(1, SeqCst));
    handle.join().unwrap();
    assert_eq!(x.load(SeqCst), 1);
}

#[preempt::test(preemptions = 2, time = "30s", steps = 1_000)]
#[should_panic(expected = "lost update")]
fn attribute_with_options() {
    let x = Arc::new(AtomicUsize::new(0));
    let y = x.clone();
    let handle = thread::spawn(move || y.store(y.load(SeqCst) + 1, SeqCst));
    x.store(x.load(SeqCst) + 1, SeqCst);
    handle.join().unwrap();
    assert_eq!(x.load(SeqCst), 2, "lost update");
}
