//! Threads, with the shapes of `std::thread`.

pub use preempt::thread::{
    AccessError, Builder, JoinHandle, LocalKey, Result, Scope, ScopedJoinHandle, Thread, ThreadId,
    current, panicking, park, park_timeout, scope, sleep, spawn, yield_now,
};
