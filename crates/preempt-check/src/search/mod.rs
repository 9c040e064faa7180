//! The orders in which states are explored, one file each.

mod bounded;
mod bounded_reduced;
mod bounded_spin;
mod bounded_stack;
mod bounded_walk;
mod breadth;
mod chain;
mod depth;
mod expansion;
mod frontier;
mod iterative;
mod iterative_parallel;
pub mod lasso;
mod marks;
pub mod nested;
mod nested_path;
mod parallel;
mod preemption_bound;
mod settle;
mod shorten;
mod simplest;
mod tally;
mod trace;
mod visited;
mod window;

pub(crate) use breadth::breadth_first;
pub(crate) use depth::depth_first;
pub(crate) use parallel::parallel;
pub(crate) use preemption_bound::bounded;
pub use simplest::{Simplest, simplest};
