//! Small crates, written into a folder for the time of a test, and `preempt cargo` on them.

#![allow(dead_code, reason = "each test program uses a part of it")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A crate that is gone at the end.
pub(crate) struct Crate {
    folder: tempfile::TempDir,
}

/// What a command came to.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ended {
            code: output.status.code().unwrap_or(-1),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// The JSON object of each test, by its name.
    pub(crate) fn tests(&self) -> Vec<(String, Value)> {
        let read = |line: &str| {
            let value: Value = serde_json::from_str(line).expect(line);
            (value["test"].as_str().unwrap_or_default().to_string(), value)
        };
        self.stdout.lines().map(read).collect()
    }

    /// The JSON object of the test of this name.
    pub(crate) fn test(&self, name: &str) -> Value {
        let found = self.tests().into_iter().find(|(test, _)| test == name);
        found.unwrap_or_else(|| panic!("no {name} in {}\n{}", self.stdout, self.stderr)).1
    }
}

impl Crate {
    /// A crate with these files; the manifest gets a package and a workspace of its own.
    pub(crate) fn new(manifest: &str, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let own = Crate { folder };
        let package = "[package]\nname = \"subject\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
        let package = if manifest.contains("[package]") { "" } else { package };
        let workspace = if manifest.contains("[workspace]") { "" } else { "\n[workspace]\n" };
        own.write("Cargo.toml", &format!("{package}{manifest}{workspace}"));
        for (name, text) in files {
            own.write(name, text);
        }
        own
    }

    /// A library with this text.
    pub(crate) fn library(text: &str) -> Self {
        Crate::new("", &[("src/lib.rs", text)])
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `preempt cargo` with these words, in the folder of the crate.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_preempt"));
        command.arg("cargo").args(words).current_dir(self.folder.path());
        // What the surrounding test was built with is not the crate's.
        for variable in
            ["CARGO_TARGET_DIR", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER"]
        {
            command.env_remove(variable);
        }
        command.env("PREEMPT_RUNTIME_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("runtime"));
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ended {
        Ended::of(&self.command(words).output().expect("preempt runs"))
    }
}
