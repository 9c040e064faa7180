//! Small concurrent programs, correct and broken, over the types of whichever tool `super::tool` names:
//! the tests of this crate, and the benchmark that compares tools, compile the same text.
#![allow(dead_code)]

use super::tool::{
    Arc, AtomicBool, AtomicIsize, AtomicUsize, Condvar, JoinHandle, Mutex, SeqCst, hint, thread,
};

fn threads<T: Send + 'static>(
    n: usize,
    make: impl Fn(usize) -> Box<dyn FnOnce() -> T + Send>,
) -> Vec<JoinHandle<T>> {
    (0..n).map(|i| thread::spawn(make(i))).collect()
}

fn join<T>(handles: Vec<JoinHandle<T>>) -> Vec<T> {
    handles.into_iter().map(|h| h.join().unwrap()).collect()
}

/// n threads increment a counter by load and store; `strict` demands that none is lost.
pub(crate) fn racy_counter(n: usize, strict: bool) {
    let counter = Arc::new(AtomicUsize::new(0));
    join(threads(n, |_| {
        let counter = counter.clone();
        Box::new(move || {
            let value = counter.load(SeqCst);
            counter.store(value + 1, SeqCst);
        })
    }));
    let value = counter.load(SeqCst);
    if strict {
        assert_eq!(value, n, "lost update");
    }
}

/// n threads increment twice under a lock.
pub(crate) fn mutex_counter(n: usize) {
    let counter = Arc::new(Mutex::new(0));
    join(threads(n, |_| {
        let counter = counter.clone();
        Box::new(move || {
            *counter.lock().unwrap() += 1;
            *counter.lock().unwrap() += 1;
        })
    }));
    assert_eq!(*counter.lock().unwrap(), 2 * n);
}

/// n threads append to a log under a lock, `rounds` times each.
pub(crate) fn seqlog(n: usize, rounds: usize) -> u64 {
    let log = Arc::new(Mutex::new(0u64));
    join(threads(n, |i| {
        let log = log.clone();
        Box::new(move || {
            for _ in 0..rounds {
                let mut log = log.lock().unwrap();
                *log = *log * 10 + i as u64 + 1;
            }
        })
    }));
    *log.lock().unwrap()
}

/// n threads that share nothing.
pub(crate) fn independent(n: usize) {
    let handles: Vec<_> = (0..n)
        .map(|_| {
            let own = AtomicUsize::new(0);
            thread::spawn(move || {
                own.store(1, SeqCst);
                own.store(2, SeqCst);
                own.load(SeqCst)
            })
        })
        .collect();
    assert!(join(handles).iter().all(|&v| v == 2));
}

struct Driver {
    pending: AtomicUsize,
    stopping: AtomicBool,
    event: Mutex<bool>,
    changed: Condvar,
    stopped: AtomicBool,
}

impl Driver {
    fn leave(&self) {
        if self.pending.fetch_sub(1, SeqCst) == 1 {
            *self.event.lock().unwrap() = true;
            self.changed.notify_all();
        }
    }

    fn enter(&self, broken: bool) -> bool {
        if broken {
            // The flag may be raised between the look and the count.
            if self.stopping.load(SeqCst) {
                return false;
            }
            self.pending.fetch_add(1, SeqCst);
            return true;
        }
        self.pending.fetch_add(1, SeqCst);
        if self.stopping.load(SeqCst) {
            self.leave();
            return false;
        }
        true
    }
}

/// The Bluetooth driver: n workers and one thread that stops the device.
pub(crate) fn bluetooth(n: usize, broken: bool) {
    let driver = Arc::new(Driver {
        pending: AtomicUsize::new(1),
        stopping: AtomicBool::new(false),
        event: Mutex::new(false),
        changed: Condvar::new(),
        stopped: AtomicBool::new(false),
    });
    let mut handles = threads::<()>(n, |_| {
        let driver = driver.clone();
        Box::new(move || {
            if driver.enter(broken) {
                assert!(!driver.stopped.load(SeqCst), "operation on a stopped driver");
                driver.leave();
            }
        })
    });
    let d = driver.clone();
    handles.push(thread::spawn(move || {
        d.stopping.store(true, SeqCst);
        d.leave();
        let mut event = d.event.lock().unwrap();
        while !*event {
            event = d.changed.wait(event).unwrap();
        }
        drop(event);
        d.stopped.store(true, SeqCst);
    }));
    join(handles);
}

/// Which mistake a work-stealing queue makes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Steal {
    Correct,
    /// pop takes the last item without competing for it
    PopWithoutCompare,
    /// steal overwrites top instead of competing for it
    TopWithoutCompare,
    /// pop looks at top before it lowers bottom
    PopReadsTopEarly,
}

struct Deque {
    top: AtomicIsize,
    bottom: AtomicIsize,
    items: Vec<AtomicUsize>,
}

impl Deque {
    fn slot(&self, index: isize) -> &AtomicUsize {
        &self.items[index as usize % self.items.len()]
    }

    fn push(&self, item: usize) {
        let bottom = self.bottom.load(SeqCst);
        self.slot(bottom).store(item, SeqCst);
        self.bottom.store(bottom + 1, SeqCst);
    }

    fn pop(&self, kind: Steal) -> Option<usize> {
        let bottom = self.bottom.load(SeqCst) - 1;
        let top;
        if kind == Steal::PopReadsTopEarly {
            top = self.top.load(SeqCst);
            self.bottom.store(bottom, SeqCst);
        } else {
            self.bottom.store(bottom, SeqCst);
            top = self.top.load(SeqCst);
        }
        if top > bottom {
            self.bottom.store(bottom + 1, SeqCst);
            return None;
        }
        let item = self.slot(bottom).load(SeqCst);
        if top == bottom {
            let won = if kind == Steal::PopWithoutCompare {
                self.top.store(top + 1, SeqCst);
                true
            } else {
                self.top.compare_exchange(top, top + 1, SeqCst, SeqCst).is_ok()
            };
            self.bottom.store(bottom + 1, SeqCst);
            if !won {
                return None;
            }
        }
        Some(item)
    }

    fn steal(&self, kind: Steal) -> Option<usize> {
        let top = self.top.load(SeqCst);
        let bottom = self.bottom.load(SeqCst);
        if top >= bottom {
            return None;
        }
        let item = self.slot(top).load(SeqCst);
        if kind == Steal::TopWithoutCompare {
            self.top.store(top + 1, SeqCst);
            return Some(item);
        }
        self.top.compare_exchange(top, top + 1, SeqCst, SeqCst).is_ok().then_some(item)
    }
}

/// A work-stealing queue: the owner pushes n and pops n, a thief steals n times.
pub(crate) fn work_stealing(n: usize, kind: Steal) {
    let deque = Arc::new(Deque {
        top: AtomicIsize::new(0),
        bottom: AtomicIsize::new(0),
        items: (0..n.max(2)).map(|_| AtomicUsize::new(0)).collect(),
    });
    let theirs = deque.clone();
    let thief =
        thread::spawn(move || (0..n).filter_map(|_| theirs.steal(kind)).collect::<Vec<_>>());
    for item in 1..=n {
        deque.push(item);
    }
    let mut all: Vec<_> = (0..n).filter_map(|_| deque.pop(kind)).collect();
    all.extend(thief.join().unwrap());
    all.sort_unstable();
    assert_eq!(all, (1..=n).collect::<Vec<_>>(), "lost or duplicated work item");
}

/// Two producers and two consumers on a queue of one place with a single condition variable;
/// broken: only one waiter is woken.
pub(crate) fn bounded_queue(n: usize, broken: bool) {
    let queue = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
    let wake = move |c: &Condvar| if broken { c.notify_one() } else { c.notify_all() };
    join(threads(4, |i| {
        let queue = queue.clone();
        Box::new(move || {
            for _ in 0..n {
                let mut items = queue.0.lock().unwrap();
                if i < 2 {
                    while !items.is_empty() {
                        items = queue.1.wait(items).unwrap();
                    }
                    items.push(1);
                } else {
                    while items.is_empty() {
                        items = queue.1.wait(items).unwrap();
                    }
                    items.pop();
                }
                wake(&queue.1);
            }
        })
    }));
}

/// Dining philosophers; broken: all take the left fork first.
pub(crate) fn philosophers(n: usize, broken: bool) {
    let forks: Vec<_> = (0..n).map(|_| Arc::new(Mutex::new(()))).collect();
    join(threads(n, |i| {
        let (mut a, mut b) = (i, (i + 1) % n);
        if !broken && a > b {
            std::mem::swap(&mut a, &mut b);
        }
        let (first, second) = (forks[a].clone(), forks[b].clone());
        Box::new(move || {
            let _first = first.lock().unwrap();
            let _second = second.lock().unwrap();
        })
    }));
}

struct Stack {
    head: AtomicUsize,
    next: Vec<AtomicUsize>,
    tagged: bool,
}

impl Stack {
    fn pack(&self, node: usize, old: usize) -> usize {
        if self.tagged { node | (((old >> 8) + 1) << 8) } else { node }
    }

    /// Returns how often it had to try again.
    fn push(&self, node: usize) -> usize {
        for retries in 0.. {
            let head = self.head.load(SeqCst);
            self.next[node].store(head & 0xff, SeqCst);
            let new = self.pack(node, head);
            if self.head.compare_exchange(head, new, SeqCst, SeqCst).is_ok() {
                return retries;
            }
        }
        0
    }

    /// Returns the node, 0 if there is none, and how often it had to try again.
    fn pop(&self) -> (usize, usize) {
        for retries in 0.. {
            let head = self.head.load(SeqCst);
            let node = head & 0xff;
            if node == 0 {
                return (0, retries);
            }
            let next = self.next[node].load(SeqCst);
            if self.head.compare_exchange(head, self.pack(next, head), SeqCst, SeqCst).is_ok() {
                return (node, retries);
            }
        }
        (0, 0)
    }
}

/// A Treiber stack over an arena; broken: nodes are used again without a tag (ABA).
pub(crate) fn treiber(n: usize, broken: bool) {
    treiber_outcome(n, broken);
}

/// The same; returns what the two threads popped, then what was left, from the top, and how often
/// each thread had to try again.
pub(crate) fn treiber_outcome(n: usize, broken: bool) -> Vec<usize> {
    let stack = Arc::new(Stack {
        head: AtomicUsize::new(0),
        next: (0..=n).map(|_| AtomicUsize::new(0)).collect(),
        tagged: !broken,
    });
    for node in 1..=n {
        stack.push(node);
    }
    let theirs = stack.clone();
    let other = thread::spawn(move || {
        let (a, first) = theirs.pop();
        let (b, second) = theirs.pop();
        let third = if a != 0 { theirs.push(a) } else { 0 };
        (b, [first, second, third])
    });
    let (own, own_retries) = stack.pop();
    let (popped, retries) = other.join().unwrap();
    let mut seen = vec![own, popped];
    loop {
        let (node, _) = stack.pop();
        if node == 0 {
            break;
        }
        seen.push(node);
        assert!(seen.len() <= n + 2, "cycle");
    }
    let mut outcome = seen.clone();
    outcome.push(own_retries);
    outcome.extend(retries);
    seen.retain(|&node| node != 0);
    seen.sort_unstable();
    assert_eq!(seen, (1..=n).collect::<Vec<_>>(), "lost or duplicated node");
    outcome
}

/// A spin lock that yields; broken: looks and takes in two steps.
pub(crate) fn spinlock(n: usize, broken: bool) {
    let lock = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
    join(threads(n, |_| {
        let lock = lock.clone();
        Box::new(move || {
            if broken {
                while lock.0.load(SeqCst) {
                    thread::yield_now();
                }
                lock.0.store(true, SeqCst);
            } else {
                while lock.0.swap(true, SeqCst) {
                    thread::yield_now();
                }
            }
            let value = lock.1.load(SeqCst);
            lock.1.store(value + 1, SeqCst);
            lock.0.store(false, SeqCst);
        })
    }));
    assert_eq!(lock.1.load(SeqCst), n);
}

/// A ticket lock that yields; broken: tickets are drawn in two steps.
pub(crate) fn ticketlock(n: usize, broken: bool) {
    let lock = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)));
    join(threads(n, |_| {
        let lock = lock.clone();
        Box::new(move || {
            let ticket = if broken {
                let ticket = lock.0.load(SeqCst);
                lock.0.store(ticket + 1, SeqCst);
                ticket
            } else {
                lock.0.fetch_add(1, SeqCst)
            };
            while lock.1.load(SeqCst) != ticket {
                thread::yield_now();
            }
            let value = lock.2.load(SeqCst);
            lock.2.store(value + 1, SeqCst);
            lock.1.store(ticket + 1, SeqCst);
        })
    }));
    assert_eq!(lock.2.load(SeqCst), n);
}

/// A sequence lock: one writer, one reader that retries.
pub(crate) fn seqlock() {
    let lock = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)));
    let theirs = lock.clone();
    let writer = thread::spawn(move || {
        theirs.0.fetch_add(1, SeqCst);
        theirs.1.store(1, SeqCst);
        theirs.2.store(1, SeqCst);
        theirs.0.fetch_add(1, SeqCst);
    });
    let (a, b) = loop {
        let before = lock.0.load(SeqCst);
        if before & 1 == 0 {
            let pair = (lock.1.load(SeqCst), lock.2.load(SeqCst));
            if lock.0.load(SeqCst) == before {
                break pair;
            }
        }
        hint::spin_loop();
    };
    assert_eq!(a, b, "torn read");
    writer.join().unwrap();
}

/// Two stores to one atomic: both orders need no preemption.
pub(crate) fn order(strict: bool) {
    let x = Arc::new(AtomicUsize::new(0));
    let (a, b) = (x.clone(), x.clone());
    let first = thread::spawn(move || a.store(1, SeqCst));
    let second = thread::spawn(move || b.store(2, SeqCst));
    first.join().unwrap();
    second.join().unwrap();
    let value = x.load(SeqCst);
    if strict {
        assert_eq!(value, 2, "the second thread ran before the first");
    }
}

/// Each of two threads writes one variable and reads the other.
pub(crate) fn store_buffering() {
    let pair = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let theirs = pair.clone();
    let other = thread::spawn(move || {
        theirs.0.store(1, SeqCst);
        theirs.1.load(SeqCst)
    });
    pair.1.store(1, SeqCst);
    let here = pair.0.load(SeqCst);
    let there = other.join().unwrap();
    assert!(here == 1 || there == 1, "impossible under sequential consistency");
}
