//! In front of the linker: the runtime before the C library, the instrumented std before the
//! precompiled one, and our harness in place of libtest's.
//!
//! libtest runs each test on a thread of its own and waits for it through a channel, which would be explored around
//! every test. The test programs that rustc makes call one function of libtest with the list of their tests: the linker is
//! told to take ours instead (`--wrap`). So sources, manifests and the compiler's calls stay as they are.

use crate::toolchain::{LIBTEST_PART, PROGRAM_PART, STD_PART, TESTS_PART};
use crate::variables;
use object::{Object, ObjectSymbol};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The function of our harness.
const HARNESS: &str = "preempt_test_main";
/// How the name of libtest's function is written in every mangling of Rust's.
const LIBTEST: &str = "16test_main_static";

/// The call of the real linker.
pub(crate) fn command(arguments: &[OsString]) -> Command {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let mut command = Command::new(variable(variables::LINKER).unwrap_or_else(|| "cc".into()));
    let runtime = variable(variables::RUNTIME).map(PathBuf::from).unwrap_or_default();
    command.arg("-L").arg(&runtime);
    let mut path = OsString::from("-Wl,-rpath,");
    path.push(&runtime);
    command.arg(path);
    // Without delay, so that no address is resolved in the middle of an execution.
    command.args(["-Wl,-z,now", "-Wl,--push-state", "-Wl,--no-as-needed"]);
    command.args(["-lpreempt_c_runtime", "-Wl,--pop-state"]);
    // Functions of the C library that are called with memory of the program.
    command.args(preempt_run::compile::wrapping());
    let shared = arguments.iter().any(|word| word == "-shared");
    let has_std = mentions(arguments, "libstd-");
    if let (Some(parts), false, true) =
        (variable(variables::PARTS).map(PathBuf::from), shared, has_std)
    {
        let tests = parts.join(TESTS_PART);
        if variable(variables::TESTS).is_some() && mentions(arguments, "libtest-") {
            command.args(instead_of_libtest(&tests)).arg(&tests);
        } else {
            command.arg(parts.join(PROGRAM_PART));
        }
        let linked = [(STD_PART, true), (LIBTEST_PART, mentions(arguments, "libtest-"))];
        for (part, _) in linked.into_iter().filter(|(_, is_linked)| *is_linked) {
            let instrumented = parts.join(part);
            if instrumented.is_file() {
                command.arg(instrumented);
            }
        }
    }
    command.args(arguments);
    for variable in variables::ALL {
        command.env_remove(variable);
    }
    command
}

/// Whether a library of this name is linked, as an archive. Long calls are in a file of their own.
fn mentions(arguments: &[OsString], start: &str) -> bool {
    let is_it = |word: &str| {
        let word = word.trim_matches('"');
        let name = Path::new(word).file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(start) && name.ends_with(".rlib")
    };
    arguments.iter().map(|word| word.to_string_lossy()).any(|word| match word.strip_prefix('@') {
        Some(file) => {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            text.lines().any(is_it)
        }
        None => is_it(&word),
    })
}

/// The options by which a call of libtest's function is one of ours.
fn instead_of_libtest(harness: &Path) -> Vec<String> {
    let bytes = std::fs::read(harness).unwrap_or_default();
    let Ok(file) = object::File::parse(&*bytes) else { return Vec::new() };
    let names = file.symbols().filter_map(|symbol| symbol.name().ok().map(str::to_string));
    let options = |name: String| {
        [format!("-Wl,--wrap={name}"), format!("-Wl,--defsym=__wrap_{name}={HARNESS}")]
    };
    names.filter(|name| name.contains(LIBTEST)).flat_map(options).collect()
}
