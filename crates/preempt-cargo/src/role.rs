//! The places that this program takes during a build, told by environment variables (`variables.rs`).
//!
//! Cargo and rustc start what they are given with their own arguments, so the role cannot be an
//! argument. Each role sets the variables of the next one on its child alone: a compiler that is called
//! for a build script never sees them.

use crate::variables::{NEXTEST, RECORD, ROLE};
use crate::{linker, recorder, wrapper};
use std::ffi::OsString;
use std::process::Command;

/// Does what this process was started for by cargo or rustc, if it was: its exit code.
pub fn play(words: impl Iterator<Item = OsString>) -> Option<u8> {
    let role = std::env::var_os(ROLE)?;
    let words: Vec<OsString> = words.skip(1).collect();
    if words.iter().take(NEXTEST.len()).eq(NEXTEST) {
        return None;
    }
    match role.to_str()? {
        "rustc" if words.first().is_some_and(|word| word == RECORD) => {
            Some(recorder::record(&words[1..]))
        }
        "rustc" => Some(execute(wrapper::command(&words)?)),
        "linker" => Some(execute(linker::command(&words))),
        _ => None,
    }
}

/// Runs the command, and ends as it ends.
fn execute(mut command: Command) -> u8 {
    match command.status() {
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
        Err(error) => {
            let program = command.get_program().to_string_lossy().into_owned();
            // The caller shows what its compiler writes there.
            eprintln!("error: preempt cannot start {program}: {error}");
            1
        }
    }
}
