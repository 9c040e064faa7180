//! The searches, one family per folder.
//!
//! | folder | question |
//! |---|---|
//! | `safety` | is a violation reachable, in any execution? |
//! | `bounded` | is one reachable within a bound on preemptions, depth-first? |
//! | `iterative` | the same, bucket by bucket: no preemption, one, two, … |
//! | `cycles` | is there an execution without end that violates a liveness property? |
//! | `sampling` | is one found by looking at some executions only? |
//! | `shared` | what several families need: expansion, compact successors, statistics, traces |
//!
//! Read `safety` first, then `shared`; the others build on these two. Which of them makes a check is decided by
//! `plan.rs`; `preemption_bound.rs` has the entries to those with a bound.

pub(crate) mod bounded;
pub(crate) mod cycles;
pub(crate) mod iterative;
mod job;
mod preemption_bound;
pub(crate) mod safety;
pub(crate) mod sampling;
pub(crate) mod shared;

pub use bounded::simplest::{Simplest, simplest};
pub use cycles::{concurrent, lasso, nested, nested_shared, nested_together};
pub use safety::depth_first::{Found, each_violation};
pub use sampling::SAMPLERS;
pub use shared::compressed::compressed_if_full;
pub use shared::trace::{along_states, states_after};

pub(crate) use bounded::simplest::simplify;
pub(crate) use iterative::visit_memory::{SHARD_BITS, SHARDS};
pub(crate) use job::Job;
pub(crate) use safety::breadth_first::breadth_first;
pub(crate) use safety::depth_first::{depth_first, longest_of_a_few};
pub(crate) use safety::parallel::{parallel, parallel_adaptive};
pub(crate) use safety::state_access::StateAccess;
pub(crate) use sampling::depth_bounded::iterative_depth;
pub(crate) use sampling::swarm::swarm;
pub(crate) use shared::taken::mark_taken;

#[cfg(test)]
pub(crate) use iterative::no_steps::NoSteps;
