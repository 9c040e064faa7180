//! Objects that the compiler has made, and their data: statics, which begin every execution anew.
//!
//! `static LOCK: Mutex<Vec<u32>> = Mutex::new(Vec::new())` is made before the program runs. The lock itself is an object as any
//! other that was made outside the body. What it guards must not be what the last execution has left there, nor what another
//! test is doing with it on another thread: each execution has a copy, made of the same bytes, when it first comes to it. As
//! these bytes are still those that the compiler wrote, they own nothing, so that a copy of them is a value of its own. It is dropped at the end of the execution, like the value of `preempt::statics!`. A static that was also used out of
//! control is shared with that (`Slot::object`), and a change of it in the body no proof (`Reason::Outside`).
//!
//! Other objects that the compiler has made are copies of a constant, `[const { AtomicBool::new(false) }; 4]`. The place where
//! they were copied is unknown, and with it which threads may find them. To use one is a failure that says what to do.

use super::heap::Paused;
use super::registry::{Original, Registry};
use super::runtime::{Runtime, current};
use super::slot::Slot;
use super::trouble::Trouble;
use preempt_explore::{Ending, Site};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::sync::Arc;

/// Where this execution keeps the data of an object: in the object, or in a copy.
#[inline]
pub(crate) fn data<T: ?Sized>(slot: &Slot, data: *mut T) -> *mut T {
    match current() {
        Some(runtime) if runtime.registry.knowledge.compiled.is_empty() => data,
        Some(runtime) => runtime.data_of(slot, data),
        None => {
            slot.note_use_outside();
            data
        }
    }
}

/// The copy that an execution has of something in a static.
struct Copy {
    block: *mut u8,
    layout: Layout,
    drop: Option<Box<dyn FnOnce()>>,
}

impl Drop for Copy {
    fn drop(&mut self) {
        if let Some(drop) = self.drop.take() {
            drop();
        }
        let _paused = Paused::new();
        // SAFETY: allocated with this layout, and what it contained is dropped.
        unsafe { dealloc(self.block, self.layout) };
    }
}

impl Runtime {
    fn data_of<T: ?Sized>(&mut self, slot: &Slot, data: *mut T) -> *mut T {
        // SAFETY: only the size is looked at.
        let layout = Layout::for_value(unsafe { &*data });
        let (slot, address) = ((&raw const *slot).addr(), data.cast::<u8>().addr());
        if layout.size() == 0 || !self.registry.knowledge.compiled.contains(&slot) {
            return data;
        }
        if let Some(&copy) = self.registry.copies.get(&address) {
            return moved(data, copy);
        }
        let _paused = Paused::new();
        let bytes = self.registry.knowledge.bytes.entry(address).or_insert_with(|| {
            // SAFETY: the whole value is there, and its bytes may be uninitialised as those of the copy may.
            let bytes =
                unsafe { std::slice::from_raw_parts(data.cast::<MaybeByte>(), layout.size()) };
            Arc::from(bytes)
        });
        // SAFETY: the size is not 0.
        let block = unsafe { alloc(layout) };
        if block.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: as many bytes are in both.
        unsafe { block.copy_from_nonoverlapping(bytes.as_ptr().cast(), layout.size()) };
        let value = moved(data, block);
        // SAFETY: a value that is used nowhere else (see the module), dropped once.
        let drop: Box<dyn FnOnce() + '_> = Box::new(move || unsafe { value.drop_in_place() });
        // SAFETY: only the lifetime changes. The static lives for ever, so that what its type refers to does as well.
        let drop = unsafe {
            std::mem::transmute::<Box<dyn FnOnce() + '_>, Box<dyn FnOnce() + 'static>>(drop)
        };
        let copy = Copy { block, layout, drop: Some(drop) };
        let Registry { values, value_order, copies, originals, .. } = &mut self.registry;
        values.insert(address, Box::new(copy));
        value_order.push(address);
        copies.insert(address, block);
        originals.push(Original { copy: block.addr(), size: layout.size(), address });
        value
    }

    /// By which address an object is known that the compiler has made, and that is used here for the first time, unless it is
    /// the copy of a constant.
    pub(super) fn place_of_constant(&mut self, address: usize, site: Site) -> Option<usize> {
        let inside = |original: &&Original| {
            (original.copy..original.copy + original.size).contains(&address)
        };
        let original = self.registry.originals.iter().find(inside);
        let place = original.map_or(address, |o| o.address + (address - o.copy));
        let _paused = Paused::new();
        if is_static(place) {
            self.registry.knowledge.compiled.insert(place);
            return Some(place);
        }
        if self.trouble.is_none() && !self.concluding && !self.closing {
            self.trouble = Some(Trouble::Constant(site));
            self.run().ending = Some(Ending::Reported);
        }
        None
    }
}

type MaybeByte = std::mem::MaybeUninit<u8>;

/// The same pointer, but to what is there.
fn moved<T: ?Sized>(mut pointer: *mut T, address: *mut u8) -> *mut T {
    // SAFETY: a pointer begins with the address, whatever follows.
    unsafe { (&raw mut pointer).cast::<*mut u8>().write(address) };
    pointer
}

/// Whether a static lies there.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn is_static(address: usize) -> bool {
    struct Search {
        address: usize,
        found: bool,
    }
    unsafe extern "C" fn look(
        object: *mut libc::dl_phdr_info,
        _: libc::size_t,
        search: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the C library passes a valid description, and what was given to it.
        let (object, search) = unsafe { (&*object, &mut *search.cast::<Search>()) };
        // SAFETY: as above.
        let segments =
            unsafe { std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)) };
        search.found |=
            segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD).any(|segment| {
                let start = (object.dlpi_addr + segment.p_vaddr) as usize;
                (start..start + segment.p_memsz as usize).contains(&search.address)
            });
        libc::c_int::from(search.found)
    }
    let mut search = Search { address, found: false };
    // SAFETY: the function is called with the search before this returns, and not kept.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

/// Only statics are made by the compiler here.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn is_static(_: usize) -> bool {
    true
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn statics_are_told_from_other_memory() {
        static ZERO: AtomicU32 = AtomicU32::new(0);
        static ONE: AtomicU32 = AtomicU32::new(1);
        let local = AtomicU32::new(2);
        let boxed = Box::new(AtomicU32::new(3));
        assert!(is_static((&raw const ZERO).addr()) && is_static((&raw const ONE).addr()));
        assert!(!is_static((&raw const local).addr()) && !is_static((&raw const *boxed).addr()));
    }

    #[test]
    fn pointers_of_all_kinds_are_moved() {
        let mut bytes = [1_u8, 2, 3];
        let slice: *mut [u8] = &raw mut bytes;
        let shown: *mut dyn std::fmt::Debug = &raw mut bytes;
        let mut others = [4_u8, 5, 6];
        let to = (&raw mut others).cast::<u8>();
        // SAFETY: as many bytes are there.
        let (slice, shown) = unsafe { (&*moved(slice, to), &*moved(shown, to)) };
        assert_eq!(slice, [4, 5, 6]);
        assert_eq!(format!("{shown:?}"), "[4, 5, 6]");
    }
}
