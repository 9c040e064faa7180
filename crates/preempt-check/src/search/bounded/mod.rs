//! Depth-first searches of the executions with at most so many preemptions ([HF]).
//!
//! 1. `stack.rs` and `walk.rs`: what [HF] Figs. 3 and 5 share, a depth-first search that counts preemptions
//!    and asks a rule what to do in a state.
//! 2. `depth_first.rs`: the rule of Fig. 3. 3. `reduced.rs`: the one of Fig. 5, made sound.
//! 4. `least_preemptions.rs`: per state the least count it was reached with; `visited.rs` makes a visited set
//!    of it for exact and for lossy stores.
//! 5. `as_spin.rs`: both figures as Spin 6.5.2 implements them, for study.
//! 6. `simplest.rs`: fewest preemptions, then fewest steps, exactly, once a violation is known.
//!
//! Invariant of the family: a visit with a count is skipped only if one that allows at least as much was made.

pub(crate) mod as_spin;
pub(crate) mod depth_first;
pub(crate) mod least_preemptions;
pub(crate) mod reduced;
pub(crate) mod simplest;
pub(crate) mod stack;
pub(crate) mod visited;
pub(crate) mod walk;
