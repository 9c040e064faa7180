//! Builds the library that programs are linked with, so that the command carries it with itself.
//!
//! It is a library of its own kind (it defines `malloc`), optimised even where preempt is built for
//! tests, and must not be linked with anything of ours: a second cargo builds it, in a folder of its
//! own. Where its source is comes from the build script of `preempt-c-runtime`, so this also works
//! from published packages: these are copied, because a cargo that builds a package writes into its
//! folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

const LIBRARY: &str = "libpreempt_c_runtime.so";
/// The package, and those of ours that it needs.
const PACKAGES: [&str; 3] = ["preempt-c-runtime", "preempt-exchange", "preempt-explore"];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let target = ["OS", "ARCH", "ENV"]
        .map(|part| env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default());
    println!("cargo::rustc-check-cfg=cfg(has_runtime)");
    println!("cargo::rerun-if-changed=build.rs");
    if target != ["linux", "x86_64", "gnu"] {
        return;
    }
    match env::var_os("DEP_PREEMPT_C_RUNTIME_ROOT").map(PathBuf::from) {
        Some(root) => {
            for package in PACKAGES.map(|package| beside(&root, package)).into_iter().flatten() {
                println!("cargo::rerun-if-changed={}", package.join("src").display());
            }
            match build(&root, &out) {
                Ok(library) => {
                    println!("cargo::rustc-cfg=has_runtime");
                    println!("cargo::rustc-env=PREEMPT_C_RUNTIME={}", library.display());
                }
                Err(why) => complain(&why),
            }
        }
        None => complain("its source is nowhere"),
    }
}

fn complain(why: &str) {
    println!("cargo::error=the runtime for C programs cannot be built: {why}");
}

/// The folder of a package of ours that lies beside the runtime's: in the workspace by its name, in a
/// registry with the version after it.
fn beside(root: &Path, package: &str) -> Option<PathBuf> {
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    [package.to_string(), format!("{package}-{version}")]
        .into_iter()
        .map(|name| root.with_file_name(name))
        .find(|folder| folder.join("Cargo.toml").is_file())
}

fn build(root: &Path, out: &Path) -> Result<PathBuf, String> {
    let folder = out.join("runtime");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["rustc", "--release", "--quiet", "--lib", "--crate-type", "cdylib"]);
    command.arg("--manifest-path");
    if root.join("Cargo.toml.orig").is_file() {
        let cannot = |error: io::Error| format!("its source cannot be copied: {error}");
        let copies = out.join("source");
        let _ = fs::remove_dir_all(&copies);
        for package in PACKAGES {
            let Some(from) = beside(root, package) else { continue };
            copy(&from, &copies.join(package)).map_err(cannot)?;
        }
        command.arg(copies.join(PACKAGES[0]).join("Cargo.toml"));
        for package in &PACKAGES[1..] {
            let needed = copies.join(package);
            if needed.is_dir() {
                let path = needed.to_string_lossy().replace('\\', "/");
                command.arg("--config");
                command.arg(format!("patch.crates-io.{package}.path=\"{path}\""));
            }
        }
    } else {
        command.arg(root.join("Cargo.toml"));
    }
    command
        .arg("--target-dir")
        .arg(&folder)
        // A panic of ours inside a program under test must end it, not unwind through it.
        .args(["--config", "profile.release.panic=\"abort\""])
        .args(["--config", "profile.release.debug=false"])
        .args(["--config", &format!("profile.release.lto=\"{}\"", link_time_optimisation())]);
    // Unoptimised is a first look at preempt, which should not wait for this library.
    let (level, units) = if unoptimised() { (0, 16) } else { (3, 1) };
    if unoptimised() {
        command.args(["--config", "profile.release.opt-level=0"]);
    }
    for package in PACKAGES.map(|package| format!("profile.release.package.{package}")) {
        command.args(["--config", &format!("{package}.opt-level={level}")]);
        command.args(["--config", &format!("{package}.codegen-units={units}")]);
    }
    command
        // The name by which programs ask for it.
        .args(["--", "-C", &format!("link-arg=-Wl,-soname,{LIBRARY}")]);
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

/// Every step of a program crosses into the search: inlining across crates makes executions an eighth
/// faster, and the build half as long again. That pays where preempt is installed.
fn link_time_optimisation() -> &'static str {
    match env::var("PROFILE").as_deref() {
        Ok("release") => "fat",
        _ => "off",
    }
}

fn unoptimised() -> bool {
    env::var("OPT_LEVEL").as_deref() == Ok("0")
}

/// Copies a folder without what its own builds have left.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if !entry.file_type()?.is_dir() {
            fs::copy(entry.path(), target)?;
        } else if entry.file_name() != "target" {
            copy(&entry.path(), &target)?;
        }
    }
    Ok(())
}
