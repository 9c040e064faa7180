//! Safety: every reachable state is visited once, and a step that violates something is reported.
//!
//! 1. `breadth_first.rs`: level by level, in batches, with sleep sets; the simplest to read.
//! 2. `depth_first.rs`: with a stack and partial-order reduction, in Spin's order.
//! 3. `window.rs`: the successors that its frames have yet to visit, in bounded memory.
//! 4. `state_access.rs`: what a frame keeps of them: whole copies, or
//! 5. `in_place.rs`: differences to one state that is changed and changed back.
//! 6. `parallel/`: several threads over one shared store, in no particular order.
//! 7. `events.rs`: what happens during expansions whose order does not matter.
//!
//! Invariant of the family: a state is expanded at most once, and a search that ended without a stop has
//! expanded (or may skip, by its reduction) every reachable one.

pub(crate) mod breadth_first;
pub(crate) mod depth_first;
pub(crate) mod in_place;
pub(crate) mod parallel;
pub(crate) mod state_access;
pub(crate) mod window;
