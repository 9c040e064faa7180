//! `Arc`s of slices and strings, from what std's are made of.

use super::arc::Arc;

macro_rules! from {
    ($([$($generics:tt)*] $from:ty => $to:ty),* $(,)?) => {$(
        impl<$($generics)*> From<$from> for Arc<$to> {
            #[track_caller]
            fn from(value: $from) -> Self {
                Arc::from_std(std::sync::Arc::from(value))
            }
        }
    )*};
}

from! {
    [T] Vec<T> => [T],
    [T: Clone] &[T] => [T],
    [T, const N: usize] [T; N] => [T],
    [] &str => str,
    [] String => str,
    [T: ?Sized] Box<T> => T,
}

impl<T> FromIterator<T> for Arc<[T]> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Arc::from_std(values.into_iter().collect())
    }
}

impl<T> Default for Arc<[T]> {
    #[track_caller]
    fn default() -> Self {
        // Not std's default, which all empty slices share and nobody frees.
        Arc::from_std(std::sync::Arc::from(Vec::new()))
    }
}
