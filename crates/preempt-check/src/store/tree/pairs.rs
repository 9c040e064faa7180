//! A numbered set of keys, the building block of tree compression: pairs of numbers, or the lowest
//! parts of states.
//!
//! Keys lie [packed](Packed), or as they are, in the order of their numbers; an [index](Lined) of four bytes per entry leads to
//! them.
//!
//! **Growth** is gradual, as in [`ordered`](crate::store::exact::ordered): a crowded index gets a somewhat larger successor, to which the
//! entries of some lines are moved now and then, in the order of lines, so that one number says of every hash which of the
//! two it belongs to. Entries do not say their hash, so it is computed from the key again; that is a fetch from memory each,
//! which prefetching hides.
//!
//! Invariant: hashes whose upper half is below the boundary are in the new index, all others in the old one.

use crate::store::StoreFull;
use crate::store::memory::pages;
use crate::store::tree::lined::{LINE, Lined, used};

/// A list of keys.
pub(crate) trait Keys: Default {
    type Key: Copy + PartialEq + Default;
    fn len(&self) -> usize;
    /// Memory in use, in bytes.
    fn bytes(&self) -> usize;
    fn get(&self, number: usize) -> Self::Key;
    fn push(&mut self, key: Self::Key);
    /// Asks the processor to fetch a key.
    fn prefetch(&self, number: usize);
    fn hash(key: Self::Key) -> u64;
}

/// A set of keys numbered 0, 1, 2, …
#[derive(Debug)]
pub(crate) struct Numbered<K: Keys> {
    keys: K,
    index: Lined,
    /// The index before, while its entries are moved.
    old: Lined,
    /// Upper halves of hashes from here on are in the old index.
    boundary: u64,
    /// Lines of the old index whose entries were moved, and bytes of it that were given back.
    moved: usize,
    released: usize,
    /// Numbers that are being moved.
    moving: Vec<u32>,
    /// Look whether the index must grow when there are so many keys.
    look_at: usize,
    /// Keys that were looked up lately, by hash: the parts of states that are explored one after the
    /// other are mostly the same.
    recent: Vec<Recent<K::Key>>,
    /// How many entries were moved.
    #[cfg(test)]
    moves: usize,
}

/// A key and its number + 1, or zeroes.
#[derive(Clone, Copy, Default, Debug)]
struct Recent<T> {
    key: T,
    number: u32,
}

/// Recent keys are so many, depending on how many keys there are.
const LEAST_RECENT: usize = 1 << 8;
const MOST_RECENT: usize = 1 << 14;
const FIRST_LINES: usize = 1 << 7;
/// An index of so many lines is moved in one go.
const SMALL_LINES: usize = 1 << 9;
/// Lines that are moved in a step, and how many keys may be added before the next one: an index is moved while a
/// sixty-fourth of its entries is added, which fit beside those of a crowded one.
const STEP: usize = 1 << 6;
const PACE: usize = STEP / 4;

impl<K: Keys> Numbered<K> {
    pub(crate) fn new() -> Self {
        let index = Lined::new(FIRST_LINES);
        Numbered {
            keys: K::default(),
            look_at: index.crowded_at(),
            index,
            old: Lined::none(),
            boundary: u64::MAX,
            moved: 0,
            released: 0,
            moving: Vec::new(),
            recent: Vec::new(),
            #[cfg(test)]
            moves: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    #[inline(always)]
    pub(crate) fn bytes(&self) -> usize {
        let recent = self.recent.len() * size_of::<Recent<K::Key>>();
        self.keys.bytes()
            + recent
            + if self.is_moving() { self.moving_bytes() } else { self.index.bytes() }
    }

    /// The bytes of both indexes: of the old one what was not given back, of the new one what was written to.
    fn moving_bytes(&self) -> usize {
        let begun = self.index.home(self.boundary.min(u64::from(u32::MAX)) << 32) * 64;
        let new = self.index.bytes().min(begun + pages::PIECE);
        self.old.bytes().saturating_sub(self.released) + new
    }

    #[inline(always)]
    fn is_moving(&self) -> bool {
        self.boundary != u64::MAX
    }

    /// The index that a hash belongs to.
    #[inline(always)]
    fn index(&self, hash: u64) -> &Lined {
        if hash >> 32 < self.boundary { &self.index } else { &self.old }
    }

    #[inline(always)]
    pub(crate) fn key(&self, number: u32) -> K::Key {
        self.keys.get(number as usize)
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        self.index(hash).prefetch(hash);
    }

    /// Fetches the key that an insertion with this hash will compare, once the index has arrived.
    #[inline(always)]
    pub(crate) fn prefetch_key(&self, hash: u64) {
        let index = self.index(hash);
        let line = index.line(index.home(hash));
        let found = index.matches(line, hash);
        if found != 0 {
            self.keys.prefetch(index.number_of(line[found.trailing_zeros() as usize % LINE]));
        }
    }

    /// The number of a key, if it is known; otherwise where its entry belongs.
    #[inline(always)]
    pub(crate) fn find(
        &self,
        hash: u64,
        key: K::Key,
        accept: impl Fn(usize) -> bool,
    ) -> Result<u32, usize> {
        let index = self.index(hash);
        let mut at = index.home(hash);
        loop {
            let line = index.line(at);
            let mut found = index.matches(line, hash);
            while found != 0 {
                let number = index.number_of(line[found.trailing_zeros() as usize % LINE]);
                if self.keys.get(number) == key && accept(number) {
                    return Ok(number as u32);
                }
                found &= found - 1;
            }
            if line[LINE - 1] == 0 {
                return Err(at * LINE + used(line));
            }
            at += 1;
        }
    }

    /// The number of a key, which is added if it is not known. `room` is how many bytes the set may
    /// still grow by.
    #[inline(always)]
    pub(crate) fn number(
        &mut self,
        hash: u64,
        key: K::Key,
        room: impl FnOnce(&Self) -> usize,
    ) -> Result<u32, StoreFull> {
        let place = |recent: &[Recent<K::Key>]| hash as usize & recent.len().wrapping_sub(1);
        if let Some(recent) = self.recent.get(place(&self.recent))
            && recent.key == key
            && recent.number != 0
        {
            return Ok(recent.number - 1);
        }
        let number = match self.find(hash, key, |_| true) {
            Ok(number) => number,
            Err(at) => {
                let room = room(self);
                let number = self.add(at, hash, key, room)?;
                if self.keys.len() > self.recent.len() * 2 && self.recent.len() < MOST_RECENT {
                    let size = (self.recent.len() * 2).max(LEAST_RECENT);
                    self.recent = vec![Recent::default(); size];
                }
                number
            }
        };
        let at = place(&self.recent);
        self.recent[at] = Recent { key, number: number + 1 };
        Ok(number)
    }

    /// Adds a key that is not in the set, where [`Numbered::find`] said. `room` is how many bytes the
    /// set may still grow by.
    #[inline(always)]
    pub(crate) fn add(
        &mut self,
        at: usize,
        hash: u64,
        key: K::Key,
        room: usize,
    ) -> Result<u32, StoreFull> {
        let number = self.keys.len();
        if number >= self.look_at || self.index(hash).is_last(at / LINE) {
            return self.add_after_growth(hash, key, room);
        }
        self.keys.push(key);
        let is_new = hash >> 32 < self.boundary;
        let index = if is_new { &mut self.index } else { &mut self.old };
        debug_assert!(index.takes(number));
        index.put(at, hash, number);
        Ok(number as u32)
    }

    #[cold]
    fn add_after_growth(&mut self, hash: u64, key: K::Key, room: usize) -> Result<u32, StoreFull> {
        let number = self.keys.len();
        if self.is_moving() {
            self.advance();
        } else if number >= self.index.crowded_at() {
            self.grow(room)?;
        }
        let crowded_at = self.index.crowded_at();
        self.look_at = if self.is_moving() { crowded_at.min(number + PACE) } else { crowded_at };
        self.keys.push(key);
        let is_new = hash >> 32 < self.boundary;
        let index = if is_new { &mut self.index } else { &mut self.old };
        debug_assert!(index.takes(number));
        index.add(hash, number);
        Ok(number as u32)
    }

    /// Begins to move to a larger index.
    fn grow(&mut self, room: usize) -> Result<(), StoreFull> {
        let old = self.index.count();
        // Small steps: memory that is not used would be most of what a state costs.
        let larger = old + (old / 4).max(FIRST_LINES);
        let needed = Lined::bytes_of(larger) + self.index.bytes().min(2 * pages::PIECE);
        if needed > room.saturating_add(self.index.bytes()) || larger * LINE >= 1 << 31 {
            return Err(StoreFull);
        }
        self.old = std::mem::replace(&mut self.index, Lined::new(larger));
        (self.boundary, self.moved, self.released) = (0, 0, 0);
        while old <= SMALL_LINES && self.is_moving() {
            self.advance();
        }
        Ok(())
    }

    /// Moves the entries of some lines.
    fn advance(&mut self) {
        let all = self.old.len();
        let mut end = (self.moved + STEP).min(all);
        // What is behind the end must belong there.
        while end < all && used(self.old.line(end - 1)) == LINE {
            end += 1;
        }
        self.moving.clear();
        for line in self.moved..end {
            for number in self.old.numbers(line) {
                self.keys.prefetch(number);
                self.moving.push(number as u32);
            }
        }
        for &number in &self.moving {
            self.index.add(K::hash(self.keys.get(number as usize)), number as usize);
        }
        #[cfg(test)]
        {
            self.moves += self.moving.len();
        }
        self.moved = end;
        if end >= self.old.count() && used(self.old.line(end - 1)) < LINE {
            self.old = Lined::none();
            self.boundary = u64::MAX;
        } else {
            self.boundary = self.old.lowest_hash(end);
            self.released = self.old.release(end, self.released);
        }
    }
}

/// The hash of a pair.
#[inline(always)]
pub(crate) fn hash(key: u64) -> u64 {
    let product = u128::from(key ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93_u128;
    let folded = (product as u64) ^ (product >> 64) as u64;
    folded.wrapping_mul(0xa076_1d64_78bd_642f) ^ folded >> 29
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tree::quads::Quads;
    use std::collections::HashMap;

    /// Adds keys, some of them several times, and compares with a map at all stages of the growth.
    fn agrees_with_a_map<K: Keys>(keys: impl Iterator<Item = K::Key>) -> Numbered<K>
    where
        K::Key: std::hash::Hash + Eq + std::fmt::Debug,
    {
        let mut set = Numbered::<K>::new();
        let mut truth: HashMap<K::Key, u32> = HashMap::new();
        for (round, key) in keys.enumerate() {
            let (moves, lines) = (set.moves, set.index.count());
            let next = truth.len() as u32;
            let expected = *truth.entry(key).or_insert(next);
            assert_eq!(set.number(K::hash(key), key, |_| usize::MAX), Ok(expected));
            let moved = set.moves - moves;
            let most = if lines <= SMALL_LINES { SMALL_LINES } else { STEP + 32 };
            assert!(moved <= most * LINE, "{moved} entries for one of {next}");
            if round % 40_000 == 39_999 {
                for (key, number) in &truth {
                    assert_eq!(set.find(K::hash(*key), *key, |_| true), Ok(*number));
                }
            }
        }
        assert_eq!(set.len(), truth.len());
        set
    }

    #[test]
    fn grows_in_steps_and_loses_nothing() {
        let scattered = |n: u64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % 300_000;
        let set =
            agrees_with_a_map::<crate::store::tree::packed::Packed>((0..500_000).map(scattered));
        assert!(set.index.count() > 8 * SMALL_LINES && set.moves > set.len());
        let quad = |n: u64| [scattered(n) % 70_000, scattered(n) % 3];
        agrees_with_a_map::<Quads>((0..300_000).map(quad));
    }

    /// Keys with nearly equal hashes, the highest ones among them, fill lines one behind the other; the index does not grow for
    /// their sake.
    #[test]
    fn crowds_of_equal_hashes() {
        /// Keys whose hash is what a test wants.
        #[derive(Default, Debug)]
        struct Crowd(Vec<u64>);
        impl Keys for Crowd {
            type Key = u64;
            fn len(&self) -> usize {
                self.0.len()
            }
            fn bytes(&self) -> usize {
                self.0.len() * 8
            }
            fn get(&self, number: usize) -> u64 {
                self.0[number]
            }
            fn push(&mut self, key: u64) {
                self.0.push(key);
            }
            fn prefetch(&self, _number: usize) {}
            fn hash(key: u64) -> u64 {
                match key % 8 {
                    0 => hash(key),
                    _ => u64::MAX << 32 | hash(key) >> 60,
                }
            }
        }
        let mut set = Numbered::<Crowd>::new();
        for key in 0..30_000 {
            assert_eq!(set.number(Crowd::hash(key), key, |_| usize::MAX), Ok(key as u32));
        }
        for key in 0..30_000 {
            assert_eq!(set.find(Crowd::hash(key), key, |_| true), Ok(key as u32));
        }
        assert!(set.index.count() < 4096, "{}", set.index.count());
    }
}
