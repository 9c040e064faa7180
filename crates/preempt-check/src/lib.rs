//! Explicit-state search over any [`preempt_core::System`].
//!
//! Four independent axes: the order of exploration ([`Search`]), how visited states are remembered
//! ([`store`]), which interleavings may be skipped ([`Reduction`]), and what is a violation. A
//! [`Check`] picks one of each and gives an [`Answer`].

mod answer;
mod budget;
mod check;
mod coverage;
#[doc(hidden)]
pub mod engine;
mod options;
mod plan;
mod platform;
mod preemptions;
pub mod property;
mod reduce;
mod remote;
pub mod search;
pub mod store;

pub use answer::{
    Answer, Assertions, Counterexample, Covered, Finding, conclude, conclude_until, time_to_show,
};
pub use budget::{Budget, Phase, Progress, available_memory};
pub use check::{Check, clamp_threads, search_here};
pub use options::{Compatibility, Options, Reduction, Sampler, Search, Storage};
pub use plan::{Executor, Frontier, Plan, plan_infinite};
pub use preemptions::Preemptions;
pub use remote::RemoteSearch;
pub use search::{Simplest, simplest};
