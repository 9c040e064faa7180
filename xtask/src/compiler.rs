//! What compiles the workspace for `cargo xtask test`: the compiler, the lints and the documents of a crate, in one pass of cargo.
//!
//! `cargo clippy`, `cargo doc` and `cargo test` would each have all dependencies compiled or checked on their own, and would
//! each begin every crate of ours from its text. So cargo compiles once, and asks this program in place of the compiler for each
//! crate of the workspace (`RUSTC_WORKSPACE_WRAPPER`): it calls rustc, then clippy about the same text with the same
//! options, then rustdoc if the crate is documented. The last two read what rustc has left of the dependencies.
//!
//! Code is rustc's own and not clippy's, which could make it in the same pass: clippy switches the optimisations
//! off that come before those of LLVM, and half of the tests are searches that run for seconds.
//!
//! Examples are linted and not made: whether they compile is all that is asked, and each takes its own copy of the engine.
//!
//! **Invariant:** what `cargo clippy --all-targets -- -D warnings` and `cargo doc` with denied warnings complain about is complained about here:
//! every crate is linted in each form in which it is compiled. The compiler's own warnings come from clippy's
//! pass, so they are said once.

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Packages without documents of their own (`doc = false`): the first is compiled from the files of others, and the page of
/// the second would have the name of the library `preempt`.
const UNDOCUMENTED: [&str; 2] = ["controlled", "preempt-cli"];

/// Where the program is found that cargo is to call in place of the compiler: a copy of this one, which cargo will compile and
/// replace.
pub(crate) fn installed() -> Result<PathBuf> {
    let own = std::env::current_exe().context("where this program lies")?;
    let copy = own.with_file_name("xtask-compiler");
    // A file that runs cannot be written, but another may take its name.
    let _ = std::fs::remove_file(&copy);
    std::fs::copy(&own, &copy).with_context(|| format!("{}", copy.display()))?;
    Ok(copy)
}

/// Whether cargo calls in place of the compiler: then the first word is the compiler that it would have called.
pub(crate) fn is_called(first: Option<&str>) -> bool {
    first.is_some_and(|word| Path::new(word).file_stem().is_some_and(|stem| stem == "rustc"))
}

/// Compiles a crate, and says what clippy and rustdoc find in it.
pub(crate) fn compile(words: &[String]) -> Result<ExitCode> {
    let (rustc, words) = words.split_first().context("no compiler is named")?;
    let own = Words(words);
    let name = own.after("--crate-name").filter(|name| *name != "___");
    let (Some(name), false) = (name, words.iter().any(|word| word.starts_with("--print"))) else {
        // A question about the compiler.
        return ended(Command::new(rustc).args(words));
    };
    let compiled = match own.is_example() {
        false => ended(Command::new(rustc).args(words).args(["--cap-lints", "allow"]))?,
        true => own.only_list_files(rustc)?,
    };
    if compiled != ExitCode::SUCCESS {
        return Ok(compiled);
    }
    let beside = |tool: &str| Path::new(rustc).with_file_name(tool);
    let linted = own.lint(&beside("clippy-driver"), name)?;
    if linted != ExitCode::SUCCESS || !own.is_documented() {
        return Ok(linted);
    }
    own.document(&beside("rustdoc"))
}

fn ended(command: &mut Command) -> Result<ExitCode> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// The words with which cargo calls the compiler.
struct Words<'a>(&'a [String]);

impl<'a> Words<'a> {
    /// The word that follows another one.
    fn after(&self, option: &str) -> Option<&'a str> {
        let at = self.0.iter().position(|word| word == option)?;
        self.0.get(at + 1).map(String::as_str)
    }

    /// All but the options that say what comes out and where; with `only_front`, also without those about code.
    fn without_outputs(&self, only_front: bool) -> Vec<String> {
        let (mut out, mut words) = (Vec::new(), self.0.iter());
        while let Some(word) = words.next() {
            match word.as_str() {
                "--out-dir" | "-o" => drop(words.next()),
                "-C" => {
                    let Some(option) = words.next() else { break };
                    // What is stored between builds belongs to rustc's pass.
                    if !only_front && !option.starts_with("incremental=") {
                        out.extend([word.clone(), option.clone()]);
                    }
                }
                _ if word.starts_with("--emit") => {}
                // Cargo takes up crates that wait as soon as rustc has told of the metadata: once.
                _ if word.starts_with("--json=") => {
                    out.push(word.replace("artifacts,", "").replace(",artifacts", ""))
                }
                _ => out.push(word.clone()),
            }
        }
        out
    }

    fn lint(&self, clippy: &Path, name: &str) -> Result<ExitCode> {
        let folder = self.after("--out-dir").map_or_else(std::env::temp_dir, PathBuf::from);
        let metadata = folder.join(format!("{name}-{}.linted", std::process::id()));
        let mut emit = OsString::from("--emit=metadata=");
        emit.push(&metadata);
        let mut command = Command::new(clippy);
        command.arg("rustc").args(self.without_outputs(false)).arg(emit).args(["-D", "warnings"]);
        let linted = ended(&mut command);
        let _ = std::fs::remove_file(metadata);
        linted
    }

    /// Whether `cargo doc` would write about it.
    fn is_documented(&self) -> bool {
        let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
        let is_script =
            self.after("--crate-name").is_some_and(|name| name.starts_with("build_script_"));
        let is_test = self.0.iter().any(|word| word == "--test");
        !is_script && !is_test && !self.is_example() && !UNDOCUMENTED.contains(&package.as_str())
    }

    /// Whether it is an example: no test starts one.
    fn is_example(&self) -> bool {
        let lies_there =
            |word: &String| word.starts_with("examples/") || word.contains("/examples/");
        self.0.iter().any(|word| word.ends_with(".rs") && lies_there(word))
    }

    /// Has the compiler write down which files a crate consists of, which is what cargo waits for, and nothing else.
    fn only_list_files(&self, rustc: &str) -> Result<ExitCode> {
        let list = |word: &String| match word.starts_with("--emit") {
            true => "--emit=dep-info".to_string(),
            false => word.clone(),
        };
        ended(Command::new(rustc).args(self.0.iter().map(list)).args(["--cap-lints", "allow"]))
    }

    fn document(&self, rustdoc: &Path) -> Result<ExitCode> {
        let mut command = Command::new(rustdoc);
        command.args(self.without_outputs(true)).args(["-D", "warnings"]);
        if self.after("--crate-type") == Some("bin") {
            command.arg("--document-private-items");
        }
        if let Some(folder) = self.after("--out-dir") {
            // `target/debug/deps` becomes `target/doc`.
            command.arg("--out-dir").arg(Path::new(folder).join("../../doc"));
        }
        ended(&mut command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(String::from).collect()
    }

    #[test]
    fn the_compiler_is_known_by_its_name() {
        assert!(is_called(Some("rustc")) && is_called(Some("/toolchain/bin/rustc")));
        assert!(!is_called(Some("test")) && !is_called(None));
    }

    #[test]
    fn lints_and_documents_have_the_options_of_the_compiler_but_its_outputs() {
        let all = words(
            "--crate-name a --json=diagnostic-rendered-ansi,artifacts,future-incompat src/lib.rs --crate-type lib \
             --emit=dep-info,metadata,link -C opt-level=1 -C incremental=target/i --out-dir target/debug/deps --extern b=b.rmeta",
        );
        let all = Words(&all);
        let linted = "--crate-name a --json=diagnostic-rendered-ansi,future-incompat src/lib.rs --crate-type lib \
                      -C opt-level=1 --extern b=b.rmeta";
        assert_eq!(all.without_outputs(false), words(linted));
        assert_eq!(all.without_outputs(true), words(&linted.replace("-C opt-level=1 ", "")));
        assert!(all.is_documented());
    }
}
