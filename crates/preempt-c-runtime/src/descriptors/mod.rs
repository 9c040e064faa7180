//! System calls on descriptors of things inside the program, as steps of its threads.
//!
//! A call that would wait is a blocked thread, and what another thread writes wakes it. Which number comes next
//! depends on all threads, so opening and closing are operations on the table (`descriptor_table/`).

mod calls;
mod polling;
mod step;
mod transfer;

pub(crate) use calls::call;
pub(crate) use step::{When, lock, unlock};
