//! Plain cells, fences and memory orders: what is no visible operation but matters to races.

use super::fingerprint::Frame;
use super::heap::Paused;
use super::runtime::{Runtime, current};
use super::slot::{Name, Slot};
use preempt_explore::{Ending, ObjectId, Order, Site};

/// The current thread touches a plain cell.
#[track_caller]
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
    if write {
        cell.note_change(runtime, site);
    }
    runtime.run().touch(object, write, site);
}

/// The current thread reads an atomic as plain memory.
#[track_caller]
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
    #[track_caller]
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
#[inline]
pub(crate) fn weaken(runtime: &mut Runtime, order: Order, fence: bool, site: Site) {
    if order != Order::SequentiallyConsistent {
        runtime.weak_ordering.get_or_insert(site);
    }
    if !runtime.closing {
        runtime.run().weaken(order, fence);
    }
}

/// How often in a row comparisons may fail for no reason where threads count the failures.
const MOST_FAILURES: u32 = 8;

/// The current thread is about to make a comparison that may fail for no reason. If it has failed like that so often that it
/// does not again, says so, unless a thread that remembers the same has been here before.
#[inline(never)]
pub(crate) fn note_failures(runtime: &mut Runtime, object: ObjectId, frame: &Frame) {
    if runtime.closing || runtime.concluding || !runtime.run().state.has_failures() {
        return;
    }
    let memory = runtime.memory(frame);
    let rules = runtime.run().rules;
    let me = runtime.run().current;
    let failures = runtime.run().state.failures(me, object);
    if failures == 0 {
        return;
    }
    let _paused = Paused::new();
    let list = &mut runtime.registry.failures;
    if failures == 1 {
        list.retain(|(thread, ..)| *thread != me);
    }
    let known = memory.map(|memory| (me, object, memory));
    list.extend(known);
    let own = || list.iter().filter(|(thread, other, _)| (*thread, *other) == (me, object));
    // Without the failures between two that are alike the thread would be where it is now.
    let recurs = own().enumerate().any(|(n, failure)| own().take(n).any(|f| f == failure));
    if failures < rules.failures || recurs {
        return;
    }
    if (2..MOST_FAILURES).contains(&rules.failures) {
        runtime.run().rules.failures = MOST_FAILURES;
        runtime.stop(Ending::Restart);
    } else {
        runtime.run().note_failure();
    }
}

/// Whether the comparison that the current thread has just made failed for no reason.
pub(crate) fn has_failed() -> bool {
    let Some(runtime) = current().filter(|runtime| !runtime.closing) else { return false };
    runtime.run().state.source().is_some_and(|source| source.fails)
}
