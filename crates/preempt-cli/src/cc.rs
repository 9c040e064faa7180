//! `preempt cc` and `preempt c++`: the system's compiler, for programs that `preempt run` executes.

use crate::failure::Failure;
use preempt_run::{Language, compile, runtime};
use std::ffi::OsString;
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
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(2)))
}
