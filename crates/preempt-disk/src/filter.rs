//! Which states may be in files: a Bloom filter, so that most states that are in none are not looked for there.
//!
//! Where levels have few states, each would cost a block read from every file. The filter has a share of the memory and
//! never grows: with more states than it has room for it says "maybe" more often, and nothing is lost but time.
//!
//! All bits of a state are in one word (Putze, Sanders and Singler 2009, "blocked"), and words are in the order of hashes,
//! which is the order of the questions.

/// Most bytes of a filter: from here on more do not pay.
const MOST: usize = 1 << 26;

/// A set of hashes that may say yes where it should say no.
pub(crate) struct Filter {
    words: Vec<u64>,
    bytes: usize,
}

impl Filter {
    /// An empty one that will take so much memory once something is added.
    pub(crate) fn new(bytes: usize) -> Self {
        Filter { words: Vec::new(), bytes: bytes.min(MOST) }
    }

    pub(crate) fn add(&mut self, hash: u64) {
        if self.words.is_empty() {
            self.words = vec![0; (self.bytes / 8).max(1)];
        }
        let at = self.word_of(hash);
        self.words[at] |= bits_of(hash);
    }

    /// `false` if it was not added.
    pub(crate) fn may_hold(&self, hash: u64) -> bool {
        let bits = bits_of(hash);
        !self.words.is_empty() && self.words[self.word_of(hash)] & bits == bits
    }

    fn word_of(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.words.len() as u128) >> 64) as usize
    }

    /// Memory in use.
    pub(crate) fn memory(&self) -> usize {
        self.words.len() * 8
    }
}

/// Four bits of a word, by those parts of the hash that do not choose the word.
fn bits_of(hash: u64) -> u64 {
    let mixed = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    [40, 46, 52, 58].iter().fold(0, |bits, shift| bits | 1 << (mixed >> shift & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use preempt_check::store::hash;

    #[test]
    fn it_says_yes_to_all_it_holds_and_no_to_most_others() {
        for bytes in [0, 100, 1 << 16] {
            let mut filter = Filter::new(bytes);
            let key = |number: u32| hash(&number.to_le_bytes());
            assert!((0..9000).all(|number| !filter.may_hold(key(number))));
            (0..20_000).for_each(|number| filter.add(key(number)));
            assert!((0..20_000).all(|number| filter.may_hold(key(number))));
            let wrong = (20_000..40_000).filter(|number| filter.may_hold(key(*number))).count();
            assert!(bytes < 1000 || wrong < 400, "{wrong} of 20,000 with {bytes} bytes");
        }
    }
}
