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
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        LazyLock::force(&self.0)
    }
}

impl<T: 'static> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lazy { .. }")
    }
}
