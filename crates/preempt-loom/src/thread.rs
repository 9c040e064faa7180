//! Threads, with the shapes of `std::thread`.

pub use preempt::thread::{
    AccessError, Builder, JoinHandle, LocalKey, Thread, ThreadId, current, panicking, park,
    yield_now,
};

/// Starts a thread. As in loom its closure need not be `Send`.
#[track_caller]
pub fn spawn<F, T>(function: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    preempt::facade::spawn_local(Builder::new(), function)
}
