//! The programs over the types of preempt.

#[path = "../../../crates/preempt/tests/bodies/programs.rs"]
mod programs;
#[path = "../../../crates/preempt/tests/bodies/weak.rs"]
pub(crate) mod weak;

pub(crate) use programs::*;

mod tool {
    pub(crate) use preempt::cell::UnsafeCell;
    pub(crate) use preempt::hint;
    pub(crate) use preempt::sync::atomic::{
        AtomicBool, AtomicIsize, AtomicUsize, Ordering, Ordering::SeqCst, fence,
    };
    pub(crate) use preempt::sync::{Arc, Condvar, Mutex};
    pub(crate) use preempt::thread::{self, JoinHandle};
}
