//! Where models to check are.

use std::path::{Path, PathBuf};

/// Models of this repository.
pub(crate) fn ours() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

/// Spin's examples, if they are installed.
pub(crate) fn spins() -> &'static Path {
    Path::new("/usr/share/doc/spin/examples")
}

/// All models in a folder and below it.
pub(crate) fn models_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => models_below(&path, found),
            path if path.extension().is_some_and(|end| end == "pml") => found.push(path),
            _ => {}
        }
    }
    found.sort();
}
