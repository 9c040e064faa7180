//! `preempt shell`: a command in which the usual names of compilers mean `preempt cc` and `preempt c++`.
//!
//! For makefiles and scripts that call `cc` or `g++` by name. A folder of small scripts comes first on the path of
//! the command; each calls the compiler that its name meant before.

use crate::failure::Failure;
use crate::output::complain;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Names of compilers, with the command that takes their place and the variable that names the compiler to it.
const COMPILERS: [(&str, &str, &str); 6] = [
    ("cc", "cc", "PREEMPT_C_COMPILER"),
    ("gcc", "cc", "PREEMPT_C_COMPILER"),
    ("clang", "cc", "PREEMPT_C_COMPILER"),
    ("c++", "c++", "PREEMPT_CXX_COMPILER"),
    ("g++", "c++", "PREEMPT_CXX_COMPILER"),
    ("clang++", "c++", "PREEMPT_CXX_COMPILER"),
];

/// Runs the command, or a shell, and ends with its exit code.
pub(crate) fn run(words: &[OsString]) -> Result<ExitCode, Failure> {
    let wrong = |error: io::Error| Failure::Input(format!("cannot make the compilers: {error}"));
    let folder = tempfile::Builder::new().prefix("preempt-shell-").tempdir().map_err(wrong)?;
    let names = write_scripts(folder.path()).map_err(wrong)?;
    if names.is_empty() {
        return Err(Failure::Input("no compiler was found: install gcc or clang".into()));
    }
    let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let shell = [shell.unwrap_or_else(|| "/bin/sh".into())];
    let words = if words.is_empty() { &shell[..] } else { words };
    if words.as_ptr() == shell.as_ptr() {
        let names = names.join(", ");
        complain(&format!("{names} compile for `preempt run` here; `exit` leaves this shell"));
    }
    let mut path = folder.path().as_os_str().to_owned();
    if let Some(before) = std::env::var_os("PATH") {
        path.push(":");
        path.push(before);
    }
    let status = Command::new(&words[0]).args(&words[1..]).env("PATH", path).status();
    let status = status.map_err(|error| {
        Failure::Input(format!("cannot start {}: {error}", words[0].to_string_lossy()))
    })?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(2)))
}

/// Writes a script for each compiler that is installed, and returns their names.
fn write_scripts(folder: &Path) -> io::Result<Vec<&'static str>> {
    let own = std::env::current_exe()?;
    let mut names = Vec::new();
    for (name, command, variable) in COMPILERS {
        let Some(compiler) = installed(name) else { continue };
        let (compiler, own) = (quoted(&compiler), quoted(&own));
        let script = folder.join(name);
        let text = format!("#!/bin/sh\n{variable}={compiler} exec {own} {command} \"$@\"\n");
        std::fs::write(&script, text)?;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700))?;
        names.push(name);
    }
    Ok(names)
}

/// Where a program is on the path.
fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// A word that a shell takes as it is.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}
