//! `Arc`s of slices, strings and other types: from what std's are made of, and as what std's become.

use super::arc::Arc;
use std::any::Any;
use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::task::{Wake, Waker};

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
    [T: Clone] &mut [T] => [T],
    [] &mut str => str,
    [] &CStr => CStr,
    [] CString => CStr,
    [] &OsStr => OsStr,
    [] OsString => OsStr,
    [] &Path => Path,
    [] PathBuf => Path,
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
        // Not std's default, which all empty slices share and which is never freed.
        Arc::from_std(std::sync::Arc::from(Vec::new()))
    }
}

impl<'a, B: ?Sized + ToOwned> From<Cow<'a, B>> for Arc<B>
where
    Arc<B>: From<&'a B> + From<B::Owned>,
{
    #[track_caller]
    fn from(value: Cow<'a, B>) -> Self {
        match value {
            Cow::Borrowed(value) => Arc::from(value),
            Cow::Owned(value) => Arc::from(value),
        }
    }
}

impl From<Arc<str>> for Arc<[u8]> {
    fn from(value: Arc<str>) -> Self {
        Arc::map(value, std::sync::Arc::from)
    }
}

impl<T, const N: usize> TryFrom<Arc<[T]>> for Arc<[T; N]> {
    type Error = Arc<[T]>;

    fn try_from(value: Arc<[T]>) -> Result<Self, Arc<[T]>> {
        if value.len() != N {
            return Err(value);
        }
        Ok(Arc::map(value, |value| {
            std::sync::Arc::try_from(value).unwrap_or_else(|_| unreachable!("as long as that"))
        }))
    }
}

impl Default for Arc<str> {
    #[track_caller]
    fn default() -> Self {
        Arc::from("")
    }
}

impl<T: std::error::Error + ?Sized> std::error::Error for Arc<T> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        (**self).source()
    }
}

impl<T> Arc<MaybeUninit<T>> {
    /// The value, which was written.
    ///
    /// # Safety
    /// As for `std::sync::Arc::assume_init`.
    pub unsafe fn assume_init(self) -> Arc<T> {
        // SAFETY: the caller's promise.
        Arc::map(self, |value| unsafe { value.assume_init() })
    }
}

impl<T> Arc<[T]> {
    /// A new shared slice that is to be written later.
    #[track_caller]
    pub fn new_uninit_slice(length: usize) -> Arc<[MaybeUninit<T>]> {
        Arc::from_std(std::sync::Arc::new_uninit_slice(length))
    }

    /// A new shared slice that consists of zeros.
    #[track_caller]
    pub fn new_zeroed_slice(length: usize) -> Arc<[MaybeUninit<T>]> {
        (0..length).map(|_| MaybeUninit::zeroed()).collect()
    }
}

impl<T> Arc<[MaybeUninit<T>]> {
    /// The slice, all of which was written.
    ///
    /// # Safety
    /// As for `std::sync::Arc::assume_init`.
    pub unsafe fn assume_init(self) -> Arc<[T]> {
        // SAFETY: the caller's promise.
        Arc::map(self, |value| unsafe { value.assume_init() })
    }
}

impl Arc<dyn Any + Send + Sync> {
    /// The value as what it is, if it is that.
    pub fn downcast<T: Any + Send + Sync>(self) -> Result<Arc<T>, Self> {
        if !self.is::<T>() {
            return Err(self);
        }
        Ok(Arc::map(self, |value| value.downcast().unwrap_or_else(|_| unreachable!("it is that"))))
    }
}

/// What wakes through the `Arc` goes unnoticed by [`Arc::strong_count`] and the check for leaks.
impl<W: Wake + Send + Sync + 'static> From<Arc<W>> for Waker {
    fn from(wake: Arc<W>) -> Self {
        Waker::from(Arc::into_std(wake))
    }
}

/// An `Arc` as one of a trait object or a slice: `unsize::<_, dyn Trait>(arc, |arc| arc)`. Only std's own `Arc` is converted without
/// being asked.
pub fn unsize<T: ?Sized, U: ?Sized>(
    arc: Arc<T>,
    convert: impl FnOnce(std::sync::Arc<T>) -> std::sync::Arc<U>,
) -> Arc<U> {
    Arc::map(arc, convert)
}
