//! All tests of the workspace, as many suites at a time as there are processors.
//!
//! A *suite* is what cargo makes of one file of tests: a program. `cargo test` runs one suite after the other, and while the
//! longest test of each ends, processors have nothing to do. Here every processor takes the next suite and runs its tests one
//! after the other. What a suite prints is shown as soon as it ends, whole if it failed.
//!
//! Tests in comments are left to `cargo test --doc`, which compiles them.

use crate::compiler;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The suites that take longest, the longest first: each is begun before all others, so that none is left for the end.
const LONGEST: [&str; 16] = [
    "language",
    "cargo_event_loops",
    "preempt_check",
    "preempt_bool",
    "it",
    "answers",
    "random_fragments",
    "waiting_programs",
    "several_threads",
    "cargo_waiting",
    "first_hour",
    "all",
    "embedded_c",
    "reduced_liveness",
    "command_line",
    "cargo_tests",
];

/// A program with tests.
struct Suite {
    name: String,
    program: PathBuf,
    package: String,
    /// The folder of its package, where cargo starts it.
    folder: PathBuf,
}

/// What the environment of a test has besides what it has anyway.
pub(crate) type Variables = [(&'static str, OsString)];

/// Builds all suites and runs them, then the tests in comments.
pub(crate) fn run(root: &Path, variables: &Variables) -> Result<()> {
    // A crate in many pieces is compiled again sooner after a change, but takes a third longer from nothing.
    let compilation = [
        ("RUSTC_WORKSPACE_WRAPPER", compiler::installed()?.into_os_string()),
        ("CARGO_INCREMENTAL", "0".into()),
        ("CARGO_PROFILE_DEV_CODEGEN_UNITS", "1".into()),
    ];
    let suites = build(root, &compilation)?;
    let libraries = libraries()?;
    let count = suites.len();
    println!("{count} suites");
    let (next, failed) = (Mutex::new(suites), Mutex::new(Vec::new()));
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                loop {
                    let Some(suite) = lock(&next).pop_front() else { return };
                    if !suite.run(variables, &libraries) {
                        lock(&failed).push(suite.name);
                    }
                }
            });
        }
    });
    let documented = Command::new("cargo")
        // `controlled` compiles the sources of others, with tests in comments that are run there.
        .args(["test", "--workspace", "--exclude", "controlled", "--doc", "--no-fail-fast"])
        .envs(compilation)
        .envs(variables.iter().cloned())
        .current_dir(root)
        .status()?;
    let failed = lock(&failed);
    if !failed.is_empty() {
        bail!("{} of {count} suites failed: {}", failed.len(), failed.join(", "));
    }
    if !documented.success() {
        bail!("tests in comments failed");
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has cargo build all suites; the longest come first.
fn build(root: &Path, compilation: &Variables) -> Result<VecDeque<Suite>> {
    let arguments =
        ["test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"];
    println!("$ cargo {}", arguments.join(" "));
    let mut cargo = Command::new("cargo");
    cargo.args(arguments).envs(compilation.iter().cloned());
    let built = cargo.current_dir(root).stderr(Stdio::inherit()).output()?;
    if !built.status.success() {
        bail!("the tests cannot be built ({})", built.status);
    }
    let text = String::from_utf8(built.stdout).context("cargo's messages")?;
    let mut suites: Vec<Suite> = text.lines().filter_map(suite).collect();
    suites.sort_by_key(|suite| {
        let name = suite.name.rsplit(' ').next().unwrap_or_default();
        LONGEST.iter().position(|one| *one == name).unwrap_or(LONGEST.len())
    });
    Ok(suites.into())
}

/// The suite that one of cargo's messages speaks of, if it does.
fn suite(message: &str) -> Option<Suite> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_test = message["profile"]["test"] == true;
    let program = message["executable"].as_str().filter(|_| is_test)?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    // `path+file:///folder#version`, or `#name@version` where the folder has another name.
    let version = message["package_id"].as_str()?.rsplit('#').next()?;
    let package = match version.split_once('@') {
        Some((name, _)) => name.into(),
        None => folder.file_name()?.to_string_lossy().into_owned(),
    };
    let name = format!("{package} {}", message["target"]["name"].as_str()?);
    Some(Suite { name, program: program.into(), package, folder: folder.into() })
}

/// Where the libraries of the compiler lie, with which tests of macros are linked.
fn libraries() -> Result<PathBuf> {
    let found = Command::new("rustc").args(["--print", "target-libdir"]).output()?;
    Ok(String::from_utf8(found.stdout).context("a path")?.trim().into())
}

impl Suite {
    /// Runs its tests one after the other and shows what came out; says whether all passed.
    fn run(&self, variables: &Variables, libraries: &Path) -> bool {
        let begin = Instant::now();
        let output = Command::new(&self.program)
            .envs(variables.iter().cloned())
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("CARGO_PKG_NAME", &self.package)
            .env("LD_LIBRARY_PATH", libraries)
            .args(["--test-threads", "1"])
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output();
        let seconds = begin.elapsed().as_secs_f64();
        match output {
            Ok(Output { status, stdout, .. }) if status.success() => {
                let text = String::from_utf8_lossy(&stdout);
                let passed = text.lines().find_map(|line| line.strip_prefix("test result: ok. "));
                let passed = passed.and_then(|line| line.split(" passed").next()).unwrap_or("?");
                println!("{seconds:7.1} s  {passed:>3} passed  {}", self.name);
                true
            }
            Ok(Output { status, stdout, stderr }) => {
                println!("{seconds:7.1} s  FAILED ({status})  {}", self.name);
                println!("{}", String::from_utf8_lossy(&stdout));
                println!("{}", String::from_utf8_lossy(&stderr));
                false
            }
            Err(error) => {
                println!("cannot start {}: {error}", self.program.display());
                false
            }
        }
    }
}
