//! Values that are made when first used, once per execution.

pub use preempt::thread::{AccessError, panicking, yield_now};

use preempt::sync::LazyLock;
use std::fmt;

/// A value that the first thread which needs it makes.
pub struct Lazy<T: 'static>(LazyLock<T, fn() -> T>);

impl<T: 'static> Lazy<T> {
    #[doc(hidden)]
    pub const fn new(init: fn() -> T) -> Self {
        Lazy(LazyLock::new(init))
    }

    /// The value of this execution.
    ///
    /// # Panics
    /// If the main thread has ended: loom drops statics then.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        let value = LazyLock::force(&self.0);
        assert!(
            !preempt::facade::main_has_ended(),
            "attempted to access lazy_static during shutdown: the main thread has ended"
        );
        value
    }
}

impl<T: 'static> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lazy { .. }")
    }
}
