//! Memory errors of the code under test are failures with a schedule, not the end of the process.
#![cfg(target_os = "linux")]

use preempt::sync::Arc;
use preempt::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
use preempt::{Check, FailureKind, thread};
use std::ptr::null_mut;
use std::time::Duration;

fn memory_error(what: &str, check: Check, message: &str, body: impl Fn() + Sync) {
    let check = check.time(Duration::from_secs(60));
    let report = check.run(&body);
    let failure = report.failure().unwrap_or_else(|| panic!("{what}: {report}"));
    assert_eq!(failure.kind, FailureKind::Memory, "{what}: {report}");
    assert!(failure.message.contains(message), "{what}: {}", failure.message);
    assert!(!failure.trace.steps.is_empty(), "{what}: {report}");
    let again = check.clone().replay(&failure.schedule).run(&body);
    assert_eq!(again.failure().map(|f| f.kind), Some(FailureKind::Memory), "{what}: {again}");
    // Afterwards everything works as if nothing had happened.
    let fine = Check::new().run(|| assert_eq!(AtomicUsize::new(1).load(SeqCst), 1));
    assert!(fine.passed(), "{fine}");
}

struct Node {
    next: AtomicPtr<Node>,
}

/// A stack. The thread that pops a node frees it.
#[derive(Default)]
struct Stack {
    head: AtomicPtr<Node>,
}

impl Stack {
    fn push(&self) {
        let node = Box::into_raw(Box::new(Node { next: AtomicPtr::new(null_mut()) }));
        loop {
            let head = self.head.load(SeqCst);
            // SAFETY: not published yet.
            unsafe { (*node).next.store(head, SeqCst) };
            if self.head.compare_exchange(head, node, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }

    fn pop(&self) -> bool {
        loop {
            let head = self.head.load(SeqCst);
            if head.is_null() {
                return false;
            }
            // SAFETY: none: another thread may have freed it. That is the mistake.
            let next = unsafe { (*head).next.load(SeqCst) };
            if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                // SAFETY: popped, though perhaps not only by this thread.
                drop(unsafe { Box::from_raw(head) });
                return true;
            }
        }
    }
}

#[test]
fn nodes_that_are_freed_too_early() {
    memory_error("use after free", Check::new().reuse_addresses(), "use after free", || {
        let stack = Arc::new(Stack::default());
        stack.push();
        let theirs = stack.clone();
        let other = thread::spawn(move || theirs.pop());
        stack.pop();
        other.join().unwrap();
    });
    // With addresses that are used again a node is popped twice.
    memory_error("aba", Check::new().reuse_addresses(), "free", || {
        let stack = Arc::new(Stack::default());
        stack.push();
        stack.push();
        let theirs = stack.clone();
        let other = thread::spawn(move || {
            theirs.pop();
            theirs.pop();
            theirs.push();
        });
        stack.pop();
        other.join().unwrap();
        while stack.pop() {}
    });
}

#[test]
fn memory_that_is_freed_twice() {
    memory_error("double free", Check::new(), "double free", || {
        let owner = Arc::new(AtomicPtr::new(Box::into_raw(Box::new(7_u64))));
        let theirs = owner.clone();
        let take = |owner: &AtomicPtr<u64>| {
            // Looks and takes in two steps.
            let block = owner.load(SeqCst);
            if !block.is_null() {
                owner.store(null_mut(), SeqCst);
                // SAFETY: none if another thread does the same.
                drop(unsafe { Box::from_raw(block) });
            }
        };
        let other = thread::spawn(move || take(&theirs));
        take(&owner);
        other.join().unwrap();
    });
}

#[test]
fn pointers_to_nowhere() {
    for (address, message) in [(8_usize, "null pointer"), (0x10_0000, "no memory")] {
        memory_error("a wild pointer", Check::new(), message, move || {
            let ready = Arc::new(AtomicUsize::new(0));
            let theirs = ready.clone();
            let other = thread::spawn(move || theirs.store(1, SeqCst));
            if ready.load(SeqCst) == 1 {
                let nowhere = std::hint::black_box(std::ptr::without_provenance::<u64>(address));
                // SAFETY: none, on purpose.
                std::hint::black_box(unsafe { nowhere.read_volatile() });
            }
            other.join().unwrap();
        });
    }
}

/// A cell that was used and then freed is no concern of the next operation on something else.
#[test]
fn objects_that_were_used_before_they_were_freed_are_fine() {
    let report = Check::new().run(|| {
        let mut value = 0;
        let pointer = AtomicPtr::new(&raw mut value);
        let cell = Box::new(preempt::cell::Cell::new(1));
        cell.set(2);
        drop(cell);
        let number = Box::new(AtomicUsize::new(1));
        assert_eq!(format!("{number:?}"), "1");
        drop(number);
        assert!(!pointer.load(SeqCst).is_null());
        thread::spawn(|| ()).join().unwrap();
    });
    assert!(report.passed(), "{report}");
}
