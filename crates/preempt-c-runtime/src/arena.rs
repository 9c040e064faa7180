//! The memory that `malloc` gives to the program under control.
//!
//! Every thread allocates from a region of its own, upwards, and nothing is used twice in an
//! execution. So addresses are the same whenever the thread does the same, whatever others do, and
//! memory that was freed stays recognisable: using it or freeing it again is an error that is found
//! when it happens.

use crate::raw;
use crate::task::MOST;
use preempt_explore::ThreadId;

pub(crate) const BASE: usize = 0x6000_0000_0000;
/// Address space of one thread.
const REGION: usize = 1 << 30;
const END: usize = BASE + (MOST + 1) * REGION;
/// What the sixteen bytes at each address are: one byte each.
const STATES: usize = 0x6100_0000_0000;
pub(crate) const UNIT: usize = 16;
/// The last region is for what the C library allocates on behalf of the search; it is never cleared.
pub(crate) const OWN: usize = MOST;

pub(crate) const LIVE: u8 = 1;
pub(crate) const FREED: u8 = 2;
pub(crate) const HEADER: u8 = 3;
/// The last sixteen bytes of a block that has not all of them: this, and how many it has.
const PART: u8 = 16;

/// Before each block.
#[repr(C)]
pub(crate) struct Header {
    pub(crate) size: usize,
    /// Where it was allocated, then where it was freed.
    pub(crate) pc: usize,
}

/// The regions.
pub(crate) struct Arena {
    used: [usize; MOST + 1],
    /// No thread from this one on has allocated anything in this execution.
    silent: usize,
    /// What the main thread had allocated before `main`.
    before_main: usize,
}

impl Arena {
    /// Sets the address space aside.
    pub(crate) fn new() -> Self {
        raw::map_at(BASE, (MOST + 1) * REGION);
        raw::map_at(STATES, (MOST + 1) * REGION / UNIT);
        Arena { used: [0; MOST + 1], silent: 1, before_main: 0 }
    }

    /// What was allocated until now belongs to every execution.
    pub(crate) fn keep(&mut self) {
        self.before_main = self.used[0];
    }

    /// The part of memory that every execution begins with.
    pub(crate) fn kept(&self) -> (usize, usize) {
        (BASE, self.before_main)
    }

    /// A new execution begins.
    pub(crate) fn begin(&mut self) {
        self.used[..self.silent].fill(0);
        self.silent = 1;
        self.used[0] = self.before_main;
    }

    /// Clears what an execution in this process has allocated.
    pub(crate) fn clear(&mut self) {
        for (thread, &used) in self.used[..self.silent].iter().enumerate() {
            let kept = if thread == 0 { self.before_main } else { 0 };
            if used > kept {
                let at = BASE + thread * REGION;
                clear(at + kept, at + used);
                clear(state_of(at + kept), state_of(at + used));
            }
        }
        self.begin();
    }

    /// The states of what was allocated before `main`, and how many there are.
    pub(crate) fn kept_states(&self) -> (usize, usize) {
        (STATES, self.before_main / UNIT)
    }

    /// Whether all of these bytes may be used.
    #[inline]
    pub(crate) fn may_be_used(&self, address: usize, size: usize) -> bool {
        let last = address.wrapping_add(size.max(1) - 1);
        if address.wrapping_sub(BASE) >= (MOST + 1) * REGION || !contains(last) {
            return true;
        }
        let within = |at: usize| match state(at) {
            LIVE => true,
            // Only the last piece of an access can be the last of a block.
            part => at / UNIT == last / UNIT && part > PART && last % UNIT < (part - PART).into(),
        };
        within(address) && (address / UNIT + 1..=last / UNIT).all(|unit| within(unit * UNIT))
    }

    /// A block of the thread, aligned; zeroed. `None` if the region is full.
    pub(crate) fn allocate(
        &mut self,
        thread: ThreadId,
        size: usize,
        align: usize,
        pc: usize,
    ) -> Option<usize> {
        let align = align.max(UNIT);
        let region = BASE + thread.index() * REGION;
        let length = size.max(1).checked_next_multiple_of(UNIT)?;
        let at = (region + self.used[thread.index()] + UNIT).next_multiple_of(align);
        let end = at.checked_add(length)?;
        if end > region + REGION {
            return None;
        }
        self.used[thread.index()] = end - region;
        if thread.index() < OWN {
            self.silent = self.silent.max(thread.index() + 1);
        }
        let header = at - UNIT;
        // SAFETY: within the region, which is mapped and not in use from here on.
        unsafe {
            (header as *mut Header).write(Header { size, pc });
            *(state_of(header) as *mut u8) = HEADER;
            std::ptr::write_bytes(state_of(at) as *mut u8, LIVE, length / UNIT);
            if size < length {
                let rest = (size % UNIT) as u8;
                *(state_of(at + length - UNIT) as *mut u8) = PART + rest;
            }
        }
        Some(at)
    }

    /// Blocks of this execution that were never freed: how many, and where the first was made.
    pub(crate) fn leaks(&self) -> Option<(usize, usize)> {
        let mut found = None;
        for (thread, &used) in self.used[..self.silent].iter().enumerate() {
            let kept = if thread == 0 { self.before_main } else { 0 };
            let region = BASE + thread * REGION;
            for at in (region + kept..region + used).step_by(UNIT) {
                if state(at) == HEADER && is_live(at + UNIT) {
                    // SAFETY: a header is there.
                    let pc = unsafe { (*(at as *const Header)).pc };
                    let (count, first) = found.unwrap_or((0, pc));
                    found = Some((count + 1, first));
                }
            }
        }
        found
    }
}

fn clear(from: usize, to: usize) {
    const MUCH: usize = 256 << 10;
    if to - from > MUCH {
        let page = from.next_multiple_of(4096);
        let length = (to - page).next_multiple_of(4096);
        // SAFETY: our own mapping; the rest of the last page is not in use.
        unsafe {
            std::ptr::write_bytes(from as *mut u8, 0, page - from);
            raw::syscall(libc::SYS_madvise, [page, length, libc::MADV_DONTNEED as usize, 0, 0, 0]);
        }
        return;
    }
    // SAFETY: our own mapping.
    unsafe { std::ptr::write_bytes(from as *mut u8, 0, to - from) };
}

pub(crate) fn state_of(address: usize) -> usize {
    STATES + (address - BASE) / UNIT
}

pub(crate) fn state(address: usize) -> u8 {
    // SAFETY: callers ask for addresses of the arena only, whose states are mapped.
    unsafe { *(state_of(address) as *const u8) }
}

/// Whether an address is of memory that another thread allocates from.
pub(crate) fn is_of_another(address: usize, thread: u32) -> bool {
    contains(address) && (address - BASE) / REGION != thread as usize
}

/// Whether an address is of a block that was not freed.
pub(crate) fn is_live(address: usize) -> bool {
    let state = state(address);
    state == LIVE || state >= PART
}

/// Whether an address is of the arena.
pub(crate) fn contains(address: usize) -> bool {
    (BASE..END).contains(&address)
}

pub(crate) fn header_of(address: usize) -> *mut Header {
    let mut at = address & !(UNIT - 1);
    while at > BASE && state(at) != HEADER {
        at -= UNIT;
    }
    at as *mut Header
}
