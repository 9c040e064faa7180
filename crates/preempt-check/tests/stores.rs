//! Every store against a plain map, on random states of equal and of mixed lengths.

use preempt_check::store::{
    Adaptive, Bitstate, Compact, Exact, Inserted, Pending, StateId, Store, StoreFull, Tree,
};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// A small deterministic random number generator (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

/// States as searches see them: neighbours differ in a byte or two, most have been met before.
fn states(seed: u64, count: usize, lengths: &[usize]) -> Vec<Vec<u8>> {
    let mut random = Random(seed | 1);
    let mut state = vec![0; lengths[0]];
    (0..count)
        .map(|_| {
            if random.below(50) == 0 {
                state.resize(lengths[random.below(lengths.len() as u64) as usize], 0);
            }
            if !state.is_empty() {
                let at = random.below(state.len().min(12) as u64) as usize;
                state[at] = random.below(5) as u8;
            }
            state.clone()
        })
        .collect()
}

fn agrees_with_a_map(mut store: impl Store, states: &[Vec<u8>]) {
    let mut known: HashMap<&[u8], StateId> = HashMap::new();
    let mut order: Vec<&[u8]> = Vec::new();
    for (round, chunk) in states.chunks(40).enumerate() {
        let (mut bytes, mut batch) = (Vec::new(), Vec::new());
        for state in chunk {
            let start = bytes.len();
            bytes.extend_from_slice(state);
            batch.push(Pending::new(store.hash(state), start, bytes.len()));
        }
        let inserted: Vec<Inserted> = match round % 2 {
            0 => {
                store.insert_batch(&bytes, &mut batch).expect("there is room");
                batch.iter().map(|pending| pending.inserted).collect()
            }
            _ => chunk.iter().map(|s| store.insert(s).expect("there is room")).collect(),
        };
        for (state, inserted) in chunk.iter().zip(inserted) {
            let next = StateId(order.len() as u32);
            let id = *known.entry(state).or_insert_with(|| {
                order.push(state);
                next
            });
            assert_eq!(inserted, Inserted { id, new: id == next });
        }
    }
    assert_eq!(store.len(), order.len());
    let mut out = Vec::new();
    for (at, state) in order.iter().enumerate() {
        assert_eq!(store.lookup(state), Some(StateId(at as u32)));
        if store.load(StateId(at as u32), &mut out) {
            assert_eq!(out, *state);
        } else {
            assert!(!store.is_exact());
        }
    }
    assert_eq!(store.lookup(b"a state that was never stored"), None);
}

#[test]
fn all_numbered_stores_agree_with_a_map() {
    for (seed, lengths) in [
        (1, &[24][..]),
        (2, &[22]),
        (3, &[7]),
        (4, &[40, 24, 3, 0, 41, 100]),
        (5, &[1]),
        (6, &[133]),
        (7, &[35]),
        (8, &[33, 36, 17, 19, 20, 32, 8, 49]),
    ] {
        let states = states(seed, 30_000, lengths);
        agrees_with_a_map(Exact::new(usize::MAX), &states);
        agrees_with_a_map(Tree::new(usize::MAX), &states);
        agrees_with_a_map(Adaptive::new(usize::MAX), &states);
        agrees_with_a_map(Compact::new(usize::MAX, true), &states);
    }
}

#[test]
fn numbers_survive_compression() {
    let mut store = Adaptive::new(8 << 20);
    for n in 0..200_000 {
        let inserted = store.insert(&digits(n)).expect("compressed states fit");
        assert_eq!(inserted, Inserted { id: StateId(n), new: true });
    }
    let switched = store.switched_at().expect("12 MB of states do not fit into 8 MiB");
    assert!((10_000..100_000).contains(&switched), "{switched}");
    let mut out = Vec::new();
    for n in (0..200_000).step_by(7) {
        assert_eq!(store.insert(&digits(n)), Ok(Inserted { id: StateId(n), new: false }));
        assert!(store.load(StateId(n), &mut out));
        assert_eq!(out, digits(n));
    }
    assert!(store.bytes() < 8 << 20);
}

/// Five counters spread over a vector of 60 bytes.
fn digits(n: u32) -> Vec<u8> {
    let mut state = vec![0; 60];
    for (digit, at) in [3, 17, 29, 44, 58].into_iter().enumerate() {
        state[at] = (n / 12u32.pow(digit as u32) % 12) as u8;
    }
    state
}

#[test]
fn full_stores_say_so_and_stay_within_their_limit() {
    let limit = 1 << 20;
    let mut stores: Vec<Box<dyn Store>> = vec![
        Box::new(Exact::new(limit)),
        Box::new(Tree::new(limit)),
        Box::new(Adaptive::new(limit)),
        Box::new(Compact::new(limit, false)),
    ];
    for store in &mut stores {
        let mut random = Random(7);
        let full = (0..1_000_000).find_map(|_| {
            let state: Vec<u8> = (0..16).map(|_| random.below(256) as u8).collect();
            store.insert(&state).err()
        });
        assert_eq!(full, Some(StoreFull));
        assert!(
            store.len() > 10_000 && store.bytes() <= limit,
            "{} {}",
            store.len(),
            store.bytes()
        );
    }
}

#[test]
fn trees_are_small() {
    let mut store = Tree::new(usize::MAX);
    for n in 0..200_000 {
        store.insert(&digits(n)).expect("there is room");
    }
    let per_state = store.bytes() as f64 / store.len() as f64;
    assert!(store.len() > 190_000 && per_state < 18.0, "{per_state}");
}

#[test]
fn bitstate_predicts_what_it_misses() {
    // 2^20 bits for 200,000 random states: crowded, so that many are missed.
    let mut store = Bitstate::new(20, 3);
    let mut missed = 0;
    for n in 0..200_000u64 {
        missed += u64::from(!store.insert(&n.to_le_bytes()).expect("never full").new);
        assert!(store.lookup(&n.to_le_bytes()).is_some());
    }
    let expected = store.expected_misses();
    assert!(missed > 2_000, "{missed}");
    let ratio = missed as f64 / expected;
    assert!((0.8..1.25).contains(&ratio), "{missed} missed, {expected} expected");
}

/// Successors of stored states, found from these, are the states that their bytes say.
#[test]
fn a_tree_finds_successors_from_their_predecessors() {
    for length in [33, 41, 65, 66, 67, 68, 69, 80, 131, 257] {
        let mut random = Random(length as u64);
        let mut tree = Tree::new(usize::MAX);
        let mut known: HashMap<Vec<u8>, StateId> = HashMap::new();
        let mut order = vec![vec![0; length]];
        known.insert(order[0].clone(), tree.insert(&order[0]).expect("there is room").id);
        for at in 0..400 {
            let parent = order[at % order.len()].clone();
            let (mut bytes, mut batch, mut states) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..6 {
                let mut state = parent.clone();
                if random.below(8) == 0 {
                    state.resize(length + random.below(9) as usize, 0);
                }
                for _ in 0..random.below(4) {
                    let at = random.below(state.len() as u64) as usize;
                    state[at] = random.below(3) as u8;
                }
                let start = bytes.len();
                bytes.extend_from_slice(&state);
                batch.push(Pending::new(0, start, bytes.len()));
                states.push(state);
            }
            tree.hash_successors(known[&parent], &bytes, &mut batch).expect("there is room");
            tree.insert_batch(&bytes, &mut batch).expect("there is room");
            for (state, pending) in states.into_iter().zip(batch) {
                let is_new = !known.contains_key(&state);
                assert_eq!(pending.inserted.new, is_new, "length {length}, round {at}");
                if is_new {
                    order.push(state.clone());
                }
                assert_eq!(*known.entry(state).or_insert(pending.inserted.id), pending.inserted.id);
            }
        }
        let mut out = Vec::new();
        for (state, id) in known {
            assert!(tree.load(id, &mut out));
            assert_eq!(out, state);
            assert_eq!(tree.lookup(&state), Some(id));
        }
    }
}

/// How long a store keeps a search waiting at most. Times are printed, not compared: entries moved are counted beside the stores.
#[test]
fn longest_pause() {
    let states = std::env::var("PREEMPT_PAUSES").ok().and_then(|n| n.parse().ok());
    let states: u32 = states.unwrap_or(100_000);
    let limit = usize::MAX / 4;
    let stores: [(&str, Box<dyn Store>); 3] = [
        ("exact", Box::new(Exact::new(limit))),
        ("tree", Box::new(Tree::new(limit))),
        ("compact", Box::new(Compact::new(limit, false))),
    ];
    for (name, mut store) in stores {
        let (mut bytes, mut batch) = (Vec::new(), Vec::new());
        let (mut longest, mut all) = (Duration::ZERO, Duration::ZERO);
        for first in (0..states).step_by(64) {
            bytes.clear();
            batch.clear();
            for n in first..first + 64 {
                let start = bytes.len();
                bytes.extend([n % 977, n / 977 % 983, n / 977 / 983, n % 3].map(|n| n as u8));
                bytes.extend([n % 977, n / 977 % 983, n / 977 / 983].map(|n| (n >> 8) as u8));
                bytes.extend([0; 40]);
                batch.push(Pending::new(store.hash(&bytes[start..]), start, bytes.len()));
            }
            let begin = Instant::now();
            store.insert_batch(&bytes, &mut batch).expect("there is room");
            longest = longest.max(begin.elapsed());
            all += begin.elapsed();
        }
        assert_eq!(store.len() as u32, states.next_multiple_of(64));
        println!("{name}: {states} states in {all:.2?}, 64 of them in {longest:.2?} at most");
    }
}
