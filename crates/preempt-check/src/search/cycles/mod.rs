//! Liveness: is there a cycle through an accepting state of the product with a property?
//!
//! 1. `nested.rs`: nested depth-first search with the colours of `colours.rs`, on the stack of `path.rs`, and
//!    [S19]'s schemes of reduction.
//! 2. `nested_shared.rs`: the same where product states share their system states, which `graph.rs` stores
//!    and expands once; `letters.rs` numbers the moves of the property automaton, `unnoticed.rs` passes over steps that nobody can notice.
//! 3. `concurrent.rs`: nested search of a graph that several threads expand, `shared_graph.rs`, with the lists of
//!    `successor_lists.rs` and the records of `expansion_log.rs`.
//! 4. `components.rs`: strongly connected components, for whole graphs.
//! 5. `lasso.rs`: a shorter way into a cycle that was found, and a shorter cycle.
//!
//! Invariant of the family: a cycle is reported only as steps that can be replayed, and *none* only where
//! all of the (reduced) product was searched.

pub(crate) mod colours;
pub(crate) mod components;
pub mod concurrent;
pub(crate) mod expansion_log;
pub(crate) mod graph;
pub mod lasso;
pub(crate) mod letters;
pub mod nested;
pub mod nested_shared;
pub(crate) mod path;
mod shared_graph;
mod successor_lists;
pub(crate) mod unnoticed;
