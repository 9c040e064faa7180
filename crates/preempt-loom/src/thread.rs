//! Threads, with the shapes of `std::thread`.

pub use preempt::thread::{
    AccessError, JoinHandle, LocalKey, Thread, ThreadId, current, panicking, park, yield_now,
};

use std::io;

/// A thread to be, with a name and a size of its stack.
#[derive(Debug)]
pub struct Builder(preempt::thread::Builder);

impl Builder {
    /// A thread without name.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Builder {
        Builder(preempt::thread::Builder::new())
    }

    /// Gives it a name, which reports use.
    pub fn name(self, name: String) -> Builder {
        Builder(self.0.name(name))
    }

    /// The size of its stack. loom counts words, and tests rely on that much room.
    pub fn stack_size(self, size: usize) -> Builder {
        Builder(self.0.stack_size(size.saturating_mul(size_of::<usize>())))
    }

    /// Starts the thread.
    #[track_caller]
    pub fn spawn<F, T>(self, function: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.0.spawn(function)
    }
}

/// Starts a thread. As in loom its closure need not be `Send`.
#[track_caller]
pub fn spawn<F, T>(function: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    preempt::facade::spawn_local(preempt::thread::Builder::new(), function)
}
