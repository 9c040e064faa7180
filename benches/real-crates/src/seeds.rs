//! Bugs put into published crates, and one that was published: each must be found by the crates' own
//! loom tests, through either tool.

use crate::catalogue::{CRATES, Crate};
use crate::workspace::{Tool, Workspace, copy_folder};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;

/// What is wrong with a crate.
pub(crate) enum Change {
    /// In this file, the first text is replaced by the second.
    Edit { file: &'static str, from: &'static str, to: &'static str },
    /// The sources are those of an earlier version; the tests are not.
    SourcesOf(&'static str),
}

/// One bug.
pub(crate) struct Seed {
    pub(crate) krate: &'static str,
    /// Part of the names of the tests that must find it.
    pub(crate) test: &'static str,
    pub(crate) what: &'static str,
    change: Change,
}

/// All of them.
pub(crate) const SEEDS: &[Seed] = &[
    Seed {
        krate: "parking",
        test: "",
        what: "unpark does not take the lock before it notifies: the wake-up is lost",
        change: Change::Edit {
            file: "src/lib.rs",
            from: "drop(self.lock.lock().unwrap());\n        self.cvar.notify_one();",
            to: "self.cvar.notify_one();",
        },
    },
    Seed {
        krate: "concurrent-queue",
        test: "spsc",
        what: "push marks a single slot as full before the value is written",
        change: Change::Edit {
            file: "src/single.rs",
            from: ".compare_exchange(0, LOCKED | PUSHED, Ordering::SeqCst, Ordering::SeqCst)",
            to: ".compare_exchange(0, PUSHED, Ordering::SeqCst, Ordering::SeqCst)",
        },
    },
    Seed {
        krate: "concurrent-queue",
        test: "spsc",
        what: "push unlocks a single slot without release",
        change: Change::Edit {
            file: "src/single.rs",
            from: "self.state.fetch_and(!LOCKED, Ordering::Release);\n            Ok(())",
            to: "self.state.fetch_and(!LOCKED, Ordering::Relaxed);\n            Ok(())",
        },
    },
    Seed {
        krate: "sharded-slab",
        test: "transfer_stack",
        what: "a slot is published to the stack of free slots without release",
        change: Change::Edit {
            file: "src/page/stack.rs",
            from: ".compare_exchange(next, new_head, Ordering::Release, Ordering::Relaxed)",
            to: ".compare_exchange(next, new_head, Ordering::Relaxed, Ordering::Relaxed)",
        },
    },
    Seed {
        krate: "oneshot",
        test: "poll_then_drop_receiver_during_send",
        what: "oneshot 0.1.10 as published: the receiver is dropped while the sender wakes it",
        change: Change::SourcesOf("0.1.10"),
    },
];

impl Seed {
    /// The crate of the catalogue.
    pub(crate) fn krate(&self) -> Result<&'static Crate> {
        let found = CRATES.iter().find(|krate| krate.name == self.krate);
        found.with_context(|| format!("no crate {} in the catalogue", self.krate))
    }

    /// Puts the bug into a copy of the crate.
    pub(crate) fn plant(&self, workspace: &Workspace, tool: Tool, folder: &Path) -> Result<()> {
        match &self.change {
            Change::Edit { file, from, to } => {
                let path = folder.join(file);
                let text = fs::read_to_string(&path)?;
                ensure!(text.contains(from), "{}: {file} has changed", self.krate);
                fs::write(path, text.replacen(from, to, 1))?;
            }
            Change::SourcesOf(version) => {
                fs::remove_dir_all(folder.join("src"))?;
                let source = workspace.published(self.krate, version)?.join("src");
                copy_folder(&source, &folder.join("src"))?;
            }
        }
        println!("{} with {}: {}", self.krate, tool.name(), self.what);
        Ok(())
    }
}
