//! Synchronisation objects and atomics, by their addresses.
//!
//! The strategy names an object by the thread that created it and by when, which must be the same in all
//! executions. A C program does not say when a statically initialised mutex comes to be, so the main
//! thread creates all known objects at the very beginning. An address that turns up for the first
//! time is added to the list, and the exploration begins again.

use preempt_explore::{Channel, ObjectId, Run, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;

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
    /// The lock that makes a call on a descriptor indivisible.
    FileLock,
    /// The threads that wait for a descriptor.
    FileQueue,
}

#[derive(Clone, Copy)]
struct Known {
    address: usize,
    kind: Kind,
    /// The value that a number begins with, where code that is not instrumented initialises it.
    begins_with: u64,
    /// Whether it makes a difference in which order references are counted here (`references.rs`).
    searches_references: bool,
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
    /// Whether this number is a lock that a thread holds, which has waited for it.
    pub(crate) is_lock: bool,
    /// The last plain write to it that the strategy was told of.
    pub(crate) told: Option<PlainWrite>,
    /// The last plain write to it, unless the strategy was told of it.
    pub(crate) untold: Option<PlainWrite>,
    /// The same, of one that an atomic store came after.
    pub(crate) covered: Option<PlainWrite>,
    /// Whether references were counted here, the order of which is not searched.
    pub(crate) counts_references: bool,
    /// Whether anything else was done with this number.
    pub(crate) is_looked_at: bool,
    /// The threads that have stored here by operations since it was last written to otherwise.
    pub(crate) storers: Storers,
    /// Of a robust mutex: whether what it protects is in order.
    pub(crate) condition: Condition,
}

/// How many threads have stored something.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Storers {
    /// None.
    #[default]
    None,
    /// One.
    One(ThreadId),
    /// More.
    Several,
}

impl Storers {
    /// Another store.
    pub(crate) fn add(&mut self, thread: ThreadId) {
        *self = match *self {
            Storers::None => Storers::One(thread),
            Storers::One(other) if other == thread => Storers::One(thread),
            _ => Storers::Several,
        };
    }
}

/// A plain write to a number that is otherwise accessed atomically.
#[derive(Clone, Copy)]
pub(crate) struct PlainWrite {
    pub(crate) pc: usize,
    pub(crate) by: ThreadId,
}

/// What has become of a robust mutex.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Condition {
    #[default]
    Consistent,
    /// A thread has ended while it held it, and the program has not said yet that this does not matter.
    OwnerDied,
    /// It was released in that state, and cannot be acquired any more.
    NotRecoverable,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Objects {
    index: FxHashMap<(usize, Kind), u32>,
    /// The atomics that lie in each piece of eight aligned bytes.
    by_granule: FxHashMap<usize, Vec<u32>>,
    known: Vec<Known>,
    ids: Vec<ObjectId>,
    details: Vec<Details>,
    /// Numbers of 16 bytes, by what the strategy knows of them.
    wide: FxHashMap<u64, [u64; 2]>,
    /// Places of plain writes that atomic operations were found to come after: these writes are told to the strategy.
    ///
    /// Other ones are not. The place of an atomic on a stack is used for other variables, too, and what is copied there
    /// need not be initialised, so that it differs between executions.
    initialisers: FxHashSet<usize>,
    /// Places of such writes, and numbers to which they have given other values after the same observations: what is copied there
    /// is not initialised, and the strategy is not told. `false` if an atomic operation was found to come after such a write
    /// nevertheless.
    garbage: FxHashMap<(usize, u32), bool>,
}

impl Objects {
    /// Creates all known objects, at the beginning of an execution.
    pub(crate) fn begin(&mut self, run: &mut Run) {
        self.ids.clear();
        self.details.clear();
        self.details.resize(self.known.len(), Details::default());
        for at in 0..self.known.len() {
            let value = self.initial(self.known[at]);
            self.ids.push(run.create(value));
        }
    }

    /// The object at an address, and whether it was unknown until now.
    pub(crate) fn find(&mut self, run: &mut Run, address: usize, kind: Kind) -> (u32, bool) {
        let next = self.known.len() as u32;
        let index = *self.index.entry((address, kind)).or_insert(next);
        if index < next {
            return (index, false);
        }
        let known = Known { address, kind, begins_with: 0, searches_references: false };
        self.known.push(known);
        if let Kind::Atomic(size) = kind {
            for granule in (address >> 3)..=(address + usize::from(size) - 1) >> 3 {
                self.by_granule.entry(granule).or_default().push(index);
            }
        }
        self.details.push(Details::default());
        let value = self.initial(known);
        self.ids.push(run.create(value));
        (index, true)
    }

    /// Whether the program has ever used such an object at this address.
    pub(crate) fn knows(&self, address: usize, kind: Kind) -> bool {
        self.index.contains_key(&(address, kind))
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
    pub(crate) fn refresh(&mut self, run: &mut Run, index: u32) {
        let Known { address, kind, .. } = self.known[index as usize];
        if let Kind::Atomic(size) = kind {
            let value = self.number(address, size);
            run.assign(self.ids[index as usize], value);
        }
    }

    /// A number was found to have another value than the strategy knows, and the running thread has not written it: code that
    /// is not instrumented has initialised it. From now on it begins with that value. Returns whether that is news.
    ///
    /// Which thread uses a number first depends on the schedule, so its initialisation must not count as an effect of
    /// that thread.
    pub(crate) fn learn_initial(&mut self, run: &Run, index: u32) -> bool {
        let Known { address, kind, .. } = self.known[index as usize];
        let Kind::Atomic(size) = kind else { return false };
        let value = self.number(address, size);
        let known = &mut self.known[index as usize];
        let news = run.value_of(self.ids[index as usize]) != value && known.begins_with == 0;
        if news {
            known.begins_with = value;
        }
        news
    }

    /// Whether the order of changes to this count of references need not be searched. One such change follows.
    pub(crate) fn merges_references(&mut self, index: u32) -> bool {
        let details = &mut self.details[index as usize];
        let merges = !self.known[index as usize].searches_references && !details.is_looked_at;
        details.counts_references |= merges;
        merges
    }

    /// From the next execution on it is searched. Returns whether that is news.
    pub(crate) fn search_references(&mut self, index: u32) -> bool {
        !std::mem::replace(&mut self.known[index as usize].searches_references, true)
    }

    /// Something else is done with a number. Returns whether that is news: the changes of a count of references have to be
    /// searched now.
    pub(crate) fn look_at(&mut self, index: u32) -> bool {
        let details = &mut self.details[index as usize];
        details.is_looked_at = true;
        details.counts_references && self.search_references(index)
    }

    /// The number in memory, as the strategy knows it.
    fn number(&mut self, address: usize, size: u8) -> u64 {
        let [low, high] = read(address, size);
        if size > 8 { self.fold([low, high]) } else { low }
    }

    fn initial(&mut self, known: Known) -> u64 {
        match known.kind {
            Kind::Semaphore => {
                Channel { length: 0, senders: 1, receiver: true, offered: false }.value()
            }
            Kind::Atomic(size) if crate::snapshot::is_static(known.address) => {
                self.number(known.address, size)
            }
            Kind::Atomic(_) => known.begins_with,
            _ => 0,
        }
    }

    /// 16 bytes as 8 that differ when they do, for all that matters.
    pub(crate) fn fold(&mut self, [low, high]: [u64; 2]) -> u64 {
        let folded = low ^ high.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        if high != 0 {
            self.wide.insert(folded, [low, high]);
        }
        folded
    }

    /// The 16 bytes that were folded.
    pub(crate) fn unfold(&self, folded: u64) -> [u64; 2] {
        self.wide.get(&folded).copied().unwrap_or([folded, 0])
    }

    /// The program is about to write to these bytes, which are of one granule, by a plain access. Atomics that the strategy has
    /// to be told of are added to `stale`.
    pub(crate) fn write(
        &mut self,
        (address, size): (usize, usize),
        write: PlainWrite,
        stale: &mut Vec<u32>,
    ) {
        let before = stale.len();
        self.atomics_in(address, size, stale);
        let is_initialiser = self.initialisers.contains(&write.pc);
        let mut kept = before;
        for at in before..stale.len() {
            let index = stale[at];
            let details = &mut self.details[index as usize];
            // It comes after all of their stores, or races with them.
            details.storers = Storers::None;
            if is_initialiser && self.garbage.get(&(write.pc, index)) != Some(&true) {
                details.told = Some(write);
                stale[kept] = index;
                kept += 1;
            } else {
                details.untold = Some(write);
            }
        }
        stale.truncate(kept);
    }

    /// Plain writes have given these numbers other values than before, after the same observations. Returns whether that is news.
    pub(crate) fn learn_garbage(&mut self, numbers: &[ObjectId]) -> bool {
        let mut news = false;
        for &number in numbers {
            let Some(index) = self.ids.iter().position(|&known| known == number) else { continue };
            let Some(write) = self.details[index].told else { continue };
            if let Entry::Vacant(place) = self.garbage.entry((write.pc, index as u32)) {
                place.insert(true);
                news = true;
            }
        }
        news
    }

    /// An atomic operation comes after a plain write that the strategy was not told of. From now on it is told of writes at
    /// that place. Returns whether that is news.
    pub(crate) fn learn_initialiser(&mut self, run: &Run, index: u32) -> bool {
        let Some(write) = self.details[index as usize].untold.take() else { return false };
        let Known { address, kind, .. } = self.known[index as usize];
        let Kind::Atomic(size) = kind else { return false };
        let differs = run.value_of(self.ids[index as usize]) != self.number(address, size);
        differs && self.learn_write(write, index)
    }

    /// An atomic store comes after such a write, and an operation may have read what was there before the store. Returns
    /// whether that is news.
    pub(crate) fn learn_covered(&mut self, index: u32) -> bool {
        let covered = self.details[index as usize].covered.take();
        covered.is_some_and(|write| self.learn_write(write, index))
    }

    /// The strategy has to be told of such a write. Returns whether that is news.
    fn learn_write(&mut self, write: PlainWrite, index: u32) -> bool {
        let garbage = self.garbage.get_mut(&(write.pc, index));
        garbage.is_some_and(|untold| std::mem::replace(untold, false))
            || self.initialisers.insert(write.pc)
    }

    /// Whether the last plain write to a number has left what is not initialised.
    pub(crate) fn is_garbage(&self, index: u32) -> bool {
        let write = self.details[index as usize].untold;
        write.is_some_and(|write| self.garbage.get(&(write.pc, index)) == Some(&true))
    }

    /// Known atomics that overlap these bytes, which are of one granule.
    pub(crate) fn atomics_in(&self, address: usize, size: usize, found: &mut Vec<u32>) {
        for &index in self.by_granule.get(&(address >> 3)).map_or(&[][..], Vec::as_slice) {
            let Known { address: start, kind, .. } = self.known[index as usize];
            let Kind::Atomic(bytes) = kind else { continue };
            if start + usize::from(bytes) > address && start < address + size {
                found.push(index);
            }
        }
    }

    /// The `nth` number among these bytes, which are of one granule, that several threads have stored by operations: whatever
    /// reads it tells which of them came last.
    pub(crate) fn stored_by_several(&self, address: usize, size: usize, nth: usize) -> Option<u32> {
        let numbers = self.by_granule.get(&(address >> 3)).map_or(&[][..], Vec::as_slice);
        let is_told = |&&index: &&u32| {
            let Known { address: start, kind, .. } = self.known[index as usize];
            let Kind::Atomic(bytes) = kind else { return false };
            self.details[index as usize].storers == Storers::Several
                && start + usize::from(bytes) > address
                && start < address + size
        };
        numbers.iter().filter(is_told).nth(nth).copied()
    }

    /// Where the object of this name is; 0 if it has no address.
    pub(crate) fn address(&self, id: ObjectId) -> usize {
        let at = self.ids.iter().position(|&known| known == id);
        at.map_or(0, |at| self.known[at].address)
    }
}

/// The number in memory, its lower half first.
pub(crate) fn read(address: usize, size: u8) -> [u64; 2] {
    // SAFETY: the program accesses this address atomically, so it is mapped and aligned.
    unsafe {
        match size {
            1 => [u64::from((address as *const u8).read_volatile()), 0],
            2 => [u64::from((address as *const u16).read_volatile()), 0],
            4 => [u64::from((address as *const u32).read_volatile()), 0],
            8 => [(address as *const u64).read_volatile(), 0],
            _ => (address as *const [u64; 2]).read_volatile(),
        }
    }
}
