//! The programs. Each returns what it has seen.

use super::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use super::sync::mpsc::{RecvTimeoutError, TryRecvError, TrySendError, channel, sync_channel};
use super::sync::{
    Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, TryLockError, Weak,
};
use super::{pause, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Name, program, and all its outcomes.
type Described = (&'static str, fn() -> String, &'static str);

pub(crate) const PROGRAMS: &[Described] = &[
    ("a lock in a destructor while unwinding", lock_while_unwinding, "clean"),
    ("poison and what is in it", poison, "lock try read-clean write into get_mut cleared"),
    ("poison while waiting", poison_while_waiting, "poisoned 1|fine 1"),
    ("a predicate that panics", predicate_panics, "poisoned"),
    ("a notification without waiters", lost_notification, "timed out"),
    ("wait_timeout_while, satisfied", wait_satisfied, "false 1"),
    ("wait_timeout_while", wait_timeout_while, "false true|true false"),
    ("notify_one wakes one", notify_one, "1|2"),
    ("an initialisation that panics", once_panics, "poisoned, panics, forced, done"),
    ("waiting for one that panics", once_waits, "panicked panicked|fine fine"),
    ("OnceLock is not poisoned", once_lock, "7"),
    ("OnceLock::set by two", once_lock_set, "ok err 1|err ok 2"),
    ("LazyLock is poisoned", lazy_panics, "panics panics none"),
    ("leaders of a barrier", barrier_leaders, "1 1 1"),
    ("a barrier of none", barrier_of_none, "leader"),
    ("tokens do not add up", park_tokens, "timed out"),
    ("unpark before park, and after the end", unpark_early, "passed"),
    ("messages outlive senders", messages_outlive, "1 2 end"),
    ("what try_recv says", try_recv, "empty 1 gone"),
    ("a receiver goes", receiver_goes, "back 2|sent, then dropped 1"),
    ("a blocked sender whose receiver goes", blocked_sender, "back"),
    ("a rendezvous", rendezvous, "received first|received first, seen"),
    ("a full channel", full, "full 2, gone 3"),
    ("recv_timeout", recv_timeout, "1|late 1"),
    ("a detached thread", detached, "0|1"),
    ("a scope and panics", scope_panics, "3 a scoped thread panicked"),
    ("a joined panic in a scope", scope_joined, "payload"),
    ("a scope whose closure panics", scope_closure, "closure 1"),
    ("thread-locals go latest first", local_order, "second gone, first"),
    ("a thread-local in a destructor", local_again, "made again"),
    ("weak references", weak, "some none 0"),
    ("make_mut leaves weak references behind", make_mut, "2 none"),
    ("get_mut and weak references", get_mut, "none some"),
    ("upgrade while it is dropped", upgrade, "some|none"),
    ("readers share", readers, "both"),
    ("a writer is alone", writer, "would block, would block"),
    ("orders that there are not", orders, "load store exchange fence"),
    ("is_finished, then join", finished, "5"),
    ("counts wrap around", wraps, "0 255 127"),
];

fn panics<R>(work: impl FnOnce() -> R) -> Option<String> {
    let payload = catch_unwind(AssertUnwindSafe(work)).err()?;
    let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
    Some(text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default())
}

fn lock_while_unwinding() -> String {
    struct Locks(Arc<Mutex<u8>>);
    impl Drop for Locks {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let lock = Arc::new(Mutex::new(0));
    let theirs = Locks(lock.clone());
    let other = thread::spawn(move || {
        let _locks = theirs;
        panic!("on purpose");
    });
    assert!(other.join().is_err());
    if lock.is_poisoned() { "poisoned" } else { "clean" }.to_string()
}

fn poison() -> String {
    let mut seen = Vec::new();
    let mutex = Arc::new(Mutex::new(1));
    panics(|| {
        let _guard = mutex.lock().unwrap();
        panic!("on purpose");
    });
    if mutex.lock().is_err_and(|error| **error.get_ref() == 1) {
        seen.push("lock");
    }
    if let Err(TryLockError::Poisoned(error)) = mutex.try_lock() {
        assert_eq!(*error.into_inner(), 1);
        seen.push("try");
    }
    let lock = RwLock::new(2);
    panics(|| {
        let _guard = lock.read().unwrap();
        panic!("on purpose");
    });
    if lock.read().is_ok() && !lock.is_poisoned() {
        seen.push("read-clean");
    }
    panics(|| {
        let _guard = lock.write().unwrap();
        panic!("on purpose");
    });
    if lock.read().is_err() && lock.try_write().is_err() {
        seen.push("write");
    }
    if lock.into_inner().is_err_and(|error| error.into_inner() == 2) {
        seen.push("into");
    }
    let mut mutex = Arc::into_inner(mutex).unwrap();
    if mutex.get_mut().is_err() {
        seen.push("get_mut");
    }
    mutex.clear_poison();
    if mutex.get_mut().is_ok() && mutex.lock().is_ok() {
        seen.push("cleared");
    }
    seen.join(" ")
}

fn poison_while_waiting() -> String {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let theirs = shared.clone();
    let other = thread::spawn(move || {
        let mut guard = theirs.0.lock().unwrap();
        *guard = 1;
        theirs.1.notify_one();
        panic!("on purpose");
    });
    let mut poisoned = false;
    pause();
    let mut guard = shared.0.lock().unwrap_or_else(|error| {
        poisoned = true;
        error.into_inner()
    });
    let came_late = poisoned;
    while *guard == 0 {
        guard = shared.1.wait(guard).unwrap_or_else(|error| {
            poisoned = true;
            error.into_inner()
        });
    }
    let seen = *guard;
    drop(guard);
    assert!(other.join().is_err() && poisoned);
    format!("{} {seen}", if came_late { "poisoned" } else { "fine" })
}

fn predicate_panics() -> String {
    let lock = Mutex::new(0);
    let condition = Condvar::new();
    panics(|| {
        let guard = lock.lock().unwrap();
        let _guard = condition.wait_while(guard, |_| panic!("on purpose"));
    });
    if lock.is_poisoned() { "poisoned" } else { "clean" }.to_string()
}

fn lost_notification() -> String {
    let (lock, condition) = (Mutex::new(()), Condvar::new());
    condition.notify_one();
    condition.notify_all();
    let guard = lock.lock().unwrap();
    let (_guard, result) = condition.wait_timeout(guard, Duration::from_millis(1)).unwrap();
    if result.timed_out() { "timed out" } else { "notified" }.to_string()
}

fn wait_satisfied() -> String {
    let (lock, condition) = (Mutex::new(1), Condvar::new());
    let guard = lock.lock().unwrap();
    let (guard, result) = condition.wait_timeout_while(guard, Duration::ZERO, |n| *n == 0).unwrap();
    format!("{} {}", result.timed_out(), *guard)
}

fn wait_timeout_while() -> String {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let theirs = shared.clone();
    let other = thread::spawn(move || {
        pause();
        *theirs.0.lock().unwrap() = true;
        theirs.1.notify_one();
    });
    let guard = shared.0.lock().unwrap();
    let limit = Duration::from_micros(50);
    let (guard, result) = shared.1.wait_timeout_while(guard, limit, |ready| !*ready).unwrap();
    let outcome = format!("{} {}", result.timed_out(), *guard);
    drop(guard);
    other.join().unwrap();
    outcome
}

fn notify_one() -> String {
    let shared = Arc::new((Mutex::new((0, 0)), Condvar::new()));
    let waits = || {
        let shared = shared.clone();
        thread::spawn(move || {
            let mut guard = shared.0.lock().unwrap();
            guard.0 += 1;
            let mut guard = shared.1.wait_while(guard, |(_, permits)| *permits == 0).unwrap();
            guard.1 -= 1;
            // Another one for the other.
            guard.1 += 1;
            drop(guard);
            shared.1.notify_one();
        })
    };
    let threads = [waits(), waits()];
    let mut guard = shared.0.lock().unwrap();
    while guard.0 == 0 {
        drop(guard);
        thread::yield_now();
        guard = shared.0.lock().unwrap();
    }
    let waiting = guard.0;
    guard.1 = 1;
    drop(guard);
    shared.1.notify_one();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    waiting.to_string()
}

fn once_panics() -> String {
    let once = Once::new();
    let mut seen = Vec::new();
    panics(|| once.call_once(|| panic!("on purpose")));
    if !once.is_completed() {
        seen.push("poisoned");
    }
    if panics(|| once.call_once(|| ())).is_some() && panics(|| once.wait()).is_some() {
        seen.push("panics");
    }
    once.call_once_force(|state| {
        if state.is_poisoned() {
            seen.push("forced");
        }
    });
    once.call_once_force(|_| unreachable!());
    once.wait();
    if once.is_completed() {
        seen.push("done");
    }
    seen.join(", ")
}

fn once_waits() -> String {
    let once = Arc::new((Once::new(), AtomicU32::new(0)));
    let theirs = once.clone();
    let other = thread::spawn(move || {
        theirs.0.call_once(|| {
            pause();
            assert!(theirs.1.load(SeqCst) > 0, "too early");
        });
    });
    pause();
    once.1.store(1, SeqCst);
    let text = |panicked| if panicked { "panicked" } else { "fine" };
    let ours = text(panics(|| once.0.call_once(|| ())).is_some());
    format!("{} {ours}", text(other.join().is_err()))
}

fn once_lock() -> String {
    let cell = OnceLock::new();
    panics(|| cell.get_or_init(|| panic!("on purpose")));
    assert!(cell.get().is_none());
    cell.get_or_init(|| 7).to_string()
}

fn once_lock_set() -> String {
    let cell = Arc::new(OnceLock::new());
    let theirs = cell.clone();
    let other = thread::spawn(move || theirs.set(2));
    pause();
    let text = |result: Result<(), u32>| match result {
        Ok(()) => "ok",
        Err(_) => "err",
    };
    let ours = text(cell.set(1));
    format!("{ours} {} {}", text(other.join().unwrap()), cell.get().unwrap())
}

fn lazy_panics() -> String {
    let lazy: LazyLock<u32> = LazyLock::new(|| panic!("on purpose"));
    let force = || if panics(|| *LazyLock::force(&lazy)).is_some() { "panics" } else { "fine" };
    let (first, second) = (force(), force());
    let got = if LazyLock::get(&lazy).is_none() { "none" } else { "some" };
    format!("{first} {second} {got}")
}

fn barrier_leaders() -> String {
    let shared = Arc::new((Barrier::new(2), [const { std::sync::atomic::AtomicUsize::new(0) }; 3]));
    let work = |shared: &(Barrier, [std::sync::atomic::AtomicUsize; 3])| {
        for round in &shared.1 {
            if shared.0.wait().is_leader() {
                round.fetch_add(1, SeqCst);
            }
            pause();
        }
    };
    let theirs = shared.clone();
    let other = thread::spawn(move || work(&theirs));
    work(&shared);
    other.join().unwrap();
    let leaders: Vec<String> = shared.1.iter().map(|n| n.load(SeqCst).to_string()).collect();
    leaders.join(" ")
}

fn barrier_of_none() -> String {
    if Barrier::new(0).wait().is_leader() { "leader" } else { "follower" }.to_string()
}

fn park_tokens() -> String {
    thread::current().unpark();
    thread::current().unpark();
    thread::park();
    // There was only one: this waits until time is up, which shows in that it returns at all.
    thread::park_timeout(Duration::from_millis(1));
    "timed out".to_string()
}

fn unpark_early() -> String {
    let other = thread::spawn(thread::park);
    let handle = other.thread().clone();
    pause();
    handle.unpark();
    other.join().unwrap();
    handle.unpark();
    "passed".to_string()
}

fn messages_outlive() -> String {
    let (sender, receiver) = channel();
    let other = thread::spawn(move || {
        sender.send(1).unwrap();
        sender.clone().send(2).unwrap();
    });
    pause();
    let mut seen: Vec<String> = receiver.iter().map(|n: u32| n.to_string()).collect();
    if receiver.recv().is_err() {
        seen.push("end".into());
    }
    other.join().unwrap();
    seen.join(" ")
}

fn try_recv() -> String {
    let (sender, receiver) = channel();
    let text = |result: Result<u32, TryRecvError>| match result {
        Ok(number) => number.to_string(),
        Err(TryRecvError::Empty) => "empty".into(),
        Err(TryRecvError::Disconnected) => "gone".into(),
    };
    let first = text(receiver.try_recv());
    sender.send(1).unwrap();
    drop(sender);
    format!("{first} {} {}", text(receiver.try_recv()), text(receiver.try_recv()))
}

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn receiver_goes() -> String {
    let (sender, receiver) = channel();
    let drops = Arc::new(AtomicUsize::new(0));
    let message = Counted(drops.clone());
    let other = thread::spawn(move || drop(receiver));
    pause();
    match sender.send(message) {
        Ok(()) => {
            other.join().unwrap();
            drop(sender);
            format!("sent, then dropped {}", drops.load(SeqCst))
        }
        Err(error) => {
            other.join().unwrap();
            let before = drops.load(SeqCst);
            drop(error);
            format!("back {}", before + 2 * drops.load(SeqCst))
        }
    }
}

fn blocked_sender() -> String {
    let (sender, receiver) = sync_channel(1);
    sender.send(1).unwrap();
    let other = thread::spawn(move || sender.send(2).is_err());
    pause();
    drop(receiver);
    if other.join().unwrap() { "back" } else { "sent" }.to_string()
}

fn rendezvous() -> String {
    let (sender, receiver) = sync_channel(0);
    let seen = Arc::new(AtomicUsize::new(0));
    let theirs = seen.clone();
    let other = thread::spawn(move || {
        receiver.recv().unwrap();
        pause();
        theirs.store(1, SeqCst);
    });
    sender.send(()).unwrap();
    pause();
    let seen = seen.load(SeqCst) == 1;
    other.join().unwrap();
    format!("received first{}", if seen { ", seen" } else { "" })
}

fn full() -> String {
    let (sender, receiver) = sync_channel(1);
    sender.send(1).unwrap();
    let full = match sender.try_send(2) {
        Err(TrySendError::Full(number)) => format!("full {number}"),
        other => format!("{other:?}"),
    };
    drop(receiver);
    match sender.try_send(3) {
        Err(TrySendError::Disconnected(number)) => format!("{full}, gone {number}"),
        other => format!("{full}, {other:?}"),
    }
}

fn recv_timeout() -> String {
    let (sender, receiver) = channel();
    let other = thread::spawn(move || {
        pause();
        if sender.send(1).is_err() {
            unreachable!("the receiver waits for this thread");
        }
    });
    let outcome = match receiver.recv_timeout(Duration::from_micros(30)) {
        Ok(number) => number.to_string(),
        Err(RecvTimeoutError::Timeout) => format!("late {}", receiver.recv().unwrap()),
        Err(RecvTimeoutError::Disconnected) => "impossible".into(),
    };
    other.join().unwrap();
    assert_eq!(receiver.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Disconnected));
    outcome
}

fn detached() -> String {
    let number = Arc::new(AtomicUsize::new(0));
    let theirs = number.clone();
    drop(thread::spawn(move || theirs.store(1, SeqCst)));
    pause();
    number.load(SeqCst).to_string()
}

fn scope_panics() -> String {
    let number = AtomicUsize::new(0);
    let text = panics(|| {
        thread::scope(|scope| {
            scope.spawn(|| number.fetch_add(1, SeqCst));
            scope.spawn(|| panic!("on purpose"));
            scope.spawn(|| {
                scope.spawn(|| number.fetch_add(2, SeqCst));
            });
        });
    });
    format!("{} {}", number.load(SeqCst), text.unwrap_or_default())
}

fn scope_joined() -> String {
    thread::scope(|scope| {
        let other = scope.spawn(|| -> u8 { panic!("payload") });
        other.join().unwrap_err().downcast_ref::<&str>().map_or("none", |text| *text).to_string()
    })
}

fn scope_closure() -> String {
    let number = AtomicUsize::new(0);
    let text = panics(|| {
        thread::scope(|scope| {
            scope.spawn(|| {
                pause();
                number.fetch_add(1, SeqCst);
            });
            panic!("closure");
        });
    });
    format!("{} {}", text.unwrap_or_default(), number.load(SeqCst))
}

type Log = std::sync::Arc<std::sync::Mutex<Vec<&'static str>>>;

struct Notes(&'static str, Log);

impl Drop for Notes {
    fn drop(&mut self) {
        let gone = self.0 == "first" && SECOND.try_with(|_| ()).is_err();
        let mut log = self.1.lock().unwrap();
        if gone {
            log.push("gone,");
        }
        log.push(self.0);
    }
}

super::thread_local! {
    static FIRST: std::cell::RefCell<Option<Notes>> = const { std::cell::RefCell::new(None) };
    static SECOND: std::cell::RefCell<Option<Notes>> = const { std::cell::RefCell::new(None) };
}

fn local_order() -> String {
    let log = Log::default();
    let theirs = log.clone();
    let other = thread::spawn(move || {
        FIRST.with(|first| *first.borrow_mut() = Some(Notes("first", theirs.clone())));
        SECOND.with(|second| *second.borrow_mut() = Some(Notes("second", theirs)));
    });
    other.join().unwrap();
    let log = log.lock().unwrap();
    log.join(" ")
}

struct Asks(Log);

impl Drop for Asks {
    fn drop(&mut self) {
        // Used for the first time.
        LATE.with(|late| late.set(late.get() + 1));
        self.0.lock().unwrap().push("made again");
    }
}

super::thread_local! {
    static ASKS: std::cell::RefCell<Option<Asks>> = const { std::cell::RefCell::new(None) };
    static LATE: std::cell::Cell<u32> = const { std::cell::Cell::new(1) };
}

fn local_again() -> String {
    let log = Log::default();
    let theirs = log.clone();
    let other = thread::spawn(move || ASKS.with(|asks| *asks.borrow_mut() = Some(Asks(theirs))));
    other.join().unwrap();
    let log = log.lock().unwrap();
    log.join(" ")
}

fn weak() -> String {
    let arc = Arc::new(1);
    let weak = Arc::downgrade(&arc);
    let first = weak.upgrade().map_or("none", |_| "some");
    drop(arc);
    let second = weak.upgrade().map_or("none", |_| "some");
    assert!(Weak::<u8>::new().upgrade().is_none());
    format!("{first} {second} {}", weak.strong_count())
}

fn make_mut() -> String {
    let mut arc = Arc::new(1);
    let weak = Arc::downgrade(&arc);
    *Arc::make_mut(&mut arc) = 2;
    format!("{arc} {}", weak.upgrade().map_or("none", |_| "some"))
}

fn get_mut() -> String {
    let mut arc = Arc::new(1);
    let weak = Arc::downgrade(&arc);
    let first = Arc::get_mut(&mut arc).map_or("none", |_| "some");
    drop(weak);
    format!("{first} {}", Arc::get_mut(&mut arc).map_or("none", |_| "some"))
}

fn upgrade() -> String {
    let arc = Arc::new(AtomicUsize::new(1));
    let weak = Arc::downgrade(&arc);
    let other = thread::spawn(move || drop(arc));
    pause();
    let seen = weak.upgrade().map_or("none", |_| "some");
    other.join().unwrap();
    assert!(weak.upgrade().is_none());
    seen.to_string()
}

fn readers() -> String {
    let shared = Arc::new((RwLock::new(0), Barrier::new(2)));
    let theirs = shared.clone();
    // Each waits for the other while it holds the lock.
    let other = thread::spawn(move || {
        let _guard = theirs.0.read().unwrap();
        theirs.1.wait();
    });
    {
        let _guard = shared.0.read().unwrap();
        shared.1.wait();
    }
    other.join().unwrap();
    "both".to_string()
}

fn writer() -> String {
    let lock = RwLock::new(0);
    let text = |blocks| if blocks { "would block" } else { "there" };
    let reading = lock.read().unwrap();
    let first = text(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
    assert!(lock.try_read().is_ok());
    drop(reading);
    let _writing = lock.write().unwrap();
    let second = text(matches!(lock.try_read(), Err(TryLockError::WouldBlock)));
    format!("{first}, {second}")
}

#[allow(invalid_atomic_ordering, reason = "on purpose")]
fn orders() -> String {
    use super::sync::atomic::Ordering::{self, *};
    // Not known to the compiler, which refuses them otherwise.
    let order = |order: Ordering| std::hint::black_box(order);
    let number = AtomicUsize::new(0);
    let mut seen = Vec::new();
    if panics(|| number.load(order(Release))).is_some()
        && panics(|| number.load(order(AcqRel))).is_some()
    {
        seen.push("load");
    }
    if panics(|| number.store(1, order(Acquire))).is_some()
        && panics(|| number.store(1, order(AcqRel))).is_some()
    {
        seen.push("store");
    }
    let exchange =
        |failure| panics(|| number.compare_exchange(0, 1, SeqCst, order(failure))).is_some();
    if exchange(Release) && exchange(AcqRel) && !exchange(Acquire) {
        seen.push("exchange");
    }
    if panics(|| super::sync::atomic::fence(order(Relaxed))).is_some() {
        seen.push("fence");
    }
    seen.join(" ")
}

fn finished() -> String {
    let other = thread::spawn(|| 5);
    while !other.is_finished() {
        thread::yield_now();
    }
    other.join().unwrap().to_string()
}

fn wraps() -> String {
    use super::sync::atomic::{AtomicI8, AtomicU8};
    let (small, signed) = (AtomicU8::new(255), AtomicI8::new(-128));
    small.fetch_add(1, SeqCst);
    signed.fetch_sub(1, SeqCst);
    let seen = small.swap(0, SeqCst);
    small.fetch_sub(1, SeqCst);
    format!("{seen} {} {}", small.load(SeqCst), signed.load(SeqCst))
}
