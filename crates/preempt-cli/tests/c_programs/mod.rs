//! What tests of C and C++ programs share: compiling them by `preempt cc`, running them.

// Each test uses some of it.
#![allow(dead_code)]

use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

const PREEMPT: &str = env!("CARGO_BIN_EXE_preempt");

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native");
    std::fs::create_dir_all(&folder).expect("a folder for programs");
    folder
}

/// Whether there is a compiler to test with, where programs can be run at all.
pub(crate) fn has(compiler: &str) -> bool {
    let supported = cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"));
    supported && preempt_testing::peers(&[compiler])
}

pub(crate) fn preempt() -> Command {
    let mut command = Command::new(PREEMPT);
    command.env("PREEMPT_RUNTIME_DIR", folder().join("runtime"));
    command
}

/// Compiles a program and returns where it is.
pub(crate) fn compile(source: &Path, options: &[&str], compilers: [&str; 2]) -> PathBuf {
    let [c, cxx] = compilers;
    let is_cxx = source.extension() == Some(OsStr::new("cc"));
    let stem = source.file_stem().expect("a name").to_string_lossy();
    // Tests run at the same time, and some compile the same source.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let program = folder().join(format!("{stem}-{c}-{count}"));
    let output = preempt()
        .arg(if is_cxx { "c++" } else { "cc" })
        .args(options)
        .arg(source)
        .arg("-o")
        .arg(&program)
        .env("PREEMPT_C_COMPILER", c)
        .env("PREEMPT_CXX_COMPILER", cxx)
        .output()
        .expect("preempt runs");
    assert!(output.status.success(), "{source:?}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

pub(crate) fn run(program: &Path, options: &[&str]) -> (Option<i32>, Value) {
    let output = run_plain(program, options, &["--json"]);
    let text = String::from_utf8_lossy(&output.stdout);
    let report = serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{program:?}: {error}: {text} {}", String::from_utf8_lossy(&output.stderr))
    });
    (output.status.code(), report)
}

pub(crate) fn run_plain(program: &Path, options: &[&str], more: &[&str]) -> Output {
    let mut command = preempt();
    command.arg("run").args(options).args(more).arg("--").arg(program);
    command.output().expect("preempt runs")
}

/// A small program with something in it.
pub(crate) fn program(name: &str, text: &str) -> PathBuf {
    let source = folder().join(format!("{name}.c"));
    let text = format!(
        "#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
         #include <assert.h>\n{text}"
    );
    std::fs::write(&source, text).expect("a program");
    compile(&source, &[], ["gcc", "g++"])
}
