//! The folder of a search in files: a file for every run that is too large for memory, and how much was written in all.

use crate::run::{Combine, Merge, Run, RunWriter};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tempfile::TempDir;

/// A folder that is gone with the search.
pub(crate) struct Folder {
    folder: TempDir,
    /// Names given so far.
    names: u64,
    /// Bytes of a run that stays in memory.
    pub(crate) kept: usize,
    /// Files made so far.
    pub(crate) files: u64,
    /// Bytes written.
    pub(crate) written: u64,
}

impl Folder {
    /// A new one inside this one. Runs of up to `kept` bytes stay in memory.
    pub(crate) fn inside(folder: &Path, kept: usize) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let folder = tempfile::Builder::new().prefix("preempt-").tempdir_in(folder)?;
        Ok(Folder { folder, names: 0, kept, files: 0, written: 0 })
    }

    fn name(&mut self) -> PathBuf {
        self.names += 1;
        self.folder.path().join(format!("run-{}", self.names))
    }

    /// A file to write to and read from.
    pub(crate) fn file(&mut self) -> io::Result<File> {
        self.files += 1;
        File::options().read(true).write(true).create_new(true).open(self.name())
    }

    /// Begins a run.
    pub(crate) fn run(&mut self) -> RunWriter {
        let name = self.name();
        RunWriter::new(name, self.kept)
    }

    /// Ends a run.
    pub(crate) fn finish(&mut self, writer: RunWriter) -> io::Result<Rc<Run>> {
        let run = writer.finish()?;
        if !run.is_in_memory() {
            self.files += 1;
            self.written += run.bytes;
        }
        Ok(run)
    }

    /// One run of several.
    pub(crate) fn merge(&mut self, runs: &[Rc<Run>], combine: Combine) -> io::Result<Rc<Run>> {
        let mut writer = self.run();
        let mut merge = Merge::new(runs, combine)?;
        while let Some((hash, state, note)) = merge.next()? {
            writer.push(hash, state, note)?;
        }
        self.finish(writer)
    }
}
