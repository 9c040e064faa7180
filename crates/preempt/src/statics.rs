//! Statics that are initialised again in every execution.

/// Declares statics of controlled types.
///
/// `AtomicUsize::new` and the like are no `const fn` under control. Every object gets a name when
/// it is made, the same in every execution; a `const fn` cannot know who runs it, and a name given at
/// the first use would depend on the schedule. This macro makes the value at the beginning of each execution (so it is
/// also reset between executions), and is a plain `static` when the feature `check` is off.
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
