//! Where the stacks of coroutines lie: at addresses that tell where the top of a stack is.
//!
//! A `const fn` that is executed on such a stack finds the runtime that it belongs to (`creation_log`), although it can call
//! nothing: the last bytes of each stack say where that is. The arena is a range of addresses that the kernel gives away on
//! request only, as large pages of one size for each of its regions. Only pages that a stack needs are mapped.
//!
//! Invariant: between the ends of the arena there is nothing but stacks, and each of them ends where its page does.

use corosensei::stack::{Stack, StackPointer, valgrind::ValgrindStackRegistration};
use std::io::Error;
use std::mem::ManuallyDrop;
use std::ptr::{with_exposed_provenance_mut, without_provenance_mut};
use std::sync::{Mutex, PoisonError};

/// Above what programs and `brk` use, below canonical addresses (`heap`), and low enough for valgrind.
const LOWEST: usize = 1 << 39;
const REGION: usize = 1 << 35;
const REGIONS: usize = 8;
/// The bytes at the top of each stack that belong to the runtime, which keep it aligned.
const TOP: usize = 64;

/// What lies at the top of each stack.
pub(super) struct Top {
    /// Where objects are to be noted that are made on this stack: a `CreationLog`.
    pub(super) log: *mut (),
}

/// Bytes of a page in this region.
const fn page_size(region: usize) -> usize {
    1 << (19 + 2 * region)
}

/// The top of the stack on which this address lies, if it lies on one of the arena.
pub(super) const fn top_of_stack(address: usize) -> Option<*mut Top> {
    if address < LOWEST || address >= LOWEST + REGIONS * REGION {
        return None;
    }
    let last = address | (page_size((address - LOWEST) / REGION) - 1);
    Some((last + 1 - TOP) as *mut Top)
}

/// Pages of a region that are free: some that were used before, and all from `fresh` on.
struct Pages {
    used_before: Vec<usize>,
    fresh: usize,
}

static PAGES: Mutex<[Pages; REGIONS]> =
    Mutex::new([const { Pages { used_before: Vec::new(), fresh: 0 } }; REGIONS]);

fn take_page(region: usize) -> Option<usize> {
    let mut pages = PAGES.lock().unwrap_or_else(PoisonError::into_inner);
    let Pages { used_before, fresh } = &mut pages[region];
    used_before.pop().or_else(|| {
        *fresh += 1;
        (*fresh <= REGION / page_size(region)).then(|| *fresh - 1)
    })
}

/// A stack in the arena.
pub(super) struct ArenaStack {
    region: usize,
    page: usize,
    base: StackPointer,
    limit: StackPointer,
    valgrind: ManuallyDrop<ValgrindStackRegistration>,
}

impl ArenaStack {
    /// A stack with at least `size` bytes, and a guard page below.
    pub(super) fn new(size: usize) -> std::io::Result<Self> {
        // SAFETY: a plain system call.
        let guard = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let too_large = || Error::from(std::io::ErrorKind::OutOfMemory);
        let size = size.checked_add(TOP).and_then(|size| size.checked_next_multiple_of(guard));
        let length = size.and_then(|size| size.checked_add(guard)).ok_or_else(too_large)?;
        let region = (0..REGIONS).find(|&region| length <= page_size(region));
        let region = region.ok_or_else(too_large)?;
        loop {
            let page = take_page(region).ok_or_else(too_large)?;
            let end = LOWEST + region * REGION + (page + 1) * page_size(region);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
            let start = without_provenance_mut(end - length);
            // SAFETY: maps memory where there is none.
            let mapped = unsafe { libc::mmap(start, length, libc::PROT_NONE, flags, -1, 0) };
            if mapped == libc::MAP_FAILED {
                let error = Error::last_os_error();
                if error.raw_os_error() == Some(libc::EEXIST) {
                    // Never to be used.
                    continue;
                }
                return Err(error);
            }
            if mapped != start {
                // A kernel that does not know the flag takes the address as a wish.
                // SAFETY: this mapping is ours.
                unsafe { libc::munmap(mapped, length) };
                continue;
            }
            let (Some(base), Some(limit)) =
                (StackPointer::new(end - TOP), StackPointer::new(end - length))
            else {
                return Err(too_large());
            };
            mapped.expose_provenance();
            let valgrind = ValgrindStackRegistration::new(mapped.cast(), length);
            let stack =
                ArenaStack { region, page, base, limit, valgrind: ManuallyDrop::new(valgrind) };
            let writable = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: part of what was mapped above.
            if unsafe { libc::mprotect(mapped.byte_add(guard), length - guard, writable) } != 0 {
                return Err(Error::last_os_error());
            }
            return Ok(stack);
        }
    }

    /// Objects that are made on this stack are noted there from now on.
    pub(super) fn note_in(&mut self, log: *mut ()) {
        let top = with_exposed_provenance_mut::<Top>(self.base.get());
        // SAFETY: the bytes above the base of the stack belong to it, and are used for nothing else.
        unsafe { top.write(Top { log }) };
    }
}

impl Drop for ArenaStack {
    fn drop(&mut self) {
        // SAFETY: dropped once, before the memory is gone.
        unsafe { ManuallyDrop::drop(&mut self.valgrind) };
        let (start, end) = (self.limit.get(), self.base.get() + TOP);
        let start = with_exposed_provenance_mut(start);
        // SAFETY: mapped by `new`, and nothing runs on it.
        unsafe { libc::munmap(start, end - self.limit.get()) };
        let mut pages = PAGES.lock().unwrap_or_else(PoisonError::into_inner);
        pages[self.region].used_before.push(self.page);
    }
}

// SAFETY: the memory between limit and base is mapped, but for a guard page at the limit; `base` is a multiple of 64.
unsafe impl Stack for ArenaStack {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.limit
    }
}

const _: () = assert!(size_of::<Top>() <= TOP && TOP % 16 == 0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_of_a_stack_leads_to_its_top() {
        let mut stacks = Vec::new();
        for size in [1, 100_000, 300_000, 700_000, 40 << 20] {
            let stack = ArenaStack::new(size).unwrap();
            let (low, high) = (stack.limit().get(), stack.base().get());
            assert!(high - low > size && high % 16 == 0);
            for address in [low, low + 5000, high - size, high - 1, high + TOP - 1] {
                assert_eq!(top_of_stack(address).map(|top| top.addr()), Some(high), "{size}");
            }
            stacks.push((low, high + TOP));
            stacks.push({
                let second = ArenaStack::new(size).unwrap();
                (second.limit().get(), second.base().get() + TOP)
            });
            drop(stack);
        }
        assert!(ArenaStack::new(1 << 60).is_err());
        assert!(ArenaStack::new(usize::MAX).is_err());
        let local = 0;
        assert!(top_of_stack((&raw const local).addr()).is_none());
        assert!(top_of_stack(Box::new(1).as_ref() as *const i32 as usize).is_none());
    }
}
