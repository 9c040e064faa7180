//! In front of what cargo has built: how cargo would start it.
//!
//! `cargo test` and `cargo run` start programs in a certain folder with variables of their own
//! (`CARGO_MANIFEST_DIR`, search paths of libraries, `[env]` of the configuration). Cargo is
//! asked to run everything with this program in front, which only writes that down.

use crate::variables;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// A program as cargo would start it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The program.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder it is started in.
    pub folder: PathBuf,
    /// Its whole environment.
    pub variables: Vec<(OsString, OsString)>,
    /// Whether it is run as a test.
    pub is_test: bool,
}

impl Program {
    fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The package that it belongs to, if cargo said so.
    pub fn package(&self) -> Option<String> {
        self.variable("CARGO_PKG_NAME").map(|name| name.to_string_lossy().into_owned())
    }

    /// Where pages of failing executions are kept: in `preempt` of the target folder, in which it was built.
    pub fn pages(&self) -> PathBuf {
        let inside = |path: &&Path| path.ends_with("preempt") && path.parent().is_some();
        let built = self.path.ancestors().find(inside).map(Path::to_path_buf);
        built.unwrap_or_else(|| self.package_folder().join("target").join("preempt"))
    }

    /// The folder of that package.
    pub fn package_folder(&self) -> PathBuf {
        self.variable("CARGO_MANIFEST_DIR").map_or_else(|| self.folder.clone(), PathBuf::from)
    }

    /// The program that this process was asked to start.
    pub(crate) fn here(words: &[OsString]) -> Option<Program> {
        let (path, arguments) = words.split_first()?;
        let ours =
            |(name, _): &(OsString, OsString)| !variables::ALL.iter().any(|role| name == role);
        let folder = std::env::current_dir().ok()?;
        Some(Program {
            path: folder.join(path),
            arguments: arguments.to_vec(),
            folder,
            variables: std::env::vars_os().filter(ours).collect(),
            is_test: false,
        })
    }

    /// Words that end with zero bytes, which none of them can contain.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut add = |word: &OsStr| {
            bytes.extend_from_slice(word.as_encoded_bytes());
            bytes.push(0);
        };
        add(self.path.as_os_str());
        add(self.folder.as_os_str());
        add(OsStr::new(&self.arguments.len().to_string()));
        self.arguments.iter().for_each(|word| add(word));
        for (name, value) in &self.variables {
            add(name);
            add(value);
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Program> {
        let bytes = bytes.strip_suffix(&[0])?;
        let mut words = bytes.split(|&byte| byte == 0).map(word_of);
        let (path, folder) = (PathBuf::from(words.next()?), PathBuf::from(words.next()?));
        let count: usize = words.next()?.to_str()?.parse().ok()?;
        let arguments: Vec<OsString> = words.by_ref().take(count).collect();
        let rest: Vec<OsString> = words.collect();
        let pairs = rest.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
        Some(Program { path, arguments, folder, variables: pairs.collect(), is_test: false })
    }
}

#[cfg(unix)]
fn word_of(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    OsString::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
fn word_of(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// Writes down what this process was asked to run: its exit code.
pub(crate) fn record(words: &[OsString]) -> u8 {
    let folder = std::env::var_os(variables::RECORDS).map(PathBuf::from).unwrap_or_default();
    let written = || {
        let program = Program::here(words)?;
        // Cargo runs one program at a time.
        let number = std::fs::read_dir(&folder).ok()?.count();
        std::fs::write(folder.join(format!("{number:06}")), program.to_bytes()).ok()
    };
    if written().is_some() { 0 } else { 1 }
}

/// Everything that was recorded, in the order of recording.
pub(crate) fn recorded(folder: &Path) -> io::Result<Vec<Program>> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.sort();
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "a record is damaged");
    files.iter().map(|file| Program::from_bytes(&std::fs::read(file)?).ok_or_else(bad)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let program = Program {
            path: "/a b/c".into(),
            arguments: vec!["--x".into(), OsString::new(), "\n".into()],
            folder: "/".into(),
            variables: vec![("A".into(), "=\n".into()), ("B".into(), OsString::new())],
            is_test: false,
        };
        assert_eq!(Program::from_bytes(&program.to_bytes()), Some(program));
        assert_eq!(Program::from_bytes(b""), None);
    }
}
