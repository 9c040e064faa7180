//! The names of objects, kept inside the objects.

use super::addresses::{inward, outward};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use super::creation_log::note;
use super::creation_log::{self, Initial};
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
use super::creations::note;
use super::heap::Paused;
use super::registry::{LIVE, MOST_EXTERNALS};
use super::runtime::{Runtime, current};
use preempt_explore::{Ending, ObjectId, Site};
use std::sync::atomic::{AtomicU64, Ordering};

/// The name of an object under control, kept inside the object.
///
/// Invariant: the low half is an object id only if the high half is the number of the execution
/// in progress.
pub(crate) struct Slot(pub(super) AtomicU64);

impl Slot {
    const_fn! {
        /// The name of a new object with this value.
        #[track_caller]
        pub(crate) fn new(value: u64) -> Self {
            Slot::of(Initial::Number(value))
        }
    }

    const_fn! {
        /// The same for values of all kinds.
        #[track_caller]
        pub(crate) fn of(initial: Initial) -> Self {
            Slot(AtomicU64::new(note(initial, std::panic::Location::caller())))
        }
    }

    /// The name of an object that the compiler makes, where it makes no others.
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    pub(crate) const fn compiled() -> Self {
        Slot(AtomicU64::new(creation_log::BY_COMPILER))
    }

    /// A name to be found out later.
    pub(crate) const fn unregistered() -> Self {
        Slot(AtomicU64::new(creation_log::OUTSIDE))
    }

    /// The object in the execution in progress. `value` is its value if it was made outside.
    #[inline]
    #[track_caller]
    pub(crate) fn object(&self, runtime: &mut Runtime, value: impl FnOnce() -> u64) -> ObjectId {
        let address = (&raw const *self).addr();
        runtime.check_address(address);
        let packed = self.0.load(Ordering::Relaxed);
        if (packed >> 32) as u32 == runtime.registry.epoch {
            // SAFETY: the log is alive as long as the runtime, and borrowed for one statement.
            let object = unsafe { runtime.log.as_ref() }.object(packed as u32);
            if runtime.heap().enabled {
                runtime.named = Some((object, address));
            }
            return object;
        }
        let known = runtime.registry.externals.get(&address).copied();
        if packed != creation_log::BY_COMPILER {
            let object = known.unwrap_or_else(|| runtime.external(address, value()));
            self.set(runtime.registry.epoch, object);
            return object;
        }
        // Every execution comes to this one in this way, and so do other tests.
        if let Some(object) = known {
            return object;
        }
        let site = std::panic::Location::caller();
        // Nothing that is allocated for it belongs to the test.
        match runtime.place_of_constant(address, site) {
            Some(place) => match runtime.registry.externals.get(&place) {
                Some(&object) => object,
                None => runtime.external(place, value()),
            },
            None => runtime.run().create(value()),
        }
    }

    /// The object is used out of control.
    pub(super) fn note_use_outside(&self) {
        let (before, after) = (creation_log::BY_COMPILER, creation_log::OUTSIDE);
        let _ = self.0.compare_exchange(before, after, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Notes that data which belongs to the object is changed here, which matters if it was made outside the body.
    pub(crate) fn note_change(&self, runtime: &mut Runtime, site: Site) {
        let address = (&raw const *self).addr();
        let registry = &runtime.registry;
        let shared = registry.externals.contains_key(&address)
            && !registry.knowledge.compiled.contains(&address);
        if runtime.outside_change.is_none() && shared {
            runtime.outside_change = Some(site);
        }
    }

    /// The name of the object, for what may outlive it.
    pub(crate) fn name(&self, runtime: &mut Runtime) -> Name {
        Name { epoch: runtime.registry.epoch, object: self.object(runtime, || 0) }
    }

    /// As [`current`]. A thread that is not under control must not use an object of an execution
    /// in progress: its operations would be invisible.
    #[inline]
    #[track_caller]
    pub(crate) fn runtime(&self) -> Option<&'static mut Runtime> {
        let runtime = current();
        if runtime.is_none() {
            let epoch = (self.0.load(Ordering::Relaxed) >> 32) as u32;
            assert!(
                epoch == 0 || !LIVE.iter().any(|live| live.load(Ordering::Relaxed) == epoch),
                "preempt: a thread that preempt does not control uses an object of a test in \
                 progress; spawn it with preempt::thread::spawn instead of std::thread::spawn"
            );
            self.note_use_outside();
        }
        runtime
    }

    fn set(&self, epoch: u32, object: ObjectId) {
        self.0.store(u64::from(epoch) << 32 | u64::from(object.0), Ordering::Relaxed);
    }
}

/// The name of an object in one execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    epoch: u32,
    object: ObjectId,
}

impl Name {
    /// The object, if its execution is still in progress.
    pub(crate) fn object(self, runtime: &Runtime) -> Option<ObjectId> {
        (self.epoch == runtime.registry.epoch).then_some(self.object)
    }
}

impl Runtime {
    /// Writes back what was changed through exclusive access, before any other thread can look.
    #[inline]
    pub(super) fn flush(&mut self) {
        if !self.registry.borrowed.is_empty() {
            self.write_back();
        }
    }

    fn write_back(&mut self) {
        let _paused = Paused::new();
        let me = self.run().current;
        for index in 0..self.registry.borrowed.len() {
            let (thread, object, value) = &self.registry.borrowed[index];
            let (thread, object, value) = (*thread, *object, **value);
            if thread == me {
                let value = inward(self, value);
                self.run().assign(object, value);
            }
        }
    }

    /// A visible operation or access to a cell inside the destructor of an Arc's payload makes
    /// the count of that Arc visible.
    #[inline]
    pub(super) fn before_operation(&mut self) {
        if let Some(site) = self.registry.final_drop() {
            self.count(site);
        }
    }

    /// From now on the reference counts of Arcs made at `site` are visible.
    pub(super) fn count(&mut self, site: Site) {
        let _paused = Paused::new();
        if self.registry.knowledge.counted.insert(site) {
            self.stop(Ending::Restart);
        }
    }

    fn external(&mut self, address: usize, value: u64) -> ObjectId {
        let _paused = Paused::new();
        let most = MOST_EXTERNALS + self.registry.knowledge.compiled.len();
        if self.registry.knowledge.externals.len() < most {
            self.registry.knowledge.externals.push((address, value));
            self.stop(Ending::Restart);
        }
        // This execution is thrown away, so the name does not matter, but it goes on: the object is the same next time.
        let object = self.run().create(value);
        self.registry.externals.insert(address, object);
        object
    }
}

/// Numbers lent out for exclusive access.
pub(crate) fn lend(object: ObjectId) -> Option<&'static mut u64> {
    let runtime = current()?;
    let _paused = Paused::new();
    let me = runtime.run().current;
    let value = runtime.run().state.object(object).value;
    let value = outward(runtime, value);
    runtime.registry.borrowed.retain(|b| b.1 != object);
    runtime.registry.borrowed.push((me, object, Box::new(value)));
    let last = runtime.registry.borrowed.last_mut()?;
    let pointer: *mut u64 = &raw mut *last.2;
    // SAFETY: the box lives until the object is lent again or the execution ends; the caller
    // shortens the lifetime to that of its exclusive borrow of the object.
    Some(unsafe { &mut *pointer })
}

/// Takes a number back when the object is used again in the ordinary way.
#[inline]
pub(crate) fn take_back(runtime: &mut Runtime, object: ObjectId) {
    if runtime.registry.borrowed.is_empty() {
        return;
    }
    runtime.flush();
    runtime.registry.borrowed.retain(|b| b.1 != object);
}
