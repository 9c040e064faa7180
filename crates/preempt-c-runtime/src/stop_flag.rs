//! The flag that asks the search to end with what it has; a signal sets it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// What the signal sets.
static STOPPED: AtomicPtr<AtomicBool> = AtomicPtr::new(std::ptr::null_mut());

/// A flag that is set when the search is asked to end.
pub(crate) fn stop_flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    // Never freed: the signal may come at any time.
    STOPPED.store(Arc::into_raw(flag.clone()).cast_mut(), Ordering::Release);
    flag
}

/// The search is asked to end.
pub(crate) fn stop() {
    // SAFETY: null or a flag that is never freed.
    if let Some(flag) = unsafe { STOPPED.load(Ordering::Acquire).as_ref() } {
        flag.store(true, Ordering::Relaxed);
    }
}
