//! Synchronisation objects and atomics, by their addresses.
//!
//! The strategy names an object by who created it and when, which must be the same in all
//! executions. A C program does not say when a statically initialised mutex comes to be, so the main
//! thread creates all known objects at the very beginning. An address that turns up for the first
//! time is added to the list, and the exploration begins again.

use preempt_explore::{Channel, ObjectId, Run};
use rustc_hash::FxHashMap;

/// What is at an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    Mutex,
    Condition,
    ReadWriteLock,
    Semaphore,
    Barrier,
    Once,
    /// A number of so many bytes.
    Atomic(u8),
    /// The lock that makes a futex operation indivisible.
    FutexLock,
    /// The waiters of a futex.
    FutexQueue,
}

#[derive(Clone, Copy)]
struct Known {
    address: usize,
    kind: Kind,
}

/// The state of an object that only its holder changes; forgotten after each execution.
#[derive(Clone, Copy, Default)]
pub(crate) struct Details {
    /// How often its holder has acquired it beyond the first time.
    pub(crate) depth: u32,
    /// Participants of a barrier.
    pub(crate) count: u32,
    /// How many writes its holder had made when it acquired it.
    pub(crate) writes: u64,
    /// Whether it was used in this execution.
    pub(crate) used: bool,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Objects {
    index: FxHashMap<(usize, Kind), u32>,
    known: Vec<Known>,
    ids: Vec<ObjectId>,
    details: Vec<Details>,
}

impl Objects {
    /// Creates all known objects, at the beginning of an execution.
    pub(crate) fn begin(&mut self, run: &mut Run) {
        self.ids.clear();
        self.details.clear();
        self.details.resize(self.known.len(), Details::default());
        for known in &self.known {
            self.ids.push(run.create(initial(known)));
        }
    }

    /// The object at an address, and whether it was unknown until now.
    pub(crate) fn find(&mut self, run: &mut Run, address: usize, kind: Kind) -> (u32, bool) {
        let next = self.known.len() as u32;
        let index = *self.index.entry((address, kind)).or_insert(next);
        if index < next {
            return (index, false);
        }
        let known = Known { address, kind };
        self.known.push(known);
        self.details.push(Details::default());
        self.ids.push(run.create(initial(&known)));
        (index, true)
    }

    /// The object at an address if it is known.
    pub(crate) fn lookup(&self, address: usize, kind: Kind) -> Option<u32> {
        self.index.get(&(address, kind)).copied()
    }

    /// The strategy's name of an object.
    pub(crate) fn id(&self, index: u32) -> ObjectId {
        self.ids[index as usize]
    }

    /// What only the holder changes.
    pub(crate) fn details(&mut self, index: u32) -> &mut Details {
        &mut self.details[index as usize]
    }

    /// Tells the strategy the number that is in memory now.
    pub(crate) fn refresh(&self, run: &mut Run, index: u32) {
        let Known { address, kind } = self.known[index as usize];
        if let Kind::Atomic(size) = kind {
            run.assign(self.ids[index as usize], read(address, size));
        }
    }

    /// Known atomics that overlap these bytes, which are of one granule.
    pub(crate) fn atomics_in(&self, address: usize, size: usize, found: &mut Vec<u32>) {
        let granule = address & !7;
        for start in granule..granule + 8 {
            for bytes in [1, 2, 4, 8, 16] {
                let overlaps = start + usize::from(bytes) > address && start < address + size;
                if overlaps && let Some(index) = self.lookup(start, Kind::Atomic(bytes)) {
                    found.push(index);
                }
            }
        }
    }

    /// Where the object of this name is; 0 if it has no address.
    pub(crate) fn address(&self, id: ObjectId) -> usize {
        let at = self.ids.iter().position(|&known| known == id);
        at.map_or(0, |at| self.known[at].address)
    }
}

fn initial(known: &Known) -> u64 {
    match known.kind {
        Kind::Semaphore => Channel { length: 0, senders: 1, receiver: true }.value(),
        Kind::Atomic(size) if crate::snapshot::is_static(known.address) => {
            read(known.address, size)
        }
        _ => 0,
    }
}

/// The number in memory; 16 bytes are folded to 8.
pub(crate) fn read(address: usize, size: u8) -> u64 {
    // SAFETY: the program accesses this address atomically, so it is mapped and aligned.
    unsafe {
        match size {
            1 => u64::from((address as *const u8).read_volatile()),
            2 => u64::from((address as *const u16).read_volatile()),
            4 => u64::from((address as *const u32).read_volatile()),
            8 => (address as *const u64).read_volatile(),
            _ => fold((address as *const [u64; 2]).read_volatile()),
        }
    }
}

/// 16 bytes as 8 that differ when they do, for all that matters.
pub(crate) fn fold([low, high]: [u64; 2]) -> u64 {
    low ^ high.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}
