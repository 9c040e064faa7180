//! How a bug is put into a published crate. Which bugs there are is in `seed_table.rs`.

use crate::catalogue::{CRATES, Crate, FURTHER};
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
    pub(crate) change: Change,
}

impl Seed {
    /// The crate of the catalogue.
    pub(crate) fn krate(&self) -> Result<&'static Crate> {
        let found = CRATES.iter().chain(FURTHER).find(|krate| krate.label() == self.krate);
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
