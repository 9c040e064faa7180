//! The paths and names of loom, over preempt.
//!
//! A crate with loom tests changes one line of its manifest and no source:
//!
//! ```toml
//! [target.'cfg(loom)'.dependencies]
//! loom = { package = "preempt-loom", version = "0.1", features = ["futures"] }
//! ```
//!
//! Every [`model()`] is then explored by preempt: once per partial order, in the order of the
//! preemptions needed, with a report that says what was covered.
//!
//! | loom | here |
//! |---|---|
//! | `LOOM_MAX_PREEMPTIONS`, `LOOM_MAX_DURATION`, `LOOM_MAX_PERMUTATIONS`, `LOOM_MAX_BRANCHES` | honoured; `PREEMPT_PREEMPTIONS`, `PREEMPT_TIME` and the other variables of preempt override them |
//! | no limit of time unless asked for | ten seconds per model; the report says what was completed |
//! | `LOOM_CHECKPOINT_FILE` | refused with a message: a failure prints its schedule for `PREEMPT_REPLAY` |
//! | `LOOM_LOG`, `LOOM_LOCATION` | not needed: a failure shows every step with its place |
//! | `Builder::max_threads`, [`MAX_THREADS`] | no limit |
//! | [`explore`], [`stop_exploring`], [`skip_branch`] | accepted; preempt explores these parts, too |
//! | statics of [`lazy_static!`] are dropped when the main thread ends | when all threads have ended; a thread that uses one after the main thread has ended fails, as in loom |

pub mod alloc;
pub mod cell;
#[cfg(feature = "futures")]
pub mod future;
pub mod hint;
pub mod lazy_static;
pub mod model;
pub mod sync;
pub mod thread;

#[doc(hidden)]
pub use preempt as __preempt;

#[doc(inline)]
pub use crate::model::model;

/// loom's limit on threads, for code that names it. preempt has none.
pub const MAX_THREADS: usize = 5;

/// Asks for exploration from here on. Nothing to do: preempt explores everything.
pub fn explore() {}

/// Allows not to explore from here on. preempt explores nevertheless, which finds no less.
pub fn stop_exploring() {}

/// Allows not to explore from here on. preempt explores nevertheless, which finds no less.
pub fn skip_branch() {}

pub use preempt::thread_local;

/// Declares statics that are made when first used, as `lazy_static::lazy_static!` does.
#[macro_export]
macro_rules! lazy_static {
    ($($declaration:tt)*) => {
        $crate::__preempt::__lazy_static! { [$crate::lazy_static::Lazy] $($declaration)* }
    };
}
