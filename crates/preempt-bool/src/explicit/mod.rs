//! States one by one, with stacks stored: exact where stacks stay bounded, and the oracle for
//! everything else.

mod describe;
mod layout;
mod machine;
mod remarks;
mod search;
mod store;
mod watch;

pub(crate) use describe::show;
pub use machine::Machine;
pub(crate) use machine::unset_shared;
pub(crate) use search::{Extent, Layers, search};
pub use watch::Watch;
