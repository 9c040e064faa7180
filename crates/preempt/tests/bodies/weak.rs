//! Algorithms that rely on memory orders, from their published descriptions, each correct (`broken`
//! false) and with one order too weak. Over the types of whichever tool `super::tool` names.
//!
//! Nodes are numbers instead of addresses, and freeing one is a write to its plain data: what would be a use
//! after free is a data race here.
#![allow(dead_code)]

use super::tool::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use super::tool::{Arc, AtomicUsize, Mutex, UnsafeCell, fence, hint, thread};

/// Plain data.
struct Plain(UnsafeCell<usize>);

// SAFETY: the tool checks that accesses are ordered, and runs one thread at a time.
unsafe impl Sync for Plain {}
// SAFETY: as above.
unsafe impl Send for Plain {}

impl Plain {
    fn new() -> Self {
        Plain(UnsafeCell::new(0))
    }

    fn read(&self) -> usize {
        // SAFETY: as above.
        self.0.with(|data| unsafe { *data })
    }

    fn write(&self, value: usize) {
        // SAFETY: as above.
        self.0.with_mut(|data| unsafe { *data = value });
    }
}

fn atomics<const N: usize>() -> [AtomicUsize; N] {
    [(); N].map(|()| AtomicUsize::new(0))
}

fn plain<const N: usize>() -> [Plain; N] {
    [(); N].map(|()| Plain::new())
}

fn either(broken: bool, weak: Ordering, strong: Ordering) -> Ordering {
    if broken { weak } else { strong }
}

/// Two threads on shared data, then `last` on the main thread.
fn two<S: Send + Sync + 'static>(
    shared: S,
    first: impl FnOnce(&S) + Send + 'static,
    second: impl FnOnce(&S) + Send + 'static,
) -> Arc<S> {
    let shared = Arc::new(shared);
    let (a, b) = (shared.clone(), shared.clone());
    let first = thread::spawn(move || first(&a));
    let second = thread::spawn(move || second(&b));
    first.join().unwrap();
    second.join().unwrap();
    shared
}

/// Dekker: two flags with a fence between. Too weak: the fence does not order a store before a load.
pub(crate) fn dekker(broken: bool) {
    let order = either(broken, AcqRel, SeqCst);
    let half = move |me: usize, (flags, data): &([AtomicUsize; 2], Plain)| {
        flags[me].store(1, Relaxed);
        fence(order);
        if flags[1 - me].load(Relaxed) == 0 {
            data.write(me);
        }
    };
    two((atomics(), Plain::new()), move |s| half(0, s), move |s| half(1, s));
}

/// Peterson's lock with fences. Too weak: the second fence.
pub(crate) fn peterson(broken: bool) {
    let order = either(broken, AcqRel, SeqCst);
    let half = move |me: usize, (flags, turn, data): &([AtomicUsize; 2], AtomicUsize, Plain)| {
        flags[me].store(1, Relaxed);
        fence(SeqCst);
        turn.store(1 - me, Relaxed);
        fence(order);
        while flags[1 - me].load(Acquire) == 1 && turn.load(Acquire) == 1 - me {
            hint::spin_loop();
        }
        data.write(me);
        flags[me].store(0, Release);
    };
    let shared = (atomics(), AtomicUsize::new(0), Plain::new());
    two(shared, move |s| half(0, s), move |s| half(1, s));
}

/// A sequence lock: one writer, one reader that tries once. Too weak: no fence in the reader.
pub(crate) fn seqlock(broken: bool) {
    two(
        (AtomicUsize::new(0), atomics::<2>()),
        |(sequence, data)| {
            sequence.store(1, Relaxed);
            fence(Release);
            data[0].store(1, Relaxed);
            data[1].store(1, Relaxed);
            sequence.store(2, Release);
        },
        move |(sequence, data)| {
            let before = sequence.load(Acquire);
            let seen = (data[0].load(Relaxed), data[1].load(Relaxed));
            if !broken {
                fence(Acquire);
            }
            if before % 2 == 0 && sequence.load(Relaxed) == before {
                assert_eq!(seen.0, seen.1, "torn");
            }
        },
    );
}

/// The work-stealing deque of Chase and Lev with the orders of Le, Pop, Cohen and Zappa Nardelli: two
/// elements, one taken by the owner, two stolen. Too weak: the fence of `take`.
pub(crate) fn chase_lev(broken: bool) {
    let order = either(broken, AcqRel, SeqCst);
    let taken = two(
        // bottom, top, elements, how often each was taken
        (AtomicUsize::new(2), AtomicUsize::new(0), [10, 11].map(AtomicUsize::new), atomics::<2>()),
        move |(bottom, top, elements, taken)| {
            let last = bottom.load(Relaxed) - 1;
            bottom.store(last, Relaxed);
            fence(order);
            let first = top.load(Relaxed);
            if first > last {
                bottom.store(last + 1, Relaxed);
                return;
            }
            let element = elements[last].load(Relaxed);
            if first == last {
                let won = top.compare_exchange(first, first + 1, SeqCst, Relaxed).is_ok();
                bottom.store(last + 1, Relaxed);
                if !won {
                    return;
                }
            }
            taken[element - 10].fetch_add(1, Relaxed);
        },
        |(bottom, top, elements, taken)| {
            for _ in 0..2 {
                let first = top.load(Acquire);
                fence(SeqCst);
                if first < bottom.load(Acquire) {
                    let element = elements[first].load(Relaxed);
                    if top.compare_exchange(first, first + 1, SeqCst, Relaxed).is_ok() {
                        taken[element - 10].fetch_add(1, Relaxed);
                    }
                }
            }
        },
    );
    for count in &taken.3 {
        assert!(count.load(Relaxed) <= 1, "an element was taken twice");
    }
}

/// A Treiber stack of one node: a reader protects it with a hazard pointer, another thread pops it and
/// frees it if it is not protected. Too weak: the reader's fence.
pub(crate) fn hazard_pointer(broken: bool) {
    let order = either(broken, AcqRel, SeqCst);
    two(
        // head, hazard pointer, data of node 1
        (AtomicUsize::new(1), AtomicUsize::new(0), Plain::new()),
        move |(head, hazard, data)| {
            let node = head.load(Acquire);
            hazard.store(node, Relaxed);
            fence(order);
            if node == 1 && head.load(Acquire) == node {
                data.read();
            }
            hazard.store(0, Release);
        },
        |(head, hazard, data)| {
            if head.compare_exchange(1, 0, AcqRel, Relaxed).is_ok() {
                fence(SeqCst);
                if hazard.load(Acquire) != 1 {
                    data.write(1);
                }
            }
        },
    );
}

/// The queue of Michael and Scott: nodes 1 and 2 behind the dummy 0. Too weak: the link.
pub(crate) fn michael_scott(broken: bool) {
    let order = either(broken, Relaxed, Release);
    two(
        // head, tail, next of each node, data of each node
        (AtomicUsize::new(0), AtomicUsize::new(0), atomics::<3>(), plain::<3>()),
        move |(_, tail, next, data)| {
            for (node, cell) in data.iter().enumerate().skip(1) {
                cell.write(10 + node);
                loop {
                    let last = tail.load(Acquire);
                    let after = next[last].load(Acquire);
                    if after != 0 {
                        let _ = tail.compare_exchange(last, after, Release, Relaxed);
                    } else if next[last].compare_exchange(0, node, order, Relaxed).is_ok() {
                        let _ = tail.compare_exchange(last, node, Release, Relaxed);
                        break;
                    }
                }
            }
        },
        |(head, tail, next, data)| {
            let mut expected = 11;
            for _ in 0..2 {
                let first = head.load(Acquire);
                let last = tail.load(Acquire);
                let after = next[first].load(Acquire);
                if after == 0 {
                    continue;
                }
                if first == last {
                    let _ = tail.compare_exchange(last, after, Release, Relaxed);
                }
                let value = data[after].read();
                if head.compare_exchange(first, after, AcqRel, Relaxed).is_ok() {
                    assert_eq!(value, expected, "out of order");
                    expected += 1;
                }
            }
        },
    );
}

/// The lock of Mellor-Crummey and Scott. Too weak: handing over.
pub(crate) fn mcs_lock(broken: bool) {
    let order = either(broken, Relaxed, Release);
    type Shared = (AtomicUsize, [AtomicUsize; 3], [AtomicUsize; 3], Plain);
    let half = move |me: usize, (tail, next, locked, data): &Shared| {
        next[me].store(0, Relaxed);
        locked[me].store(1, Relaxed);
        let before = tail.swap(me, AcqRel);
        if before != 0 {
            next[before].store(me, Release);
            while locked[me].load(Acquire) == 1 {
                hint::spin_loop();
            }
        }
        data.write(me);
        if next[me].load(Acquire) == 0 {
            if tail.compare_exchange(me, 0, Release, Relaxed).is_ok() {
                return;
            }
            while next[me].load(Acquire) == 0 {
                hint::spin_loop();
            }
        }
        locked[next[me].load(Acquire)].store(0, order);
    };
    let shared = (AtomicUsize::new(0), atomics(), atomics(), Plain::new());
    two(shared, move |s| half(1, s), move |s| half(2, s));
}

/// The lock of Craig, Landin and Hagersten. Too weak: letting go.
pub(crate) fn clh_lock(broken: bool) {
    let order = either(broken, Relaxed, Release);
    let half = move |me: usize, (tail, locked, data): &(AtomicUsize, [AtomicUsize; 3], Plain)| {
        locked[me].store(1, Relaxed);
        let before = tail.swap(me, AcqRel);
        while locked[before].load(Acquire) == 1 {
            hint::spin_loop();
        }
        data.write(me);
        locked[me].store(0, order);
    };
    let shared = (AtomicUsize::new(0), atomics(), Plain::new());
    two(shared, move |s| half(1, s), move |s| half(2, s));
}

/// Epochs, as RCU has them: a reader is active while it uses what it has loaded; the other thread takes
/// it out and frees it if no reader is active. Too weak: the reader's fence.
pub(crate) fn epochs(broken: bool) {
    let order = either(broken, AcqRel, SeqCst);
    two(
        // pointer, whether the reader is active, data of both nodes
        (AtomicUsize::new(0), AtomicUsize::new(0), plain::<2>()),
        move |(pointer, active, data)| {
            active.store(1, Relaxed);
            fence(order);
            data[pointer.load(Acquire)].read();
            active.store(0, Release);
        },
        |(pointer, active, data)| {
            data[1].write(1);
            pointer.swap(1, AcqRel);
            fence(SeqCst);
            if active.load(Acquire) == 0 {
                data[0].write(2);
            }
        },
    );
}

/// Double-checked initialisation. Too weak: the first look.
pub(crate) fn double_checked(broken: bool) {
    let order = either(broken, Relaxed, Acquire);
    let get = move |(ready, lock, data): &(AtomicUsize, Mutex<()>, Plain)| {
        if ready.load(order) == 0 {
            let _guard = lock.lock().unwrap();
            if ready.load(Relaxed) == 0 {
                data.write(7);
                ready.store(1, Release);
            }
        }
        assert_eq!(data.read(), 7);
    };
    two((AtomicUsize::new(0), Mutex::new(()), Plain::new()), get, get);
}

/// A count of references, as `Arc` has it. Too weak: the decrement.
pub(crate) fn reference_count(broken: bool) {
    let order = either(broken, Relaxed, Release);
    let drop = move |(count, data): &(AtomicUsize, Plain)| {
        data.read();
        if count.fetch_sub(1, order) == 1 {
            fence(Acquire);
            data.write(0);
        }
    };
    two((AtomicUsize::new(2), Plain::new()), drop, drop);
}

/// A ring of one slot between one producer and one consumer, two values. Too weak: publishing.
pub(crate) fn ring_buffer(broken: bool) {
    let order = either(broken, Relaxed, Release);
    two(
        (AtomicUsize::new(0), AtomicUsize::new(0), Plain::new()),
        move |(head, tail, slot)| {
            for value in 1..=2 {
                while tail.load(Relaxed) - head.load(Acquire) == 1 {
                    hint::spin_loop();
                }
                slot.write(value);
                tail.store(value, order);
            }
        },
        |(head, tail, slot)| {
            for value in 1..=2 {
                while tail.load(Acquire) == head.load(Relaxed) {
                    hint::spin_loop();
                }
                assert_eq!(slot.read(), value);
                head.store(value, Release);
            }
        },
    );
}

/// An event count: a thread that waits says so and looks again, a thread that notifies looks for
/// waiters. Too weak: the fence of the notifier.
pub(crate) fn event_count(broken: bool) {
    let order = either(broken, AcqRel, SeqCst);
    let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let other = shared.clone();
    let main = thread::current();
    let notifier = thread::spawn(move || {
        let (waiting, condition) = &*other;
        condition.store(1, Relaxed);
        fence(order);
        if waiting.load(Relaxed) == 1 {
            main.unpark();
        }
    });
    let (waiting, condition) = &*shared;
    waiting.store(1, Relaxed);
    fence(SeqCst);
    if condition.load(Relaxed) == 0 {
        thread::park();
    }
    notifier.join().unwrap();
}

/// A barrier of two threads that spin. Too weak: opening it.
pub(crate) fn spin_barrier(broken: bool) {
    let order = either(broken, Relaxed, Release);
    type Shared = (AtomicUsize, AtomicUsize, [Plain; 2]);
    let half = move |me: usize, (arrived, open, data): &Shared| {
        data[me].write(1);
        if arrived.fetch_add(1, AcqRel) == 1 {
            open.store(1, order);
        } else {
            while open.load(Acquire) == 0 {
                hint::spin_loop();
            }
        }
        assert_eq!(data[1 - me].read(), 1);
    };
    let shared = (AtomicUsize::new(0), AtomicUsize::new(0), plain());
    two(shared, move |s| half(0, s), move |s| half(1, s));
}

/// A ticket lock. Too weak: serving the next.
pub(crate) fn ticket_lock(broken: bool) {
    let order = either(broken, Relaxed, Release);
    let half = move |(next, serving, data): &(AtomicUsize, AtomicUsize, Plain)| {
        let ticket = next.fetch_add(1, Relaxed);
        while serving.load(Acquire) != ticket {
            hint::spin_loop();
        }
        data.write(ticket);
        serving.store(ticket + 1, order);
    };
    two((AtomicUsize::new(0), AtomicUsize::new(0), Plain::new()), half, half);
}

/// Left-right: a reader shows itself and reads the side that is in use; the writer changes the other one,
/// turns sides, waits for readers and changes the first one. Too weak: which side.
pub(crate) fn left_right(broken: bool) {
    let order = either(broken, Acquire, SeqCst);
    two(
        (AtomicUsize::new(0), AtomicUsize::new(0), plain::<2>()),
        move |(readers, side, data)| {
            readers.fetch_add(1, SeqCst);
            data[side.load(order)].read();
            readers.fetch_sub(1, Release);
        },
        |(readers, side, data)| {
            data[1].write(1);
            side.store(1, SeqCst);
            while readers.load(SeqCst) != 0 {
                hint::spin_loop();
            }
            data[0].write(1);
        },
    );
}

/// A name, and the algorithm, with one order too weak or right.
pub(crate) type Algorithm = (&'static str, fn(bool));

/// All of them.
pub(crate) const ALGORITHMS: [Algorithm; 16] = [
    ("dekker", dekker),
    ("peterson", peterson),
    ("seqlock", seqlock),
    ("chase_lev", chase_lev),
    ("hazard_pointer", hazard_pointer),
    ("michael_scott", michael_scott),
    ("mcs_lock", mcs_lock),
    ("clh_lock", clh_lock),
    ("epochs", epochs),
    ("double_checked", double_checked),
    ("reference_count", reference_count),
    ("ring_buffer", ring_buffer),
    ("event_count", event_count),
    ("spin_barrier", spin_barrier),
    ("ticket_lock", ticket_lock),
    ("left_right", left_right),
];

type Pair = [AtomicUsize; 2];

/// Runs the threads of a litmus test; what they saw, and memory in the end.
fn observe(threads: &[fn(&Pair) -> Vec<usize>]) -> Vec<usize> {
    let pair: Arc<Pair> = Arc::new(atomics());
    let handles: Vec<_> = threads
        .iter()
        .map(|&body| {
            let pair = pair.clone();
            thread::spawn(move || body(&pair))
        })
        .collect();
    let mut seen: Vec<usize> = handles.into_iter().flat_map(|h| h.join().unwrap()).collect();
    seen.extend(pair.iter().map(|x| x.load(Relaxed)));
    seen
}

/// A store.
macro_rules! st {
    ($x:literal, $value:literal, $order:ident) => {
        |p: &Pair| {
            p[$x].store($value, $order);
            Vec::new()
        }
    };
    ($x:literal, $v:literal, $y:literal, $w:literal, $order:ident) => {
        |p: &Pair| {
            p[$x].store($v, $order);
            p[$y].store($w, $order);
            Vec::new()
        }
    };
}

/// Two loads.
macro_rules! ld {
    ($x:literal, $y:literal, $order:ident) => {
        |p: &Pair| vec![p[$x].load($order), p[$y].load($order)]
    };
}

/// A store and a load.
macro_rules! st_ld {
    ($x:literal, $y:literal, $store:ident, $load:ident) => {
        |p: &Pair| {
            p[$x].store(1, $store);
            vec![p[$y].load($load)]
        }
    };
}

/// A load and a store.
macro_rules! ld_st {
    ($x:literal, $y:literal, $load:ident, $store:ident) => {
        |p: &Pair| {
            let seen = p[$x].load($load);
            p[$y].store(1, $store);
            vec![seen]
        }
    };
}

fn fenced(me: usize, p: &Pair) -> Vec<usize> {
    p[me].store(1, Relaxed);
    fence(SeqCst);
    vec![p[1 - me].load(Relaxed)]
}

/// A name, the test, and how many outcomes it has.
pub(crate) type Litmus = (&'static str, fn() -> Vec<usize>, usize);

/// Litmus tests.
pub(crate) const LITMUS: [Litmus; 17] = [
    ("SB+rlx", || observe(&[st_ld!(0, 1, Relaxed, Relaxed), st_ld!(1, 0, Relaxed, Relaxed)]), 4),
    ("SB+ra", || observe(&[st_ld!(0, 1, Release, Acquire), st_ld!(1, 0, Release, Acquire)]), 4),
    ("SB+sc", || observe(&[st_ld!(0, 1, SeqCst, SeqCst), st_ld!(1, 0, SeqCst, SeqCst)]), 3),
    ("SB+fences-sc", || observe(&[|p| fenced(0, p), |p| fenced(1, p)]), 3),
    ("MP+rlx", || observe(&[st!(0, 1, 1, 1, Relaxed), ld!(1, 0, Relaxed)]), 4),
    ("MP+ra", || observe(&[st!(0, 1, 1, 1, Release), ld!(1, 0, Acquire)]), 3),
    ("MP+sc", || observe(&[st!(0, 1, 1, 1, SeqCst), ld!(1, 0, SeqCst)]), 3),
    ("LB+rlx", || observe(&[ld_st!(0, 1, Relaxed, Relaxed), ld_st!(1, 0, Relaxed, Relaxed)]), 3),
    ("2+2W+rlx", || observe(&[st!(0, 1, 1, 2, Relaxed), st!(1, 1, 0, 2, Relaxed)]), 4),
    ("2+2W+ra", || observe(&[st!(0, 1, 1, 2, Release), st!(1, 1, 0, 2, Release)]), 4),
    ("2+2W+sc", || observe(&[st!(0, 1, 1, 2, SeqCst), st!(1, 1, 0, 2, SeqCst)]), 3),
    ("IRIW+rlx", iriw_relaxed, 16),
    (
        "IRIW+ra",
        || {
            observe(&[
                st!(0, 1, Release),
                st!(1, 1, Release),
                ld!(0, 1, Acquire),
                ld!(1, 0, Acquire),
            ])
        },
        16,
    ),
    (
        "IRIW+sc",
        || observe(&[st!(0, 1, SeqCst), st!(1, 1, SeqCst), ld!(0, 1, SeqCst), ld!(1, 0, SeqCst)]),
        15,
    ),
    (
        "WRC+rlx",
        || observe(&[st!(0, 1, Relaxed), ld_st!(0, 1, Relaxed, Relaxed), ld!(1, 0, Relaxed)]),
        8,
    ),
    ("CoRR+rlx", || observe(&[st!(0, 1, Relaxed), ld!(0, 0, Relaxed)]), 3),
    (
        "CoRR2+rlx",
        || {
            observe(&[
                st!(0, 1, Relaxed),
                st!(0, 2, Relaxed),
                ld!(0, 0, Relaxed),
                ld!(0, 0, Relaxed),
            ])
        },
        72,
    ),
];

fn iriw_relaxed() -> Vec<usize> {
    observe(&[st!(0, 1, Relaxed), st!(1, 1, Relaxed), ld!(0, 1, Relaxed), ld!(1, 0, Relaxed)])
}
