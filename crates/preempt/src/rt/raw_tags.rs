//! What belongs to an `Arc` beside its value, by the address of the value.

use super::heap::Paused;
use super::runtime::current;
use std::any::Any;
use std::sync::Arc;

/// Keeps the tag of an `Arc` whose address becomes known.
pub(crate) fn keep(address: usize, tag: &Arc<impl Any + Send + Sync>) {
    let _paused = Paused::new();
    if let Some(runtime) = current() {
        let _paused = Paused::new();
        runtime.registry.raw_tags.insert(address, Arc::clone(tag) as _);
    }
}

/// The tag of the `Arc` whose value is there.
pub(crate) fn get(address: usize) -> Option<Arc<dyn Any + Send + Sync>> {
    current()?.registry.raw_tags.get(&address).cloned()
}

/// The value is gone.
pub(crate) fn forget(address: usize) {
    if let Some(runtime) = current().filter(|r| !r.registry.raw_tags.is_empty()) {
        runtime.registry.raw_tags.remove(&address);
    }
}
