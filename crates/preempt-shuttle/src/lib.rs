//! The paths and names of shuttle, over preempt.
//!
//! A crate with shuttle tests changes one line of its manifest:
//!
//! ```toml
//! [dev-dependencies]
//! shuttle = { package = "preempt-shuttle", version = "0.1" }
//! ```
//!
//! | shuttle | here |
//! |---|---|
//! | [`check_random`], [`check_pct`], [`check_urw`] | preempt's samplers; as many executions as asked for |
//! | [`check_dfs`] | every partial order once instead of every schedule once: the same verdict, far fewer executions |
//! | [`replay`], [`replay_from_file`] | schedules that preempt printed (`p1.…`); those of shuttle mean other steps and are refused |
//! | [`Runner`] with a [`scheduler::Scheduler`] of your own | it chooses among the threads that can move |
//! | [`Config::max_steps`], [`Config::max_time`], [`Config::stack_size`], [`Config::failure_persistence`] | honoured |
//! | `Config::silence_warnings`, `Config::record_steps_in_span`, `Config::ungraceful_shutdown_config` | nothing to do |
//! | `static M: Mutex<T> = Mutex::new(..)` | constructors are not `const`: `shuttle::lazy_static!` |
//!
//! The variables of preempt (`PREEMPT_TIME`, `PREEMPT_REPLAY`, …) are honoured, too.

mod check;
mod config;
pub mod current;
pub mod future;
pub mod hint;
pub mod lazy_static;
#[cfg(feature = "rand")]
pub mod rand;
mod runner;
pub mod scheduler;
pub mod sync;
pub mod thread;

#[doc(hidden)]
pub use preempt as __preempt;

pub use check::{
    check, check_dfs, check_pct, check_random, check_random_with_seed,
    check_uncontrolled_nondeterminism, check_urw, replay, replay_from_file,
};
pub use config::{
    Config, ContinuationFunctionBehavior, FailurePersistence, MaxSteps, UngracefulShutdownConfig,
};
pub use runner::{PortfolioRunner, Runner};

pub use preempt::thread_local;

/// Declares statics that are made when first used, as `lazy_static::lazy_static!` does.
#[macro_export]
macro_rules! lazy_static {
    ($($declaration:tt)*) => {
        $crate::__preempt::__lazy_static! { [$crate::lazy_static::Lazy] $($declaration)* }
    };
}
