//! A state that is changed in place, step by step and back again.
//!
//! What a step changes is given in words of eight bytes, as differences by exclusive or: to take a step
//! and to take it back are one and the same. The hash of a state is made of a sum with one part per
//! word, so a step changes it by the parts of the words that it changes, however long the state is.
//!
//! Invariant: behind the bytes of the state there are zeros, and the sum is that of all words.

/// What two states differ in: one word. The first of the differences between two states is not about a
/// word but says how the length and the sum differ, see [`Difference::first`].
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Which word of eight bytes.
    pub word: u64,
    /// The bits that differ.
    pub bits: u64,
}

impl Difference {
    /// How lengths and sums differ.
    #[inline(always)]
    pub fn first(lengths: (usize, usize), sums: (u64, u64)) -> Self {
        Difference { word: (lengths.0 ^ lengths.1) as u64, bits: sums.0 ^ sums.1 }
    }
}

/// A state vector with its sum.
#[derive(Clone, Default, Debug)]
pub struct Vector {
    /// The state and zeros behind it.
    bytes: Vec<u8>,
    length: usize,
    sum: u64,
}

impl Vector {
    /// Vectors lie in memory whose size is a multiple of this.
    pub const PIECE: usize = 64;

    /// Becomes this state.
    pub fn set(&mut self, state: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(state);
        self.bytes.resize(padded(state.len()), 0);
        self.length = state.len();
        self.sum = sum_of(&self.bytes);
    }

    /// The state.
    #[inline(always)]
    pub fn state(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The state and the zeros behind it. A caller that changes them must restore them.
    #[inline(always)]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// How many bytes the state has.
    #[inline(always)]
    pub fn length(&self) -> usize {
        self.length
    }

    /// The sum of the parts of all words.
    #[inline(always)]
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The hash of the state.
    #[inline(always)]
    pub fn hash(&self) -> u64 {
        hash(self.sum, self.length)
    }

    /// The hash that the state has once the first of these differences was applied.
    #[inline(always)]
    pub fn hash_after(&self, first: Difference) -> u64 {
        hash(self.sum ^ first.bits, self.length ^ first.word as usize)
    }

    /// Takes a step, or takes it back.
    #[inline(always)]
    pub fn change(&mut self, differences: &[Difference]) {
        let Some((first, words)) = differences.split_first() else { return };
        self.sum ^= first.bits;
        if first.word != 0 {
            self.length ^= first.word as usize;
            self.make_room();
        }
        let chunks = words_mut(&mut self.bytes);
        for difference in words {
            let word = &mut chunks[difference.word as usize];
            *word = (u64::from_le_bytes(*word) ^ difference.bits).to_le_bytes();
        }
    }

    #[cold]
    fn make_room(&mut self) {
        let needed = padded(self.length);
        if self.bytes.len() < needed {
            self.bytes.resize(needed, 0);
        }
    }

    /// Adds what has to be changed to come to another state.
    pub fn differences(&self, other: &[u8], out: &mut Vec<Difference>) {
        let (start, mut sum) = (out.len(), self.sum);
        out.push(Difference { word: 0, bits: 0 });
        let mut note = |word: usize, here: u64, there: u64| {
            if here != there {
                sum = sum.wrapping_add(part(word, there)).wrapping_sub(part(word, here));
                out.push(Difference { word: word as u64, bits: here ^ there });
            }
        };
        let here = words(&self.bytes).0;
        let (there, rest) = words(other);
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let there = there.iter().chain(std::iter::once(&last));
        let used = other.len() / 8 + 1;
        for (word, there) in there.enumerate() {
            let here = here.get(word).map_or(0, |word| u64::from_le_bytes(*word));
            note(word, here, u64::from_le_bytes(*there));
        }
        for (word, here) in here.iter().enumerate().skip(used) {
            note(word, u64::from_le_bytes(*here), 0);
        }
        out[start] = Difference::first((self.length, other.len()), (self.sum, sum));
    }
}

/// What a word contributes to the sum of a state; nothing if it is zero.
#[inline(always)]
pub fn part(word: usize, value: u64) -> u64 {
    fold(value, key(word as u64))
}

/// A number per place in the vector, without any pattern.
#[inline(always)]
fn key(word: u64) -> u64 {
    let mixed = (word + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) | 1
}

#[inline(always)]
fn hash(sum: u64, length: usize) -> u64 {
    fold(sum ^ 0x8bb8_4b93_962e_acc9, length as u64 ^ 0x4b33_a62e_d433_d4a3 ^ sum.rotate_left(32))
}

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

fn sum_of(bytes: &[u8]) -> u64 {
    let words = words(bytes).0.iter().enumerate();
    words.fold(0, |sum, (word, value)| sum.wrapping_add(part(word, u64::from_le_bytes(*value))))
}

/// `as_chunks::<8>`, which Rust has since 1.88: whole words, and the bytes after them.
#[inline(always)]
fn words(bytes: &[u8]) -> (&[[u8; 8]], &[u8]) {
    let (whole, rest) = bytes.split_at(bytes.len() & !7);
    // SAFETY: an array of bytes has the alignment of a byte, and `whole` has the length of so many
    // arrays of eight.
    (unsafe { std::slice::from_raw_parts(whole.as_ptr().cast(), whole.len() / 8) }, rest)
}

/// The same, to be changed.
#[inline(always)]
fn words_mut(bytes: &mut [u8]) -> &mut [[u8; 8]] {
    let count = bytes.len() / 8;
    // SAFETY: as above; the borrow of the bytes passes to the words.
    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), count) }
}

fn padded(length: usize) -> usize {
    (length + 1).next_multiple_of(Vector::PIECE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn vector(state: &[u8]) -> Vector {
        let mut vector = Vector::default();
        vector.set(state);
        vector
    }

    #[test]
    fn there_and_back() {
        let states: [&[u8]; 7] = [
            &[],
            &[1],
            &[0, 0, 0, 0, 0, 0, 0, 9],
            &[3; 63],
            &[3; 64],
            &[4; 65],
            &std::array::from_fn::<u8, 300, _>(|at| at as u8),
        ];
        for from in states {
            for to in states {
                let (mut here, mut differences) = (vector(from), Vec::new());
                here.differences(to, &mut differences);
                assert_eq!(here.hash_after(differences[0]), vector(to).hash());
                here.change(&differences);
                assert_eq!(here.state(), to);
                assert_eq!((here.sum(), here.hash()), (vector(to).sum(), vector(to).hash()));
                here.change(&differences);
                assert_eq!((here.state(), here.sum()), (from, vector(from).sum()));
                let padding = here.bytes[from.len()..].iter();
                assert!(padding.clone().count() > 0 && padding.clone().all(|byte| *byte == 0));
            }
        }
    }

    #[test]
    fn neighbours_are_told_apart() {
        let mut seen = HashSet::new();
        let mut count = 0;
        for length in [0, 1, 7, 8, 9, 24, 100] {
            for (at, other) in (0..length).flat_map(|at| (at..length).map(move |other| (at, other)))
            {
                for value in 0..6 {
                    let mut state = vec![0; length];
                    state[at] = value;
                    state[other] ^= 1;
                    seen.insert((vector(&state).hash(), state));
                    count += 1;
                }
            }
        }
        let states: HashSet<_> = seen.iter().map(|(_, state)| state).collect();
        let upper: HashSet<_> = seen.iter().map(|(hash, _)| hash >> 32).collect();
        assert!(count > 10_000 && states.len() == seen.len());
        assert!(upper.len() + 3 >= states.len(), "{} of {}", upper.len(), states.len());
    }
}
