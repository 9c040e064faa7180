//! Thread-locals of threads under control.

use super::heap::Paused;
use super::runtime::current;
use preempt_explore::ThreadId;
use std::any::Any;

/// A thread-local of the current thread.
pub(crate) enum Local<T: 'static> {
    /// The caller does not run under control.
    Outside,
    /// Its destructor has begun.
    Gone,
    /// The value.
    Value(&'static T),
}

/// The value of a thread-local for the current thread, made on first use.
pub(crate) fn local<T: 'static>(key: usize, init: fn() -> T) -> Local<T> {
    let Some(runtime) = current() else { return Local::Outside };
    runtime.run().has_operated = true;
    let key = (runtime.run().current, key);
    if !runtime.registry.locals.contains_key(&key) {
        let value: Box<dyn Any> = Box::new(init());
        let _paused = Paused::new();
        let Some(runtime) = current() else { return Local::Outside };
        runtime.registry.locals.insert(key, Some(value));
        if std::mem::needs_drop::<T>() {
            runtime.registry.local_order.push(key);
        }
    }
    let value = current().and_then(|runtime| runtime.registry.locals.get(&key)?.as_ref());
    match value.and_then(|value| value.downcast_ref::<T>()) {
        // SAFETY: the box is dropped only at the end of its thread; `LocalKey::with` shortens the
        // lifetime to a call made by that thread.
        Some(value) => Local::Value(unsafe { &*std::ptr::from_ref(value) }),
        None => Local::Gone,
    }
}

/// Drops the thread-locals of a thread, latest first; a destructor may make others. As in std a
/// value is gone from the moment its destructor begins, unless it has none.
pub(super) fn drop_locals(thread: ThreadId) {
    while let Some(registry) = current().map(|runtime| &mut runtime.registry) {
        let last = registry.local_order.iter().rposition(|key| key.0 == thread);
        let Some(position) = last else { break };
        let key = registry.local_order.remove(position);
        let value = registry.locals.get_mut(&key).and_then(Option::take);
        drop(value);
    }
    if let Some(runtime) = current().filter(|runtime| !runtime.registry.locals.is_empty()) {
        runtime.registry.locals.retain(|key, _| key.0 != thread);
    }
}
