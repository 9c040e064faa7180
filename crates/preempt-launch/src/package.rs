//! A Rust package: its folder, and the tests that its files have.

use crate::tests::{Language, Test, tests};
use std::path::{Path, PathBuf};

/// More and larger files are not read.
const MOST_FILES: usize = 2_000;
const LARGEST_FILE: u64 = 4 << 20;

/// A folder with a `Cargo.toml`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Package {
    /// The folder.
    pub folder: PathBuf,
}

impl Package {
    /// The package that a file or a folder belongs to.
    pub fn of(path: &Path) -> Option<Self> {
        let path = std::path::absolute(path).ok()?;
        let folder = path.ancestors().find(|folder| folder.join("Cargo.toml").is_file())?;
        Some(Package { folder: folder.to_path_buf() })
    }

    /// Its Rust files that have tests, with their texts, in the order of their names.
    pub fn files(&self) -> Vec<(PathBuf, String, Vec<Test>)> {
        let mut paths = Vec::new();
        for folder in ["src", "tests"] {
            collect(&self.folder.join(folder), &mut paths);
        }
        paths.sort();
        let read = |path: PathBuf| {
            let is_small = std::fs::metadata(&path).is_ok_and(|data| data.len() <= LARGEST_FILE);
            let text = is_small.then(|| std::fs::read_to_string(&path).ok()).flatten()?;
            let found = tests(Language::Rust, &text);
            (!found.is_empty()).then_some((path, text, found))
        };
        paths.into_iter().filter_map(read).collect()
    }

    /// The module that a file is, and the options by which cargo builds no more than its tests.
    pub(crate) fn module(&self, file: &Path) -> (String, Vec<String>) {
        let inside = file.strip_prefix(&self.folder).unwrap_or(file).with_extension("");
        let parts: Vec<String> =
            inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let module = |parts: &[String]| {
            let is_root = |part: &&String| !["lib", "main", "mod"].contains(&part.as_str());
            parts.iter().filter(is_root).map(|part| format!("{part}::")).collect::<String>()
        };
        match parts.split_first() {
            Some((first, rest)) if first == "tests" && !rest.is_empty() => {
                (module(&rest[1..]), vec!["--test".into(), rest[0].clone()])
            }
            Some((_, rest)) => (module(rest), Vec::new()),
            None => (String::new(), Vec::new()),
        }
    }
}

/// The Rust files of a folder and the folders in it; links are not followed.
fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if into.len() >= MOST_FILES {
            return;
        }
        if kind.is_dir() {
            collect(&entry.path(), into);
        } else if kind.is_file() && Language::of(&entry.path()) == Some(Language::Rust) {
            into.push(entry.path());
        }
    }
}

#[cfg(test)]
mod modules {
    use super::*;

    #[test]
    fn files_are_modules() {
        let package = Package { folder: "/p".into() };
        for (file, module, options) in [
            ("/p/src/lib.rs", "", &[][..]),
            ("/p/src/queue/mod.rs", "queue::", &[]),
            ("/p/src/queue/inner.rs", "queue::inner::", &[]),
            ("/p/tests/all.rs", "", &["--test", "all"]),
            ("/p/tests/all/main.rs", "", &["--test", "all"]),
            ("/p/tests/all/one.rs", "one::", &["--test", "all"]),
        ] {
            let (found, words) = package.module(Path::new(file));
            assert_eq!(
                (found.as_str(), words),
                (module, options.iter().map(|o| o.to_string()).collect())
            );
        }
    }
}
