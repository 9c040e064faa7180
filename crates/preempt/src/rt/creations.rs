//! What the runtime does with an object that code of a test makes: it becomes part of the execution.

use super::addresses::inward;
use super::creation_log::Initial;
use super::heap::Paused;
use super::runtime::Runtime;
use preempt_explore::{ObjectId, Site};

/// What the slot of a new object contains.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub(super) fn note(initial: Initial, site: Site) -> u64 {
    match super::runtime::current() {
        Some(runtime) => {
            let object = runtime.create(initial, site);
            u64::from(runtime.registry.epoch) << 32 | u64::from(object.0)
        }
        None => super::creation_log::OUTSIDE,
    }
}

impl Runtime {
    /// Takes note of the objects that the current thread has made.
    #[inline]
    pub(super) fn note_creations(&mut self) {
        // SAFETY: the log is alive as long as the runtime, and borrowed for one statement.
        if unsafe { self.log.as_ref() }.has_news() {
            self.read_log();
        }
    }

    #[cold]
    fn read_log(&mut self) {
        // SAFETY: as above, here and below.
        while let Some((initial, site)) = unsafe { self.log.as_ref() }.next() {
            let object = self.create(initial, site);
            // SAFETY: as above.
            unsafe { self.log.as_mut() }.name(object);
        }
        // SAFETY: as above.
        unsafe { self.log.as_mut() }.read();
    }

    /// The current thread makes an object.
    fn create(&mut self, initial: Initial, site: Site) -> ObjectId {
        let _paused = Paused::new();
        let value = match initial {
            Initial::Number(number) => number,
            Initial::Wide(number) => inward(self, number),
            Initial::Pointer(pointer) => inward(self, pointer.expose_provenance() as u64),
        };
        let object = self.run().create_in_memory(value, site);
        if self.run().events.is_some() {
            self.registry.origins.insert(object, site);
        }
        object
    }
}
