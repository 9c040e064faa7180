//! The test bodies, written once and compiled against each tool.

/// Expands to a module `$module` with all bodies over one tool's types.
macro_rules! bodies {
    ($module:ident, { $($import:item)* }) => {
        pub(crate) mod $module {
            $($import)*

            const O: Ordering = Ordering::SeqCst;

            pub(crate) fn racy_counter(n: usize, broken: bool) {
                let counter = Arc::new(AtomicUsize::new(0));
                let handles: Vec<_> = (0..n).map(|_| {
                    let counter = counter.clone();
                    thread::spawn(move || {
                        let value = counter.load(O);
                        counter.store(value + 1, O);
                    })
                }).collect();
                for handle in handles { handle.join().unwrap(); }
                let value = counter.load(O);
                if broken { assert_eq!(value, n, "lost update"); }
            }

            pub(crate) fn mutex_counter(n: usize, _: bool) {
                let counter = Arc::new(Mutex::new(0));
                let handles: Vec<_> = (0..n).map(|_| {
                    let counter = counter.clone();
                    thread::spawn(move || {
                        *counter.lock().unwrap() += 1;
                        *counter.lock().unwrap() += 1;
                    })
                }).collect();
                for handle in handles { handle.join().unwrap(); }
                assert_eq!(*counter.lock().unwrap(), 2 * n);
            }

            pub(crate) fn independent(n: usize, _: bool) {
                let handles: Vec<_> = (0..n).map(|_| {
                    let own = AtomicUsize::new(0);
                    thread::spawn(move || { own.store(1, O); own.store(2, O); own.load(O) })
                }).collect();
                for handle in handles { assert_eq!(handle.join().unwrap(), 2); }
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
                    if self.pending.fetch_sub(1, O) == 1 {
                        *self.event.lock().unwrap() = true;
                        self.changed.notify_all();
                    }
                }

                fn enter(&self, broken: bool) -> bool {
                    if broken {
                        if self.stopping.load(O) { return false; }
                        self.pending.fetch_add(1, O);
                        return true;
                    }
                    self.pending.fetch_add(1, O);
                    if self.stopping.load(O) { self.leave(); return false; }
                    true
                }
            }

            pub(crate) fn bluetooth(n: usize, broken: bool) {
                let driver = Arc::new(Driver {
                    pending: AtomicUsize::new(1),
                    stopping: AtomicBool::new(false),
                    event: Mutex::new(false),
                    changed: Condvar::new(),
                    stopped: AtomicBool::new(false),
                });
                let mut handles = Vec::new();
                for _ in 0..n {
                    let driver = driver.clone();
                    handles.push(thread::spawn(move || {
                        if driver.enter(broken) {
                            assert!(!driver.stopped.load(O), "operation on a stopped driver");
                            driver.leave();
                        }
                    }));
                }
                let d = driver.clone();
                handles.push(thread::spawn(move || {
                    d.stopping.store(true, O);
                    d.leave();
                    let mut event = d.event.lock().unwrap();
                    while !*event { event = d.changed.wait(event).unwrap(); }
                    drop(event);
                    d.stopped.store(true, O);
                }));
                for handle in handles { handle.join().unwrap(); }
            }

            struct Deque { top: AtomicIsize, bottom: AtomicIsize, items: Vec<AtomicUsize> }

            impl Deque {
                fn slot(&self, i: isize) -> &AtomicUsize { &self.items[i as usize % self.items.len()] }

                fn push(&self, item: usize) {
                    let bottom = self.bottom.load(O);
                    self.slot(bottom).store(item, O);
                    self.bottom.store(bottom + 1, O);
                }

                fn pop(&self, early: bool) -> Option<usize> {
                    let bottom = self.bottom.load(O) - 1;
                    let top;
                    if early { top = self.top.load(O); self.bottom.store(bottom, O); }
                    else { self.bottom.store(bottom, O); top = self.top.load(O); }
                    if top > bottom { self.bottom.store(bottom + 1, O); return None; }
                    let item = self.slot(bottom).load(O);
                    if top == bottom {
                        let won = self.top.compare_exchange(top, top + 1, O, O).is_ok();
                        self.bottom.store(bottom + 1, O);
                        if !won { return None; }
                    }
                    Some(item)
                }

                fn steal(&self) -> Option<usize> {
                    let top = self.top.load(O);
                    let bottom = self.bottom.load(O);
                    if top >= bottom { return None; }
                    let item = self.slot(top).load(O);
                    self.top.compare_exchange(top, top + 1, O, O).is_ok().then_some(item)
                }
            }

            pub(crate) fn work_stealing(n: usize, broken: bool) {
                let deque = Arc::new(Deque {
                    top: AtomicIsize::new(0),
                    bottom: AtomicIsize::new(0),
                    items: (0..n.max(2)).map(|_| AtomicUsize::new(0)).collect(),
                });
                let theirs = deque.clone();
                let thief = thread::spawn(move || {
                    (0..n).filter_map(|_| theirs.steal()).collect::<Vec<_>>()
                });
                for item in 1..=n { deque.push(item); }
                let mut all: Vec<_> = (0..n).filter_map(|_| deque.pop(broken)).collect();
                all.extend(thief.join().unwrap());
                all.sort_unstable();
                assert_eq!(all, (1..=n).collect::<Vec<_>>(), "lost or duplicated work item");
            }

            pub(crate) fn bounded_queue(n: usize, broken: bool) {
                let queue = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
                let handles: Vec<_> = (0..4).map(|i| {
                    let queue = queue.clone();
                    thread::spawn(move || for _ in 0..n {
                        let mut items = queue.0.lock().unwrap();
                        while items.is_empty() != (i < 2) { items = queue.1.wait(items).unwrap(); }
                        if i < 2 { items.push(1); } else { items.pop(); }
                        if broken { queue.1.notify_one(); } else { queue.1.notify_all(); }
                    })
                }).collect();
                for handle in handles { handle.join().unwrap(); }
            }

            pub(crate) fn philosophers(n: usize, broken: bool) {
                let forks: Vec<_> = (0..n).map(|_| Arc::new(Mutex::new(()))).collect();
                let handles: Vec<_> = (0..n).map(|i| {
                    let (mut a, mut b) = (i, (i + 1) % n);
                    if !broken && a > b { std::mem::swap(&mut a, &mut b); }
                    let (first, second) = (forks[a].clone(), forks[b].clone());
                    thread::spawn(move || {
                        let _first = first.lock().unwrap();
                        let _second = second.lock().unwrap();
                    })
                }).collect();
                for handle in handles { handle.join().unwrap(); }
            }

            struct Stack { head: AtomicUsize, next: Vec<AtomicUsize>, tagged: bool }

            impl Stack {
                fn pack(&self, node: usize, old: usize) -> usize {
                    if self.tagged { node | (((old >> 8) + 1) << 8) } else { node }
                }

                fn push(&self, node: usize) {
                    loop {
                        let head = self.head.load(O);
                        self.next[node].store(head & 0xff, O);
                        if self.head.compare_exchange(head, self.pack(node, head), O, O).is_ok() { return; }
                    }
                }

                fn pop(&self) -> usize {
                    loop {
                        let head = self.head.load(O);
                        let node = head & 0xff;
                        if node == 0 { return 0; }
                        let next = self.next[node].load(O);
                        if self.head.compare_exchange(head, self.pack(next, head), O, O).is_ok() { return node; }
                    }
                }
            }

            pub(crate) fn treiber(n: usize, broken: bool) {
                let stack = Arc::new(Stack {
                    head: AtomicUsize::new(0),
                    next: (0..=n).map(|_| AtomicUsize::new(0)).collect(),
                    tagged: !broken,
                });
                for node in 1..=n { stack.push(node); }
                let theirs = stack.clone();
                let other = thread::spawn(move || {
                    let a = theirs.pop();
                    let b = theirs.pop();
                    if a != 0 { theirs.push(a); }
                    b
                });
                let mut seen = vec![stack.pop()];
                seen.push(other.join().unwrap());
                loop {
                    let node = stack.pop();
                    if node == 0 { break; }
                    seen.push(node);
                    assert!(seen.len() <= n + 2, "cycle");
                }
                seen.retain(|&node| node != 0);
                seen.sort_unstable();
                assert_eq!(seen, (1..=n).collect::<Vec<_>>(), "lost or duplicated node");
            }

            pub(crate) fn ticketlock(n: usize, broken: bool) {
                let lock = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0)));
                let handles: Vec<_> = (0..n).map(|_| {
                    let lock = lock.clone();
                    thread::spawn(move || {
                        let ticket = if broken {
                            let ticket = lock.0.load(O);
                            lock.0.store(ticket + 1, O);
                            ticket
                        } else { lock.0.fetch_add(1, O) };
                        while lock.1.load(O) != ticket { thread::yield_now(); }
                        let value = lock.2.load(O);
                        lock.2.store(value + 1, O);
                        lock.1.store(ticket + 1, O);
                    })
                }).collect();
                for handle in handles { handle.join().unwrap(); }
                assert_eq!(lock.2.load(O), n);
            }

            pub(crate) fn spinlock(n: usize, broken: bool) {
                let lock = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
                let handles: Vec<_> = (0..n).map(|_| {
                    let lock = lock.clone();
                    thread::spawn(move || {
                        if broken {
                            while lock.0.load(O) { thread::yield_now(); }
                            lock.0.store(true, O);
                        } else {
                            while lock.0.swap(true, O) { thread::yield_now(); }
                        }
                        let value = lock.1.load(O);
                        lock.1.store(value + 1, O);
                        lock.0.store(false, O);
                    })
                }).collect();
                for handle in handles { handle.join().unwrap(); }
                assert_eq!(lock.1.load(O), n);
            }

            pub(crate) fn store_buffering(_: usize, _: bool) {
                let pair = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
                let theirs = pair.clone();
                let other = thread::spawn(move || { theirs.0.store(1, O); theirs.1.load(O) });
                pair.1.store(1, O);
                let here = pair.0.load(O);
                let there = other.join().unwrap();
                assert!(here == 1 || there == 1, "impossible under sequential consistency");
            }

            pub(crate) fn body(name: &str) -> Option<fn(usize, bool)> {
                Some(match name {
                    "racy_counter" => racy_counter,
                    "mutex_counter" => mutex_counter,
                    "independent" => independent,
                    "bluetooth" => bluetooth,
                    "work_stealing" => work_stealing,
                    "bounded_queue" => bounded_queue,
                    "philosophers" => philosophers,
                    "treiber" => treiber,
                    "ticketlock" => ticketlock,
                    "spinlock" => spinlock,
                    "store_buffering" => store_buffering,
                    _ => return None,
                })
            }
        }
    };
}

bodies!(with_preempt, {
    use preempt::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};
    use preempt::sync::{Arc, Condvar, Mutex};
    use preempt::thread;
});
bodies!(with_loom, {
    use loom::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};
    use loom::sync::{Arc, Condvar, Mutex};
    use loom::thread;
});
bodies!(with_shuttle, {
    use shuttle::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};
    use shuttle::sync::{Arc, Condvar, Mutex};
    use shuttle::thread;
});
