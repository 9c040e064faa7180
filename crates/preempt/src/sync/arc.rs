//! `Arc` and `Weak`, with a check for leaks.
//!
//! Clones and drops commute, so they are not operations, unless the test can observe them: the payload's
//! destructor synchronises, or the code looks at the count. Then the Arcs made at that place are
//! counted from the beginning, and every clone and drop is explored.

use crate::rt::{self, Runtime, Shown, Slot, counts, raw_tags};
use preempt_explore::{Action, ObjectId, Operation, Order, Update};
use std::borrow::Borrow;
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::panic::Location;

pub(super) struct Tag {
    /// Epoch and number in the list of live Arcs.
    live: Option<(u32, u32)>,
    site: &'static Location<'static>,
    slot: Slot,
}

impl Tag {
    /// The tag of an `Arc` that was made out of control.
    pub(super) fn unknown(site: &'static Location<'static>) -> Self {
        Tag { live: None, site, slot: Slot::unregistered() }
    }

    /// The count of references.
    #[track_caller]
    fn object(&self, runtime: &mut Runtime) -> ObjectId {
        let object = self.slot.object(runtime, || 1);
        runtime.show(object, Some(Shown::Count));
        object
    }
}

/// `std::sync::Arc` under control.
pub struct Arc<T: ?Sized> {
    pub(super) inner: ManuallyDrop<std::sync::Arc<T>>,
    pub(super) tag: ManuallyDrop<std::sync::Arc<Tag>>,
}

/// `std::sync::Weak` under control.
pub struct Weak<T: ?Sized> {
    pub(super) inner: std::sync::Weak<T>,
    pub(super) tag: Option<std::sync::Arc<Tag>>,
}

impl<T> Arc<T> {
    /// A new shared value.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self::from_std(std::sync::Arc::new(value))
    }

    /// A new shared value that is to be written later.
    #[track_caller]
    pub fn new_uninit() -> Arc<MaybeUninit<T>> {
        Arc::from_std(std::sync::Arc::new_uninit())
    }

    /// A new shared value that consists of zeros.
    #[track_caller]
    pub fn new_zeroed() -> Arc<MaybeUninit<T>> {
        Arc::new(MaybeUninit::zeroed())
    }

    /// A new shared value that can refer to itself.
    #[track_caller]
    pub fn new_cyclic(make: impl FnOnce(&Weak<T>) -> T) -> Self {
        let tag = tag(Location::caller());
        let inner = std::sync::Arc::new_cyclic(|weak| {
            make(&Weak { inner: weak.clone(), tag: Some(tag.clone()) })
        });
        Arc { inner: ManuallyDrop::new(inner), tag: ManuallyDrop::new(tag) }
    }

    /// A new shared value that cannot move.
    #[track_caller]
    pub fn pin(value: T) -> std::pin::Pin<Self> {
        // SAFETY: the value lives behind an Arc, which never moves it.
        unsafe { std::pin::Pin::new_unchecked(Arc::new(value)) }
    }

    /// The value, if this is the only reference.
    #[track_caller]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        counts::count(this.tag.site);
        let one = this.exchange_one(Location::caller());
        if !one || std::sync::Arc::strong_count(&this.inner) != 1 {
            return Err(this);
        }
        this.take().map_err(|_| unreachable!("counted once"))
    }

    /// The value, if this is the last reference; else the reference is dropped. Of all callers that drop the
    /// references to a value in this way exactly one gets it.
    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        counts::count(this.tag.site);
        // One operation decides, and what it finds is what std's count is.
        this.count(Update::Sub);
        if std::sync::Arc::strong_count(&this.inner) != 1 {
            let mut this = ManuallyDrop::new(this);
            // SAFETY: neither is used again: the drop of `this`, which would count once more, is skipped.
            unsafe {
                ManuallyDrop::drop(&mut this.inner);
                ManuallyDrop::drop(&mut this.tag);
            }
            return None;
        }
        this.take().ok()
    }

    /// The value of the last reference, which was counted already.
    fn take(self) -> Result<T, std::sync::Arc<T>> {
        let mut this = ManuallyDrop::new(self);
        this.forget();
        // SAFETY: `this` is not used again and not dropped.
        let (inner, tag) =
            unsafe { (ManuallyDrop::take(&mut this.inner), ManuallyDrop::take(&mut this.tag)) };
        drop(tag);
        std::sync::Arc::try_unwrap(inner)
    }

    /// Sets the count to 0 if it is 1, as std does; returns whether it was, if that is visible.
    fn exchange_one(&self, site: &'static Location<'static>) -> bool {
        let Some(runtime) = rt::current().filter(|_| counts::is_registered(&self.tag.slot)) else {
            return true;
        };
        let object = self.tag.object(runtime);
        let exchange = Operation::new(Action::CompareExchange, object, 1, 0, site);
        let seen = rt::perform(runtime, exchange.with_order(Order::Release, Order::Relaxed));
        if let Some(runtime) = rt::current().filter(|_| seen == 1) {
            rt::fence(runtime, Order::Acquire);
        }
        seen == 1
    }
}

impl<T: ?Sized> Arc<T> {
    /// From std's `Arc`, for types that only it can make, such as `Arc<dyn Trait>`.
    #[track_caller]
    pub fn from_std(inner: std::sync::Arc<T>) -> Self {
        let tag = tag(Location::caller());
        Arc { inner: ManuallyDrop::new(inner), tag: ManuallyDrop::new(tag) }
    }

    /// Whether both are the same.
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        std::sync::Arc::ptr_eq(&this.inner, &other.inner)
    }

    /// Number of strong references. Always the newest number: std's is a relaxed load, whose result may in
    /// theory be older.
    #[track_caller]
    pub fn strong_count(this: &Self) -> usize {
        look(&this.tag, Order::Relaxed, Location::caller());
        std::sync::Arc::strong_count(&this.inner)
    }

    /// Number of weak references; not explored.
    pub fn weak_count(this: &Self) -> usize {
        std::sync::Arc::weak_count(&this.inner)
    }

    /// The value, if this is the only reference.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        this.look();
        std::sync::Arc::get_mut(&mut this.inner)
    }

    /// A reference that does not keep the value.
    pub fn downgrade(this: &Self) -> Weak<T> {
        Weak {
            inner: std::sync::Arc::downgrade(&this.inner),
            tag: Some(std::sync::Arc::clone(&this.tag)),
        }
    }

    /// std's `Arc` of the same value, for code that needs it. What is done with it goes unnoticed.
    pub fn into_std(this: Self) -> std::sync::Arc<T> {
        let mut this = ManuallyDrop::new(this);
        counts::gone(this.tag.live);
        // SAFETY: `this` is not used again and not dropped.
        unsafe {
            ManuallyDrop::drop(&mut this.tag);
            ManuallyDrop::take(&mut this.inner)
        }
    }

    /// The same reference to the same value as another type.
    pub(super) fn map<U: ?Sized>(
        this: Self,
        function: impl FnOnce(std::sync::Arc<T>) -> std::sync::Arc<U>,
    ) -> Arc<U> {
        let mut this = ManuallyDrop::new(this);
        // SAFETY: `this` is not used again and not dropped.
        let (inner, tag) =
            unsafe { (ManuallyDrop::take(&mut this.inner), ManuallyDrop::take(&mut this.tag)) };
        Arc { inner: ManuallyDrop::new(function(inner)), tag: ManuallyDrop::new(tag) }
    }

    /// Looks at the count, which makes it visible.
    #[track_caller]
    fn look(&self) {
        look(&self.tag, Order::Acquire, Location::caller());
    }

    /// The last reference goes: neither a leak nor known by its address any more.
    fn forget(&self) {
        forget(&self.inner, &self.tag);
    }

    #[track_caller]
    fn count(&self, update: Update) {
        let order = if update == Update::Add { Order::Relaxed } else { Order::Release };
        count(&self.tag, Action::Update(update, 64), order, Location::caller());
    }
}

impl<T: Clone> Arc<T> {
    /// The value, cloned if it is shared.
    #[track_caller]
    pub fn unwrap_or_clone(this: Self) -> T {
        Arc::try_unwrap(this).unwrap_or_else(|shared| (*shared).clone())
    }

    /// The value, cloned if it is shared.
    #[track_caller]
    pub fn make_mut(this: &mut Self) -> &mut T {
        this.look();
        if std::sync::Arc::strong_count(&this.inner) != 1 {
            *this = Arc::new(T::clone(this));
        }
        std::sync::Arc::make_mut(&mut this.inner)
    }
}

#[track_caller]
fn tag(site: &'static Location<'static>) -> std::sync::Arc<Tag> {
    let slot = if counts::is_counted(site) { Slot::new(1) } else { Slot::unregistered() };
    std::sync::Arc::new(Tag { live: counts::born(site), site, slot })
}

fn forget<T: ?Sized>(inner: &std::sync::Arc<T>, tag: &Tag) {
    counts::gone(tag.live);
    raw_tags::forget(std::sync::Arc::as_ptr(inner).cast::<()>().addr());
}

/// Looks at the count. `get_mut` acquires what was released by drops; `strong_count` does not.
fn look(tag: &Tag, order: Order, site: &'static Location<'static>) {
    if tag.live.is_none() {
        return;
    }
    counts::count(tag.site);
    if let Some(runtime) = rt::current().filter(|_| counts::is_registered(&tag.slot)) {
        let object = tag.object(runtime);
        // The references themselves are counted by std, so an older count cannot be shown.
        let load = Operation::new(Action::Load, object, 0, Operation::NEWEST, site);
        rt::perform(runtime, load.with_order(order, order));
    }
}

/// A change of the count, with std's memory orders: clones are relaxed, drops release, and the last
/// one acquires. Returns what the operation sees, if the count is visible.
fn count(tag: &Tag, action: Action, order: Order, site: &'static Location<'static>) -> Option<u64> {
    let runtime = rt::current()?;
    if !counts::is_registered(&tag.slot) {
        return None;
    }
    let object = tag.object(runtime);
    let operation = Operation::new(action, object, 1, 0, site).with_order(order, order);
    let seen = rt::perform(runtime, operation);
    let last = action == Action::Update(Update::Sub, 64) && seen == 1;
    if let Some(runtime) = rt::current().filter(|_| last) {
        rt::fence(runtime, Order::Acquire);
    }
    Some(seen)
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.count(Update::Add);
        Arc {
            inner: ManuallyDrop::new(std::sync::Arc::clone(&self.inner)),
            tag: ManuallyDrop::new(std::sync::Arc::clone(&self.tag)),
        }
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        // A destructor has no caller in the source; the place where the value was made says which it is.
        count(&self.tag, Action::Update(Update::Sub, 64), Order::Release, self.tag.site);
        // SAFETY: the fields are not used after this.
        let (inner, tag) =
            unsafe { (ManuallyDrop::take(&mut self.inner), ManuallyDrop::take(&mut self.tag)) };
        if std::sync::Arc::strong_count(&inner) == 1 {
            forget(&inner, &tag);
            if rt::is_controlled() && !counts::is_registered(&tag.slot) {
                counts::final_drop(tag.site, move || drop(inner));
            }
        }
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: Default> Default for Arc<T> {
    #[track_caller]
    fn default() -> Self {
        Arc::new(T::default())
    }
}

impl<T> From<T> for Arc<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Arc::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&(&raw const **self), f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + std::hash::Hash> std::hash::Hash for Arc<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T> Weak<T> {
    /// A reference to nothing.
    pub const fn new() -> Self {
        Weak { inner: std::sync::Weak::new(), tag: None }
    }
}

impl<T: ?Sized> Weak<T> {
    /// The value, if it is still there.
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        let tag = self.tag.as_ref()?;
        // One operation, after which the real count is looked at and changed without a switch.
        counts::count(tag.site);
        count(tag, Action::Upgrade, Order::Acquire, Location::caller());
        let inner = self.inner.upgrade()?;
        Some(Arc { inner: ManuallyDrop::new(inner), tag: ManuallyDrop::new(tag.clone()) })
    }

    /// Number of strong references. Always the newest number: std's is a relaxed load, whose result may in
    /// theory be older.
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        if let Some(tag) = &self.tag {
            look(tag, Order::Relaxed, Location::caller());
        }
        self.inner.strong_count()
    }

    /// Number of weak references; not explored.
    pub fn weak_count(&self) -> usize {
        self.inner.weak_count()
    }

    /// Whether both refer to the same.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.inner.ptr_eq(&other.inner)
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    fn clone(&self) -> Self {
        Weak { inner: self.inner.clone(), tag: self.tag.clone() }
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Self {
        Weak::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}
