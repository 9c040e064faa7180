//! `cargo preempt …`: the same as `preempt cargo …`, by the program `preempt` that lies beside this one.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let own = std::env::current_exe().unwrap_or_default();
    let beside = own.with_file_name(format!("preempt{}", std::env::consts::EXE_SUFFIX));
    let program = if beside.is_file() { beside } else { PathBuf::from("preempt") };
    // Cargo passes the name of the command as the first word.
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let rest = match words.split_first() {
        Some((first, rest)) if first == "preempt" => rest,
        _ => &words[..],
    };
    match Command::new(&program).arg("cargo").args(rest).status() {
        Ok(status) => ExitCode::from(status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(2)),
        Err(error) => {
            eprintln!("error: cannot start {}: {error}", program.display());
            ExitCode::from(2)
        }
    }
}
