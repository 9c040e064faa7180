//! Memory and values that must be freed before a model ends.

use preempt::facade::{Tracked, per_execution};
use std::cell::RefCell;
use std::collections::HashMap;
use std::mem::ManuallyDrop;

#[doc(no_inline)]
pub use std::alloc::Layout;

/// The blocks of one execution, by address. Those that are left when it ends are leaks, so the end
/// of the map must not be the end of their tracking.
#[derive(Default)]
struct Blocks(RefCell<HashMap<usize, ManuallyDrop<Tracked>>>);

static BLOCKS: u8 = 0;

fn blocks() -> Option<&'static RefCell<HashMap<usize, ManuallyDrop<Tracked>>>> {
    per_execution::<Blocks, _>(&BLOCKS).map(|blocks| &blocks.0)
}

#[track_caller]
fn track(pointer: *mut u8) {
    let tracked = Tracked::new();
    if let Some(blocks) = blocks().filter(|_| !pointer.is_null()) {
        blocks.borrow_mut().insert(pointer.addr(), ManuallyDrop::new(tracked));
    }
}

/// `std::alloc::alloc`; a block that is not freed is reported as a leak.
///
/// # Safety
/// As for `std::alloc::alloc`.
#[track_caller]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: the caller's promise.
    let pointer = unsafe { std::alloc::alloc(layout) };
    track(pointer);
    pointer
}

/// `std::alloc::alloc_zeroed`; a block that is not freed is reported as a leak.
///
/// # Safety
/// As for `std::alloc::alloc_zeroed`.
#[track_caller]
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: the caller's promise.
    let pointer = unsafe { std::alloc::alloc_zeroed(layout) };
    track(pointer);
    pointer
}

/// `std::alloc::dealloc` for a block of [`alloc`] or [`alloc_zeroed`].
///
/// # Safety
/// As for `std::alloc::dealloc`.
///
/// # Panics
/// If the block is not one of this execution: freed before, or allocated by something else.
#[track_caller]
pub unsafe fn dealloc(pointer: *mut u8, layout: Layout) {
    if let Some(blocks) = blocks() {
        let tracked = blocks.borrow_mut().remove(&pointer.addr());
        assert!(tracked.is_some(), "pointer not tracked: freed twice, or not allocated by loom");
        drop(tracked.map(ManuallyDrop::into_inner));
    }
    // SAFETY: the caller's promise.
    unsafe { std::alloc::dealloc(pointer, layout) };
}

/// A value that is reported as a leak unless it is dropped.
#[derive(Debug)]
pub struct Track<T> {
    value: T,
    _tracked: Tracked,
}

impl<T> Track<T> {
    /// Tracks a value.
    #[track_caller]
    pub fn new(value: T) -> Track<T> {
        Track { value, _tracked: Tracked::new() }
    }

    /// The value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// The value, to be changed.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// The value, no longer tracked.
    pub fn into_inner(self) -> T {
        self.value
    }
}
