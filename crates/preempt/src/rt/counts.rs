//! Reference counts of `Arc`.

use super::heap::Paused;
use super::runtime::current;
use super::slot::Slot;
use preempt_explore::Site;
use std::sync::atomic::Ordering;

/// Notes a new `Arc`; returns its number in this execution.
pub(crate) fn born(site: Site) -> Option<(u32, u32)> {
    let registry = &mut current()?.registry;
    let _paused = Paused::new();
    registry.arcs.push(Some(site));
    Some((registry.epoch, registry.arcs.len() as u32 - 1))
}

/// Notes that an `Arc` is gone.
pub(crate) fn gone(tag: Option<(u32, u32)>) {
    let (Some(runtime), Some((epoch, number))) = (current(), tag) else { return };
    if runtime.registry.epoch == epoch {
        if let Some(entry) = runtime.registry.arcs.get_mut(number as usize) {
            *entry = None;
        }
    }
}

/// Whether clones and drops of Arcs made here are visible operations.
pub(crate) fn is_counted(site: Site) -> bool {
    current().is_some_and(|runtime| runtime.registry.knowledge.counted.contains(site))
}

/// Whether the count of this Arc is an object of the execution in progress.
pub(crate) fn is_registered(slot: &Slot) -> bool {
    let packed = slot.0.load(Ordering::Relaxed);
    current().is_some_and(|runtime| (packed >> 32) as u32 == runtime.registry.epoch)
}

/// Makes them visible; the exploration begins again if they were not.
pub(crate) fn count(site: Site) {
    if let Some(runtime) = current() {
        runtime.count(site);
    }
}

/// Runs the destructor of a payload. If it turns out to do visible operations, the count
/// must be visible, because which thread drops last is then a race that matters.
pub(crate) fn final_drop(site: Site, drop: impl FnOnce()) {
    let before = current().map(|r| r.registry.final_drop.replace(site));
    drop();
    if let (Some(runtime), Some(before)) = (current(), before) {
        runtime.registry.final_drop = before;
    }
}
