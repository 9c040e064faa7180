//! The set against a plain map: regular keys and random ones, keys that all belong to the same bucket, and growth in between.

use super::super::permutation::Permutation;
use super::*;
use std::collections::HashMap;

/// A small deterministic random number generator (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 20) % limit
    }
}

fn root(left: u64, right: u64, class: u32) -> Root {
    Root { pair: left << 32 | right, class }
}

/// Inserts keys one after the other into a set and into a map. Gives how many keys one insertion moved at most, and how often
/// everything was moved.
fn agrees_with_a_map(numbered: bool, keys: impl Iterator<Item = Root>) -> (usize, usize) {
    let mut set = Cleary::new(numbered);
    let mut known: HashMap<Root, StateId> = HashMap::new();
    let mut most = 0;
    for root in keys {
        let next = StateId(known.len() as u32);
        assert_eq!(set.find(root).is_some(), known.contains_key(&root), "{root:?}");
        let before = set.moves;
        let inserted = set.insert(root, |_| usize::MAX).expect("there is room");
        most = most.max(set.moves - before);
        let id = *known.entry(root).or_insert(next);
        let expected = if numbered || id == next { id } else { StateId::UNKNOWN };
        assert_eq!(inserted, Inserted { id: expected, new: id == next }, "{root:?}");
        assert_eq!(set.len(), known.len());
    }
    check(&mut set, &known, numbered);
    (most, set.rebuilds)
}

/// All keys are there, and no others; before and after everything has found its place.
fn check(set: &mut Cleary, known: &HashMap<Root, StateId>, numbered: bool) {
    for (root, id) in known {
        let expected = if numbered { *id } else { StateId::UNKNOWN };
        assert_eq!(set.find(*root), Some(expected), "{root:?}");
    }
    set.settle().expect("nothing is added");
    let mut met = 0;
    for field in 0..set.fields() {
        if let Some(root) = set.root(field) {
            met += 1;
            assert!(known.contains_key(&root), "{root:?} was never inserted");
            assert_eq!(set.field(root), Some(field));
            assert_eq!(
                set.find(root),
                Some(if numbered { known[&root] } else { StateId::UNKNOWN })
            );
        }
    }
    assert_eq!(met, known.len());
}

#[test]
fn regular_and_random_keys() {
    for numbered in [false, true] {
        let mut random = Random(7);
        // Pairs of small numbers, in order and not, with everything met again.
        let grid = (0..60_000).map(|n| root(n % 40_000 / 200, n % 40_000 % 200, 0));
        assert_eq!(agrees_with_a_map(numbered, grid).1, 0);
        // Numbers that become larger, as those of parts do.
        let growing =
            (0..60_000u64).map(|n| root(random.below(n / 7 + 1), random.below(n / 3 + 1), 0));
        assert_eq!(agrees_with_a_map(numbered, growing).1, 0);
        let mut random = Random(9);
        let classes = (0..40_000u64)
            .map(|n| root(random.below(300), random.below(40), random.below(n / 5000 + 1) as u32));
        assert_eq!(agrees_with_a_map(numbered, classes).1, 0);
        let mut random = Random(11);
        let wide = (0..40_000).map(|_| root(random.below(1 << 31), random.below(1 << 31), 0));
        assert_eq!(agrees_with_a_map(numbered, wide).1, 0);
    }
}

/// Every key of a small universe: in the end all fields of a bucket can be used.
#[test]
fn all_keys_that_there_are() {
    for numbered in [false, true] {
        let all = (0..1 << 16).map(|n| root(n >> 8, n & 255, 0));
        assert_eq!(agrees_with_a_map(numbered, all).1, 0);
    }
}

/// No insertion moves more than one bucket, or a small table: none takes long, however large the set is.
#[test]
fn growth_is_spread_over_insertions() {
    for numbered in [false, true] {
        let mut random = Random(3);
        let keys = (0..400_000u64).map(|n| {
            // Also wider ones, time and again.
            let most = 1 << (10 + n / 40_000);
            root(random.below(most), random.below(1 << 20), 0)
        });
        let (most, _) = agrees_with_a_map(numbered, keys);
        assert!((FULL..=SMALL * FIELDS).contains(&most), "{most}");
        let mut set = Cleary::new(numbered);
        let mut moved = 0;
        for n in 0..1_000_000 {
            let before = set.moves;
            set.insert(root(n % 1500, n / 1500, 0), |_| usize::MAX).expect("there is room");
            if n > 1 << 14 {
                moved = moved.max(set.moves - before);
            }
        }
        assert!((FULL..=2 * FIELDS).contains(&moved), "{moved}");
        assert!(set.moves < 6 * set.len(), "{} moves of {} keys", set.moves, set.len());
        assert_eq!(set.rebuilds, 0, "a grid is spread evenly");
    }
}

/// The key whose permuted number is this one, in a set whose keys have 20 bits on each side.
fn permuted(number: u64) -> Root {
    let shape = Shape { seed: 0, class: 0, left: 20, right: 20 };
    shape.unpack(Permutation::new(shape.bits(), shape.seed).undo(number))
}

/// Keys that all belong to the same buckets do not fit where a table of usual size has place for them.
#[test]
fn keys_that_belong_together() {
    for numbered in [false, true] {
        let first = root((1 << 20) - 1, (1 << 20) - 1, 0);
        let start = std::iter::once(first);
        // One neighbourhood, filled far beyond its limit.
        let keys = start.clone().chain((0..2_000).map(permuted));
        assert!(agrees_with_a_map(numbered, keys).1 > 0);
        // The end of the table, behind which there is nothing.
        let last = (1 << 40) - 2_000;
        agrees_with_a_map(numbered, start.clone().chain((last..1 << 40).map(permuted)));
        // Usual keys, then the neighbourhood while the table is being moved.
        let mut random = Random(5);
        let usual: Vec<Root> =
            (0..20_000).map(|_| root(random.below(1 << 20), random.below(1 << 20), 0)).collect();
        for turn in [700, 960, 961, 970, 1_000, 5_000] {
            let (early, late) = usual.split_at(turn);
            let together = (0..1_000).map(|n| permuted((1 << 39) + n));
            let keys = early.iter().copied().chain(together).chain(late.iter().copied());
            agrees_with_a_map(numbered, start.clone().chain(keys));
        }
    }
}

/// Full neighbourhoods of exactly the size that displaced entries can bridge, and one more.
#[test]
fn full_neighbourhoods() {
    let mut table = Quotients::new(40, 0, 64, 0);
    let most = (super::super::quotients::FURTHEST + 1) * FIELDS;
    let key = |n: u64| {
        let Root { pair, .. } = permuted(n);
        (pair >> 32) << 20 | pair & 0xf_ffff
    };
    for n in 0..most as u64 {
        let home = table.home(key(n));
        assert_eq!((home.bucket, table.find(home)), (0, None));
        assert!(table.put(home, 0), "{n} of {most}");
        assert_eq!(table.find(home), Some(n as usize));
        assert_eq!(table.key(n as usize), Some(key(n)));
    }
    let home = table.home(key(most as u64));
    assert!(!table.put(home, 0) && table.find(home).is_none());
    let mut keys = Vec::new();
    table.each_of_bucket(0, |permuted, _| keys.push(table.unpermuted(permuted)));
    assert_eq!(keys, (0..most as u64).map(key).collect::<Vec<_>>());
    table.each_of_bucket(1, |permuted, _| panic!("{permuted} belongs elsewhere"));
    // There is room behind them, but not near enough.
    let second = table.home_of_permuted((1 << 40) / 64);
    assert_eq!(second.bucket, 1);
    assert!(!table.put(second, 0) || table.find(second).is_some());
}

/// A set without memory says so, and has lost nothing; nor has it accepted what it refused.
#[test]
fn a_full_set_stays_what_it_was() {
    for numbered in [false, true] {
        for limit in [1usize << 16, 1 << 18, 1 << 20] {
            let mut set = Cleary::new(numbered);
            let mut known = HashMap::new();
            let mut random = Random(limit as u64 | 1);
            let mut refused = 0;
            while refused < 100 {
                let root = root(random.below(1 << 14), random.below(1 << 17), 0);
                match set.insert(root, |set| limit.saturating_sub(set.bytes())) {
                    Ok(Inserted { new: true, id }) => assert_eq!(known.insert(root, id), None),
                    Ok(Inserted { new: false, .. }) => assert!(known.contains_key(&root)),
                    Err(StoreFull) => refused += 1,
                }
            }
            assert!(known.len() > limit / 32, "{} in {limit} bytes", known.len());
            assert!(set.bytes() <= limit, "{} of {limit} bytes", set.bytes());
            check(&mut set, &known, numbered);
        }
    }
}
