//! A table that keeps of a key only what does not follow from where it lies.
//!
//! Keys are [permuted](Permutation), and neighbouring numbers share a bucket: the *quotient* of a number is its bucket, and
//! only the remainder is written. With 2²⁴ keys of 34 bits, about sixty to a bucket, that is 16 bits. (Knuth's exercise;
//! Cleary, "Compact hash tables using bidirectional linear probing", 1984; Laarman and van der Vegt's parallel form.)
//!
//! A bucket has 64 fields. An entry that finds its bucket full goes on to the next, where it takes the field of one that
//! belongs further behind, which goes on in its turn (Robin Hood). So entries are in order, though not inside a bucket, and none
//! lies far from where it belongs; a field says how far. That takes three bits, as many as Cleary's way to say the same. Bits
//! are stored across: a bucket is a row of words, one for each bit of a field, and bit `n` of all its words is field `n`. So
//! fields of any width fill the words without gaps, and all 64 are compared at once, bit by bit.
//!
//! Fields can carry a number beside the remainder.
//!
//! Invariants: the used fields of a bucket are its first ones; the buckets from an entry's own to the one before that which it
//! lies in are full, of entries that do not belong behind it; no key is there twice.

use super::packed::bits_of;
use super::pages;
use super::permutation::Permutation;

/// Fields of a bucket.
pub(super) const FIELDS: usize = 64;
/// Bits that say how far an entry was displaced, plus 1; 0 is a free field.
const DISTANCE: usize = 3;
/// The furthest that an entry may be displaced.
pub(super) const FURTHEST: usize = (1 << DISTANCE) - 2;
/// So many fields of a bucket are filled on average before the table should grow: more would often be displaced.
const CROWDED: usize = 60;

/// The table, of one size.
#[derive(Debug)]
pub(super) struct Quotients {
    permutation: Permutation,
    /// So many neighbouring numbers belong to one bucket.
    interval: u64,
    /// Buckets that keys belong to; behind them lie those for the last ones' displaced entries.
    buckets: usize,
    remainder_bits: usize,
    number_bits: usize,
    words: Vec<u64>,
}

/// Where a key belongs: its bucket, and what is written there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    pub(super) bucket: usize,
    remainder: u64,
}

/// What a field says.
#[derive(Clone, Copy, Debug)]
struct Entry {
    home: Home,
    number: u64,
}

impl Quotients {
    /// A table for keys of `bits` bits, which the seed spreads, with about so many buckets, and numbers of `number_bits` bits.
    pub(super) fn new(bits: u32, seed: u64, buckets: usize, number_bits: usize) -> Self {
        let (interval, buckets) = Self::divide(bits, buckets);
        let remainder_bits = bits_of(interval - 1) as usize;
        let width = DISTANCE + remainder_bits + number_bits;
        Quotients {
            permutation: Permutation::new(bits, seed),
            interval,
            buckets,
            remainder_bits,
            number_bits,
            words: pages::zeroed((buckets + FURTHEST) * width),
        }
    }

    /// The bytes of such a table.
    pub(super) fn bytes_of(bits: u32, buckets: usize, number_bits: usize) -> usize {
        let (interval, buckets) = Self::divide(bits, buckets);
        let width = DISTANCE + bits_of(interval - 1) as usize + number_bits;
        buckets.saturating_add(FURTHEST).saturating_mul(width * 8)
    }

    /// How many numbers share a bucket, if there are to be so many buckets, and how many there are then.
    fn divide(bits: u32, buckets: usize) -> (u64, usize) {
        let keys = 1u128 << bits;
        let interval = keys.div_ceil(buckets.max(1) as u128).min(u128::from(u64::MAX));
        (interval as u64, keys.div_ceil(interval) as usize)
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.words.len() * 8
    }

    /// Gives the memory of the first buckets back, which must not be looked at any more. Of `released` bytes that was done
    /// before; says of how many now.
    pub(super) fn release(&mut self, buckets: usize, released: usize) -> usize {
        let end = buckets * self.width();
        pages::release(&mut self.words, released, end)
    }

    /// The bytes of so many buckets.
    pub(super) fn bytes_up_to(&self, buckets: usize) -> usize {
        (buckets * self.width() * 8).min(self.bytes())
    }

    pub(super) fn buckets(&self) -> usize {
        self.buckets
    }

    /// How many fields there are.
    pub(super) fn fields(&self) -> usize {
        (self.buckets + FURTHEST) * FIELDS
    }

    /// With so many entries the table should grow. Never, if all keys that belong to a bucket fit into it.
    pub(super) fn grow_at(&self) -> usize {
        match self.interval <= FIELDS as u64 {
            true => usize::MAX,
            false => self.buckets * CROWDED,
        }
    }

    /// Whether fields have room for this number.
    pub(super) fn takes(&self, number: u64) -> bool {
        bits_of(number) as usize <= self.number_bits
    }

    #[inline(always)]
    fn width(&self) -> usize {
        DISTANCE + self.remainder_bits + self.number_bits
    }

    /// Where a key belongs.
    #[inline(always)]
    pub(super) fn home(&self, key: u64) -> Home {
        self.home_of_permuted(self.permutation.apply(key))
    }

    /// Where the key belongs that is permuted to this number.
    #[inline(always)]
    pub(super) fn home_of_permuted(&self, number: u64) -> Home {
        let bucket = (number / self.interval) as usize;
        Home { bucket, remainder: number % self.interval }
    }

    /// The key that is permuted to this number.
    #[inline(always)]
    pub(super) fn unpermuted(&self, number: u64) -> u64 {
        self.permutation.undo(number)
    }

    /// Asks the processor to fetch a bucket.
    #[inline(always)]
    pub(super) fn prefetch(&self, home: Home) {
        let start = home.bucket * self.width();
        for word in (0..self.width()).step_by(8) {
            pages::prefetch(&self.words, start + word);
        }
        pages::prefetch(&self.words, start + self.width() - 1);
    }

    #[inline(always)]
    fn bucket(&self, bucket: usize) -> &[u64] {
        let start = bucket * self.width();
        &self.words[start..start + self.width()]
    }

    /// The field of a key, if it is there.
    #[inline(always)]
    pub(super) fn find(&self, home: Home) -> Option<usize> {
        for distance in 0..=FURTHEST {
            let at = home.bucket + distance;
            let (places, rest) = self.bucket(at).split_at(DISTANCE);
            let remainders = &rest[..self.remainder_bits];
            let mut equal = at_distance(places, distance);
            for (bit, word) in remainders.iter().enumerate() {
                equal &= same(*word, home.remainder >> bit & 1);
            }
            if equal != 0 {
                return Some(at * FIELDS + equal.trailing_zeros() as usize);
            }
            // Beyond a free field, or an entry that belongs behind this one, it cannot be.
            if used(places) != u64::MAX || nearer_than(places, distance) != 0 {
                return None;
            }
        }
        None
    }

    /// Puts in a key that is not there, with a number that the table [takes](Self::takes). Says `false` and changes nothing if an
    /// entry would come to lie too far from where it belongs.
    #[inline(always)]
    pub(super) fn put(&mut self, home: Home, number: u64) -> bool {
        let places = &self.bucket(home.bucket)[..DISTANCE];
        let used = used(places);
        if used == u64::MAX {
            return self.has_place_for(home) && self.put_behind(home, number);
        }
        self.write(home.bucket, used.trailing_ones(), Entry { home, number });
        true
    }

    /// Whether a free field is near enough for a key whose bucket is full.
    fn has_place_for(&self, home: Home) -> bool {
        let (mut at, mut distance) = (home.bucket, 0);
        while distance <= FURTHEST {
            let places = &self.bucket(at)[..DISTANCE];
            if used(places) != u64::MAX {
                return true;
            }
            distance = distance.min(least_distance(places)) + 1;
            at += 1;
        }
        false
    }

    /// Puts a key into a bucket behind its own, which is full.
    #[inline(never)]
    fn put_behind(&mut self, home: Home, number: u64) -> bool {
        let (mut at, mut entry) = (home.bucket, Entry { home, number });
        loop {
            let places = &self.bucket(at)[..DISTANCE];
            let used = used(places);
            if used != u64::MAX {
                self.write(at, used.trailing_ones(), entry);
                return true;
            }
            let least = least_distance(places);
            if least < at - entry.home.bucket {
                let field = at_distance(places, least).trailing_zeros();
                let next = self.entry(at, field as usize, least);
                self.write(at, field, entry);
                entry = next;
            }
            at += 1;
        }
    }

    /// The entry in a field that was displaced so far.
    fn entry(&self, bucket: usize, field: usize, distance: usize) -> Entry {
        let words = self.bucket(bucket);
        let remainder = gather(&words[DISTANCE..][..self.remainder_bits], field);
        let number = gather(&words[DISTANCE + self.remainder_bits..], field);
        Entry { home: Home { bucket: bucket - distance, remainder }, number }
    }

    #[inline(always)]
    fn write(&mut self, bucket: usize, field: u32, Entry { home, number }: Entry) {
        let distance = (bucket - home.bucket) as u64 + 1;
        let (remainder_bits, width) = (self.remainder_bits, self.width());
        let words = &mut self.words[bucket * width..(bucket + 1) * width];
        let (places, rest) = words.split_at_mut(DISTANCE);
        let (remainders, numbers) = rest.split_at_mut(remainder_bits);
        for (words, value) in [(places, distance), (remainders, home.remainder), (numbers, number)]
        {
            for (bit, word) in words.iter_mut().enumerate() {
                *word = *word & !(1 << field) | (value >> bit & 1) << field;
            }
        }
    }

    /// The number in a field.
    #[inline(always)]
    pub(super) fn number(&self, field: usize) -> u64 {
        let words = self.bucket(field / FIELDS);
        gather(&words[DISTANCE + self.remainder_bits..], field % FIELDS)
    }

    /// The key in a field, if it is used.
    pub(super) fn key(&self, field: usize) -> Option<u64> {
        let (bucket, field) = (field / FIELDS, field % FIELDS);
        let words = self.bucket(bucket);
        let distance = gather(&words[..DISTANCE], field) as usize;
        let home = bucket - distance.checked_sub(1)?;
        let remainder = gather(&words[DISTANCE..][..self.remainder_bits], field);
        Some(self.permutation.undo(home as u64 * self.interval + remainder))
    }

    /// Calls `each` for all keys that belong to a bucket, with the numbers that they are permuted to and those beside them.
    #[inline(always)]
    pub(super) fn each_of_bucket(&self, bucket: usize, mut each: impl FnMut(u64, u64)) {
        let first = bucket as u64 * self.interval;
        for distance in 0..=FURTHEST {
            let (places, rest) = self.bucket(bucket + distance).split_at(DISTANCE);
            let mut fields = at_distance(places, distance);
            // All fields at once: one by one, bit by bit, it would take several times as long.
            let (remainders, numbers) = rest.split_at(self.remainder_bits);
            let [mut remainder, mut number] = [[0; FIELDS]; 2];
            if fields != 0 {
                remainder[..remainders.len()].copy_from_slice(remainders);
                transpose(&mut remainder);
            }
            if fields != 0 && !numbers.is_empty() {
                number[..numbers.len()].copy_from_slice(numbers);
                transpose(&mut number);
            }
            while fields != 0 {
                let field = fields.trailing_zeros() as usize % FIELDS;
                each(first + remainder[field], number[field]);
                fields &= fields - 1;
            }
            if used(places) != u64::MAX || nearer_than(places, distance) != 0 {
                break;
            }
        }
    }
}

/// Exchanges rows and columns of a square of bits: first its quarters, then the quarters of these, and so on.
fn transpose(rows: &mut [u64; FIELDS]) {
    let (mut size, mut mask) = (32, u64::MAX >> 32);
    while size != 0 {
        for row in (0..FIELDS).filter(|row| row & size == 0) {
            let exchanged = (rows[row] >> size ^ rows[row + size]) & mask;
            rows[row + size] ^= exchanged;
            rows[row] ^= exchanged << size;
        }
        size /= 2;
        mask ^= mask << size;
    }
}

/// The fields whose bit in this word is `bit`.
#[inline(always)]
fn same(word: u64, bit: u64) -> u64 {
    word ^ bit.wrapping_sub(1)
}

/// The fields with entries that were displaced so far.
#[inline(always)]
fn at_distance(places: &[u64], distance: usize) -> u64 {
    let wanted = distance as u64 + 1;
    let bits = places.iter().enumerate();
    bits.fold(u64::MAX, |equal, (bit, word)| equal & same(*word, wanted >> bit & 1))
}

/// The fields with entries that were displaced less.
#[inline(always)]
fn nearer_than(places: &[u64], distance: usize) -> u64 {
    let wanted = distance as u64 + 1;
    let (mut less, mut equal) = (0, used(places));
    for (bit, word) in places.iter().enumerate().rev() {
        if wanted >> bit & 1 == 1 {
            less |= equal & !word;
        }
        equal &= same(*word, wanted >> bit & 1);
    }
    less
}

/// How far the entry of a full bucket was displaced that was displaced least.
fn least_distance(places: &[u64]) -> usize {
    (0..FURTHEST).find(|distance| at_distance(places, *distance) != 0).unwrap_or(FURTHEST)
}

/// The fields that are used.
#[inline(always)]
fn used(places: &[u64]) -> u64 {
    places.iter().fold(0, |used, word| used | word)
}

/// What a field says in these words.
#[inline(always)]
fn gather(words: &[u64], field: usize) -> u64 {
    let bits = words.iter().enumerate();
    bits.fold(0, |value, (bit, word)| value | (word >> field & 1) << bit)
}
