//! The stores and searches for several threads, checked by preempt itself.
//!
//! Their source is compiled here with preempt's atomics, locks and threads, and with tables so small that they fill up and
//! grow within a few insertions. Every execution within the bounds is run, stale reads included: what a processor with
//! another memory model than this one would show.
//!
//! This is a crate of its own because the unit tests of those sources are not for such small tables.

#![allow(dead_code, unreachable_pub, unused_imports)]

mod platform {
    pub(crate) use preempt::{hint, sync, thread, time};
    use std::ops::Deref;
    use sync::atomic::AtomicU64;

    pub(crate) const SEGMENT_BITS: u32 = 7;
    pub(crate) const MOST_SEGMENTS: usize = 16;
    pub(crate) const TABLE_WORDS: usize = 16;
    pub(crate) const FIRST_DEPTH: u32 = 1;
    pub(crate) const SLOTS_OF_A_LINE: usize = 4;
    pub(crate) const FURTHEST_SLOT: usize = 3;
    pub(crate) const FURTHEST_LINE: usize = 0;
    pub(crate) const LEAST_BITS: u32 = 3;
    pub(crate) const RECENT_KEYS: usize = 4;
    pub(crate) const LINK_BLOCK: usize = 4;
    pub(crate) const NUMBER_BLOCK: usize = 4;
    pub(crate) const LEVEL_CHUNK: usize = 1;

    /// Words that begin with a line wherever they are: which words make a segment must not depend on an address.
    #[derive(Debug)]
    pub(crate) struct Words(Vec<Line>);

    #[derive(Debug)]
    #[repr(C, align(64))]
    struct Line([AtomicU64; 8]);

    const _: () = assert!(size_of::<Line>() == 8 * size_of::<AtomicU64>());

    pub(crate) fn words(words: Vec<AtomicU64>) -> Words {
        let lines = words.len() / 8;
        let mut words = words.into_iter();
        let line = |_| Line(std::array::from_fn(|_| words.next().expect("whole lines")));
        Words((0..lines).map(line).collect())
    }

    impl Deref for Words {
        type Target = [AtomicU64];

        fn deref(&self) -> &[AtomicU64] {
            // SAFETY: lines consist of eight words each and of nothing else.
            unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * 8) }
        }
    }
}

#[path = "../../crates/preempt-check/src/answer.rs"]
mod answer;
#[path = "../../crates/preempt-check/src/budget.rs"]
mod budget;
#[path = "../../crates/preempt-check/src/check.rs"]
mod check;
#[path = "../../crates/preempt-check/src/coverage.rs"]
mod coverage;
#[path = "../../crates/preempt-check/src/options.rs"]
mod options;
#[path = "../../crates/preempt-check/src/plan.rs"]
mod plan;
#[path = "../../crates/preempt-check/src/preemptions.rs"]
mod preemptions;
#[path = "../../crates/preempt-check/src/property/mod.rs"]
mod property;
#[path = "../../crates/preempt-check/src/reduce/mod.rs"]
mod reduce;
#[path = "../../crates/preempt-check/src/remote.rs"]
mod remote;
#[path = "../../crates/preempt-check/src/search/mod.rs"]
mod search;
#[path = "../../crates/preempt-check/src/store/mod.rs"]
mod store;

pub(crate) use answer::{
    Answer, Assertions, Counterexample, Covered, Finding, conclude, time_to_show,
};
pub(crate) use budget::{Budget, Phase, Progress, available_memory};
pub(crate) use check::{Check, clamp_threads};
pub(crate) use options::{Compatibility, Options, Reduction, Sampler, Search, Storage};
pub(crate) use plan::{Executor, Frontier, Plan, plan_infinite};
pub(crate) use preemptions::Preemptions;
pub(crate) use remote::RemoteSearch;
pub(crate) use search::{Simplest, simplest};

pub mod searches;
pub mod stores;
