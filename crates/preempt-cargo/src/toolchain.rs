//! The user's toolchain, and what is linked into programs for it: made once, kept in the cache.
//!
//! - Our harness (`runner/runner.rs`), compiled by the user's own compiler: a test program calls it with
//!   types of that compiler's libtest.
//! - std, instrumented. Its locks, channels and parking are precompiled, so the runtime would not see what
//!   they do. But the library carries itself as bitcode, and the toolchain's own linker can run the
//!   pass that marks atomic operations on it. The object is linked before the library, whose own one is then not asked for.

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The harness for programs with tests.
pub(crate) const TESTS_PART: &str = "tests.o";
/// What other programs get: panics are reported.
pub(crate) const PROGRAM_PART: &str = "program.o";
/// The instrumented std.
pub(crate) const STD_PART: &str = "std.o";
/// The instrumented libtest: its code is not run, but generic functions that it has an instance of, such as
/// the end of an `Arc` of std's, are taken from it.
pub(crate) const LIBTEST_PART: &str = "libtest.o";
/// Why they are missing.
const WITHOUT_STD: &str = "std.missing";

const RUNNER: &str = include_str!("../runner/runner.rs");
/// Changes when parts are made differently from the same source.
const FORMAT: u32 = 5;
/// The only target: the runtime knows no other.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Whether a function of std, by its mangled name, stays as it is.
///
/// Such functions look after the guard page of each thread and make the key by which destructors of thread locals are
/// called, under locks of their own that no other code takes and that are never held across a scheduling point: the order in
/// which threads come there is of no consequence, and would multiply the executions. They use nothing that other functions
/// synchronise by, such as a count of references.
fn is_bookkeeping(name: &str) -> bool {
    let makes_key = name.contains("12thread_local5guard3key6enable") && !name.contains("3run");
    name.contains("3pal4unix14stack_overflow") || makes_key
}

/// Whether the standard library is instrumented.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Std {
    /// It is.
    Instrumented,
    /// Its slow paths are as the toolchain has them, for this reason.
    Precompiled(String),
}

/// A toolchain with everything that is linked for it.
#[derive(Clone, Debug)]
pub struct Toolchain {
    cargo: OsString,
    /// The folder with the parts.
    pub(crate) parts: PathBuf,
    /// Different for every toolchain and version of what is linked.
    pub(crate) fingerprint: u64,
    /// Whether the standard library is instrumented.
    pub std: Std,
}

struct Compiler {
    command: OsString,
    sysroot: PathBuf,
}

impl Toolchain {
    /// The toolchain of this folder. `begin` is called if parts have to be made, which takes some seconds.
    pub fn find(folder: &Path, begin: &mut dyn FnMut()) -> Result<Toolchain, String> {
        let set = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
        let cargo = set("CARGO").unwrap_or_else(|| "cargo".into());
        let rustc = set("RUSTC").unwrap_or_else(|| "rustc".into());
        let version = ask(&rustc, &["-vV"], folder)?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        if host != Some(TARGET) {
            return Err(format!(
                "Rust programs can be run on {TARGET} only; this toolchain is for {}",
                host.unwrap_or("an unknown host")
            ));
        }
        let sysroot = PathBuf::from(ask(&rustc, &["--print", "sysroot"], folder)?.trim());
        let mut hasher = DefaultHasher::new();
        (&version, &sysroot, RUNNER, FORMAT).hash(&mut hasher);
        let fingerprint = hasher.finish();
        let base = preempt_run::runtime::base();
        let parts = base.join(format!("rust-{fingerprint:016x}"));
        let compiler = Compiler { command: rustc, sysroot };
        let std = match known(&parts) {
            Some(std) => std,
            None => {
                begin();
                make(&compiler, &parts)?
            }
        };
        Ok(Toolchain { cargo, parts, fingerprint, std })
    }

    /// Cargo with these words.
    pub(crate) fn cargo(&self, words: &[OsString]) -> Command {
        let mut command = Command::new(&self.cargo);
        command.args(words);
        command
    }
}

/// What an earlier call has made.
fn known(parts: &Path) -> Option<Std> {
    let is_there = |name: &str| parts.join(name).is_file();
    if !is_there(TESTS_PART) || !is_there(PROGRAM_PART) {
        return None;
    }
    match is_there(STD_PART) {
        true => Some(Std::Instrumented),
        false => std::fs::read_to_string(parts.join(WITHOUT_STD)).ok().map(Std::Precompiled),
    }
}

/// Makes all parts under another name and moves them into place: other commands may do the same.
fn make(compiler: &Compiler, parts: &Path) -> Result<Std, String> {
    let cannot = |error: std::io::Error| {
        format!("{} cannot be written: {error}; set PREEMPT_RUNTIME_DIR", parts.display())
    };
    let draft = parts.with_extension(std::process::id().to_string());
    std::fs::create_dir_all(&draft).map_err(cannot)?;
    compile_runner(compiler, &draft, TESTS_PART, &["--cfg", "tests"])?;
    compile_runner(compiler, &draft, PROGRAM_PART, &[])?;
    let std = match instrument_std(compiler, &draft) {
        Ok(()) => Std::Instrumented,
        Err(why) => {
            std::fs::write(draft.join(WITHOUT_STD), &why).map_err(cannot)?;
            Std::Precompiled(why)
        }
    };
    match std::fs::rename(&draft, parts) {
        Err(_) if known(parts).is_some() => {
            let _ = std::fs::remove_dir_all(&draft);
            known(parts).ok_or_else(String::new)
        }
        Err(error) => Err(cannot(error)),
        Ok(()) => Ok(std),
    }
}

fn ask(program: &OsStr, words: &[&str], folder: &Path) -> Result<String, String> {
    let name = program.to_string_lossy();
    let output = Command::new(program)
        .args(words)
        .current_dir(folder)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start {name}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{name} {} failed", words.join(" "))),
    }
}

fn compile_runner(
    compiler: &Compiler,
    folder: &Path,
    part: &str,
    more: &[&str],
) -> Result<(), String> {
    let source = folder.join("runner.rs");
    std::fs::write(&source, RUNNER).map_err(|error| error.to_string())?;
    let output = Command::new(&compiler.command)
        .args(["--edition=2021", "--crate-type=lib", "--crate-name=preempt_runner", "--emit=obj"])
        .args(["--target", TARGET, "-Copt-level=1", "-Ccodegen-units=1", "-Cpanic=unwind"])
        .args(["-Cdebuginfo=0", "-Crelocation-model=pic"])
        .args(more)
        .arg("-o")
        .arg(folder.join(part))
        .arg(&source)
        // The harness names types of libtest. It is our crate, and this one call.
        .env("RUSTC_BOOTSTRAP", "1")
        .env_remove("RUSTFLAGS")
        .output()
        .map_err(|error| format!("cannot start the compiler: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let first = text.lines().find(|line| line.starts_with("error")).unwrap_or("it failed");
    Err(format!("this compiler cannot compile the harness: {first}"))
}

/// Marks the atomic operations of the precompiled std.
fn instrument_std(compiler: &Compiler, folder: &Path) -> Result<(), String> {
    let parts = [("libstd-", STD_PART), ("libtest-", LIBTEST_PART)];
    let made =
        parts.iter().try_for_each(|(start, part)| instrument(compiler, start, &folder.join(part)));
    if made.is_err() {
        for (_, part) in parts {
            let _ = std::fs::remove_file(folder.join(part));
        }
    }
    made
}

/// Marks the accesses to memory of a precompiled library.
fn instrument(compiler: &Compiler, start: &str, part: &Path) -> Result<(), String> {
    let target = compiler.sysroot.join("lib/rustlib").join(TARGET);
    let archive =
        library(&target.join("lib"), start).ok_or_else(|| format!("there is no {start}*.rlib"))?;
    let bytes = std::fs::read(&archive).map_err(|error| error.to_string())?;
    let mut inputs = Vec::new();
    let mut exceptions = Vec::new();
    for (number, code) in bitcode(&bytes, &mut exceptions)?.into_iter().enumerate() {
        let path = part.with_extension(format!("{number}.bc"));
        std::fs::write(&path, code).map_err(|error| error.to_string())?;
        inputs.push(path);
    }
    // The toolchain's own, or one of the system: that one's LLVM must not be older than the compiler's.
    let own = target.join("bin/rust-lld");
    let (linker, flavor) = match own.is_file() {
        true => (own, &["-flavor", "gnu"][..]),
        false => (PathBuf::from("ld.lld"), &[][..]),
    };
    let output = Command::new(&linker)
        .args(flavor)
        .args(["-m", "elf_x86_64", "-r"])
        // Plain accesses are marked only in functions with this attribute. Those of std initialise atomics, which
        // would otherwise change unseen.
        .arg("--lto-newpm-passes=forceattrs,tsan-module,function(tsan)")
        .args(["-mllvm", "-force-attribute=sanitize_thread"])
        .args(exceptions.iter().flat_map(|name| {
            let attribute = format!("-force-attribute={name}:disable_sanitizer_instrumentation");
            ["-mllvm".to_string(), attribute]
        }))
        .args(["-mllvm", "-tsan-instrument-func-entry-exit=0", "--lto-O0", "--lto-CGO2"])
        .args(&inputs)
        .arg("-o")
        .arg(part)
        .env("LD_LIBRARY_PATH", compiler.sysroot.join("lib"))
        .output()
        .map_err(|_| "there is no rust-lld in the toolchain, and no ld.lld".to_string());
    for input in inputs {
        let _ = std::fs::remove_file(input);
    }
    let output = output?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let name = linker.file_name().unwrap_or_default().to_string_lossy();
    Err(format!("{name} failed: {}", text.lines().next().unwrap_or_default()))
}

fn library(folder: &Path, start: &str) -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "rlib"))
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
        })
        .collect();
    found.sort();
    found.pop()
}

/// The bitcode of every object of a library, and the functions in it that stay as they are. An object without bitcode would
/// be linked twice.
fn bitcode(archive: &[u8], exceptions: &mut Vec<String>) -> Result<Vec<Vec<u8>>, String> {
    let cannot = |error: object::Error| format!("libstd cannot be read: {error}");
    let mut found = Vec::new();
    for member in ArchiveFile::parse(archive).map_err(cannot)?.members() {
        let member = member.map_err(cannot)?;
        if !member.name().ends_with(b".o") {
            continue;
        }
        let data = member.data(archive).map_err(cannot)?;
        let file = object::File::parse(data).map_err(cannot)?;
        let section = file.section_by_name(".llvmbc").ok_or("libstd was built without bitcode")?;
        found.push(section.data().map_err(cannot)?.to_vec());
        let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
        let names = functions.filter_map(|symbol| Some(symbol.name().ok()?.to_string()));
        exceptions.extend(names.filter(|name| is_bookkeeping(name)));
    }
    match found.is_empty() {
        true => Err("libstd has no objects".into()),
        false => Ok(found),
    }
}
