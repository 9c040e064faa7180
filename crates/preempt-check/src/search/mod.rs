//! The orders in which states are explored, one file each.

mod bounded;
mod bounded_reduced;
mod bounded_spin;
mod bounded_stack;
mod bounded_walk;
mod breadth;
mod chain;
mod depth;
mod depth_bounded;
mod expansion;
mod frontier;
mod iterative;
mod iterative_parallel;
mod marks;
pub mod nested;
mod parallel;
mod preemption_bound;
mod random_walk;
mod settle;
mod shorten;
mod simplest;
mod swarm;
mod tally;
mod trace;
mod visited;
mod window;

pub(crate) use breadth::breadth_first;
pub(crate) use depth::depth_first;
pub(crate) use depth_bounded::iterative_depth;
pub(crate) use parallel::parallel;
pub(crate) use preemption_bound::bounded;
pub(crate) use random_walk::random_walk;
pub(crate) use simplest::simplify;
pub use simplest::{Simplest, simplest};
pub(crate) use swarm::swarm;
