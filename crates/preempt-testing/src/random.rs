//! Numbers that look random and follow from a seed, for tests that make their cases by the thousand.
//!
//! A failure is reported with its seed, and seeds stand in regression tests. So a test keeps the sequence that it began with: new
//! tests take [`Random::new`], and the other constructors name the sequences of older ones.
//!
//! **Invariant:** a sequence depends on its seed alone, on every machine, for ever; the tests below pin each.

/// Multiplied with a seed, so that neighbouring seeds have nothing in common: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A source of numbers that look random.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
    sequence: Sequence,
}

#[derive(Clone, Copy, Debug)]
enum Sequence {
    /// Marsaglia's xorshift of 64 bits, without the lowest bits.
    Shifts(u32),
    /// The same with a multiplication behind it.
    Multiplied(u32),
    /// Steele, Lea and Flood's SplitMix.
    Split,
    /// The same, with the highest bits instead of the remainder.
    SplitWide,
    /// Knuth's linear congruential generator for MMIX, the upper half.
    Linear,
}

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Random::shifts(seed.wrapping_mul(GOLDEN) | 1, 11)
    }

    /// Xorshift from a state other than 0, without the lowest `dropped` bits.
    pub fn shifts(state: u64, dropped: u32) -> Self {
        Random { state, sequence: Sequence::Shifts(dropped) }
    }

    /// Xorshift from a seed, multiplied, without the lowest `dropped` bits.
    pub fn multiplied(seed: u64, dropped: u32) -> Self {
        let state = seed.wrapping_mul(GOLDEN) | 1;
        Random { state, sequence: Sequence::Multiplied(dropped) }
    }

    /// SplitMix from a seed.
    pub fn split(seed: u64) -> Self {
        Random { state: seed, sequence: Sequence::Split }
    }

    /// SplitMix from a seed, whose highest bits decide.
    pub fn split_wide(seed: u64) -> Self {
        Random { state: seed, sequence: Sequence::SplitWide }
    }

    /// A linear congruential generator from a seed.
    pub fn linear(seed: u64) -> Self {
        Random { state: seed, sequence: Sequence::Linear }
    }

    /// The next number of the sequence.
    pub fn next_number(&mut self) -> u64 {
        match self.sequence {
            Sequence::Shifts(dropped) => self.shift() >> dropped,
            Sequence::Multiplied(dropped) => {
                self.shift().wrapping_mul(0x2545_F491_4F6C_DD1D) >> dropped
            }
            Sequence::Split | Sequence::SplitWide => {
                self.state = self.state.wrapping_add(GOLDEN);
                let mut z = self.state;
                z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                z ^ (z >> 31)
            }
            Sequence::Linear => {
                let next = self.state.wrapping_mul(6_364_136_223_846_793_005);
                self.state = next.wrapping_add(1_442_695_040_888_963_407);
                self.state >> 33
            }
        }
    }

    fn shift(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// A number from 0 to below `limit`; 0 if there is none.
    pub fn below<N: Number>(&mut self, limit: N) -> N {
        let limit = limit.widen().max(1);
        let number = self.next_number();
        N::narrow(match self.sequence {
            Sequence::SplitWide => ((u128::from(number) * u128::from(limit)) >> 64) as u64,
            _ => number % limit,
        })
    }

    /// One element of a list that is not empty.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// Whether something happens that does so in this many of a hundred cases.
    pub fn chance<N: Number>(&mut self, percent: N) -> bool {
        self.below(100_u64) < percent.widen()
    }

    /// Whether something happens that does so in one of `n` cases.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A type of numbers that can be drawn.
pub trait Number {
    /// As the widest type.
    fn widen(self) -> u64;
    /// Back again; the number fits.
    fn narrow(number: u64) -> Self;
}

macro_rules! numbers {
    ($($type:ty)*) => {
        $(impl Number for $type {
            fn widen(self) -> u64 {
                self as u64
            }

            fn narrow(number: u64) -> Self {
                number as $type
            }
        })*
    };
}

numbers! { u8 u16 u32 u64 usize i32 i64 }

#[cfg(test)]
mod tests {
    use super::*;

    fn first_four(mut random: Random) -> [u64; 4] {
        [(); 4].map(|()| random.below(1000_u64))
    }

    #[test]
    fn sequences_never_change() {
        for (random, expected) in [
            (Random::new(1), [657, 572, 140, 65]),
            (Random::shifts(42, 0), [674, 471, 954, 736]),
            (Random::multiplied(1, 33), [665, 516, 209, 228]),
            (Random::split(1), [465, 519, 590, 235]),
            (Random::split_wide(1), [566, 745, 971, 444]),
            (Random::linear(1), [774, 153, 196, 870]),
        ] {
            assert_eq!(first_four(random.clone()), expected, "{random:?}");
        }
    }

    #[test]
    fn numbers_stay_below_their_limit() {
        let mut random = Random::new(7);
        for limit in 1..200_usize {
            assert!(random.below(limit) < limit);
        }
        assert_eq!(random.below(0_u32), 0);
    }
}
