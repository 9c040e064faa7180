//! How many words a state takes in a tree.

/// Shorter states have so few pairs that looking up all of them in batches is quicker.
pub(super) const LONG: usize = 64;

/// The words of a state of this length, with zeroes behind to make whole quads, at least two. So there
/// are words in the quads only, and everywhere else numbers, which take fewer bits.
#[inline(always)]
pub(super) fn word_count(length: usize) -> usize {
    length.div_ceil(16).max(2) * 4
}

/// How many words of zeroes lie before a state of this length. Where the last of its words would be
/// all of the root's right side, nearly every state had a left side of its own: so that the last two
/// words lie there, the odd word that makes pairs whole comes first.
#[inline(always)]
pub(super) fn words_before(length: usize) -> usize {
    let words = length.div_ceil(4);
    usize::from(length <= LONG && words > 4 && (words - 1).is_power_of_two())
}
