//! The `preempt` command: all IO, and nothing but IO.
//!
//! **Invariant:** a process that ends by itself ends with one of the documented exit codes; a panic
//! is a bug in preempt and ends with 101.

mod arguments;
mod boolean;
mod cc;
mod explain;
mod failure;
mod graph;
mod ltl;
mod output;
mod promela;
mod replay;
mod run;
mod simulate;
mod spin_flags;
mod terminal;

use arguments::{Cli, Command};
use clap::{CommandFactory, Parser};
use failure::Failure;
use std::process::ExitCode;

/// A bug in preempt.
const BUG: u8 = 101;
/// The answer could not be written.
const LOST: u8 = 2;

fn main() -> ExitCode {
    terminal::listen_for_interrupts();
    // A panic is a bug in preempt; the default message stays, the exit code says so.
    let line = || Cli::parse_from(arguments::with_model_first(std::env::args_os()));
    match std::panic::catch_unwind(|| run(line())) {
        Ok(_) if output::is_lost() => ExitCode::from(LOST),
        Ok(code) => code,
        Err(_) => ExitCode::from(BUG),
    }
}

fn run(cli: Cli) -> ExitCode {
    dispatch(cli.command).unwrap_or_else(|failure| failure.tell())
}

fn dispatch(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Check(arguments) => match arguments.model.file.extension() {
            Some(extension) if extension == "bp" => boolean::run(&arguments),
            _ => promela::check::run(&arguments),
        },
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Sequentialize(arguments) => boolean::sequentialize(&arguments),
        Command::Ltl(arguments) => ltl::run(&arguments),
        Command::Cc { arguments } => cc::run(preempt_run::Language::C, &arguments),
        Command::CPlusPlus { arguments } => cc::run(preempt_run::Language::CPlusPlus, &arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Explain { code } => explain::run(code.as_deref()),
        Command::Spin { arguments } => {
            let line = spin_flags::translate(&arguments)
                .map_err(|unknown| Failure::Input(unknown.to_string()))?;
            anstream::eprintln!("{}", line.join(" "));
            Ok(run(Cli::parse_from(line)))
        }
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "preempt", &mut text);
            output::print(&String::from_utf8_lossy(&text));
            Ok(ExitCode::SUCCESS)
        }
        Command::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command())
                .render(&mut page)
                .map_err(|error| Failure::Input(error.to_string()))?;
            output::print(&String::from_utf8_lossy(&page));
            Ok(ExitCode::SUCCESS)
        }
    }
}
