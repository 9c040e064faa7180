//! Searches that look at a part of the executions, and never conclude *holds* from it.
//!
//! 1. `random_executions.rs`: random executions, one after the other ([MQ07] §4 compares with it) or branching off from each
//!    other. Both are a [`Sampler`].
//! 2. `depth_bounded.rs`: depth-first, a little deeper in every round (the same section).
//! 3. `swarm.rs`: many different bounded searches side by side, each with a small lossy store ([HF] §6).
//!
//! Invariant of the family: what is found is a real execution; what is not found says nothing, unless a round
//! of depth bounding reached no limit.

pub(crate) mod depth_bounded;
pub(crate) mod random_executions;
pub(crate) mod swarm;

use crate::options::Sampler;

/// The searches that draw executions from a seed. The command line offers all of them by their names.
pub const SAMPLERS: &[Sampler] = &[
    random_executions::WALK, //
    random_executions::RESTARTS,
];
