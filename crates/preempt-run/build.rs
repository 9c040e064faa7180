//! Builds the library that programs are linked with, so that the command carries it with itself.
//!
//! It is a library of its own kind (it defines `malloc`), optimised whatever the profile, and must
//! not be linked with anything of ours: a second cargo builds it, in a folder of its own.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIBRARY: &str = "libpreempt_c_runtime.so";

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let target = ["OS", "ARCH", "ENV"]
        .map(|part| env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default());
    println!("cargo::rustc-check-cfg=cfg(has_runtime)");
    for krate in ["preempt-c-runtime", "preempt-explore"] {
        println!("cargo::rerun-if-changed={}", here.join("..").join(krate).join("src").display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    if target != ["linux", "x86_64", "gnu"] {
        return;
    }
    match build(&here, &out) {
        Ok(library) => {
            println!("cargo::rustc-cfg=has_runtime");
            println!("cargo::rustc-env=PREEMPT_C_RUNTIME={}", library.display());
        }
        Err(why) => println!("cargo::error=the runtime for C programs cannot be built: {why}"),
    }
}

fn build(here: &Path, out: &Path) -> Result<PathBuf, String> {
    let folder = out.join("runtime");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--release", "--quiet", "--lib", "--manifest-path"])
        .arg(here.join("../preempt-c-runtime/Cargo.toml"))
        .arg("--target-dir")
        .arg(&folder)
        // A panic of ours inside somebody's program must end it, not unwind through it.
        .args(["--config", "profile.release.panic=\"abort\""])
        .args(["--config", "profile.release.debug=false"])
        // Every step of a program crosses into the search: inlining across crates pays.
        .args(["--config", "profile.release.lto=\"fat\""])
        .args(["--config", "profile.release.codegen-units=1"]);
    // Wrappers and flags are for the crates of this build: clippy would leave no library.
    for variable in [
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTFLAGS",
        "CARGO_BUILD_TARGET",
        "CARGO_TARGET_DIR",
    ] {
        command.env_remove(variable);
    }
    let result = command.output().map_err(|error| error.to_string())?;
    if !result.status.success() {
        let text = String::from_utf8_lossy(&result.stderr);
        return Err(text.lines().collect::<Vec<_>>().join(" | "));
    }
    let library = folder.join("release").join(LIBRARY);
    if library.is_file() { Ok(library) } else { Err(format!("no {LIBRARY}")) }
}
