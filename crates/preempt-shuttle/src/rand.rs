//! Random numbers that a schedule repeats.
//!
//! The first number that a thread draws is a choice of the strategy, recorded in the schedule; all
//! others follow from it. So a sampler sees one of 65,536 streams per thread, and a replay the same one
//! again. As in shuttle an exhaustive exploration has one stream per thread, or refuses.

pub use rand::{Rng, RngCore};

/// Generators.
pub mod rngs {
    use crate::scheduler::Generator;
    use rand::{CryptoRng, RngCore};
    use std::cell::Cell;

    const STREAMS: usize = 256;

    preempt::thread_local! {
        static STREAM: Cell<Option<u64>> = Cell::new(None);
    }

    std::thread_local! {
        static DATA: Cell<Data> = const { Cell::new(Data::Drawn) };
    }

    /// Where the numbers of an execution come from.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum Data {
        /// From the strategy.
        Drawn,
        /// They are the same in every execution.
        Fixed,
        /// There are none.
        Refused,
    }

    /// An execution begins, on this thread of the operating system.
    pub(crate) fn begin(data: Data) {
        DATA.set(data);
    }

    /// The first number of the stream of this thread, from which the others follow.
    #[track_caller]
    fn first() -> u64 {
        let thread = preempt::facade::thread_number().unwrap_or(0) as u64;
        let drawn = match DATA.get() {
            Data::Drawn => preempt::choose(STREAMS) * STREAMS + preempt::choose(STREAMS),
            Data::Fixed => 0,
            Data::Refused => panic!("requested random data from DFS scheduler"),
        };
        Generator(drawn as u64 ^ thread << 32).next()
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
            let mut generator = Generator(STREAM.get().unwrap_or_else(first));
            let number = generator.next();
            STREAM.set(Some(generator.0));
            number
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
