//! Values that are made when first used, once per execution.

pub use preempt::thread::{AccessError, panicking, yield_now};

use preempt::facade;

/// A value that the first thread which needs it makes.
#[derive(Debug)]
pub struct Lazy<T: 'static>(facade::Lazy<T>);

impl<T: 'static> Lazy<T> {
    #[doc(hidden)]
    pub const fn new(init: fn() -> T) -> Self {
        Lazy(facade::Lazy::new(init))
    }

    /// The value of this execution.
    ///
    /// # Panics
    /// If the main thread has ended: loom drops statics then.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        let value = self.0.get();
        assert!(
            !facade::main_has_ended(),
            "attempted to access lazy_static during shutdown: the main thread has ended"
        );
        value
    }
}
