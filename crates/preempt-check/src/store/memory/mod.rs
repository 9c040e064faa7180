//! The memory of stores: `pages.rs` gets it from the system, fetches it ahead and gives it back; `arena.rs` keeps states one behind the
//! other; `lines.rs` gives out whole cache lines.

pub(super) mod arena;
pub(super) mod lines;
pub(crate) mod pages;
