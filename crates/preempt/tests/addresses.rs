//! Addresses in atomics: deterministic, exact, and used again only on request.

use preempt::sync::Arc;
use preempt::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
use preempt::{Check, FailureKind, Outcome, Strategy, thread};
use std::ptr::null_mut;

const EXHAUSTIVE: [Strategy; 5] = [
    Strategy::PartialOrders,
    Strategy::ContextBoundedDfs,
    Strategy::HappensBeforeCaching,
    Strategy::Optimal,
    Strategy::SleepSets,
];

fn check(strategy: Strategy) -> Check {
    Check::new().time(std::time::Duration::from_secs(3600)).strategy(strategy).unbounded()
}

/// Something that lives on, so that `malloc` gives other addresses in every execution.
fn disturb() {
    static KEPT: std::sync::Mutex<Vec<Box<[u8]>>> = std::sync::Mutex::new(Vec::new());
    let mut kept = KEPT.lock().unwrap();
    let size = 8 + kept.len() * 16 % 256;
    kept.push(vec![0; size].into());
}

#[test]
fn a_pointer_from_the_beginning() {
    for strategy in EXHAUSTIVE {
        let report = check(strategy).run(|| {
            disturb();
            let shared = Arc::new(AtomicPtr::new(Box::into_raw(Box::new(1))));
            let theirs = shared.clone();
            let other = thread::spawn(move || {
                disturb();
                let mine = Box::into_raw(Box::new(2));
                theirs.swap(mine, SeqCst).expose_provenance()
            });
            let mine = Box::into_raw(Box::new(3));
            let second = shared.swap(mine, SeqCst).expose_provenance();
            let first = other.join().unwrap();
            let last = shared.load(SeqCst).expose_provenance();
            let mut values: Vec<i32> = [first, second, last]
                .map(std::ptr::with_exposed_provenance_mut::<i32>)
                // SAFETY: three swaps, so each pointer is here once.
                .map(|pointer| unsafe { *Box::from_raw(pointer) })
                .into();
            values.sort_unstable();
            assert_eq!(values, [1, 2, 3]);
        });
        assert!(matches!(report.outcome, Outcome::Holds), "{strategy:?}: {report}");
        assert_eq!(report.partial_orders, 2, "{strategy:?}: {report}");
    }
}

/// An address with a mark in its lowest bit, kept as a number.
#[test]
fn addresses_as_numbers() {
    for strategy in EXHAUSTIVE {
        let report = check(strategy).run(|| {
            disturb();
            let shared = Arc::new(AtomicUsize::new(0));
            let theirs = shared.clone();
            let other = thread::spawn(move || {
                disturb();
                let mine = Box::into_raw(Box::new(7u64)).expose_provenance();
                if theirs.compare_exchange(0, mine, SeqCst, SeqCst).is_err() {
                    let pointer = std::ptr::with_exposed_provenance_mut::<u64>(mine);
                    // SAFETY: not published.
                    drop(unsafe { Box::from_raw(pointer) });
                }
                theirs.fetch_or(1, SeqCst);
            });
            let mine = Box::into_raw(Box::new(8u64)).expose_provenance();
            if shared.compare_exchange(0, mine, SeqCst, SeqCst).is_err() {
                // SAFETY: not published.
                drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<u64>(mine)) });
            } else {
                let seen = shared.load(SeqCst);
                assert_eq!(seen & !1, mine);
            }
            other.join().unwrap();
            let last = shared.load(SeqCst);
            assert_eq!(last & 1, 1);
            // SAFETY: the one that was published, without its mark.
            let value =
                unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<u64>(last & !1)) };
            assert!(*value == 7 || *value == 8);
        });
        assert!(matches!(report.outcome, Outcome::Holds), "{strategy:?}: {report}");
    }
}

/// Addresses on the stacks of threads, which are not always the same stacks.
#[test]
fn addresses_of_locals() {
    for strategy in EXHAUSTIVE {
        let report = check(strategy).run(|| {
            let shared = Arc::new(AtomicPtr::new(null_mut::<u32>()));
            thread::scope(|scope| {
                for value in 0..2u32 {
                    let shared = &shared;
                    scope.spawn(move || {
                        let mut local = value;
                        let mine = &raw mut local;
                        let before = shared.swap(mine, SeqCst);
                        assert_ne!(before, mine);
                        let _ = shared.compare_exchange(mine, null_mut(), SeqCst, SeqCst);
                    });
                }
            });
        });
        assert!(matches!(report.outcome, Outcome::Holds), "{strategy:?}: {report}");
    }
}

/// A stack that frees what it pops: right unless an address is used again.
struct Stack {
    head: AtomicPtr<Node>,
}

struct Node {
    value: u32,
    next: *mut Node,
}

impl Stack {
    fn push(&self, node: *mut Node) {
        loop {
            let head = self.head.load(SeqCst);
            // SAFETY: not published yet.
            unsafe { (*node).next = head };
            if self.head.compare_exchange(head, node, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }

    /// The next pointer is kept beside, so that no freed memory is read.
    fn pop(&self, next_of: impl Fn(*mut Node) -> *mut Node) -> *mut Node {
        loop {
            let head = self.head.load(SeqCst);
            if head.is_null() {
                return head;
            }
            let next = next_of(head);
            if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                return head;
            }
        }
    }
}

fn aba() {
    let node = |value| Box::into_raw(Box::new(Node { value, next: null_mut() }));
    let stack = Arc::new(Stack { head: AtomicPtr::new(null_mut()) });
    let (second, first) = (node(2), node(1));
    stack.push(second);
    stack.push(first);
    let theirs = stack.clone();
    let (first, second) = (first.expose_provenance(), second.expose_provenance());
    let other = thread::spawn(move || {
        let first = std::ptr::with_exposed_provenance_mut::<Node>(first);
        let second = std::ptr::with_exposed_provenance_mut::<Node>(second);
        // Knows the nodes, so it reads no memory that may be gone.
        let popped = theirs.pop(|node| if node == first { second } else { null_mut() });
        popped.expose_provenance()
    });
    let first = std::ptr::with_exposed_provenance_mut::<Node>(first);
    let a = stack.pop(|node| {
        // SAFETY: only this thread frees.
        unsafe { (*node).next }
    });
    if a == first {
        // SAFETY: popped by this thread.
        let b = stack.pop(|node| unsafe { (*node).next });
        if !b.is_null() {
            // SAFETY: popped by this thread.
            let value = unsafe { Box::from_raw(a) }.value;
            let again = Box::into_raw(Box::new(Node { value, next: null_mut() }));
            stack.push(again);
        }
        let popped = other.join().unwrap();
        // `b` was taken off by this thread: the other one cannot have it.
        assert!(b.is_null() || popped != b.addr(), "popped twice");
        let left = stack.head.load(SeqCst);
        assert!(b.is_null() || left != b, "a node that was taken off is on the stack");
    } else {
        other.join().unwrap();
    }
}

#[test]
fn aba_is_found_on_request() {
    for strategy in EXHAUSTIVE {
        let report = check(strategy).run(aba);
        assert!(matches!(report.outcome, Outcome::Holds), "{strategy:?}: {report}");
        let report = check(strategy).reuse_addresses().run(aba);
        let failure = report.failure().unwrap_or_else(|| panic!("{strategy:?}: {report}"));
        assert_eq!(failure.kind, FailureKind::Panic, "{strategy:?}: {report}");
        assert!(failure.message.contains("taken off"), "{strategy:?}: {report}");
    }
}
