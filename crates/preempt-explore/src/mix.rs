//! Hash mixing for histories and happens-before graphs.
//!
//! A graph's hash is the XOR of one term per action, so it must not matter in which order
//! independent actions are added; each term therefore has to be well mixed on its own.

/// Mixes two words into one.
#[inline]
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    finish(fold(a, b))
}

/// Two words in one, to be mixed further.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x9E37_79B9_7F4A_7C15) * u128::from(b ^ 0xC2B2_AE3D_27D4_EB4F);
    product as u64 ^ (product >> 64) as u64 ^ a.rotate_left(32) ^ b
}

/// Mixes three words into one.
#[inline]
pub(crate) fn mix3(a: u64, b: u64, c: u64) -> u64 {
    mix(mix(a, b), c)
}

/// Mixes four words into a 128-bit term of a graph's hash.
#[inline]
pub(crate) fn term(a: u64, b: u64, c: u64, d: u64) -> u128 {
    let low = mix(fold(a, b), fold(c, d));
    let high = mix(fold(b ^ 0x8EBC_6AF0_9C88_C6E3, c), fold(d, a ^ 0x5895_65AE_3D9A_1B2D));
    u128::from(high) << 64 | u128::from(low)
}

#[inline]
fn finish(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
