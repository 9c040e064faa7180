//! `lazy_static!` for the crates that stand in for others: one text for both.

use crate::sync::LazyLock;
use std::fmt;

/// A value that the first thread which needs it makes, once per execution.
pub struct Lazy<T: 'static>(LazyLock<T, fn() -> T>);

impl<T: 'static> Lazy<T> {
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

/// What `lazy_static!` implements.
pub trait LazyStatic {
    #[doc(hidden)]
    fn initialize(lazy: &Self);
}

/// Makes the value now.
pub fn initialize<T: LazyStatic>(lazy: &T) {
    LazyStatic::initialize(lazy);
}

/// The declarations of `lazy_static!`, after the type of lazy values in brackets.
#[doc(hidden)]
#[macro_export]
macro_rules! __lazy_static {
    ([$($lazy:tt)*]) => {};
    (
        [$($lazy:tt)*] $(#[$attribute:meta])* $vis:vis static ref $name:ident : $type:ty = $init:expr;
        $($rest:tt)*
    ) => {
        #[allow(missing_copy_implementations, missing_docs, non_camel_case_types, dead_code)]
        $(#[$attribute])*
        $vis struct $name {
            __private: (),
        }
        #[doc(hidden)]
        #[allow(non_upper_case_globals)]
        $vis static $name: $name = $name { __private: () };
        impl ::core::ops::Deref for $name {
            type Target = $type;

            fn deref(&self) -> &$type {
                fn init() -> $type {
                    $init
                }
                static LAZY: $($lazy)*<$type> = $($lazy)*::new(init);
                LAZY.get()
            }
        }
        impl $crate::facade::LazyStatic for $name {
            fn initialize(lazy: &Self) {
                let _ = &**lazy;
            }
        }
        $crate::__lazy_static! { [$($lazy)*] $($rest)* }
    };
}
