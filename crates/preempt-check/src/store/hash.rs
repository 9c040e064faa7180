//! The hash function of the stores.
//!
//! Multiply-and-fold over eight bytes at a time, with the length mixed in. Measured against five
//! published hashes inside a search the choice made no difference; this one is short and inlines.

use super::Pending;

/// Hashes the bytes of a state.
#[inline]
pub fn hash(state: &[u8]) -> u64 {
    hash_with_seed(state, SEED)
}

/// The usual seed.
pub(super) const SEED: u64 = 0x2d35_8dcc_aa6c_78a5;

/// Hashes the bytes of a state; different seeds give independent values.
#[inline]
pub fn hash_with_seed(state: &[u8], seed: u64) -> u64 {
    let mut sum = seed ^ (state.len() as u64).wrapping_mul(C);
    let mut rest = state;
    if rest.len() > 64 {
        // Products of independent sums overlap in the processor.
        let mut other = sum ^ D;
        while let Some((block, behind)) = rest.split_first_chunk::<32>()
            && !behind.is_empty()
        {
            sum = fold(word(block, 0) ^ A, word(block, 8) ^ sum);
            other = fold(word(block, 16) ^ B, word(block, 24) ^ other);
            rest = behind;
        }
        sum ^= other;
    }
    while let Some((block, behind)) = rest.split_first_chunk::<16>()
        && !behind.is_empty()
    {
        sum = fold(word(block, 0) ^ A, word(block, 8) ^ sum);
        rest = behind;
    }
    // The last sixteen bytes overlap what was read already: cheaper than a short copy.
    let (a, b) = match state.last_chunk::<16>() {
        Some(last) => (word(last, 0), word(last, 8)),
        None => ends(state),
    };
    sum = fold(a ^ B, b ^ sum);
    fold(sum ^ D, sum.rotate_left(32) ^ C)
}

/// The quickest hash of this processor, for stores that compare all bytes anyway and never show a
/// hash outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Quick {
    /// [`hash`].
    Anywhere,
    /// [`checksum`], by the processor's own instruction for it; only where it has one.
    #[cfg(target_arch = "x86_64")]
    Checksum,
}

impl Quick {
    pub(crate) fn new() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("sse4.2") {
            return Quick::Checksum;
        }
        Quick::Anywhere
    }

    #[inline]
    pub(crate) fn hash(self, state: &[u8]) -> u64 {
        match self {
            Quick::Anywhere => hash(state),
            // SAFETY: `new` has seen that the processor has this instruction.
            #[cfg(target_arch = "x86_64")]
            Quick::Checksum => unsafe { checksum(state) },
        }
    }

    /// Hashes all states of a batch; `each` gets the hashes in order.
    #[inline]
    pub(crate) fn hash_all(self, bytes: &[u8], batch: &mut [Pending], each: impl FnMut(u64)) {
        match self {
            Quick::Anywhere => hash_all(bytes, batch, each),
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Quick::Checksum => unsafe { checksum_all(bytes, batch, each) },
        }
    }
}

fn hash_all(bytes: &[u8], batch: &mut [Pending], mut each: impl FnMut(u64)) {
    for pending in batch {
        pending.hash = hash(&bytes[pending.start..pending.end]) & !1;
        each(pending.hash);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn checksum_all(bytes: &[u8], batch: &mut [Pending], mut each: impl FnMut(u64)) {
    for pending in batch {
        pending.hash = checksum(&bytes[pending.start..pending.end]) & !1;
        each(pending.hash);
    }
}

/// Four checksums of every fourth word, which tell apart all states that differ in a few bits,
/// multiplied with one another: less than half the instructions of [`hash`]. `$add` adds a word to a checksum.
macro_rules! four_checksums {
    ($state:expr, $add:path) => {{
        let state: &[u8] = $state;
        let (mut a, mut b, mut c, mut d) = (state.len() as u64, 1, 2, 3);
        let mut rest = state;
        while let Some((block, behind)) = rest.split_first_chunk::<32>()
            && !behind.is_empty()
        {
            a = $add(a, word(block, 0));
            b = $add(b, word(block, 8));
            c = $add(c, word(block, 16));
            d = $add(d, word(block, 24));
            rest = behind;
        }
        if let Some((block, behind)) = rest.split_first_chunk::<16>()
            && !behind.is_empty()
        {
            a = $add(a, word(block, 0));
            b = $add(b, word(block, 8));
        }
        let (x, y) = match state.last_chunk::<16>() {
            Some(last) => (word(last, 0), word(last, 8)),
            None => ends(state),
        };
        c = $add(c, x);
        d = $add(d, y);
        fold((a << 32 | b) ^ A, (c << 32 | d) ^ B).wrapping_mul(C)
    }};
}

/// Four checksums by the processor.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
#[inline]
fn checksum(state: &[u8]) -> u64 {
    four_checksums!(state, std::arch::x86_64::_mm_crc32_u64)
}

/// The same numbers without the processor's help.
fn checksum_by_table(state: &[u8]) -> u64 {
    four_checksums!(state, add_by_table)
}

/// What the processor's instruction computes (CRC-32C), byte by byte.
fn add_by_table(sum: u64, word: u64) -> u64 {
    let add = |sum: u32, byte: u8| sum >> 8 ^ CHECKSUMS[usize::from(sum as u8 ^ byte)];
    u64::from(word.to_le_bytes().into_iter().fold(sum as u32, add))
}

const CHECKSUMS: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < table.len() {
        let (mut sum, mut bit) = (at as u32, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0x82f6_3b78 } else { sum >> 1 };
            bit += 1;
        }
        table[at] = sum;
        at += 1;
    }
    table
};

/// A hash that is the same on every machine: processes deal out states by it.
#[inline]
pub fn hash_for_all(state: &[u8]) -> u64 {
    match Quick::new() {
        Quick::Anywhere => checksum_by_table(state),
        // SAFETY: `new` has seen that the processor has this instruction.
        #[cfg(target_arch = "x86_64")]
        Quick::Checksum => unsafe { checksum(state) },
    }
}

/// As [`hash_for_all`], of all states of a batch. Says whether these are hashes that an exact store accepts beside
/// its own.
#[inline]
pub fn hash_batch_for_all(bytes: &[u8], batch: &mut [Pending]) -> bool {
    match Quick::new() {
        Quick::Anywhere => {
            for pending in batch {
                pending.hash = checksum_by_table(&bytes[pending.start..pending.end]);
            }
            false
        }
        #[cfg(target_arch = "x86_64")]
        Quick::Checksum => {
            // SAFETY: as above.
            unsafe { checksum_all(bytes, batch, |_| ()) };
            true
        }
    }
}

const A: u64 = 0x8bb8_4b93_962e_acc9;
const B: u64 = 0x4b33_a62e_d433_d4a3;
const C: u64 = 0x9e37_79b9_7f4a_7c15;
const D: u64 = 0x4d5a_2da5_1de1_aa47;

/// All of fewer than sixteen bytes in two words.
#[inline(always)]
fn ends(state: &[u8]) -> (u64, u64) {
    match (state.first_chunk::<8>(), state.last_chunk::<8>()) {
        (Some(first), Some(last)) => (word(first, 0), word(last, 0)),
        _ => {
            let mut padded = [0; 8];
            padded[..state.len()].copy_from_slice(state);
            (u64::from_le_bytes(padded), 0)
        }
    }
}

#[inline(always)]
fn word<const N: usize>(block: &[u8; N], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&block[at..at + 8]);
    u64::from_le_bytes(word)
}

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn lengths_and_contents_are_told_apart() {
        let mut seen = HashSet::new();
        for length in 0..40 {
            assert!(seen.insert(hash(&vec![0; length])));
            for at in 0..length {
                let mut state = vec![0; length];
                state[at] = 1;
                assert!(seen.insert(hash(&state)), "length {length}, byte {at}");
            }
        }
    }

    #[test]
    fn processors_agree_on_the_hash_for_all() {
        let mut seed = 1_u64;
        for length in 0..300 {
            let state: Vec<u8> = std::iter::repeat_with(|| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 33) as u8
            })
            .take(length)
            .collect();
            assert_eq!(hash_for_all(&state), checksum_by_table(&state), "{length} bytes");
        }
        // The well-known checksum of these bytes, without the inversions before and behind it.
        let known = add_by_table(u64::from(u32::MAX), u64::from_le_bytes(*b"12345678")) as u32;
        let known = known >> 8 ^ CHECKSUMS[usize::from(known as u8 ^ b'9')];
        assert_eq!(!known, 0xe306_9283);
    }

    #[test]
    fn the_quick_hash_tells_neighbours_apart() {
        let quick = Quick::new();
        for length in [3, 8, 16, 17, 31, 32, 33, 53, 64, 100, 300] {
            let mut seen = HashSet::new();
            for at in 0..length {
                for (value, other) in (0..8).flat_map(|v| (0..4).map(move |o| (v, o))) {
                    let mut state = vec![0; length];
                    state[length - 1 - at / 2] = other;
                    state[at] = value;
                    seen.insert((quick.hash(&state), state));
                }
            }
            let states: HashSet<_> = seen.iter().map(|(_, state)| state.clone()).collect();
            let tags: HashSet<_> = seen.iter().map(|(hash, _)| hash >> 32).collect();
            assert!(tags.len() + 2 >= states.len(), "{length}: {} {}", tags.len(), states.len());
        }
        let mut batch = [Pending::new(0, 1, 40), Pending::new(0, 2, 9)];
        let bytes: Vec<u8> = (0..40).collect();
        let mut given = Vec::new();
        quick.hash_all(&bytes, &mut batch, |hash| given.push(hash));
        assert_eq!(given, [quick.hash(&bytes[1..]) & !1, quick.hash(&bytes[2..9]) & !1]);
        assert_eq!(given, batch.map(|pending| pending.hash));
    }

    #[test]
    fn every_bit_is_used_by_neighbouring_states() {
        let (mut ones, mut zeros) = (0, 0);
        for n in 0u32..64 {
            let value = hash(&n.to_le_bytes());
            ones |= value;
            zeros |= !value;
        }
        assert_eq!((ones, zeros), (u64::MAX, u64::MAX));
    }
}
