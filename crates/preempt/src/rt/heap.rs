//! Addresses that mean the same in every execution.
//!
//! An address in an atomic is a number like any other to the exploration: it computes with it, compares
//! it, and expects it to be the same after the same history. What `malloc` returns is not. So while an
//! execution runs, every allocation made by the test has a second, *canonical* address, a hash of the
//! local history of its thread, its layout, and how many of that layout came before it since the last
//! operation. (Not a running number: what a library allocates once per process would shift all that
//! follow.) Atomics hold canonical addresses inside and show real ones outside. Stacks of threads have
//! canonical addresses, too.
//!
//! Memory that is freed is not given back before the execution ends, so no address means two things.
//! On request ([`Check::reuse_addresses`](crate::Check::reuse_addresses)) a freed block of the same
//! thread and layout may be used again, which is a choice that is explored: that is how ABA shows. Because freed
//! memory is kept, a block that is freed twice, and an object that is used in freed memory, are noticed.
//!
//! Nothing of this happens before a test has put something that looks like an address into an atomic;
//! then the exploration begins again with the heap under control.
//!
//! Invariant: `HEAP` is set exactly while code of the test runs in an execution whose heap is under
//! control, never inside the runtime: what the runtime allocates is no business of the test.

use super::foreign;
use super::trouble::MemoryError;
use preempt_explore::ThreadId;
use rustc_hash::FxHashMap;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    static HEAP: Cell<*mut Heap> = const { Cell::new(without_provenance_mut(NEW_THREAD)) };
}

/// No heap, but stands for one on a thread that has not used the allocator yet.
const NEW_THREAD: usize = 1;

/// The heap under control, if there is one.
#[inline]
fn controlled() -> *mut Heap {
    let heap = HEAP.get();
    if heap.addr() == NEW_THREAD { meet_thread() } else { heap }
}

#[cold]
fn meet_thread() -> *mut Heap {
    HEAP.set(null_mut());
    foreign::look();
    null_mut()
}

/// The global allocator of tests: the system's, and inside a check one that knows the addresses.
///
/// It is installed by the feature `allocator`, which is on by default. A test program with a global
/// allocator of its own switches the feature off and wraps its allocator:
/// `#[global_allocator] static GLOBAL: preempt::Allocator<Mine> = preempt::Allocator(Mine);`
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator<A = System>(pub A);

// SAFETY: every block comes from the inner allocator and goes back to it with its own layout; under
// control the way back is put off until the end of the execution.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Allocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let heap = controlled();
        if heap.is_null() {
            // SAFETY: as the caller's.
            return unsafe { self.0.alloc(layout) };
        }
        // SAFETY: as the caller's; the heap is alive while it is in `HEAP`, and no borrow of it is
        // alive while the choice is made, when other threads run.
        unsafe {
            if (*heap).may_reuse(layout).is_some_and(|reuses| reuses()) {
                if let Some(block) = paused(heap, |heap| heap.reuse(layout)) {
                    return block;
                }
            }
            paused(heap, |heap| heap.allocate(layout, || self.0.alloc(layout)))
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let heap = controlled();
        // SAFETY: as above.
        let kept = !heap.is_null() && unsafe { paused(heap, |heap| heap.retire(block, layout)) };
        if !kept {
            // SAFETY: as the caller's.
            unsafe { self.0.dealloc(block, layout) };
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if controlled().is_null() {
            // SAFETY: as the caller's.
            return unsafe { self.0.alloc_zeroed(layout) };
        }
        // SAFETY: as the caller's; the block is as large as the layout says.
        unsafe {
            let block = self.alloc(layout);
            if !block.is_null() {
                block.write_bytes(0, layout.size());
            }
            block
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if controlled().is_null() {
            // SAFETY: as the caller's.
            return unsafe { self.0.realloc(block, layout, size) };
        }
        // SAFETY: the caller promises a valid size for this alignment; old and new block are
        // different, and both have at least the smaller size.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                new.copy_from_nonoverlapping(block, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

/// Calls a closure with the heap; what it allocates itself is not the test's.
///
/// # Safety
/// The heap is alive and not borrowed.
unsafe fn paused<R>(heap: *mut Heap, work: impl FnOnce(&mut Heap) -> R) -> R {
    HEAP.set(null_mut());
    // SAFETY: as the caller's; `HEAP` is null, so nothing else reaches it meanwhile.
    let result = work(unsafe { &mut *heap });
    HEAP.set(heap);
    result
}

/// While it lives, allocations are the runtime's own.
pub(crate) struct Paused(*mut Heap);

impl Paused {
    pub(crate) fn new() -> Self {
        Paused(HEAP.replace(null_mut()))
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        HEAP.set(self.0);
    }
}

/// From here on the runtime works, or another thread.
#[inline]
pub(super) fn leave_test() {
    HEAP.set(null_mut());
}

#[derive(Clone, Copy)]
struct Block {
    start: usize,
    size: usize,
    canonical: usize,
}

/// A freed block that waits for the end of the execution.
struct Freed {
    block: *mut u8,
    layout: Layout,
    owner: u32,
}

/// Canonical addresses of stacks, as many for each thread, then of blocks. No program is loaded there.
pub(super) const STACKS: usize = 0x0100_0000_0000;
const STACK: usize = 1 << 32;
const THREADS: usize = 256;
const BLOCKS: usize = STACKS + THREADS * STACK;
/// As many blocks of 16 bytes, so that two of them hardly ever get the same address.
const SPACE: usize = 1 << 45;
pub(super) const END: usize = BLOCKS + SPACE;
/// Freed memory that is kept until the end of an execution, at most.
const MOST_FREED: usize = 1 << 28;

/// So many addresses that were looked up are kept.
const LOOKUPS: usize = 256;

/// Addresses of objects that do not lie in freed memory, to be found by a hash.
struct Lookups([usize; LOOKUPS]);

impl Default for Lookups {
    fn default() -> Self {
        Lookups([0; LOOKUPS])
    }
}

impl Lookups {
    /// Where this address would be. Objects that are used together lie in one block, or at the same place of blocks of one
    /// size.
    #[inline]
    fn entry(&mut self, address: usize) -> &mut usize {
        let word = address / size_of::<u64>();
        &mut self.0[(word ^ (word / LOOKUPS)) % LOOKUPS]
    }

    /// The memory from `start` to `end` is freed.
    fn forget(&mut self, start: usize, end: usize) {
        const WORD: usize = size_of::<u64>();
        if end - start >= LOOKUPS * WORD {
            *self = Lookups::default();
            return;
        }
        for address in (start / WORD * WORD..end).step_by(WORD) {
            *self.entry(address) = 0;
        }
    }
}

/// The allocations of one execution.
#[derive(Default)]
pub(crate) struct Heap {
    /// Whether allocations are followed.
    pub(super) enabled: bool,
    /// Decides whether a freed block is used again; `None` if none ever is.
    pub(crate) reuses: Option<fn() -> bool>,
    /// The thread that runs, and its history.
    current: u32,
    history: u64,
    /// How many blocks were allocated, by history and layout.
    counts: FxHashMap<(u64, usize, usize), u64>,
    blocks: Vec<Block>,
    /// The first of `blocks` that is not in `by_start`.
    indexed: usize,
    /// By real address.
    by_start: BTreeMap<usize, (usize, usize)>,
    /// By canonical address.
    by_canonical: BTreeMap<usize, (usize, usize)>,
    freed: Vec<Freed>,
    freed_bytes: usize,
    /// The same by address: size, and the thread that freed it.
    freed_at: BTreeMap<usize, (usize, u32)>,
    /// How often memory was freed or used again.
    pub(super) changes: u32,
    lookups: Lookups,
    /// Addresses of objects that were used, and whether memory with one of them was freed.
    objects: BTreeSet<usize>,
    pub(super) frees_objects: bool,
    /// The first thing that a thread did wrong.
    pub(super) error: Option<(ThreadId, MemoryError)>,
    /// Lowest and highest address of each thread's stack.
    stacks: Vec<(usize, usize)>,
}

impl Heap {
    /// Whether [`Allocator`] is the global allocator, so that allocations can be followed.
    pub(super) fn is_installed() -> bool {
        static INSTALLED: OnceLock<bool> = OnceLock::new();
        *INSTALLED.get_or_init(|| {
            let mut heap = Heap { enabled: true, ..Heap::default() };
            heap.enter_test(ThreadId::MAIN, 0);
            drop(std::hint::black_box(Box::new(0u64)));
            leave_test();
            if let Some(block) = heap.blocks.first() {
                note_lowest(block.start);
            }
            !heap.blocks.is_empty()
        })
    }

    /// A new execution begins.
    pub(super) fn begin(&mut self, enabled: bool) {
        self.release();
        self.enabled = enabled;
        self.blocks.clear();
        self.indexed = 0;
        self.by_start.clear();
        self.by_canonical.clear();
        self.counts.clear();
        self.objects.clear();
        self.lookups = Lookups::default();
        self.frees_objects = false;
        self.stacks.clear();
    }

    /// Gives freed memory back.
    pub(super) fn release(&mut self) {
        for freed in self.freed.drain(..) {
            // SAFETY: the test has freed it with this layout, and it was not used again. With
            // `HEAP` null the global allocator passes it on.
            unsafe { std::alloc::dealloc(freed.block, freed.layout) };
        }
        self.freed_bytes = 0;
        self.freed_at.clear();
        self.changes = self.changes.wrapping_add(1);
        self.error = None;
    }

    /// Code of `thread` runs from here on.
    #[inline]
    pub(super) fn enter_test(&mut self, thread: ThreadId, history: u64) {
        if self.enabled {
            self.current = thread.0;
            self.history = history;
            HEAP.set(self);
        }
    }

    /// Names a block.
    fn allocate(&mut self, layout: Layout, allocate: impl FnOnce() -> *mut u8) -> *mut u8 {
        let block = allocate();
        if !block.is_null() {
            let canonical = self.reserve(layout);
            self.blocks.push(Block { start: block.addr(), size: layout.size(), canonical });
        }
        block
    }

    fn reserve(&mut self, layout: Layout) -> usize {
        let count = self.counts.entry((self.history, layout.size(), layout.align())).or_default();
        let mut hasher = rustc_hash::FxHasher::default();
        (self.history, layout, *count).hash(&mut hasher);
        *count += 1;
        canonical_address(hasher.finish() as usize, layout.size(), layout.align())
    }

    /// The function that decides whether a block is used again, if this thread has freed one of this layout.
    fn may_reuse(&self, layout: Layout) -> Option<fn() -> bool> {
        let mine = |f: &Freed| f.owner == self.current && f.layout == layout;
        self.reuses.filter(|_| self.freed.iter().any(mine))
    }

    /// The block of this layout that this thread freed last.
    fn reuse(&mut self, layout: Layout) -> Option<*mut u8> {
        let mine = |f: &Freed| f.owner == self.current && f.layout == layout;
        let position = self.freed.iter().rposition(mine)?;
        self.freed_bytes -= layout.size();
        let block = self.freed.remove(position).block;
        self.freed_at.remove(&block.addr());
        self.changes = self.changes.wrapping_add(1);
        Some(block)
    }

    /// Where the stack of a thread lies.
    pub(super) fn set_stack(&mut self, thread: ThreadId, low: usize, high: usize) {
        if self.enabled {
            if self.stacks.len() <= thread.index() {
                self.stacks.resize(thread.index() + 1, (0, 0));
            }
            self.stacks[thread.index()] = (low, high);
        }
    }

    /// Keeps a freed block until the execution ends. `false` if it is to be freed now.
    fn retire(&mut self, block: *mut u8, layout: Layout) -> bool {
        if let Some(&(_, before)) = self.freed_at.get(&block.addr()) {
            let error = MemoryError::DoubleFree(ThreadId(before));
            self.error.get_or_insert((ThreadId(self.current), error));
            return true;
        }
        if self.freed_bytes + layout.size() > MOST_FREED {
            return false;
        }
        let end = block.addr() + layout.size();
        self.frees_objects |= self.objects.range(block.addr()..end).next().is_some();
        self.freed_bytes += layout.size();
        self.freed.push(Freed { block, layout, owner: self.current });
        self.freed_at.insert(block.addr(), (layout.size(), self.current));
        self.lookups.forget(block.addr(), end);
        self.changes = self.changes.wrapping_add(1);
        true
    }

    /// Whether an object at this address was used and its memory is not freed.
    #[inline]
    pub(super) fn is_known(&mut self, address: usize) -> bool {
        *self.lookups.entry(address) == address
    }

    /// An object at this address is used: the thread that has freed its memory, if it is freed.
    pub(super) fn freed_by(&mut self, address: usize) -> Option<ThreadId> {
        if self.reuses.is_some() {
            self.objects.insert(address);
        }
        let freed = self.freed_at.range(..=address).next_back();
        let freed = freed.filter(|(start, (size, _))| address - **start < *size);
        if freed.is_none() {
            *self.lookups.entry(address) = address;
        }
        freed.map(|(_, (_, thread))| ThreadId(*thread))
    }

    fn index(&mut self) {
        for block in &mut self.blocks[self.indexed..] {
            // Two blocks at one address is unlikely, but must never happen.
            while translate(&self.by_canonical, block.canonical).is_some()
                || self.by_canonical.range(block.canonical..=block.canonical + block.size).count()
                    > 0
            {
                block.canonical =
                    canonical_address(block.canonical.wrapping_mul(31), block.size, 1);
            }
            self.by_start.insert(block.start, (block.size, block.canonical));
            self.by_canonical.insert(block.canonical, (block.size, block.start));
        }
        self.indexed = self.blocks.len();
    }

    /// The canonical address for a real one; a number that is no address stays as it is.
    pub(super) fn canonical(&mut self, address: usize) -> usize {
        self.index();
        if let Some(canonical) = translate(&self.by_start, address) {
            return canonical;
        }
        let mut stacks = self.stacks.iter().enumerate();
        match stacks.find(|(_, (low, high))| (*low..*high).contains(&address)) {
            Some((thread, &(_, high))) => {
                STACKS + (thread % THREADS + 1) * STACK - (high - address)
            }
            None => address,
        }
    }

    /// The real address for a canonical one.
    pub(super) fn real(&mut self, canonical: usize) -> usize {
        self.index();
        if let Some(address) = translate(&self.by_canonical, canonical) {
            return address;
        }
        let offset = canonical - STACKS;
        let (thread, below) = (offset / STACK, STACK - offset % STACK);
        match self.stacks.get(thread) {
            Some(&(low, high)) if below <= high - low => high - below,
            _ => canonical,
        }
    }
}

/// A canonical address for a block; its end is not the beginning of another.
fn canonical_address(hash: usize, size: usize, align: usize) -> usize {
    let unit = (size + 1).max(align).max(16).next_power_of_two();
    // The upper bits of the hash are the better ones.
    BLOCKS + ((hash >> 8) % (SPACE / unit)) * unit
}

fn translate(map: &BTreeMap<usize, (usize, usize)>, address: usize) -> Option<usize> {
    let (&start, &(size, other)) = map.range(..=address).next_back()?;
    (address - start <= size).then(|| other + (address - start))
}

/// Where the heap begins, at most: far up, unless the program was linked to lie at the bottom.
pub(super) static LOWEST: AtomicU64 = AtomicU64::new(1 << 32);

/// A block that the allocator has returned, before any test runs.
fn note_lowest(address: usize) {
    const MARGIN: u64 = 1 << 24;
    let lowest = (address as u64).saturating_sub(MARGIN).max(1 << 20);
    LOWEST.fetch_min(lowest, Ordering::Relaxed);
}
