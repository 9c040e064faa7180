//! The programs that several tests explore, over our types.

mod programs;

pub(crate) use programs::*;

mod tool {
    pub(crate) use preempt::hint;
    pub(crate) use preempt::sync::atomic::{
        AtomicBool, AtomicIsize, AtomicUsize, Ordering::SeqCst,
    };
    pub(crate) use preempt::sync::{Arc, Condvar, Mutex};
    pub(crate) use preempt::thread::{self, JoinHandle};
}
