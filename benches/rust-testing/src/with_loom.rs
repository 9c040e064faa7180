//! The programs over the types of loom.

#[path = "../../../crates/preempt/tests/bodies/programs.rs"]
mod programs;
#[path = "../../../crates/preempt/tests/bodies/weak.rs"]
pub(crate) mod weak;

pub(crate) use programs::*;

mod tool {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::hint;
    pub(crate) use loom::sync::atomic::{
        AtomicBool, AtomicIsize, AtomicUsize, Ordering, Ordering::SeqCst, fence,
    };
    pub(crate) use loom::sync::{Arc, Condvar, Mutex};
    pub(crate) use loom::thread::{self, JoinHandle};
}
