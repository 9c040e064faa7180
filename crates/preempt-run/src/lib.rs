//! C and C++ programs under preempt: what `preempt cc`, `preempt c++` and `preempt run` do.
//!
//! - `compile.rs` makes the command line of the real compiler: every access to memory marked, our
//!   library in place of the sanitizer's (`runtime.rs` keeps it and finds it);
//! - `run.rs` starts a program whose library then searches its own schedules, and waits for what it
//!   reports (both in the words of `preempt-exchange`);
//! - `claim.rs` turns that into a verdict with its trace, addresses into lines of source
//!   (`symbols.rs`) and names (`variables.rs`, `expressions.rs`), and explains what no interleaving does (`stale.rs`) and what threads wait for (`waiting.rs`);
//! - `shown.rs` leaves out what says nothing, `std_calls.rs` makes one step of a call of Rust's std,
//!   and `std_locks.rs` finds where a program takes std's locks, which are searched as one step.
//!
//! This crate decides and starts processes; it prints nothing.

mod calls;
mod claim;
pub mod compile;
mod expressions;
mod fold;
mod opaque;
mod pauses;
mod references;
pub mod run;
pub mod runtime;
mod sections;
mod shown;
mod stale;
mod std_calls;
mod std_locks;
pub mod symbols;
mod variables;
mod waiting;
mod words;

pub use claim::{Answer, answer};
pub use compile::{Language, compile};
pub use preempt_exchange::{Memory, Search, SearchOptions, Std, parse_threads, parse_time};
pub use run::{Failure, MOST_THREADS, Options, Progress, Watch, run};
