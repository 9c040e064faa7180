//! The `preempt` command: all IO, and nothing but IO.
//!
//! **Invariant:** a process that ends by itself ends with one of the documented exit codes; a panic
//! is a bug in preempt and ends with 101.

mod arguments;
mod spin_flags;

use arguments::{Cli, Command};
use clap::{CommandFactory, Parser};
use std::io::Write;
use std::process::ExitCode;

/// Bad input or usage.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    run(Cli::parse())
}

fn run(cli: Cli) -> ExitCode {
    match cli.command {
        Command::Spin { arguments } => match spin_flags::translate(&arguments) {
            Ok(line) => run(Cli::parse_from(line)),
            Err(unknown) => {
                anstream::eprintln!("error: {unknown}");
                ExitCode::from(USAGE)
            }
        },
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "preempt", &mut std::io::stdout());
            ExitCode::SUCCESS
        }
        Command::Man => {
            let mut page = Vec::new();
            let written = clap_mangen::Man::new(Cli::command()).render(&mut page);
            match written.and_then(|()| std::io::stdout().write_all(&page)) {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::from(USAGE),
            }
        }
        _ => ExitCode::from(USAGE),
    }
}
