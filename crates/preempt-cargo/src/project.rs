//! Building a crate's tests or programs by its own cargo, into a folder of their own.
//!
//! Programs that are instrumented differently never share a folder: cargo does not know of the wrapper, and
//! would take one for the other. A mark in the folder says for which toolchain and harness it was
//! filled; if that changes, it is filled again.

use crate::recorder::{Program, recorded};
use crate::toolchain::{TARGET, Toolchain};
use crate::variables;
use crate::words::{Kind, Line};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Which accesses are marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Races {
    /// All: data races are found.
    On,
    /// Atomic ones, by stable options of the compiler alone.
    Off,
}

/// Why nothing could be built.
#[derive(Debug)]
pub enum Failure {
    /// Cargo has said it.
    Said,
    /// One sentence.
    Sentence(String),
}

/// A crate or workspace.
pub struct Project {
    line: Line,
    toolchain: Toolchain,
    races: Races,
    /// The folder of the workspace.
    pub root: PathBuf,
    /// The target folder of this command.
    target: PathBuf,
}

/// What was built.
pub struct Built {
    /// The programs, as cargo would start them.
    pub programs: Vec<Program>,
    /// Libraries in other languages that are linked.
    pub foreign: Vec<String>,
    /// Sentences worth saying.
    pub notes: Vec<String>,
}

impl Project {
    /// Finds the crate of a command line.
    pub fn find(line: Line, toolchain: Toolchain, races: Races) -> Result<Project, Failure> {
        let mut words: Vec<OsString> =
            ["metadata", "--no-deps", "--format-version=1"].map(Into::into).into();
        if let Some(manifest) = &line.manifest {
            words.extend(["--manifest-path".into(), manifest.into()]);
        }
        let output = toolchain
            .cargo(&words)
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| Failure::Sentence(format!("cannot start cargo: {error}")))?;
        if !output.status.success() {
            return Err(Failure::Said);
        }
        let known: serde_json::Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| Failure::Sentence(format!("cargo metadata: {error}")))?;
        let path = |key: &str| known[key].as_str().map(PathBuf::from).unwrap_or_default();
        let folder = line.target_folder.clone().unwrap_or_else(|| path("target_directory"));
        let mode = match races {
            Races::On => "races",
            Races::Off => "atomics",
        };
        let target = folder.join("preempt").join(mode);
        Ok(Project { root: path("workspace_root"), line, toolchain, races, target })
    }

    /// Builds, with what cargo says on standard error.
    pub fn build(&self, quiet: bool) -> Result<Built, Failure> {
        let runtime = self.prepare()?;
        let mut build = self.cargo(&runtime, quiet);
        if self.line.kind == Kind::Test {
            build.arg("--no-run");
        }
        let status = build
            .stdout(Stdio::null())
            .status()
            .map_err(|error| Failure::Sentence(format!("cannot start cargo: {error}")))?;
        if !status.success() {
            return Err(Failure::Said);
        }
        if self.line.kind == Kind::Test && !self.line.only_build {
            self.record(&runtime)?;
        }
        let mut programs = recorded(&self.records())
            .map_err(|error| Failure::Sentence(format!("cannot record programs: {error}")))?;
        let _ = std::fs::remove_dir_all(self.records());
        for program in &mut programs {
            program.is_test = self.line.kind == Kind::Test;
        }
        Ok(Built {
            programs,
            foreign: foreign(&self.target.join("foreign")),
            notes: notes(&self.root),
        })
    }

    /// The folders that a build needs; that of the runtime.
    fn prepare(&self) -> Result<PathBuf, Failure> {
        let runtime = preempt_run::runtime::folder().map_err(|error| {
            Failure::Sentence(format!("the runtime cannot be unpacked: {error}"))
        })?;
        self.prepare_folder().map_err(|error| {
            Failure::Sentence(format!("{} cannot be used: {error}", self.target.display()))
        })?;
        Ok(runtime)
    }

    /// Cargo with the user's options and ours.
    fn cargo(&self, runtime: &Path, quiet: bool) -> Command {
        let words = match self.line.kind {
            Kind::Test => &["test"][..],
            // It cannot build only; but the recorder stands in front of the program, and runs nothing.
            Kind::Run => &["run"],
            Kind::Nextest => &["nextest", "run"],
        };
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        let mut command = self.toolchain.cargo(&words);
        command.args(&self.line.cargo).args(["--target", TARGET]);
        command.arg("--target-dir").arg(&self.target);
        if quiet && !self.line.cargo.iter().any(|word| word == "-q" || word == "--quiet") {
            command.arg("--quiet");
        }
        let own = std::env::current_exe().unwrap_or_default();
        let wrappers = ["RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER"];
        let inner = wrappers.iter().find_map(std::env::var_os).unwrap_or_default();
        command
            .env("RUSTC_WRAPPER", &own)
            .env(variables::ROLE, "rustc")
            .env(variables::INNER, inner)
            .env(variables::INSTRUMENT, if self.races == Races::On { "all" } else { "atomics" })
            .env(variables::PARTS, &self.toolchain.parts)
            .env(variables::RUNTIME, runtime)
            .env(variables::FOREIGN, self.target.join("foreign"))
            .env(variables::RECORDS, self.records());
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let in_front = match self.line.kind {
            Kind::Test | Kind::Run => &[variables::RECORD][..],
            Kind::Nextest => &variables::NEXTEST,
        };
        let own = own.to_string_lossy();
        let words: Vec<String> =
            std::iter::once(&*own).chain(in_front.iter().copied()).map(quoted).collect();
        let words = words.join(",");
        command.arg("--config").arg(format!("target.{TARGET}.runner=[{words}]"));
        command
    }

    /// Lets nextest build the tests and start them, each with this program in front, which searches it as `own` says. Its
    /// exit code.
    pub fn nextest(&self, own: &[OsString]) -> Result<u8, Failure> {
        let runtime = self.prepare()?;
        let mut command = self.cargo(&runtime, false);
        let status = command
            .env(variables::OPTIONS, own.join(OsStr::new(variables::SEPARATOR)))
            .status()
            .map_err(|error| Failure::Sentence(format!("cannot start cargo: {error}")))?;
        let _ = std::fs::remove_dir_all(self.records());
        Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }

    /// Lets cargo start the tests, which are built, with the recorder in front.
    fn record(&self, runtime: &Path) -> Result<(), Failure> {
        let mut command = self.cargo(runtime, true);
        if !self.line.selects {
            // What `cargo test` runs, but for documentation; it builds examples, too.
            command.arg("--tests");
        }
        let output = command
            .arg("--no-fail-fast")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Failure::Sentence(format!("cannot start cargo: {error}")))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let last = text.lines().rev().find(|line| !line.trim().is_empty());
            let message = format!("cargo did not start the tests: {}", last.unwrap_or_default());
            return Err(Failure::Sentence(message));
        }
        Ok(())
    }

    /// This command's own: another one may use the same target folder.
    fn records(&self) -> PathBuf {
        self.target.join(format!("records-{}", std::process::id()))
    }

    /// Empties a folder that was filled for another toolchain or harness.
    fn prepare_folder(&self) -> io::Result<()> {
        let mark = self.target.join("preempt-toolchain");
        let text = format!("{:016x}", self.toolchain.fingerprint);
        if self.target.exists() && std::fs::read_to_string(&mark).ok().as_deref() != Some(&text) {
            std::fs::remove_dir_all(&self.target)?;
        }
        let _ = std::fs::remove_dir_all(self.records());
        std::fs::create_dir_all(self.records())?;
        std::fs::write(mark, text)
    }
}

/// The libraries in other languages that are named in this file.
pub(crate) fn foreign(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    lines.sort();
    lines.dedup();
    lines
}

/// What of the user's configuration is not followed.
fn notes(root: &Path) -> Vec<String> {
    let mut folders: Vec<PathBuf> = root.ancestors().map(|folder| folder.join(".cargo")).collect();
    folders.extend(std::env::var_os("CARGO_HOME").map(PathBuf::from));
    let files = folders.iter().flat_map(|f| [f.join("config.toml"), f.join("config")]);
    let wraps = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().any(|line| {
            let line = line.trim_start();
            line.starts_with("rustc-wrapper") || line.starts_with("build.rustc-wrapper")
        })
    };
    let found = files.into_iter().find(wraps);
    let sentence = |file: PathBuf| {
        format!("the rustc-wrapper of {} is not used here; RUSTC_WRAPPER would be", file.display())
    };
    found.map(sentence).into_iter().collect()
}
