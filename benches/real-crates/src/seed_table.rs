//! Bugs put into published crates, and one that was published. The crates' own loom tests have to find them: an ordering
//! that is too weak, a fence or a second look that is missing.

use crate::seeds::{Change, Seed};

/// All of them.
pub(crate) const SEEDS: &[Seed] = &[
    Seed {
        krate: "parking",
        test: "",
        what: "unpark does not take the lock before it notifies: the wake-up is lost",
        change: Change::Edit {
            file: "src/lib.rs",
            from: "drop(self.lock.lock().unwrap());\n        self.cvar.notify_one();",
            to: "self.cvar.notify_one();",
        },
    },
    Seed {
        krate: "concurrent-queue",
        test: "spsc",
        what: "push marks a single slot as full before the value is written",
        change: Change::Edit {
            file: "src/single.rs",
            from: ".compare_exchange(0, LOCKED | PUSHED, Ordering::SeqCst, Ordering::SeqCst)",
            to: ".compare_exchange(0, PUSHED, Ordering::SeqCst, Ordering::SeqCst)",
        },
    },
    Seed {
        krate: "concurrent-queue",
        test: "spsc",
        what: "push unlocks a single slot without release",
        change: Change::Edit {
            file: "src/single.rs",
            from: "self.state.fetch_and(!LOCKED, Ordering::Release);\n            Ok(())",
            to: "self.state.fetch_and(!LOCKED, Ordering::Relaxed);\n            Ok(())",
        },
    },
    Seed {
        krate: "sharded-slab",
        test: "transfer_stack",
        what: "a slot is published to the stack of free slots without release",
        change: Change::Edit {
            file: "src/page/stack.rs",
            from: ".compare_exchange(next, new_head, Ordering::Release, Ordering::Relaxed)",
            to: ".compare_exchange(next, new_head, Ordering::Relaxed, Ordering::Relaxed)",
        },
    },
    Seed {
        krate: "oneshot",
        test: "poll_then_drop_receiver_during_send",
        what: "oneshot 0.1.10 as published: the receiver is dropped while the sender wakes it",
        change: Change::SourcesOf("0.1.10"),
    },
    Seed {
        krate: "multishot",
        test: "send",
        what: "the sender closes the channel without release",
        change: Change::Edit {
            file: "src/lib.rs",
            from: ".fetch_sub(OPEN | EMPTY, Ordering::AcqRel)",
            to: ".fetch_sub(OPEN | EMPTY, Ordering::Acquire)",
        },
    },
    Seed {
        krate: "multishot",
        test: "",
        what: "the receiver looks at the state without acquire",
        change: Change::Edit {
            file: "src/lib.rs",
            from: "let mut state = unsafe { self.receiver.inner.as_ref().state.load(Ordering::Acquire) };",
            to: "let mut state = unsafe { self.receiver.inner.as_ref().state.load(Ordering::Relaxed) };",
        },
    },
    Seed {
        krate: "multishot",
        test: "",
        what: "poll does not look again whether the channel was closed meanwhile",
        change: Change::Edit {
            file: "src/lib.rs",
            from: "            // Check whether the sender has closed the channel.\n            if state & OPEN == 0 {",
            to: "            if false {",
        },
    },
    Seed {
        krate: "diatomic-waker",
        test: "notify_two_tokens",
        what: "a waker is made visible without release",
        change: Change::Edit {
            file: "src/waker.rs",
            from: "self.state.fetch_or(UPDATE | REGISTERED, Ordering::AcqRel);",
            to: "self.state.fetch_or(UPDATE | REGISTERED, Ordering::Acquire);",
        },
    },
    Seed {
        krate: "diatomic-waker",
        test: "notify_two_tokens",
        what: "a waker is registered without acquire: the predicate may be stale",
        change: Change::Edit {
            file: "src/waker.rs",
            from: "self.state.fetch_or(UPDATE | REGISTERED, Ordering::AcqRel);",
            to: "self.state.fetch_or(UPDATE | REGISTERED, Ordering::Release);",
        },
    },
    Seed {
        krate: "diatomic-waker",
        test: "",
        what: "a notifier that finds the lock taken leaves no notification",
        change: Change::Edit {
            file: "src/waker.rs",
            from: "let new_state = old_state | (registered_bit << 2);",
            to: "let new_state = old_state | (registered_bit & 0);",
        },
    },
    Seed {
        krate: "async-event",
        test: "",
        what: "the fence between joining the wait set and checking the predicate is missing",
        change: Change::Edit {
            file: "src/lib.rs",
            from: "        // after it makes the predicate satisfiable (or both).\n        atomic::fence(Ordering::SeqCst);",
            to: "        // after it makes the predicate satisfiable (or both).\n",
        },
    },
    Seed {
        krate: "async-event",
        test: "",
        what: "the fence of notify is missing",
        change: Change::Edit {
            file: "src/lib.rs",
            from: "        atomic::fence(Ordering::SeqCst);\n",
            to: "",
        },
    },
    Seed {
        krate: "async-event",
        test: "",
        what: "the predicate is not checked again after joining the wait set",
        change: Change::Edit {
            file: "src/lib.rs",
            from: "        atomic::fence(Ordering::SeqCst);\n\n        if let Some(v) = (self.predicate)() {",
            to: "        atomic::fence(Ordering::SeqCst);\n\n        if let Some(v) = (self.predicate)().filter(|_| false) {",
        },
    },
    Seed {
        krate: "st3",
        test: "",
        what: "push publishes an item without release",
        change: Change::Edit {
            file: "src/fifo.rs",
            from: "self.queue.tail.store(tail.wrapping_add(1), Release);",
            to: "self.queue.tail.store(tail.wrapping_add(1), Relaxed);",
        },
    },
    Seed {
        krate: "st3",
        test: "",
        what: "a thief looks at the tail without acquire",
        change: Change::Edit {
            file: "src/fifo.rs",
            from: "            let tail = self.tail.load(Acquire);",
            to: "            let tail = self.tail.load(Relaxed);",
        },
    },
    Seed {
        krate: "st3",
        test: "",
        what: "a thief of the stack gives slots back without release",
        change: Change::Edit {
            file: "src/lifo.rs",
            from: "self.queue.head.store(new_head, Release);",
            to: "self.queue.head.store(new_head, Relaxed);",
        },
    },
    Seed {
        krate: "cordyceps",
        test: "mpsc_queue",
        what: "a node is linked without release",
        change: Change::Edit {
            file: "src/mpsc_queue.rs",
            from: "links(non_null(prev)).next.store(ptr, Release);",
            to: "links(non_null(prev)).next.store(ptr, Relaxed);",
        },
    },
    Seed {
        krate: "cordyceps",
        test: "mpsc_queue",
        what: "a consumer ends without release",
        change: Change::Edit {
            file: "src/mpsc_queue.rs",
            from: "        self.has_consumer.store(false, Release);\n        res",
            to: "        self.has_consumer.store(false, Relaxed);\n        res",
        },
    },
    Seed {
        krate: "cordyceps",
        test: "stack",
        what: "a node is pushed without release",
        change: Change::Edit {
            file: "src/stack.rs",
            from: ".compare_exchange_weak(head, ptr.as_ptr(), AcqRel, Acquire)",
            to: ".compare_exchange_weak(head, ptr.as_ptr(), Acquire, Acquire)",
        },
    },
    Seed {
        krate: "cordyceps",
        test: "stack",
        what: "all nodes are taken without acquire",
        change: Change::Edit {
            file: "src/stack.rs",
            from: "self.head.swap(ptr::null_mut(), AcqRel)",
            to: "self.head.swap(ptr::null_mut(), Release)",
        },
    },
    Seed {
        krate: "tachyonix",
        test: "",
        what: "push publishes a value without release",
        change: Change::Edit {
            file: "src/queue.rs",
            from: "slot.stamp.store(stamp.wrapping_add(1), Ordering::Release);",
            to: "slot.stamp.store(stamp.wrapping_add(1), Ordering::Relaxed);",
        },
    },
    Seed {
        krate: "tachyonix",
        test: "",
        what: "pop gives a slot back without release",
        change: Change::Edit {
            file: "src/queue.rs",
            from: ".store(stamp.wrapping_add(self.right_mask), Ordering::Release);",
            to: ".store(stamp.wrapping_add(self.right_mask), Ordering::Relaxed);",
        },
    },
    Seed {
        krate: "burstq",
        test: "",
        what: "a producer marks its values as written without release",
        change: Change::Edit {
            file: "src/queue.rs",
            from: "self.shared.prod.tail.store(prod_next, Ordering::Release);",
            to: "self.shared.prod.tail.store(prod_next, Ordering::Relaxed);",
        },
    },
    Seed {
        krate: "swap-buffer-queue",
        test: "",
        what: "a waker is not woken that was notified while it was registered",
        change: Change::Edit {
            file: "src/synchronized/atomic_waker.rs",
            from: "                            self.state.swap(WAITING, Ordering::AcqRel);\n                            waker.wake();",
            to: "                            self.state.swap(WAITING, Ordering::AcqRel);\n                            drop(waker);",
        },
    },
    Seed {
        krate: "swap-buffer-queue",
        test: "",
        what: "a waker is registered without release",
        change: Change::Edit {
            file: "src/synchronized/atomic_waker.rs",
            from: "                        Ordering::AcqRel,\n                        Ordering::Acquire,",
            to: "                        Ordering::Acquire,\n                        Ordering::Acquire,",
        },
    },
    Seed {
        krate: "maitake-sync",
        test: "wait_cell",
        what: "the lock of a waker is released without release",
        change: Change::Edit {
            file: "src/wait_cell.rs",
            from: "self.fetch_and(!State::WAKING, Release);",
            to: "self.fetch_and(!State::WAKING, core::sync::atomic::Ordering::Relaxed);",
        },
    },
    Seed {
        krate: "maitake-sync",
        test: "wait_cell",
        what: "a waker is registered without release",
        change: Change::Edit {
            file: "src/wait_cell.rs",
            from: "self.compare_exchange(State::REGISTERING, State::WAITING, AcqRel)",
            to: "self.compare_exchange(State::REGISTERING, State::WAITING, Acquire)",
        },
    },
    Seed {
        krate: "boxcar",
        test: "",
        what: "an entry is marked as active without release",
        change: Change::Edit {
            file: "src/vec/raw.rs",
            from: "entry.active.store(true, Ordering::Release);",
            to: "entry.active.store(true, Ordering::Relaxed);",
        },
    },
];
