//! A panic count per coroutine.
//!
//! std counts the panics in flight per operating system thread. All threads of a test share one, so
//! while one of them unwinds and waits in a destructor, `std::thread::panicking()` would be true for
//! the others: locks that they release would not be poisoned, and code that looks would be misled.
//! And a coroutine that is abandoned while it unwinds would leave its count behind for good, so that
//! every later execution would seem to unwind.
//!
//! Therefore the count is exchanged whenever the processor changes hands. std has no function for
//! that; the counter is a thread-local word whose place is found out by experiment: panics are thrown
//! and caught on a thread of its own, and exactly one word of its thread-local memory must have been
//! 0, 1, 2, 1, 0 at the right moments, twice. If no word qualifies (another std, another platform), the
//! count stays where it is, and a runtime that has abandoned an unwinding thread is not used again.

/// Sets the panic count of this operating system thread; returns what it was. Both are 0 where
/// the counter is not known.
#[inline]
pub(super) fn exchange(count: usize) -> usize {
    counter::here().map_or(0, |counter| counter.replace(count))
}

/// Whether the count of this operating system thread can be exchanged.
pub(super) fn is_exchangeable() -> bool {
    counter::here().is_some()
}

#[cfg(target_os = "linux")]
mod counter {
    use super::super::foreign;
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::OnceLock;

    /// Position of the counter: which module's thread-local memory, and which word of it.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Position {
        module: usize,
        word: usize,
    }

    thread_local! {
        static COUNTER: Cell<Option<*const Cell<usize>>> = const { Cell::new(None) };
    }

    /// The counter of this operating system thread.
    #[inline]
    pub(super) fn here() -> Option<&'static Cell<usize>> {
        let known = match COUNTER.get() {
            Some(known) => known,
            None => find(),
        };
        // SAFETY: null, or an aligned word in the thread-local memory of this thread, which only
        // this thread uses and which lives as long as it. The reference is used at once.
        unsafe { known.as_ref() }
    }

    #[cold]
    fn find() -> *const Cell<usize> {
        static POSITION: OnceLock<Option<Position>> = OnceLock::new();
        let search = || foreign::unmarked(|| std::thread::spawn(experiment).join().ok().flatten());
        let counter = POSITION.get_or_init(search).map_or(std::ptr::null(), |position| {
            let memory = modules().get(position.module).copied();
            memory
                .filter(|(_, words)| position.word < *words)
                .map_or(std::ptr::null(), |(start, _)| start.wrapping_add(position.word))
        });
        COUNTER.set(Some(counter.cast()));
        counter.cast()
    }

    /// The thread-local memory of this thread: start and number of words, by module.
    fn modules() -> Vec<(*const usize, usize)> {
        unsafe extern "C" fn note(
            info: *mut libc::dl_phdr_info,
            size: usize,
            list: *mut libc::c_void,
        ) -> libc::c_int {
            // SAFETY: the C library passes a valid structure, and `list` is what is given below.
            let (info, list) = unsafe { (&*info, &mut *list.cast::<Vec<(*const usize, usize)>>()) };
            let complete = size >= size_of::<libc::dl_phdr_info>();
            let headers = match info.dlpi_phdr.is_null() {
                true => &[],
                // SAFETY: as many headers as the structure says.
                false => unsafe {
                    std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into())
                },
            };
            let words = headers
                .iter()
                .find(|header| header.p_type == libc::PT_TLS)
                .map_or(0, |header| header.p_memsz as usize / size_of::<usize>());
            let start = info.dlpi_tls_data.cast::<usize>().cast_const();
            let usable = complete && !start.is_null() && start.is_aligned();
            list.push((start, if usable { words } else { 0 }));
            0
        }
        let mut list: Vec<(*const usize, usize)> = Vec::new();
        // SAFETY: `note` has the required signature and `list` outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut list).cast()) };
        list
    }

    /// The words of thread-local memory that hold `count`.
    fn holding(count: usize) -> Vec<Position> {
        let mut found = Vec::new();
        for (module, (start, words)) in modules().into_iter().enumerate() {
            for word in 0..words {
                // SAFETY: within the thread-local memory of this thread, and aligned. Volatile,
                // because the compiler does not know of it.
                if unsafe { start.add(word).read_volatile() } == count {
                    found.push(Position { module, word });
                }
            }
        }
        found
    }

    /// Calls a closure while a panic is in flight.
    fn while_panicking<R>(work: impl FnOnce() -> R) -> Option<R> {
        struct OnDrop<F: FnMut()>(F);
        impl<F: FnMut()> Drop for OnDrop<F> {
            fn drop(&mut self) {
                (self.0)();
            }
        }
        let mut result = None;
        let mut work = Some(work);
        let _ = catch_unwind(AssertUnwindSafe(|| {
            let _run = OnDrop(|| result = work.take().map(|work| work()));
            resume_unwind(Box::new(()));
        }));
        result
    }

    /// The one word that behaves as the counter must.
    fn experiment() -> Option<Position> {
        let mut candidates = holding(0);
        for _ in 0..2 {
            let (one, two) = while_panicking(|| {
                let two = while_panicking(|| holding(2));
                (holding(1), two)
            })?;
            let two = two?;
            let zero = holding(0);
            candidates.retain(|position| {
                one.contains(position) && two.contains(position) && zero.contains(position)
            });
        }
        match candidates[..] {
            [position] => Some(position),
            _ => None,
        }
    }

    #[cfg(test)]
    mod tests {
        use crate::rt::unwinding::counter::*;

        #[test]
        fn the_counter_is_found_and_is_what_std_looks_at() {
            let counter = here().expect("a counter");
            assert!(!std::thread::panicking());
            let seen = while_panicking(|| {
                let count = counter.replace(0);
                let seen = (count, std::thread::panicking());
                counter.set(count);
                (seen, std::thread::panicking())
            });
            assert_eq!(seen, Some(((1, false), true)));
            assert_eq!(counter.get(), 0);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod counter {
    /// Not known here.
    pub(super) fn here() -> Option<&'static std::cell::Cell<usize>> {
        None
    }
}
