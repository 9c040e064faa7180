//! Plain cells, fences and memory orders: what is no visible operation but matters to races.

use super::heap::Paused;
use super::runtime::{Runtime, current};
use super::slot::{Name, Slot};
use preempt_explore::{Ending, ObjectId, Order, Site};

/// The current thread touches a plain cell.
pub(crate) fn touch(runtime: &mut Runtime, cell: &Slot, write: bool, site: Site) {
    if runtime.closing {
        // After the last thread: ordered after everything.
        return;
    }
    let _paused = Paused::new();
    if !runtime.run().rules.clocks {
        runtime.run().rules.clocks = true;
        runtime.stop(Ending::Restart);
    }
    runtime.before_operation();
    let object = cell.object(runtime, || 0);
    runtime.run().touch(object, write, site);
}

/// The current thread reads an atomic as plain memory.
pub(crate) fn touch_atomic(runtime: &mut Runtime, atomic: &Slot, site: Site) {
    if !runtime.run().rules.mixed {
        runtime.run().rules.mixed = true;
        runtime.stop(Ending::Restart);
    }
    touch(runtime, atomic, false, site);
}

/// A channel gets one more sender.
pub(crate) fn add_sender(runtime: &mut Runtime, channel: ObjectId) {
    let _paused = Paused::new();
    runtime.run().add_sender(channel);
}

/// A sender wants to know whether the receiver of a rendezvous channel waits.
pub(crate) fn keep_offers(runtime: &mut Runtime) {
    if !runtime.run().rules.offers {
        runtime.run().rules.offers = true;
        runtime.stop(Ending::Restart);
    }
}

/// The current thread asks for a lock for reading.
pub(crate) fn note_recursion(runtime: &mut Runtime, lock: ObjectId) {
    let run = runtime.run();
    if !run.rules.recursive && run.state.is_reading(run.current, lock) {
        run.rules.recursive = true;
        runtime.stop(Ending::Restart);
    }
}

/// An access to a plain cell ends.
pub(crate) fn touch_end(access: &Access) {
    let Some(runtime) = current() else { return };
    let Some(object) = access.cell.object(runtime) else { return };
    if runtime.closing || access.steps == runtime.steps() || std::thread::panicking() {
        return;
    }
    let _paused = Paused::new();
    runtime.run().touch_end(object, access.write, access.site);
}

/// An access to a plain cell that lasts.
pub(crate) struct Access {
    cell: Name,
    pub(crate) write: bool,
    site: Site,
    /// How many operations its thread had done when it began.
    steps: u32,
}

impl Access {
    /// Begins now; `None` if the caller does not run under control.
    pub(crate) fn begin(cell: &Slot, write: bool, site: Site) -> Option<Self> {
        let runtime = current()?;
        touch(runtime, cell, write, site);
        let name = cell.name(runtime);
        Some(Access { cell: name, write, site, steps: runtime.steps() })
    }
}

/// The current thread executes a fence.
pub(crate) fn fence(runtime: &mut Runtime, order: Order) {
    if !runtime.closing {
        let _paused = Paused::new();
        runtime.run().fence(order);
    }
}

/// The current thread uses a memory order, for an access to an atomic or a fence.
pub(crate) fn weaken(runtime: &mut Runtime, order: Order, fence: bool, site: Site) {
    if order != Order::SequentiallyConsistent {
        runtime.weak_ordering.get_or_insert(site);
    }
    if !runtime.closing {
        runtime.run().weaken(order, fence);
    }
}

/// Whether the comparison that the current thread has just made failed for no reason.
pub(crate) fn has_failed() -> bool {
    let Some(runtime) = current().filter(|runtime| !runtime.closing) else { return false };
    runtime.run().state.source().is_some_and(|source| source.fails)
}
