//! Values that are initialised again in every execution.

use super::heap::Paused;
use super::registry::Reset;
use super::runtime::current;
use preempt_explore::Ending;
use std::any::Any;
use std::sync::OnceLock;

/// A value per execution, by address of its owner, made on first use.
pub(crate) fn per_execution<T: 'static>(
    key: usize,
    init: impl FnOnce() -> T,
) -> Option<&'static T> {
    let runtime = current()?;
    if !runtime.registry.values.contains_key(&key) {
        let value: Box<dyn Any> = Box::new(init());
        let _paused = Paused::new();
        let registry = &mut current()?.registry;
        registry.values.insert(key, value);
        registry.value_order.push(key);
    }
    let value = current()?.registry.values.get(&key)?.downcast_ref::<T>()?;
    // SAFETY: the box is dropped only at the end of the execution, when no code of the program
    // under test can hold the reference any more.
    Some(unsafe { &*std::ptr::from_ref(value) })
}

/// A static that is initialised again in every execution. Made by
/// [`statics!`](macro@crate::statics).
pub struct Static<T: 'static> {
    init: fn() -> T,
    outside: OnceLock<T>,
}

impl<T: Send + Sync + 'static> Static<T> {
    /// A static with this initial value.
    pub const fn new(init: fn() -> T) -> Self {
        Static { init, outside: OnceLock::new() }
    }

    // No methods: they would hide those of the value.
    fn key(this: &'static Self) -> usize {
        (&raw const *this).addr()
    }

    /// The value in this execution.
    fn value(this: &'static Self) -> &'static T {
        let Some(runtime) = current() else { return this.outside.get_or_init(this.init) };
        if !runtime.registry.values.contains_key(&Self::key(this)) {
            let _paused = Paused::new();
            runtime.registry.knowledge.statics.push(this);
            runtime.stop(Ending::Restart);
        }
        match per_execution(Self::key(this), this.init) {
            Some(value) => value,
            None => this.outside.get_or_init(this.init),
        }
    }
}

impl<T: Send + Sync + 'static> std::ops::Deref for Static<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `statics!` makes values of this type in statics only.
        Self::value(unsafe { &*std::ptr::from_ref(self) })
    }
}

impl<T: Send + Sync + 'static> Reset for Static<T> {
    fn reset(&self) {
        // SAFETY: as in `deref`.
        let this: &'static Self = unsafe { &*std::ptr::from_ref(self) };
        let _ = per_execution(Self::key(this), this.init);
    }
}

/// Makes all known statics, as the first thing the main thread does.
pub(super) fn make_statics() {
    let Some(runtime) = current() else { return };
    let statics = {
        let _paused = Paused::new();
        runtime.registry.knowledge.statics.clone()
    };
    for entry in &statics {
        entry.reset();
    }
    let _paused = Paused::new();
    drop(statics);
}

/// Drops what is left at the end of an execution: statics, latest first. A destructor may make
/// others.
pub(super) fn drop_values() {
    while let Some(registry) = current().map(|runtime| &mut runtime.registry) {
        let Some(key) = registry.value_order.pop() else { break };
        let value = registry.values.remove(&key);
        if let Some(copy) = registry.copies.remove(&key) {
            registry.originals.retain(|original| !original.is(copy));
        }
        drop(value);
    }
}
