//! `malloc` and `free` for the program under control.
//!
//! Every thread allocates from a region of its own, upwards, and nothing is used twice in an
//! execution. So addresses are the same whenever the thread does the same, whatever others do, and
//! memory that was freed stays recognisable: using it or freeing it again is an error that is found
//! when it happens.

use crate::control::{Runtime, is_installed};
use crate::entry::{entry, inside, is_program};
use crate::task::MOST;
use crate::trouble::{Kind, Trouble};
use crate::{access, raw, start};
use preempt_explore::ThreadId;
use std::ffi::{c_int, c_void};

const BASE: usize = 0x6000_0000_0000;
/// Address space of one thread.
const REGION: usize = 1 << 30;
const END: usize = BASE + (MOST + 1) * REGION;
/// What the sixteen bytes at each address are: one byte each.
const STATES: usize = 0x6100_0000_0000;
const UNIT: usize = 16;
/// The last region is for what the C library allocates on behalf of the search; it is never cleared.
const OWN: usize = MOST;

const LIVE: u8 = 1;
const FREED: u8 = 2;
const HEADER: u8 = 3;

/// Before each block.
#[repr(C)]
struct Header {
    size: usize,
    /// Where it was allocated, then where it was freed.
    pc: usize,
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

    /// Ends the execution if the program is about to use memory that was freed.
    #[inline]
    pub(crate) fn check(&self, address: usize, pc: usize) {
        if address.wrapping_sub(BASE) < (MOST + 1) * REGION && state(address) == FREED {
            used_after_free(address, pc);
        }
    }

    /// A block of the thread, aligned; zeroed. `None` if the region is full.
    fn allocate(
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
                if state(at) == HEADER && state(at + UNIT) == LIVE {
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

fn state_of(address: usize) -> usize {
    STATES + (address - BASE) / UNIT
}

fn state(address: usize) -> u8 {
    // SAFETY: callers ask for addresses of the arena only, whose states are mapped.
    unsafe { *(state_of(address) as *const u8) }
}

/// Whether an address is of the arena.
pub(crate) fn contains(address: usize) -> bool {
    (BASE..END).contains(&address)
}

fn header_of(address: usize) -> *mut Header {
    let mut at = address & !(UNIT - 1);
    while at > BASE && state(at) != HEADER {
        at -= UNIT;
    }
    at as *mut Header
}

#[cold]
fn used_after_free(address: usize, pc: usize) -> ! {
    // SAFETY: freed memory has a header.
    let freed = unsafe { (*header_of(address)).pc };
    let message = "memory is used after it was freed";
    let mut trouble = Trouble::new(Kind::UseAfterFree, pc, message);
    trouble.other = Some(("freed", freed));
    crate::control::runtime().stop(trouble)
}

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(at: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_free(at: *mut c_void);
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
}

fn out_of_memory() -> *mut c_void {
    // SAFETY: the thread's own variable.
    unsafe { *libc::__errno_location() = libc::ENOMEM };
    std::ptr::null_mut()
}

/// A block for the program, or `None` if the C library has to make it.
fn allocate(size: usize, align: usize, pc: usize) -> Option<*mut c_void> {
    let make = |runtime: &mut Runtime, thread: ThreadId| {
        let block = runtime.arena.allocate(thread, size, align, pc);
        block.map_or(std::ptr::null_mut(), |at| at as *mut c_void)
    };
    let block = if is_program() {
        inside(|runtime| {
            let thread = runtime.current();
            make(runtime, thread)
        })
    } else if is_installed() {
        let own = if start::is_before_main() { 0 } else { OWN };
        make(crate::control::runtime(), ThreadId(own as u32))
    } else {
        return None;
    };
    Some(if block.is_null() { out_of_memory() } else { block })
}

entry! {
    malloc / 1 => allocate_block;
    calloc / 2 => allocate_zeroed;
    realloc / 2 => reallocate;
    free / 1 => free_block;
    memalign / 2 => allocate_aligned;
    aligned_alloc / 2 => allocate_aligned;
    posix_memalign / 3 => allocate_aligned_into;
    valloc / 1 => allocate_page;
}

unsafe extern "C" fn allocate_block(size: usize, pc: usize) -> *mut c_void {
    // SAFETY: the C library's own function.
    allocate(size, UNIT, pc).unwrap_or_else(|| unsafe { __libc_malloc(size) })
}

unsafe extern "C" fn allocate_zeroed(count: usize, size: usize, pc: usize) -> *mut c_void {
    let Some(bytes) = count.checked_mul(size) else { return out_of_memory() };
    // Memory of the arena is zero. SAFETY: the C library's own function.
    allocate(bytes, UNIT, pc).unwrap_or_else(|| unsafe { __libc_calloc(count, size) })
}

unsafe extern "C" fn allocate_aligned(align: usize, size: usize, pc: usize) -> *mut c_void {
    if !align.is_power_of_two() {
        // SAFETY: the thread's own variable.
        unsafe { *libc::__errno_location() = libc::EINVAL };
        return std::ptr::null_mut();
    }
    // SAFETY: the C library's own function.
    allocate(size, align, pc).unwrap_or_else(|| unsafe { __libc_memalign(align, size) })
}

unsafe extern "C" fn allocate_aligned_into(
    at: *mut *mut c_void,
    align: usize,
    size: usize,
    pc: usize,
) -> c_int {
    if !align.is_power_of_two() || align < 8 {
        return libc::EINVAL;
    }
    // SAFETY: the caller's variable.
    unsafe {
        let block = allocate_aligned(align, size, pc);
        if block.is_null() {
            return libc::ENOMEM;
        }
        *at = block;
    }
    0
}

unsafe extern "C" fn allocate_page(size: usize, pc: usize) -> *mut c_void {
    // SAFETY: as the caller's.
    unsafe { allocate_aligned(4096, size, pc) }
}

unsafe extern "C" fn reallocate(at: *mut c_void, size: usize, pc: usize) -> *mut c_void {
    if at.is_null() {
        // SAFETY: as the caller's.
        return unsafe { allocate_block(size, pc) };
    }
    if !contains(at as usize) {
        // SAFETY: the C library's block.
        return unsafe { __libc_realloc(at, size) };
    }
    // SAFETY: a block of the arena has a header; `free_block` complains if this is none.
    unsafe {
        let old = (*((at as usize - UNIT) as *const Header)).size;
        let Some(new) = allocate(size, UNIT, pc) else { return out_of_memory() };
        if !new.is_null() {
            std::ptr::copy_nonoverlapping(at.cast::<u8>(), new.cast::<u8>(), old.min(size));
            free_block(at, pc);
        }
        new
    }
}

unsafe extern "C" fn free_block(at: *mut c_void, pc: usize) {
    let address = at as usize;
    if at.is_null() {
        return;
    }
    if !contains(address) {
        // SAFETY: the C library's block.
        return unsafe { __libc_free(at) };
    }
    if is_program() {
        inside(|runtime| release(runtime, address, pc));
    } else if start::is_before_main() {
        mark_freed(address, pc);
    }
}

fn mark_freed(address: usize, pc: usize) {
    let header = (address - UNIT) as *mut Header;
    // SAFETY: callers have checked that a block begins at this address, or trust the C library.
    unsafe {
        let size = (*header).size;
        (*header).pc = pc;
        let units = size.max(1).div_ceil(UNIT);
        std::ptr::write_bytes(state_of(address) as *mut u8, FREED, units);
    }
}

fn release(runtime: &mut Runtime, address: usize, pc: usize) {
    check_block(runtime, address, pc);
    // SAFETY: a block begins there, so it has a header.
    let size = unsafe { (*((address - UNIT) as *const Header)).size };
    access::freed(runtime, address, size, pc);
    // Others may have run meanwhile.
    check_block(crate::control::runtime(), address, pc);
    mark_freed(address, pc);
}

/// Ends the execution unless a block in use begins at this address.
fn check_block(runtime: &mut Runtime, address: usize, pc: usize) {
    let begins = address.is_multiple_of(UNIT) && address > BASE && state(address - UNIT) == HEADER;
    match state(address) {
        LIVE if begins => {}
        FREED => {
            // SAFETY: freed memory has a header.
            let freed = unsafe { (*header_of(address)).pc };
            let mut trouble = Trouble::new(Kind::DoubleFree, pc, "memory is freed twice");
            trouble.other = Some(("first", freed));
            runtime.stop(trouble);
        }
        _ => {
            let message = "free of an address that malloc did not return";
            runtime.stop(Trouble::new(Kind::Misuse, pc, message));
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(at: *mut c_void) -> usize {
    if at.is_null() {
        return 0;
    }
    if contains(at as usize) {
        // SAFETY: a block of the arena has a header.
        return unsafe { (*((at as usize - UNIT) as *const Header)).size };
    }
    let real = crate::entry::real!(c"malloc_usable_size", fn(*mut c_void) -> usize);
    // SAFETY: the C library's block.
    unsafe { real(at) }
}
