//! The stores for several threads.
//!
//! Weakened, the fence or the exchange in `numbers.rs` and each of the orders in `readers.rs` makes tests here fail, and so does
//! a split that does not seal. That memory of segments is used again too early does not show in so few insertions.
//!
//! Invariant of every test: of all threads that insert a state exactly one is told that it is new, all are told the same
//! place, and whoever knows the place reads the whole state.

use crate::store::concurrent::ConcurrentStore;
use crate::store::concurrent::compact::SharedCompact;
use crate::store::concurrent::readers::ManyReaders;
use crate::store::concurrent::tree::SharedTree;
use crate::store::{Inserted, Pending};
use preempt::sync::Arc;
use preempt::{Check, cell, thread};

const MEMORY: usize = 1 << 30;

/// Inserts a state that was reached from `parent`.
fn insert<S: ConcurrentStore>(
    store: &S,
    local: &mut S::Local,
    state: &[u8],
    parent: u32,
) -> Inserted {
    let mut batch = [Pending::new(0, 0, state.len())];
    store.insert(local, state, &mut batch, &[parent]).expect("there is room");
    batch[0].inserted
}

/// What the threads that insert these states are told, in their order, after the states of `before` were inserted; and
/// whether the store has grown meanwhile.
fn insert_all<S: ConcurrentStore + Send + 'static>(
    store: S,
    before: &[&[u8]],
    threads: &'static [&'static [&'static [u8]]],
) -> (Arc<S>, Vec<Vec<Inserted>>, bool) {
    let store = Arc::new(store);
    let mut local = store.local(0);
    for state in before {
        insert(&*store, &mut local, state, 77);
    }
    let bytes = store.bytes();
    let work = |number: usize, states: &[&[u8]], store: &S| -> Vec<Inserted> {
        let mut local = store.local(number);
        let inserted = |state: &&[u8]| insert(store, &mut local, state, number as u32);
        states.iter().map(inserted).collect()
    };
    let spawned: Vec<_> = (1..threads.len())
        .map(|number| {
            let store = Arc::clone(&store);
            thread::spawn(move || work(number, threads[number], &store))
        })
        .collect();
    let mut told = vec![work(0, threads[0], &store)];
    told.extend(spawned.into_iter().map(|thread| thread.join().expect("it ends")));
    let has_grown = store.bytes() > bytes;
    (store, told, has_grown)
}

/// The invariant of the module, and that the predecessor of a state is the one of the thread that was the first.
fn agree<S: ConcurrentStore>(store: &S, threads: &[&[&[u8]]], told: &[Vec<Inserted>]) {
    let mut local = store.local(0);
    let all: Vec<(&[u8], Inserted, u32)> = threads
        .iter()
        .zip(told)
        .enumerate()
        .flat_map(|(number, (states, told))| {
            states.iter().zip(told).map(move |(state, told)| (*state, *told, number as u32))
        })
        .collect();
    for (state, _, _) in &all {
        let same: Vec<_> = all.iter().filter(|(other, _, _)| other == state).collect();
        let first: Vec<_> = same.iter().filter(|(_, told, _)| told.new).collect();
        assert_eq!(first.len(), 1, "of all who insert a state one is the first");
        let (_, Inserted { id, .. }, number) = first[0];
        assert_eq!(store.parent(id.0), *number);
        if store.keeps_states() {
            assert!(same.iter().all(|(_, told, _)| told.id == *id), "a state has one place");
            let mut bytes = Vec::new();
            store.load(&mut local, id.0, &mut bytes);
            assert_eq!(bytes, *state);
        }
    }
}

fn check() -> Check {
    Check::new().preemptions(2).stale(2).time(std::time::Duration::from_secs(60))
}

/// Two numbers that change together.
struct Twins(cell::UnsafeCell<u32>, cell::UnsafeCell<u32>);

// SAFETY: that they are read and changed in turn is what the test checks.
unsafe impl Sync for Twins {}

impl Twins {
    fn read(&self) -> u32 {
        // SAFETY: a race is reported before anything is read.
        let [a, b] = [&self.0, &self.1].map(|cell| cell.with(|number| unsafe { *number }));
        assert_eq!(a, b);
        a
    }

    fn change(&mut self) {
        for cell in [&self.0, &self.1] {
            // SAFETY: a race is reported before anything is written.
            cell.with_mut(|number| unsafe { *number += 1 });
        }
    }
}

/// Readers see no change in the middle, and see all that was changed before.
pub fn a_value_changes_while_nobody_reads_it() {
    check().name("a_value_changes_while_nobody_reads_it").test(|| {
        let twins = Twins(cell::UnsafeCell::new(0), cell::UnsafeCell::new(0));
        let lock = Arc::new(ManyReaders::new(twins, 2));
        let other = Arc::clone(&lock);
        let writer = thread::spawn(move || {
            other.write(Twins::change);
            assert!(other.read(1).read() > 0);
        });
        lock.read(0).read();
        lock.write(Twins::change);
        writer.join().expect("it ends");
        assert_eq!(lock.read(0).read(), 2);
    });
}

/// Threads insert the same short states, in opposite orders.
pub fn threads_agree_on_the_states_of_a_tree() {
    const THREADS: [&[&[u8]]; 2] = [&[b"aaaa", b"bbbb"], &[b"bbbb"]];
    check().stale(1).name("threads_agree_on_the_states_of_a_tree").test(|| {
        let (tree, told, _) = insert_all(SharedTree::new(MEMORY, 2), &[], &THREADS);
        agree(&*tree, &THREADS, &told);
        assert_eq!(tree.len(), 2);
    });
}

/// States of several parts, which threads have in common.
pub fn threads_agree_on_the_parts_of_a_tree() {
    const ONE: &[u8] = b"the same beginning, and one end.";
    const TWO: &[u8] = b"the same beginning, and two ends";
    const THREADS: [&[&[u8]]; 2] = [&[ONE], &[TWO, ONE]];
    check().stale(1).name("threads_agree_on_the_parts_of_a_tree").test(|| {
        let (tree, told, _) = insert_all(SharedTree::new(MEMORY, 2), &[], &THREADS);
        agree(&*tree, &THREADS, &told);
        assert_eq!(tree.len(), 2);
    });
}

const BEFORE: [&[u8]; 12] = [
    b"0000", b"0001", b"0002", b"0003", b"0004", b"0005", b"0006", b"0007", b"0008", b"0009",
    b"0010", b"0011",
];

/// A segment of an index is split while both threads insert into it.
pub fn threads_agree_while_a_tree_grows() {
    const THREADS: [&[&[u8]]; 2] = [&[b"aaaa", b"bbbb"], &[b"bbbb", b"0003"]];
    check().preemptions(1).stale(1).name("threads_agree_while_a_tree_grows").test(|| {
        let (tree, told, has_grown) =
            insert_all(SharedTree::new(MEMORY, 2), &BEFORE[..4], &THREADS);
        assert!(has_grown, "no segment was split");
        assert!(!told[1][1].new, "it was there before");
        assert_eq!(told.iter().flatten().filter(|told| told.new).count(), 2);
        assert_eq!(tree.len(), 6);
    });
}

/// Hashes instead of states, in an index of which segments are split meanwhile.
pub fn threads_agree_on_hashes() {
    const THREADS: [&[&[u8]]; 2] = [&[b"aaaa", b"bbbb", b"cccc"], &[b"cccc", b"bbbb", b"aaaa"]];
    let grown = std::sync::atomic::AtomicU32::default();
    for before in [0, 9, 11] {
        let name = format!("threads_agree_on_hashes behind {before}");
        check().stale(1).name(&name).test(|| {
            let (hashes, told, has_grown) =
                insert_all(SharedCompact::new(MEMORY, 2), &BEFORE[..before], &THREADS);
            agree(&*hashes, &THREADS, &told);
            assert_eq!(hashes.len(), before + 3);
            grown.fetch_add(u32::from(has_grown), std::sync::atomic::Ordering::Relaxed);
        });
    }
    assert!(grown.into_inner() > 0, "no segment was split");
}
