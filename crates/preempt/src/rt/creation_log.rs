//! Objects that a `const fn` makes, and how the runtime learns of them.
//!
//! Every object under control has a name, and where it is made is part of an execution: a thread that finds it without
//! synchronisation races with that (`preempt_explore`'s `creation`). So `new` has to tell the runtime. But the `new` of std's
//! locks, atomics and cells is a `const fn`, so that statics can be made with it, and on stable Rust a `const fn` calls nothing
//! that is none, and cannot ask whether it is executed or evaluated by the compiler. What it can do is arithmetic, and to write
//! through a pointer. That is enough:
//!
//! - *Whether it is executed* shows in the last bit of a NaN, which processors keep and the compiler does not. Rust promises
//!   neither. If an executed `new` does not notice, its object looks like one that the compiler has made, which is a
//!   failure where it is used, and no proof of anything (`static_data`); if an evaluated one believes to be executed, the
//!   static does not compile.
//! - *On a stack of a thread under control* the address of a local leads to the top of that stack (`arena`), and from there to
//!   a list, into which `new` writes value and place. The object gets the number of the entry.
//!
//! The runtime reads the list whenever code of a test enters it, before anything else, so that everything is as if `new` had
//! called it. Where the stacks are not in an arena `new` is no `const fn`, and calls it.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use super::arena::top_of_stack;
use preempt_explore::{ObjectId, Site};

/// What an object under control is given at first.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Initial {
    /// This number.
    Number(u64),
    /// A number that may be an address.
    Wide(u64),
    /// This address.
    Pointer(*const ()),
}

/// The slot of an object that the compiler has made: it lies in a static, or is a copy of a constant.
pub(super) const BY_COMPILER: u64 = 0;
/// The slot of an object that was made out of control. No execution has the number 0.
pub(super) const OUTSIDE: u64 = 1;
/// In a slot, in place of an object: the number of an entry.
const ENTRY: u32 = 1 << 31;

/// More objects than that between two operations of a thread go unnoticed, as if the compiler had made them.
const MOST: u32 = 1 << 20;

/// An object, as `new` knows it.
pub(super) type Entry = (Initial, Site);

/// See the module.
pub(super) struct CreationLog {
    /// The number of the execution in progress.
    epoch: u32,
    /// How many objects were noted in it, and how many of these the runtime knows.
    noted: u32,
    known: u32,
    /// Those that it does not, and how they are reached.
    #[allow(dead_code, reason = "owns what `entries` points to")]
    buffer: Vec<Entry>,
    entries: *mut Entry,
    /// The names of those that it does.
    names: Vec<ObjectId>,
}

impl CreationLog {
    pub(super) fn new() -> Self {
        let mut buffer = Vec::with_capacity(MOST as usize);
        let entries = buffer.as_mut_ptr();
        CreationLog { epoch: 0, noted: 0, known: 0, buffer, entries, names: Vec::new() }
    }

    /// Another execution begins.
    pub(super) fn begin(&mut self, epoch: u32) {
        (self.epoch, self.noted, self.known) = (epoch, 0, 0);
        self.names.clear();
    }

    /// Whether there are objects that the runtime does not know.
    #[inline]
    pub(super) fn has_news(&self) -> bool {
        self.noted != self.known
    }

    /// The next of them, which `name` will be the name of.
    pub(super) fn next(&self) -> Option<Entry> {
        let position = self.names.len() - self.known as usize;
        // SAFETY: as many entries as objects that the runtime does not know have been written.
        (self.names.len() < self.noted as usize).then(|| unsafe { *self.entries.add(position) })
    }

    pub(super) fn name(&mut self, object: ObjectId) {
        self.names.push(object);
    }

    /// The runtime knows all of them.
    pub(super) fn read(&mut self) {
        self.known = self.noted;
    }

    /// The object in a slot with the number of the execution in progress.
    #[inline]
    pub(super) fn object(&self, slot: u32) -> ObjectId {
        match slot & ENTRY {
            0 => ObjectId(slot),
            _ => self.names[(slot & !ENTRY) as usize],
        }
    }
}

/// What the slot of a new object contains.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(super) const fn note(initial: Initial, site: Site) -> u64 {
    if !is_executed() {
        return BY_COMPILER;
    }
    let local = 0_u8;
    let Some(top) = top_of_stack(address_of(&raw const local)) else { return OUTSIDE };
    // SAFETY: the caller runs on a stack of the arena, so its top is there, and points to the log of the runtime to which that
    // belongs. Nothing else uses the log now: only the operating system thread that we are on does, and code of a test runs.
    // The position is below the capacity.
    unsafe {
        let log = (*top).log.cast::<CreationLog>();
        let (number, position) = ((*log).noted, (*log).noted - (*log).known);
        if position == MOST || number == ENTRY {
            return BY_COMPILER;
        }
        (*log).entries.add(position as usize).write((initial, site));
        (*log).noted = number + 1;
        ((*log).epoch as u64) << 32 | (ENTRY | number) as u64
    }
}

/// Whether this is executed, and not evaluated by the compiler.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
const fn is_executed() -> bool {
    keeps_bits(f32::from_bits(0x7FC0_0001))
}

/// Not inlined: the compiler would evaluate it.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[inline(never)]
const fn keeps_bits(nan: f32) -> bool {
    (nan + 1.0).to_bits() & 1 == 1
}

/// Not inlined, so that nothing is known of what is reached from this address.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[inline(never)]
const fn address_of(local: *const u8) -> usize {
    union Bits {
        pointer: *const u8,
        address: usize,
    }
    // SAFETY: executed only, where a pointer is an address.
    unsafe { Bits { pointer: local }.address }
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Everything else depends on that.
    #[test]
    fn what_is_executed_differs_from_what_is_evaluated() {
        const EVALUATED: bool = is_executed();
        static ALSO: bool = is_executed();
        assert!(!EVALUATED && !ALSO && !const { is_executed() });
        assert!(is_executed());
        let site = std::panic::Location::caller();
        assert_eq!(note(Initial::Number(1), site), OUTSIDE);
    }
}
