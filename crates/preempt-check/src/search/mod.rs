//! The searches, one file each.

mod bounded;
mod bounded_reduced;
mod bounded_stack;
mod bounded_walk;
mod chain;
mod iterative;
mod marks;
pub mod nested;
mod preemption_bound;
mod simplest;
mod visited;
mod watch;

pub(crate) use preemption_bound::bounded;
pub use simplest::{Simplest, simplest};
