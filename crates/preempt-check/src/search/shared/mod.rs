//! What several families of searches need.
//!
//! 1. `atomic_sequence.rs`: one step with the indivisible sequence behind it; `expansion.rs`: all stored
//!    successors of a state, with these sequences run to their ends.
//! 2. `states.rs`: a list of states; `frontier.rs`: the worklist of a breadth-first search; `trace.rs`: the way back from a state.
//! 3. `visit_rule.rs`: which processes a visit runs, where preemptions are counted.
//! 4. `statistics.rs`: what a search counts, `events.rs`: and where its first error was; `taken.rs`: which transitions it took; `halt.rs`: why it ends before its time.
//! 5. `workers.rs`: threads that all run or none; `compressed.rs`: a search by several threads that begins anew with a tree.
//!
//! Invariant: nothing here decides which states are visited; that is the families' business.

pub(crate) mod atomic_sequence;
pub(crate) mod compressed;
pub(crate) mod events;
pub(crate) mod expansion;
pub(crate) mod frontier;
pub(crate) mod halt;
pub(crate) mod states;
pub(crate) mod statistics;
pub(crate) mod taken;
pub(crate) mod trace;
pub(crate) mod visit_rule;
pub(crate) mod workers;
