//! A program that is started by itself, without a search: whether it makes threads.
//!
//! A test that does what cannot be searched, such as asking another host, may be run once as it is if
//! it has one thread. The process that starts it so names a file, and finds it there if the test made
//! a thread.

use std::sync::atomic::{AtomicBool, Ordering};

/// Names the file.
const VARIABLE: &str = "PREEMPT_THREADS_FILE";

/// Leaves the file, at the first thread.
#[cold]
pub(crate) fn thread_is_made() {
    static KNOWN: AtomicBool = AtomicBool::new(false);
    if !KNOWN.swap(true, Ordering::Relaxed)
        && let Some(path) = std::env::var_os(VARIABLE)
        // The process that looks for the file counts a test that cannot write it as one that failed to say.
        && std::fs::write(path, b"1").is_err()
    {
        crate::raw::fail("preempt: that a thread is made cannot be told\n");
    }
}
