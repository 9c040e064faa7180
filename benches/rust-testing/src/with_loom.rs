//! The programs over the types of loom.

#[path = "../../../crates/preempt/tests/bodies/programs.rs"]
mod programs;

pub(crate) use programs::*;

mod tool {
    pub(crate) use loom::hint;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::SeqCst};
    pub(crate) use loom::sync::{Arc, Condvar, Mutex};
    pub(crate) use loom::thread::{self, JoinHandle};
}
