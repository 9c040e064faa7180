//! Random numbers that a schedule repeats.
//!
//! The first number that a thread draws is a choice of the strategy, recorded in the schedule; all
//! others follow from it. So an exhaustive exploration sees 256 streams per thread, a sampler one of
//! them, and a replay the same one again.

pub use rand::{Rng, RngCore};

/// Generators.
pub mod rngs {
    use rand::{CryptoRng, RngCore};
    use std::cell::Cell;

    const STREAMS: usize = 256;

    preempt::thread_local! {
        static STREAM: Cell<Option<u64>> = Cell::new(None);
    }

    /// The generator of the thread that uses it.
    #[derive(Clone, Debug, Default)]
    pub struct ThreadRng {
        pub(super) _private: (),
    }

    impl RngCore for ThreadRng {
        fn next_u32(&mut self) -> u32 {
            (self.next_u64() >> 32) as u32
        }

        #[track_caller]
        fn next_u64(&mut self) -> u64 {
            let state = STREAM.get().unwrap_or_else(|| 1 + preempt::choose(STREAMS) as u64);
            // SplitMix64: any state gives a good stream.
            let state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            STREAM.set(Some(state));
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        }

        fn fill_bytes(&mut self, bytes: &mut [u8]) {
            for chunk in bytes.chunks_mut(8) {
                chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
            }
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), rand::Error> {
            self.fill_bytes(bytes);
            Ok(())
        }
    }

    impl CryptoRng for ThreadRng {}
}

/// The generator of the thread that calls.
pub fn thread_rng() -> rngs::ThreadRng {
    rngs::ThreadRng { _private: () }
}
