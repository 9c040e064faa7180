//! Rust tests and C programs, as a page or an editor starts them.
//!
//! - `tests.rs` finds the tests of a text, and `package.rs` those of a Rust package, without compiling anything;
//! - `launch.rs` says which commands search the schedules of one, runs them, and ends them on request;
//! - `outcome.rs` reads what they report, and `execution.rs` the execution that fails, from the page that they write.
//!
//! **Invariant:** nothing is compiled or run but by [`Launch::run`], whose commands [`Launch::in_words`] names.

#![forbid(unsafe_code)]

mod execution;
mod launch;
mod outcome;
mod package;
mod tests;

pub use execution::{Execution, from_page, from_trace};
pub use launch::{Answer, Launch, Limits};
pub use package::Package;
pub use tests::{Kind, Language, Test, tests};
