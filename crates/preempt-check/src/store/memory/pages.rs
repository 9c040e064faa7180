//! Large zeroed arrays on huge pages.
//!
//! Tables are probed at random, so most of their cost is address translation: 2 MiB pages made a
//! search over 14 million states 1.15 to 1.4 times faster. And a page that is touched for the first
//! time costs an interrupt: the same memory in large pages takes a quarter of the time.

const HUGE_PAGE: usize = 2 << 20;
/// Allocators put a few bytes before a large block. With these it takes whole huge pages, and the
/// system lets it begin where one begins.
const BEFORE: usize = 64;
/// Lists of more bytes than this are expected to become much longer.
const LONG: usize = 1 << 18;
/// How much address space they are given. What is never touched takes no memory.
const ROOM: usize = 1 << 26;
/// Larger blocks come from the system, whatever was freed before: an allocator would clear those that it has kept, all at once.
const KEPT: usize = 34 << 20;
/// Memory is given back in pieces of about this size, so that so much may be in use beside what is counted.
pub(crate) const PIECE: usize = 2 * HUGE_PAGE;

/// A zeroed array of `length` items, on huge pages where the system grants them.
pub(crate) fn zeroed<T: Copy + Default>(length: usize) -> Vec<T> {
    // `vec!` of zeroes takes untouched pages from the operating system: nothing is written here.
    let asked_for = match length * size_of::<T>() {
        LONG..KEPT => KEPT / size_of::<T>(),
        _ => length,
    };
    let mut items = vec![T::default(); whole_pages::<T>(asked_for)];
    items.truncate(length);
    advise_huge_pages(&items);
    items
}

/// As [`zeroed`], for an array all of whose pages will be used at once: they are taken in one go.
pub(crate) fn zeroed_and_ready<T: Copy + Default>(length: usize) -> Vec<T> {
    let items = zeroed(length);
    #[cfg(target_os = "linux")]
    {
        const MANY: usize = 1 << 16;
        let start = (items.as_ptr() as usize).next_multiple_of(4096);
        let end = (items.as_ptr() as usize + std::mem::size_of_val(items.as_slice())) & !4095;
        if start + MANY <= end {
            // SAFETY: the range lies inside `items`. Its pages are made present with the content they
            // have; systems that do not know this advice ignore it.
            unsafe {
                let start = start as *mut libc::c_void;
                libc::madvise(start, end - start as usize, libc::MADV_POPULATE_WRITE);
            }
        }
    }
    items
}

/// At least so many items: as many as there is room for in huge pages, if there are many.
fn whole_pages<T>(length: usize) -> usize {
    match length * size_of::<T>() + BEFORE {
        0..HUGE_PAGE => length,
        bytes => (bytes.next_multiple_of(HUGE_PAGE) - BEFORE) / size_of::<T>(),
    }
}

/// Makes room for `more` items. A list that has become long gets so much that it is seldom moved, and
/// huge pages for it.
#[inline(always)]
pub(crate) fn make_room<T>(items: &mut Vec<T>, more: usize) {
    if items.capacity() - items.len() < more {
        extend(items, more);
    }
}

/// As [`Vec::push`], with [`make_room`].
#[inline(always)]
pub(crate) fn push<T>(items: &mut Vec<T>, item: T) {
    make_room(items, 1);
    items.push(item);
}

#[cold]
#[inline(never)]
fn extend<T>(items: &mut Vec<T>, more: usize) {
    let needed = (items.len() + more) * size_of::<T>();
    if needed >= LONG {
        let length = whole_pages::<T>((needed * 2).max(ROOM) / size_of::<T>());
        if needed >= ROOM {
            // Its pages are moved, not its content.
            let _ = items.try_reserve_exact(length - items.len());
        } else {
            let mut longer = Vec::new();
            if longer.try_reserve_exact(length).is_ok() {
                advise_huge_pages(longer.spare_capacity_mut());
                longer.append(items);
                *items = longer;
            }
        }
    }
    items.reserve(more);
}

/// Types whose values may be read where all bits are zero.
pub(crate) trait Zero: Copy {}
impl Zero for u32 {}
impl Zero for u64 {}

/// Gives the memory of the first `end` items back to the system, as far as it makes whole huge pages: they read as zeroes then.
/// That was done for `released` bytes before; says for how many it is now.
pub(crate) fn release<T: Zero>(items: &mut [T], released: usize, end: usize) -> usize {
    #[cfg(target_os = "linux")]
    {
        let base = items.as_mut_ptr() as usize;
        let start = (base + released).next_multiple_of(HUGE_PAGE);
        let end = (base + end.min(items.len()) * size_of::<T>()) & !(HUGE_PAGE - 1);
        if start < end {
            // SAFETY: the range lies inside `items`, which no other thread can see, and zeroes are values of its type. Should the
            // system refuse, nothing has changed.
            let done = unsafe {
                libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED)
            };
            if done == 0 {
                return end - base;
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (items, end);
    released
}

#[cfg(target_os = "linux")]
fn advise_huge_pages<T>(items: &[T]) {
    let start = items.as_ptr() as usize;
    let end = start + std::mem::size_of_val(items);
    // A huge page for a short end would be more work than it saves.
    let tail = end % HUGE_PAGE;
    let end = if tail < HUGE_PAGE / 4 { end - tail } else { end.next_multiple_of(4096) };
    let start = start & !4095;
    if start + HUGE_PAGE <= end {
        let first = start as *mut libc::c_void;
        // SAFETY: such advice changes no content, whatever lies in these pages. The allocator has
        // written to the first one, so that the system must be told to make it part of a huge one;
        // systems that do not know this advice ignore it.
        unsafe {
            libc::madvise(first, end - start, libc::MADV_HUGEPAGE);
            if start.is_multiple_of(HUGE_PAGE) {
                libc::madvise(first, HUGE_PAGE, libc::MADV_COLLAPSE);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn advise_huge_pages<T>(_items: &[T]) {}

/// Asks the processor to fetch the cache line of `items[at]`, if there is one.
#[inline(always)]
pub(crate) fn prefetch<T>(items: &[T], at: usize) {
    if at < items.len() {
        fetch(items.as_ptr().wrapping_add(at));
    }
}

/// Asks the processor to fetch the cache line at an address, whatever is there.
#[inline(always)]
pub(crate) fn fetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing and never faults.
        unsafe { _mm_prefetch(address.cast(), _MM_HINT_T0) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// As [`fetch`], for a cache line that will be written to: other cores let go of it now.
#[inline(always)]
pub(crate) fn fetch_to_write<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch writes nothing and never faults; processors that do not know this one ignore
    // it.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Copies in pieces that overlap at the end: for short lists a call to the library costs more than it
/// saves. Both must have the same length.
#[inline(always)]
pub(crate) fn copy(to: &mut [u8], from: &[u8]) {
    const PIECE: usize = 16;
    let length = from.len();
    if !(PIECE..=512).contains(&length) {
        to.copy_from_slice(from);
        return;
    }
    assert_eq!(to.len(), length);
    let last = length - PIECE;
    for (to, from) in to.as_chunks_mut::<PIECE>().0.iter_mut().zip(from.as_chunks::<PIECE>().0) {
        *to = *from;
    }
    to[last..].copy_from_slice(&from[last..]);
}
