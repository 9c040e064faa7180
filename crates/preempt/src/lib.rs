//! Systematic testing of concurrent Rust code.
//!
//! A test written with [`sync`] and [`thread`] is run once per *partial order*: once for each way
//! in which its threads can influence each other, in the order of the preemptions they need.
//!
//! ```
//! use preempt::{Check, Outcome, sync::{Arc, atomic::{AtomicUsize, Ordering}}, thread};
//!
//! let report = Check::new().run(|| {
//!     let counter = Arc::new(AtomicUsize::new(0));
//!     let other = counter.clone();
//!     let handle = thread::spawn(move || {
//!         let value = other.load(Ordering::SeqCst);
//!         other.store(value + 1, Ordering::SeqCst);
//!     });
//!     let value = counter.load(Ordering::SeqCst);
//!     counter.store(value + 1, Ordering::SeqCst);
//!     handle.join().unwrap();
//!     assert_eq!(counter.load(Ordering::SeqCst), 2, "lost update");
//! });
//! let Outcome::Failed(failure) = report.outcome else { panic!("the update can be lost") };
//! assert_eq!(failure.preemptions, 1);
//! ```
//!
//! preempt sees what goes through [`sync`], [`thread`], [`cell`], [`time`] and [`hint`], and nothing else: a
//! `std::sync::atomic` or `std::sync::Mutex` in the code under test is invisible to it, and so are the
//! interleavings at its operations. Values kept in `std` types between executions (a static counter) make a
//! test nondeterministic, which is reported where it shows.
//!
//! In a test suite write `#[preempt::test]` instead of `#[test]`. Code that ships uses the same
//! paths: without the feature `check` (on by default; switch it off in `[dependencies]` and on in
//! `[dev-dependencies]`) they are plain re-exports of the standard library.

/// A function that is `const` where the runtime learns of objects which such a function makes (`rt::creation_log`).
#[cfg(feature = "check")]
macro_rules! const_fn {
    ($(#[$attribute:meta])* $vis:vis fn $($function:tt)*) => {
        $(#[$attribute])*
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        $vis const fn $($function)*

        $(#[$attribute])*
        #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
        $vis fn $($function)*
    };
}

#[cfg(feature = "check")]
pub mod cell;
#[cfg(feature = "check")]
mod check;
#[cfg(feature = "check")]
mod choice;
#[cfg(feature = "check")]
mod chooser;
#[cfg(feature = "check")]
mod environment;
#[cfg(feature = "check")]
mod evidence;
#[cfg(feature = "check")]
mod explore;
#[cfg(feature = "check")]
#[doc(hidden)]
pub mod facade;
#[cfg(feature = "check")]
mod failure;
#[cfg(feature = "check")]
pub mod future;
#[cfg(feature = "check")]
mod gather;
#[cfg(feature = "check")]
pub mod hint;
#[cfg(feature = "check")]
mod html;
#[cfg(feature = "check")]
mod job;
#[cfg(feature = "check")]
mod lanes;
mod lazy;
#[cfg(feature = "check")]
mod naming;
#[cfg(feature = "check")]
mod parallel;
#[cfg(feature = "check")]
mod places;
#[cfg(not(feature = "check"))]
mod plain;
#[cfg(feature = "check")]
mod pulse;
#[cfg(feature = "check")]
mod quantities;
mod repeat;
#[cfg(feature = "check")]
mod report;
#[cfg(feature = "check")]
mod report_line;
#[cfg(feature = "check")]
mod rt;
#[cfg(feature = "check")]
mod saved;
#[cfg(feature = "check")]
mod stale;
mod statics;
#[cfg(feature = "check")]
mod strategy;
#[cfg(feature = "check")]
pub mod sync;
#[cfg(feature = "check")]
pub mod task;
#[cfg(feature = "check")]
pub mod thread;
#[cfg(feature = "check")]
pub mod time;
#[cfg(feature = "check")]
mod unseen;

#[cfg(feature = "check")]
#[doc(hidden)]
pub use check::Returned;
#[cfg(feature = "check")]
pub use check::{Check, check, model};
#[cfg(feature = "check")]
pub use choice::{choose, choose_bool};
#[cfg(feature = "check")]
pub use failure::{Failure, FailureKind};
#[cfg(not(feature = "check"))]
pub use plain::*;
#[cfg(feature = "check")]
pub use preempt_macros::test;
#[cfg(feature = "check")]
pub use report::{Bound, Outcome, Reason, Report};
#[cfg(feature = "check")]
pub use rt::{Allocator, Static};
#[cfg(feature = "check")]
pub use strategy::{Memory, Strategy};
#[cfg(feature = "check")]
pub use sync::unsize;

/// See [`Allocator`].
#[cfg(all(feature = "check", feature = "allocator"))]
#[global_allocator]
static GLOBAL: Allocator = Allocator(std::alloc::System);
