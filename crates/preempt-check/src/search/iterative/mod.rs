//! Iterative context bounding ([MQ07]): all executions without a preemption, then those with one, then two, …
//!
//! 1. `phases.rs`: Algorithm 1, the loop; `buckets.rs`: what a thread does of one bucket of visits, with the rule of
//!    `shared/visit_rule.rs`; `one_thread.rs`: the phases of one thread.
//! 2. `outgoing.rs`: the steps out of a state, each with the process that may take it; `visit_log.rs`: every visit with its
//!    parent, from which `trace_log.rs` and `retrace.rs` find an execution again.
//! 3. `visited_set.rs`: what a thread knows of states and visits. It has them for itself in `own_visits.rs`, with the records of
//!    `visit_memory.rs` and, where the store does not keep the states, those that wait in `frontier.rs`.
//! 4. `parallel.rs`: on several threads, which share `shared_visited.rs` with `shared_log.rs`; `lossy_parallel.rs`: the same where
//!    the store does not keep the states.
//! 5. `reduced/`: with a partial-order reduction that is sound under the bound.
//! 6. `conclusion.rs`: the numbers of a finished or stopped search, as a finding.
//!
//! Invariant of the family: when a bucket is finished, every state that can be reached with so many preemptions has
//! been reached, so a violation found later needs more.

pub(crate) mod buckets;
pub(crate) mod conclusion;
mod frontier;
pub(crate) mod lossy_parallel;
#[cfg(test)]
pub(crate) mod no_steps;
pub(crate) mod one_thread;
pub(crate) mod outgoing;
mod own_visits;
pub(crate) mod parallel;
pub(crate) mod phases;
pub(crate) mod reduced;
pub(crate) mod retrace;
mod shared_log;
mod shared_visited;
mod trace_log;
pub(crate) mod visit_log;
pub(crate) mod visit_memory;
pub(crate) mod visited_set;
