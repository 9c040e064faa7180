//! Unmodified Rust crates under preempt: what `preempt cargo test` and `preempt cargo run` do before
//! anything is searched.
//!
//! Cargo builds the crate as it is, with this program in three places of its own (`role.rs`):
//!
//! - in front of rustc (`wrapper.rs`), so that crates of the target are instrumented, and build scripts
//!   and procedural macros are not;
//! - in front of the linker (`linker.rs`), so that the runtime comes before the C library, std is
//!   the instrumented one (`toolchain.rs`) and tests are run by our harness instead of libtest;
//! - in front of what was built (`recorder.rs`), so that programs are later started in the folder and with
//!   the environment that cargo gives them.
//!
//! `nextest.rs` stands in front of tests that nextest starts. `project.rs` starts cargo, `words.rs` tells cargo's words from ours, `selection.rs` knows which tests a
//! program has and which of them are wanted, `export.rs` keeps failing schedules beside the crate.
//!
//! This crate decides and starts processes; it prints nothing.

#![forbid(unsafe_code)]

pub mod export;
mod linker;
pub mod nextest;
mod project;
mod recorder;
mod role;
mod selection;
mod toolchain;
mod variables;
mod words;
mod wrapper;

pub use project::{Built, Failure, Project, Races};
pub use recorder::Program;
pub use role::play;
pub use selection::{Selection, Test};
pub use toolchain::{Std, Toolchain};
pub use words::{Kind, Line, split};
