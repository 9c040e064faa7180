//! The same algorithm as a Promela model, as a Rust test and as a C program needs the same number of
//! preemptions to go wrong.
//!
//! The Rust bodies below follow the C programs in `models/native/` operation by operation; a
//! semaphore there is a channel here.

mod c_programs;

use c_programs::{compile, has, preempt, root, run};
use preempt::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use preempt::sync::{Arc, Mutex, mpsc};
use preempt::{Check, FailureKind, thread};
use serde_json::Value;
use std::time::Duration;

/// A simplified Bluetooth driver: a request looks whether the driver is stopping, and only then
/// counts itself in.
fn bluetooth() {
    let pending = Arc::new(AtomicUsize::new(1));
    let stopping = Arc::new(AtomicUsize::new(0));
    let stopped = Arc::new(AtomicUsize::new(0));
    let (post, wait) = mpsc::channel();
    let leave = |pending: &AtomicUsize, post: &mpsc::Sender<()>| {
        if pending.fetch_sub(1, SeqCst) == 1 {
            let _ = post.send(());
        }
    };
    let request = {
        let (pending, stopping, stopped) = (pending.clone(), stopping.clone(), stopped.clone());
        let post = post.clone();
        thread::spawn(move || {
            if stopping.load(SeqCst) == 0 {
                pending.fetch_add(1, SeqCst);
                assert_eq!(stopped.load(SeqCst), 0, "inside a stopped driver");
                leave(&pending, &post);
            }
        })
    };
    let stopper = thread::spawn(move || {
        stopping.store(1, SeqCst);
        leave(&pending, &post);
        let _ = wait.recv();
        stopped.store(1, SeqCst);
    });
    request.join().unwrap();
    stopper.join().unwrap();
}

/// Two threads read a number and write it back, one more.
fn lost_update() {
    let counter = Arc::new(AtomicUsize::new(0));
    let increment = |counter: Arc<AtomicUsize>| {
        thread::spawn(move || {
            let seen = counter.load(SeqCst);
            counter.store(seen + 1, SeqCst);
        })
    };
    let threads = [increment(counter.clone()), increment(counter.clone())];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(counter.load(SeqCst), 2, "lost update");
}

/// Three philosophers, each of which takes the left fork first.
fn philosophers() {
    const N: usize = 3;
    let forks: Arc<[Mutex<()>; N]> = Arc::new(std::array::from_fn(|_| Mutex::new(())));
    let threads: Vec<_> = (0..N)
        .map(|left| {
            let forks = forks.clone();
            thread::spawn(move || {
                let first = forks[left].lock();
                let second = forks[(left + 1) % N].lock();
                drop(second);
                drop(first);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

const ITEMS: usize = 2;

#[derive(Default)]
struct Queue {
    items: [AtomicUsize; 4],
    /// Stolen from at the head, pushed and popped at the tail.
    head: AtomicUsize,
    tail: AtomicUsize,
    taken: [AtomicUsize; 4],
    lock: Mutex<()>,
}

impl Queue {
    fn take(&self, item: usize) {
        assert_eq!(self.taken[item].fetch_add(1, SeqCst), 0, "an item is taken twice");
    }

    fn own(&self, bug: u32) {
        for next in 1..=ITEMS {
            let tail = self.tail.load(SeqCst);
            self.items[tail].store(next, SeqCst);
            self.tail.store(tail + 1, SeqCst);
        }
        for _ in 0..ITEMS {
            // Not below 0: only this thread changes the tail, and pops as often as it has pushed.
            let (head, tail);
            if bug == 1 {
                head = self.head.load(SeqCst);
                tail = self.tail.load(SeqCst) - 1;
                self.tail.store(tail, SeqCst);
            } else {
                tail = self.tail.load(SeqCst) - 1;
                self.tail.store(tail, SeqCst);
                head = self.head.load(SeqCst);
            }
            if head <= tail {
                self.take(self.items[tail].load(SeqCst));
                continue;
            }
            self.tail.store(tail + 1, SeqCst);
            let lock = self.lock.lock();
            let head = self.head.load(SeqCst);
            if head > tail {
                return;
            }
            self.tail.store(tail, SeqCst);
            let item = self.items[tail].load(SeqCst);
            drop(lock);
            self.take(item);
        }
    }

    fn steal(&self, bug: u32) {
        let lock = (bug != 3).then(|| self.lock.lock());
        let head = self.head.load(SeqCst);
        let mut stolen = None;
        if bug == 2 {
            if head < self.tail.load(SeqCst) {
                self.head.store(head + 1, SeqCst);
                stolen = Some(self.items[head].load(SeqCst));
            }
        } else {
            self.head.store(head + 1, SeqCst);
            if head < self.tail.load(SeqCst) {
                stolen = Some(self.items[head].load(SeqCst));
            } else {
                self.head.store(head, SeqCst);
            }
        }
        drop(lock);
        if let Some(item) = stolen {
            self.take(item);
        }
    }
}

/// The work-stealing queue with one of its mistakes, as in `models/native/wsq.h`.
fn work_stealing(bug: u32) {
    let (thieves, tries) = if bug == 3 { (2, 1) } else { (1, ITEMS) };
    let queue = Arc::new(Queue::default());
    let mut threads = vec![{
        let queue = queue.clone();
        thread::spawn(move || queue.own(bug))
    }];
    for _ in 0..thieves {
        let queue = queue.clone();
        threads.push(thread::spawn(move || (0..tries).for_each(|_| queue.steal(bug))));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn rust(name: &str) -> (u32, FailureKind) {
    let check = Check::new().time(Duration::from_secs(3600));
    let report = match name {
        "bluetooth" => check.run(bluetooth),
        "lost_update" => check.run(lost_update),
        "philosophers" => check.run(philosophers),
        "wsq_bug1" => check.run(|| work_stealing(1)),
        "wsq_bug2" => check.run(|| work_stealing(2)),
        _ => check.run(|| work_stealing(3)),
    };
    let failure = report.failure().unwrap_or_else(|| panic!("{name}: {report}"));
    (failure.preemptions, failure.kind)
}

fn promela(name: &str) -> Value {
    let model = root().join(format!("models/{name}.pml"));
    let output = preempt().arg("check").arg(model).args(["--iterate", "--json"]).output();
    serde_json::from_slice(&output.expect("preempt runs").stdout).expect("a report")
}

#[test]
fn twins_need_as_many_preemptions() {
    for name in ["bluetooth", "wsq_bug1", "wsq_bug2", "wsq_bug3", "lost_update", "philosophers"] {
        let model = promela(name);
        let least = model["violation"]["preemptions"].as_u64();
        assert!(least.is_some(), "{name}: {model}");
        let (preemptions, kind) = rust(name);
        assert_eq!(least, Some(preemptions.into()), "{name} in Rust");
        assert_eq!(kind == FailureKind::Deadlock, name == "philosophers", "{name} in Rust");
        if has("gcc") {
            let source = root().join(format!("models/native/{name}.c"));
            let program = compile(&source, &[], ["gcc", "g++"]);
            // The plain number of the lost update races.
            let (_, report) = run(&program, &["--races", "off"]);
            assert_eq!(least, report["violation"]["preemptions"].as_u64(), "{name} in C");
            let kind = report["violation"]["kind"].as_str();
            // Promela's word for it is Spin's.
            let kind = if kind == Some("deadlock") { Some("invalid_end_state") } else { kind };
            assert_eq!(model["violation"]["kind"].as_str(), kind, "{name} in C");
        }
    }
}
