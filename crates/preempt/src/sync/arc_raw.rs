//! `Arc` as a raw pointer and back.
//!
//! A raw pointer cannot carry the tag that our `Arc` has beside std's, so the tag is kept by address for as
//! long as the value lives. A pointer that std's `Arc` made, or ours outside a check, has no entry;
//! the `Arc` made from it is then counted by std alone.

use super::arc::{Arc, Tag, Weak};
use crate::rt::raw_tags;
use std::mem::ManuallyDrop;
use std::panic::Location;

impl<T: ?Sized> Arc<T> {
    /// Gives up this reference for a pointer, to be turned back by [`Arc::from_raw`].
    pub fn into_raw(this: Self) -> *const T {
        let pointer = Arc::as_ptr(&this);
        forget_reference(this);
        pointer
    }

    /// The address of the value.
    pub fn as_ptr(this: &Self) -> *const T {
        let pointer = std::sync::Arc::as_ptr(&this.inner);
        raw_tags::keep(pointer.cast::<()>().addr(), &this.tag);
        pointer
    }

    /// The reference that [`Arc::into_raw`] gave up.
    ///
    /// # Safety
    /// As for `std::sync::Arc::from_raw`.
    #[track_caller]
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        // SAFETY: the caller's promise; our `into_raw` returns what std's would.
        let inner = unsafe { std::sync::Arc::from_raw(pointer) };
        let tag = tag_of(pointer.cast::<()>().addr());
        Arc { inner: ManuallyDrop::new(inner), tag: ManuallyDrop::new(tag) }
    }

    /// Adds a reference to the value behind a pointer.
    ///
    /// # Safety
    /// As for `std::sync::Arc::increment_strong_count`.
    #[track_caller]
    pub unsafe fn increment_strong_count(pointer: *const T) {
        // SAFETY: the caller's promise: the value is alive. The reference stays with the pointer.
        let this = unsafe { Arc::from_raw(pointer) };
        forget_reference(Arc::clone(&this));
        forget_reference(this);
    }

    /// Takes away a reference to the value behind a pointer.
    ///
    /// # Safety
    /// As for `std::sync::Arc::decrement_strong_count`.
    #[track_caller]
    pub unsafe fn decrement_strong_count(pointer: *const T) {
        // SAFETY: the caller's promise.
        drop(unsafe { Arc::from_raw(pointer) });
    }
}

impl<T> Weak<T> {
    /// Gives up this reference for a pointer, to be turned back by [`Weak::from_raw`].
    pub fn into_raw(self) -> *const T {
        let pointer = self.as_ptr();
        // The tag is dropped, the reference is not.
        std::mem::forget(self.inner);
        pointer
    }

    /// The address of the value, which may be gone.
    pub fn as_ptr(&self) -> *const T {
        let pointer = self.inner.as_ptr();
        if let Some(tag) = &self.tag {
            raw_tags::keep(pointer.addr(), tag);
        }
        pointer
    }

    /// The reference that [`Weak::into_raw`] gave up.
    ///
    /// # Safety
    /// As for `std::sync::Weak::from_raw`.
    #[track_caller]
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        // SAFETY: the caller's promise.
        let inner = unsafe { std::sync::Weak::from_raw(pointer) };
        Weak { inner, tag: Some(tag_of(pointer.addr())) }
    }
}

#[track_caller]
fn tag_of(address: usize) -> std::sync::Arc<Tag> {
    let kept = raw_tags::get(address).and_then(|tag| tag.downcast::<Tag>().ok());
    kept.unwrap_or_else(|| std::sync::Arc::new(Tag::unknown(Location::caller())))
}

/// Drops the tag of an `Arc` but not its reference to the value.
fn forget_reference<T: ?Sized>(this: Arc<T>) {
    let mut this = ManuallyDrop::new(this);
    // SAFETY: `this` is not used again and not dropped.
    drop(unsafe { ManuallyDrop::take(&mut this.tag) });
}
