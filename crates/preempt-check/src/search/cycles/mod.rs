//! Liveness: is there a cycle through an accepting state of the product with a property?
//!
//! 1. `nested_search.rs`: the nested depth-first search, with the colours of `colours.rs`, over any graph of product states.
//!    `nested.rs`: the graph of any system, with the stack of `path.rs` and [S19]'s schemes of reduction.
//! 2. `nested_shared.rs`: the same where product states share their system states, which are stored and expanded once
//!    (`system_graph.rs`, `graph.rs`, `outgoing.rs`); `letters.rs` numbers the moves of the property automaton, `unnoticed.rs`
//!    passes over steps that no other process can notice. `nested_together.rs`: with helpers that expand system states ahead
//!    (`concurrent_graph.rs`, `graph_records.rs`, `searched_graph.rs`) as far as the property goes (`possible.rs`).
//! 3. `concurrent.rs`: the same search of a graph of product states that several threads expand, `shared_graph.rs`, with the
//!    records of `expansion_log.rs`. Both graphs have the lists of `successor_lists.rs` and the waiting states of `work_pool.rs`.
//! 4. `components.rs`: strongly connected components, for whole graphs.
//! 5. `lasso.rs`: a shorter way into a cycle that was found, and a shorter cycle.
//!
//! Invariant of the family: a cycle is reported only as steps that can be replayed, and *none* only where
//! all of the (reduced) product was searched.

pub(crate) mod colours;
pub(crate) mod components;
pub mod concurrent;
mod concurrent_graph;
pub(crate) mod expansion_log;
pub(crate) mod graph;
mod graph_records;
pub mod lasso;
pub(crate) mod letters;
pub mod nested;
mod nested_search;
pub mod nested_shared;
pub mod nested_together;
pub(crate) mod outgoing;
pub(crate) mod path;
mod possible;
mod searched_graph;
mod shared_graph;
mod successor_lists;
pub(crate) mod system_graph;
pub(crate) mod unnoticed;
mod work_pool;
