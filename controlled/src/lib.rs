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

    pub(crate) const SEGMENT_BITS: u32 = 6;
    pub(crate) const MOST_SEGMENTS: usize = 16;
    pub(crate) const FIRST_SLOTS: usize = 20;
    pub(crate) const SLOT_MARGIN: usize = 4;
    pub(crate) const FIRST_LINES: usize = 1;
    pub(crate) const LINE_MARGIN: usize = 2;
    pub(crate) const RECENT_KEYS: usize = 4;
    pub(crate) const LINK_BLOCK: usize = 4;
    // Which words of an array make a line must not depend on its address.
    pub(crate) const LINE_BYTES: usize = 8;
    pub(crate) const NUMBER_BLOCK: usize = 4;
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
#[path = "../../crates/preempt-check/src/preemptions.rs"]
mod preemptions;
#[path = "../../crates/preempt-check/src/property/mod.rs"]
pub mod property;
#[path = "../../crates/preempt-check/src/reduce/mod.rs"]
mod reduce;
#[path = "../../crates/preempt-check/src/search/mod.rs"]
pub mod search;
#[path = "../../crates/preempt-check/src/store/mod.rs"]
pub mod store;

pub use answer::{Answer, Assertions, Counterexample, Finding, conclude};
pub use budget::{Budget, Phase, Progress, available_memory};
pub use check::{Check, useful_of};
pub use options::{Compatibility, Options, Reduction, Sampler, Search, Storage};
pub use preemptions::Preemptions;
pub use search::{Simplest, simplest};

pub mod searches;
pub mod stores;
