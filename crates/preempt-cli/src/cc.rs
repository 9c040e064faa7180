//! `preempt cc` and `preempt c++`: the system's compiler, for programs that `preempt run` executes.

use crate::failure::Failure;
use crate::output::complain;
use preempt_run::{Language, compile, runtime};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Runs the compiler, and ends with its exit code.
pub(crate) fn run(language: Language, arguments: &[OsString]) -> Result<ExitCode, Failure> {
    if !runtime::is_supported() {
        let message = "C and C++ programs can be run on x86-64 Linux with the GNU C library only";
        return Err(Failure::Input(message.into()));
    }
    let folder = runtime::folder().map_err(|error| {
        Failure::Input(format!(
            "the runtime library cannot be unpacked: {error}; set PREEMPT_RUNTIME_DIR to a \
             folder that can be written to"
        ))
    })?;
    let mut command = compile(language, arguments, &folder).map_err(Failure::Input)?;
    let status = command.status().map_err(|error| {
        let program = command.get_program().to_string_lossy().into_owned();
        Failure::Input(format!("cannot start {program}: {error}"))
    })?;
    if language == Language::C && !status.success() && arguments.iter().any(is_cxx) {
        complain("note: C++ programs are compiled and linked by `preempt c++`");
    }
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(2)))
}

/// Whether this names a C++ source file.
fn is_cxx(word: &OsString) -> bool {
    let ending = Path::new(word).extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ["cc", "cpp", "cxx", "c++", "C"].contains(&ending))
}
