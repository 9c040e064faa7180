//! How many words a state takes in a tree, and which of its parts make pairs.

/// Shorter states have so few pairs that looking up all of them in batches is quicker.
pub(in crate::store) const LONG: usize = 64;

/// The words of a state of this length, with zeroes behind to make whole quads, at least two. So there
/// are words in the quads only, and everywhere else numbers, which take fewer bits.
#[inline(always)]
pub(in crate::store) fn word_count(length: usize) -> usize {
    length.div_ceil(16).max(2) * 4
}

/// How many words of zeroes lie before a state of this length. Where the last of five words would be
/// all of the root's right side, nearly every state had a left side of its own: so that the last two
/// words lie there, the odd word that makes quads whole comes first.
#[inline(always)]
pub(in crate::store) fn words_before(length: usize) -> usize {
    usize::from(length.div_ceil(4) == 5)
}

/// How the numbers of one level make those of the level above: two neighbours a pair, and of an odd number one goes up alone.
///
/// That is the last one and the first one in turns. Both sides of a root should have about as many parts: where one of them has
/// nearly all, it is different in nearly every state, and has to be stored for each. Of nine quads the sides have six and three;
/// if always the last one went up alone it would be eight and one.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Pairing {
    below: usize,
    pub(in crate::store) above: usize,
    /// Whether the first number goes up alone.
    first_alone: bool,
    /// Whether it will be the first one on the next level with an odd number.
    first_is_next: bool,
}

impl Pairing {
    /// From so many quads up to the root.
    #[inline(always)]
    pub(in crate::store) fn levels(quads: usize) -> impl Iterator<Item = Pairing> {
        let first = (quads > 2).then(|| Pairing::of(quads, false));
        std::iter::successors(first, |level| {
            (level.above > 2).then(|| Pairing::of(level.above, level.first_is_next))
        })
    }

    #[inline(always)]
    fn of(below: usize, first_is_next: bool) -> Self {
        let is_odd = below % 2 == 1;
        Pairing {
            below,
            above: below.div_ceil(2),
            first_alone: is_odd && first_is_next,
            first_is_next: is_odd != first_is_next,
        }
    }

    /// The first of the numbers that make this one, and whether there is a second.
    #[inline(always)]
    pub(in crate::store) fn children(self, at: usize) -> (usize, bool) {
        match self.first_alone {
            true if at == 0 => (0, false),
            true => (2 * at - 1, true),
            false => (2 * at, 2 * at + 1 < self.below),
        }
    }

    /// The number that this one is part of.
    #[inline(always)]
    pub(in crate::store) fn parent(self, at: usize) -> usize {
        (at + usize::from(self.first_alone)) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number has its place above, and neither side of a root has nearly all.
    #[test]
    fn pairs_cover_all_numbers_evenly() {
        for quads in 2..300 {
            let mut widths = vec![1; quads];
            for pairing in Pairing::levels(quads) {
                let mut next = 0;
                let above = (0..pairing.above).map(|at| {
                    let (first, has_second) = pairing.children(at);
                    assert_eq!(first, next);
                    let children = first..first + 1 + usize::from(has_second);
                    next = children.end;
                    assert!(children.clone().all(|child| pairing.parent(child) == at));
                    widths[children].iter().sum()
                });
                let above: Vec<usize> = above.collect();
                assert_eq!(next, widths.len());
                widths = above;
            }
            let [left, right] = widths[..] else { panic!("{quads}: {widths:?}") };
            assert_eq!(left + right, quads);
            assert!(left.min(right) * 4 >= quads, "{quads}: {widths:?}");
        }
    }
}
