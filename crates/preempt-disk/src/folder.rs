//! The folder of a search in files: a file for every run, and how much was written in all.

use crate::run::{Combine, Merge, Run, RunWriter};
use std::io;
use std::path::Path;
use std::rc::Rc;
use tempfile::TempDir;

/// A folder that is gone with the search.
pub(crate) struct Folder {
    folder: TempDir,
    /// Files made so far.
    files: u64,
    /// Bytes written.
    pub(crate) written: u64,
}

impl Folder {
    /// A new one inside this one.
    pub(crate) fn inside(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let folder = tempfile::Builder::new().prefix("preempt-").tempdir_in(folder)?;
        Ok(Folder { folder, files: 0, written: 0 })
    }

    /// Begins a run. One that is temporary is removed once nobody uses it.
    pub(crate) fn file(&mut self, temporary: bool) -> io::Result<RunWriter> {
        self.files += 1;
        RunWriter::create(&self.folder.path().join(format!("run-{}", self.files)), temporary)
    }

    /// Ends a run.
    pub(crate) fn finish(&mut self, writer: RunWriter) -> io::Result<Rc<Run>> {
        let run = writer.finish()?;
        self.written += run.bytes;
        Ok(run)
    }

    /// One run of several.
    pub(crate) fn merge(&mut self, runs: &[Rc<Run>], combine: Combine) -> io::Result<Rc<Run>> {
        let mut writer = self.file(true)?;
        let mut merge = Merge::new(runs, combine)?;
        while let Some((hash, state, note)) = merge.next()? {
            writer.push(hash, state, note)?;
        }
        self.finish(writer)
    }
}
