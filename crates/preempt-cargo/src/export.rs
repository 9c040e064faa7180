//! Failing schedules beside the crate: what `--export` writes is executed first from then on.
//!
//! One file per test, in the folder `preempt-schedules` of its package, to be committed with the crate. A
//! schedule counts operations, so it belongs to the program that it was found in: if the program has
//! changed so much that it cannot be followed, the search simply begins without it.

use std::io;
use std::path::{Path, PathBuf};

const FOLDER: &str = "preempt-schedules";

/// The file of a test.
pub fn path(package: &Path, program: &str, test: &str) -> PathBuf {
    let name: String = format!("{program}--{test}")
        .chars()
        .map(|c| if c.is_alphanumeric() || "-_".contains(c) { c } else { '.' })
        .collect();
    package.join(FOLDER).join(format!("{name}.schedule"))
}

/// The schedule that was kept for a test.
pub fn read(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let mut lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    lines.find(|line| !line.is_empty()).map(str::to_string)
}

/// Keeps a schedule.
pub fn write(path: &Path, test: &str, message: &str, schedule: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let message = message.replace('\n', " ");
    let text = format!(
        "# {test}: {message}\n# `cargo preempt test` executes this schedule first. Delete the file to forget it.\n{schedule}\n"
    );
    std::fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tests_become_names_of_files() {
        let path = path(Path::new("/p"), "queue", "tests::a/b");
        assert_eq!(path, Path::new("/p/preempt-schedules/queue--tests..a.b.schedule"));
    }
}
