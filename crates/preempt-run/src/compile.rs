//! The command line of the real compiler.

use crate::runtime;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

/// What is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// `preempt cc`
    C,
    /// `preempt c++`
    CPlusPlus,
}

impl Language {
    /// The variable that names the compiler, and the compilers that are tried without it.
    fn compilers(self) -> (&'static str, [&'static str; 3]) {
        match self {
            Language::C => ("PREEMPT_C_COMPILER", ["gcc", "clang", "cc"]),
            Language::CPlusPlus => ("PREEMPT_CXX_COMPILER", ["g++", "clang++", "c++"]),
        }
    }
}

/// The symbol of objects in which assertions are compiled out.
pub(crate) const NO_ASSERTIONS: &str = "preempt_no_assertions";

/// The compiler with the user's arguments and ours, or a sentence that says why not.
pub fn compile(
    language: Language,
    arguments: &[OsString],
    runtime: &Path,
) -> Result<Command, String> {
    let is_static = |word: &&OsString| *word == "-static" || *word == "-static-pie";
    if let Some(word) = arguments.iter().find(is_static).filter(|_| links(arguments)) {
        return Err(format!(
            "{} cannot be used: the program loads our runtime, which is a shared library; single libraries may be \
             linked statically (-Wl,-Bstatic … -Wl,-Bdynamic)",
            word.to_string_lossy()
        ));
    }
    let compiler = compiler(language)?;
    let mut command = Command::new(&compiler);
    // First, so that the user's own choice of debug information comes later and wins.
    command.arg("-g").args(arguments).arg("-fsanitize=thread");
    if is_clang(&compiler) {
        // clang would link its own library whatever else is asked for.
        command.args(["-fno-sanitize-link-runtime", "-Qunused-arguments"]);
        command.args(["-mllvm", "-tsan-distinguish-volatile=1"]);
        // A read that a write follows is a step of its own: another thread may come in between.
        command.args(["-mllvm", "-tsan-instrument-read-before-write=1"]);
    } else {
        command.args(["--param", "tsan-distinguish-volatile=1"]);
    }
    // Compilers know these functions, and put instructions in their place that the sanitizer does not mark.
    command.args(runtime::wrapped().into_iter().map(|function| format!("-fno-builtin-{function}")));
    command.arg("-U_FORTIFY_SOURCE");
    if arguments
        .iter()
        .any(|word| word == "-DNDEBUG" || word.to_string_lossy().starts_with("-DNDEBUG="))
    {
        // A symbol by which `preempt run` knows: in every object, or where that cannot be had in the program.
        if !is_clang(&compiler) {
            command.arg(format!("-Wa,--defsym,{NO_ASSERTIONS}=1"));
        } else if links(arguments) {
            command.arg(format!("-Wl,--defsym={NO_ASSERTIONS}=1"));
        }
    }
    if language == Language::CPlusPlus {
        command.arg("-isystem").arg(runtime.join(runtime::HEADERS));
    }
    if links(arguments) {
        command.arg("-L").arg(runtime);
        let mut path = OsString::from("-Wl,-rpath,");
        path.push(runtime);
        command.arg(path);
        // Without delay, so that no address is resolved in the middle of an execution.
        command.arg("-Wl,-z,now");
        command.args(wrapping());
        if is_clang(&compiler) {
            command.args(["-Wl,--no-as-needed", "-lpreempt_c_runtime", "-Wl,--as-needed"]);
        }
    }
    Ok(command)
}

/// The options by which calls of functions that the sanitizer does not mark are calls of ours.
pub fn wrapping() -> impl Iterator<Item = String> {
    runtime::wrapped().into_iter().map(|function| format!("-Wl,--wrap={function}"))
}

/// Whether this command line ends with linking.
fn links(arguments: &[OsString]) -> bool {
    let stops = ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-r"];
    let asks = ["-v", "--version", "-dumpversion", "-dumpmachine", "--help", "-print-search-dirs"];
    let one_of =
        |list: &[&str]| arguments.iter().any(|a| list.iter().any(|word| a == OsStr::new(word)));
    !(one_of(&stops) || one_of(&asks) && arguments.len() == 1)
}

fn compiler(language: Language) -> Result<OsString, String> {
    let (variable, names) = language.compilers();
    if let Some(chosen) = std::env::var_os(variable).filter(|value| !value.is_empty()) {
        return Ok(chosen);
    }
    let found = names.into_iter().find(|name| is_installed(name));
    found
        .map(OsString::from)
        .ok_or_else(|| format!("no compiler was found: install {} or set {variable}", names[0]))
}

fn is_installed(command: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(command).is_file())
    })
}

fn is_clang(compiler: &OsStr) -> bool {
    Path::new(compiler).file_name().is_some_and(|name| name.to_string_lossy().contains("clang"))
}
