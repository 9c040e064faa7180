//! What the tests of all crates share: the programs that they compare with ([`peers`]), and numbers that look random
//! ([`Random`]).

#![forbid(unsafe_code)]

mod peers;
mod random;

pub use peers::{SPIN_EXAMPLES, c_compiler, find, have, heavy_peer, peer, peers, spin_examples};
pub use random::{Number, Random};
