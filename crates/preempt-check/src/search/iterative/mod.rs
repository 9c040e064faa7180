//! Iterative context bounding ([MQ07]): all executions without a preemption, then those with one, then two, …
//!
//! 1. `buckets.rs`: Algorithm 1 over stored states, one bucket of visits per count.
//! 2. `outgoing.rs`: the steps out of a state, each with who may take it for free; `visit_log.rs`: every visit with its
//!    parent, from which `past.rs` and `retrace.rs` find an execution again.
//! 3. `parallel.rs`: the same on several threads. What they share is behind `visited_set.rs`, as `shared_visited.rs` with
//!    `shared_log.rs`; `team_counts.rs` is what they count together.
//! 4. `lossy.rs` with `lossy_visited.rs`: where the store does not keep the states; `lossy_parallel.rs` on several threads.
//! 5. `reduced/`: with a partial-order reduction that is sound under the bound.
//! 6. `conclusion.rs`: the numbers of a finished or stopped search, as a finding.
//!
//! Invariant of the family: when a bucket is finished, every state that can be reached with so many preemptions has
//! been reached, so a violation found later needs more.

pub(crate) mod buckets;
pub(crate) mod conclusion;
pub(crate) mod lossy;
pub(crate) mod lossy_parallel;
pub(crate) mod lossy_visited;
#[cfg(test)]
pub(crate) mod no_steps;
pub(crate) mod outgoing;
pub(crate) mod parallel;
mod past;
pub(crate) mod reduced;
pub(crate) mod retrace;
mod shared_log;
mod shared_visited;
mod team_counts;
pub(crate) mod visit_log;
pub(crate) mod visited_set;
