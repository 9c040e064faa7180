//! Statics that are initialised again in every execution.

/// Declares statics whose values are made when the test runs.
///
/// A plain `static LOCK: Mutex<u32> = Mutex::new(0)` begins every execution anew by itself (on Linux, x86-64; elsewhere `new` is
/// not `const` under control). This macro is for all others: the value is made by any expression, at the beginning of each
/// execution. It is a plain `static` when the feature `check` is off.
///
/// ```
/// use preempt::sync::atomic::{AtomicUsize, Ordering};
///
/// preempt::statics! {
///     static HITS: AtomicUsize = AtomicUsize::new(0);
/// }
///
/// HITS.fetch_add(1, Ordering::SeqCst);
/// ```
#[cfg(feature = "check")]
#[macro_export]
macro_rules! statics {
    ($($(#[$attribute:meta])* $vis:vis static $name:ident : $type:ty = $init:expr;)*) => {
        $($(#[$attribute])* $vis static $name: $crate::Static<$type> = $crate::Static::new(|| $init);)*
    };
}

/// Declares plain statics.
#[cfg(not(feature = "check"))]
#[macro_export]
macro_rules! statics {
    ($($(#[$attribute:meta])* $vis:vis static $name:ident : $type:ty = $init:expr;)*) => {
        $($(#[$attribute])* $vis static $name: $type = $init;)*
    };
}
