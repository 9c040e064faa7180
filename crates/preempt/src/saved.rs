//! Failing schedules, kept in `target/preempt/` and tried first next time, and their pages.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Saves a schedule. A failure to write does not fail the test.
pub(crate) fn save(name: &str, schedule: &str) {
    let Some(path) = path(name) else { return };
    if let Some(folder) = path.parent() {
        let _ = std::fs::create_dir_all(folder);
    }
    let _ = std::fs::write(path, schedule);
}

/// Keeps the page of a failure; returns where.
pub(crate) fn save_page(name: &str, page: &str) -> Option<PathBuf> {
    let path = path(name)?.with_extension("html");
    std::fs::create_dir_all(path.parent()?).ok()?;
    std::fs::write(&path, page).ok()?;
    Some(path)
}

/// Appends a line to a file that several tests may write to. Failure to write is reported, but is
/// no failure of the test.
pub(crate) fn append(path: &Path, line: &str) {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    if let Err(error) = written {
        eprintln!("preempt: cannot write to {}: {error}", path.display());
    }
}

/// The schedule kept for a test.
pub(crate) fn load(name: &str) -> Option<String> {
    std::fs::read_to_string(path(name)?).ok()
}

/// Removes the schedule of a test that no longer fails.
pub(crate) fn forget(name: &str) {
    if let Some(path) = path(name) {
        let _ = std::fs::remove_file(path.with_extension("html"));
        let _ = std::fs::remove_file(path);
    }
}

fn path(name: &str) -> Option<PathBuf> {
    let file: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    Some(target_folder()?.join("preempt").join(format!("{file}.schedule")))
}

/// The folder that cargo builds into: test executables are in `target/<profile>/deps`.
fn target_folder() -> Option<PathBuf> {
    let executable = std::env::current_exe().ok()?;
    let folder = executable.parent()?;
    let is_deps = folder.file_name().is_some_and(|name| name == "deps");
    let profile = if is_deps { folder.parent()? } else { folder };
    profile.parent().map(Path::to_path_buf)
}
