//! The orders in which states are explored.

mod breadth;
mod depth;
mod expansion;
mod frontier;
mod parallel;
mod tally;
mod trace;
mod window;

pub(crate) use breadth::breadth_first;
pub(crate) use depth::depth_first;
pub(crate) use parallel::parallel;
