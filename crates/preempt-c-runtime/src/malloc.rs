//! `malloc` and `free` for the program under control, and what is wrong about their use.

use crate::arena::{
    BASE, FREED, HEADER, Header, OWN, UNIT, contains, header_of, is_live, state, state_of,
};
use crate::entry::{entry, is_program, real};
use crate::main_function::is_before_main;
use crate::runtime::{Runtime, inside, is_installed, runtime};
use crate::trouble::{Kind, Trouble};
use crate::{access, destructors};
use preempt_explore::ThreadId;
use std::ffi::{c_int, c_void};

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
            let block = make(runtime, thread);
            if !block.is_null() {
                access::allocated(runtime, block as usize, size, pc);
            }
            block
        })
    } else if is_installed() {
        let own = if is_before_main() { 0 } else { OWN };
        make(runtime(), ThreadId(own as u32))
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
    } else if is_before_main() {
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
    destructors::freed(crate::runtime::runtime(), address, size);
    // Others may have run meanwhile.
    check_block(crate::runtime::runtime(), address, pc);
    mark_freed(address, pc);
}

/// Ends the execution unless a block in use begins at this address.
fn check_block(runtime: &mut Runtime, address: usize, pc: usize) {
    let begins = address.is_multiple_of(UNIT) && address > BASE && state(address - UNIT) == HEADER;
    match state(address) {
        _ if begins && is_live(address) => {}
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
    let real = real!(c"malloc_usable_size", fn(*mut c_void) -> usize);
    // SAFETY: the C library's block.
    unsafe { real(at) }
}
