//! Steps are shown at lines of the test.
//!
//! Some operations are called by no code of the test, so that `#[track_caller]` leads to a line of ours or of std: a wake-up,
//! which std calls through a table of functions, or a lock inside of a future of ours. Such a step is shown at the last line of
//! the test that its thread came by: where the thread's step before it is, or else where the thread was spawned. Objects made
//! in such a place are not listed.

use preempt_explore::{Site, ThreadId};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};

/// Folders of sources that belong to no test, besides that of this crate.
static LIBRARIES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// The sources beside `file` belong to a library over this one, and not to tests.
pub(crate) fn belongs_to_library(file: &'static str) {
    let folder = folder(file);
    let mut libraries = LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner);
    if !libraries.contains(&folder) {
        libraries.push(folder);
    }
}

/// The folder of a file, with the separator behind it.
fn folder(file: &str) -> &str {
    &file[..file.rfind(['/', '\\']).map_or(0, |at| at + 1)]
}

/// Whether a file belongs to the test, and not to us or to std.
fn is_of_test(file: &str, libraries: &[&str]) -> bool {
    let std = file.starts_with("/rustc/") || file.contains("/lib/rustlib/src/rust/library/");
    let ours = |folder: &&str| file.strip_prefix(*folder).is_some_and(|rest| !rest.is_empty());
    !std && !libraries.iter().chain([&folder(file!())]).any(ours)
}

/// The lines of the test that the threads of an execution come by.
pub(crate) struct Places {
    libraries: Vec<&'static str>,
    /// By the number of the thread: the last one.
    last: FxHashMap<ThreadId, Site>,
}

impl Places {
    /// At the beginning, when threads are where they are spawned.
    pub(crate) fn new(spawned: FxHashMap<ThreadId, Site>) -> Self {
        let libraries = LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Places { libraries, last: spawned }
    }

    pub(crate) fn is_of_test(&self, site: Site) -> bool {
        is_of_test(site.file(), &self.libraries)
    }

    /// A thread comes to this place, which becomes one of the test.
    pub(crate) fn come_to(&mut self, thread: ThreadId, site: &mut Site) {
        if self.is_of_test(site) {
            self.last.insert(thread, *site);
        } else if let Some(&other) = self.last.get(&thread) {
            *site = other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_libraries_belong_to_no_test() {
        let ours = folder(file!());
        let libraries = ["/cache/preempt-loom-0.2.0/src/"];
        for file in [
            &format!("{ours}future.rs"),
            &format!("{ours}sync/mutex.rs"),
            "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/alloc/src/task.rs",
            "/toolchain/lib/rustlib/src/rust/library/alloc/src/task.rs",
            "/cache/preempt-loom-0.2.0/src/future.rs",
        ] {
            assert!(!is_of_test(file, &libraries), "{file}");
        }
        for file in ["src/lib.rs", "tests/future.rs", "/cache/preempt-loom-0.2.0/tests/a.rs"] {
            assert!(is_of_test(file, &libraries), "{file}");
        }
    }
}
