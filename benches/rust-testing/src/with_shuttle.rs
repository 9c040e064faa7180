//! The programs over the types of shuttle.

#[path = "../../../crates/preempt/tests/bodies/programs.rs"]
mod programs;

pub(crate) use programs::*;

mod tool {
    pub(crate) use shuttle::hint;
    pub(crate) use shuttle::sync::atomic::{
        AtomicBool, AtomicIsize, AtomicUsize, Ordering::SeqCst,
    };
    pub(crate) use shuttle::sync::{Arc, Condvar, Mutex};
    pub(crate) use shuttle::thread::{self, JoinHandle};
}
