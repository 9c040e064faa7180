//! What stands on the command line, and since when.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// Which options stand on the command line, as opposed to those that have their default value, and
/// when the command began: a time limit is for all of it.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(super) options: BTreeSet<String>,
    /// The command line, without the program's name.
    pub(crate) words: Vec<OsString>,
    pub(super) start: Instant,
    /// The options were not typed but stand for those of another tool: one that a property has no use for is
    /// noted in its report and not refused.
    pub(crate) translated: bool,
}

impl Default for Given {
    fn default() -> Self {
        Given {
            options: BTreeSet::new(),
            words: Vec::new(),
            start: Instant::now(),
            translated: false,
        }
    }
}

impl Given {
    /// Whether the option of this field was given.
    pub(crate) fn has(&self, field: &str) -> bool {
        self.options.contains(field)
    }

    /// The fields of all options that were given.
    pub(crate) fn options(&self) -> impl Iterator<Item = &str> {
        self.options.iter().map(String::as_str)
    }

    /// How long the command has been running.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}
