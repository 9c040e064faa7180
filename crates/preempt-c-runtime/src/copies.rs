//! Copies of this process that help the search: workers and the companion that samples.
//!
//! A copy begins with the search's heap, which it shares until it has made one of its own; the search waits for that.

use crate::backend::Backend;
use crate::runtime::Runtime;
use crate::switch::{Wanted, ask_for_copy};
use crate::{heap, kernel, raw};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Makes a copy and waits until it has its own heap, which it says by `ready`. Returns its process.
pub(crate) fn make_copy(runtime: &mut Runtime, kind: Wanted, ready: &AtomicU32) -> isize {
    ready.store(0, Ordering::Relaxed);
    let process = ask_for_copy(runtime, kind);
    while ready.load(Ordering::Acquire) == 0 {
        if raw::has_ended(process) {
            raw::refuse("preempt: the system gives no process\n");
        }
        raw::futex_wait_for(ready.as_ptr(), 0, Duration::from_millis(100));
    }
    process
}

/// A new copy, on the launcher's stack: takes its own heap, and ends with the search.
pub(crate) fn begin_copy(runtime: *mut Runtime, ready: &AtomicU32) {
    heap::separate();
    raw::end_with_parent();
    // SAFETY: the runtime is in the heap, at the same address; nothing else uses it.
    let (backend, patience) =
        unsafe { ((*runtime).backend, (*runtime).options.seconds_of_patience()) };
    if backend == Backend::Restart {
        kernel::watch_this_process(patience);
    }
    ready.store(1, Ordering::Release);
    raw::futex_wake(ready.as_ptr());
}
