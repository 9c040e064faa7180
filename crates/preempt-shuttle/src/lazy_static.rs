//! Values that are made when first used, once per execution.

pub use crate::lazy_static;

use preempt::sync::LazyLock;
use std::fmt;

/// A value that the first thread which needs it makes.
pub struct Lazy<T: 'static>(LazyLock<T, fn() -> T>);

impl<T: Sync + 'static> Lazy<T> {
    /// To be made by `init`.
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

/// What [`lazy_static!`](crate::lazy_static!) implements.
pub trait LazyStatic {
    #[doc(hidden)]
    fn initialize(lazy: &Self);
}

/// Makes the value now.
pub fn initialize<T: LazyStatic>(lazy: &T) {
    LazyStatic::initialize(lazy);
}
