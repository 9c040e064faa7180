//! The `preempt` command: all IO, and nothing but IO.
//!
//! **Invariant:** a process that ends by itself ends with one of the documented exit codes; a panic
//! is a bug in preempt and ends with 101.

mod allocation;
mod applicability;
mod arguments;
mod boolean;
mod card;
mod cargo;
mod cc;
mod certificate;
mod deadline;
mod explain;
mod failure;
#[cfg(feature = "lsp")]
mod format;
mod graph;
mod languages;
mod ltl;
mod meant;
mod merge;
mod near;
mod output;
mod pan;
mod promela;
mod replay;
mod request;
mod resume;
mod run;
#[cfg(feature = "serve")]
mod serve;
#[cfg(unix)]
mod shell;
mod simulate;
mod slice;
mod spin_flags;
mod spin_symbols;
mod spin_text;
mod spread;
mod stack;
mod terminal;

use arguments::{Cli, Command};
use clap::CommandFactory;
use failure::Failure;
use std::ffi::OsString;
use std::process::ExitCode;

/// A bug in preempt.
const BUG: u8 = 101;
/// The answer could not be written.
const LOST: u8 = 2;

/// This command, to be started again by the page and the editor.
#[cfg(any(feature = "lsp", feature = "serve"))]
fn own_path() -> std::path::PathBuf {
    std::env::current_exe().unwrap_or_else(|_| "preempt".into())
}

fn main() -> ExitCode {
    // Cargo and rustc start this program in their own places during a build of `preempt cargo`.
    if let Some(code) = preempt_cargo::play(std::env::args_os()) {
        return ExitCode::from(code);
    }
    allocation::reserve();
    terminal::listen_for_interrupts();
    stack::with_room(|| {
        // A panic is a bug in preempt; the default message stays, the exit code says so.
        let run = || {
            let words = arguments::with_model_first(std::env::args_os(), languages::is_model);
            match arguments::parse(words.clone()) {
                Ok(cli) => run(cli),
                Err(error) => match suggestion(&words, &error) {
                    Some(meant) => output::report_failure(&Failure::Input(meant)),
                    None => output::show_usage(&error),
                },
            }
        };
        match std::panic::catch_unwind(run) {
            Ok(_) if output::is_lost() => ExitCode::from(LOST),
            Ok(code) => code,
            Err(_) => ExitCode::from(BUG),
        }
    })
}

/// What an error of usage is answered with instead of clap's words.
fn suggestion(words: &[OsString], error: &clap::Error) -> Option<String> {
    meant::command(words, error, languages::is_model).filter(|_| error.use_stderr())
}

fn run(cli: Cli) -> ExitCode {
    dispatch(cli.command).unwrap_or_else(|failure| output::report_failure(&failure))
}

fn dispatch(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Check(arguments) => (languages::of(&arguments.model.file).check)(&arguments),
        Command::Simulate(arguments) => {
            meant::a_model(&arguments.model.file)?;
            languages::with_executions("simulate", &arguments.model)?;
            simulate::run(&arguments)
        }
        Command::Replay(arguments) => {
            languages::with_executions("replay", &arguments.model)?;
            replay::run(&arguments)
        }
        Command::Sequentialize(arguments) => boolean::sequentialize(&arguments),
        Command::Ltl(arguments) => ltl::run(&arguments),
        #[cfg(feature = "lsp")]
        Command::Lsp(arguments) => {
            // The editor ends its server by a signal, if it does not answer.
            terminal::end_at_once();
            preempt_lsp::run(promela::attach(arguments.trust, Vec::new()), own_path())
                .map(|()| ExitCode::SUCCESS)
                .map_err(|error| {
                    Failure::Input(format!("the connection to the editor was lost: {error}"))
                })
        }
        #[cfg(feature = "lsp")]
        Command::Fmt(arguments) => format::run(&arguments),
        Command::Cc { arguments } => cc::run(preempt_run::Language::C, &arguments),
        Command::CPlusPlus { arguments } => cc::run(preempt_run::Language::CPlusPlus, &arguments),
        #[cfg(unix)]
        Command::Shell { command } => shell::run(&command),
        Command::Run(arguments) => run::run(&arguments),
        Command::Cargo { arguments } => cargo::run(&arguments),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => serve::run(&arguments),
        Command::CheckCertificate { certificate, model } => certificate::run(&certificate, &model),
        Command::Slice(arguments) => slice::run(&arguments),
        Command::Symbols(arguments) => spin_symbols::run(&arguments),
        Command::Kernel(arguments) => card::print(&arguments),
        Command::Resume { folder, options } => resume::run(&folder, options),
        Command::Merge { files, json } => merge::run(&files, json),
        Command::Explain { code } => explain::run(code.as_deref()),
        Command::Spin { arguments } => as_spin(&arguments),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "preempt", &mut text);
            output::print_exactly(&String::from_utf8_lossy(&text));
            Ok(ExitCode::SUCCESS)
        }
        Command::Man { command } => {
            output::print_exactly(&manual(command.as_deref())?);
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// What a command line of Spin asks for.
fn as_spin(arguments: &[String]) -> Result<ExitCode, Failure> {
    let line = spin_flags::translate(arguments, &|path| std::fs::read_to_string(path))
        .map_err(|unknown| Failure::Input(unknown.to_string()))?;
    if spin_flags::asks_for_version(arguments) {
        // Front ends of Spin's look for these words.
        let version = env!("CARGO_PKG_VERSION");
        output::print(&format!("preempt {version}, in place of Spin Version 6.5.2\n"));
        return Ok(ExitCode::SUCCESS);
    }
    let is_simulation = line.get(1).is_some_and(|command| command == "simulate");
    let generates = spin_flags::generates(arguments) && is_simulation;
    if !generates {
        output::complain(&line.join(" "));
    }
    let words = line.into_iter().map(Into::into).collect();
    let mut cli = arguments::parse(words).unwrap_or_else(|error| error.exit());
    match &mut cli.command {
        Command::Simulate(model) if generates => return pan::generate(model, arguments),
        Command::Check(arguments) => arguments.given.translated = true,
        _ => {}
    }
    let code = run(cli);
    if spin_flags::verifies(arguments) && is_verdict(code) {
        // Spin has answered, whatever the answer is, and leaves its verifier behind.
        if let Err(failure) = pan::write_verifier(arguments) {
            output::complain(&failure.to_string());
        }
        return Ok(ExitCode::SUCCESS);
    }
    Ok(code)
}

/// Whether a command ended with an answer.
fn is_verdict(code: ExitCode) -> bool {
    [0, 1, 3].into_iter().any(|known| code == ExitCode::from(known))
}

/// The man page of one command, or of all.
fn manual(command: Option<&str>) -> Result<String, Failure> {
    let mut all = Cli::command();
    all.build();
    let described = match command {
        None => all,
        Some(name) => {
            let found = all.find_subcommand(name).cloned();
            let unknown = || Failure::Input(format!("there is no command `{name}`"));
            found.ok_or_else(unknown)?
        }
    };
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(described).render(&mut page);
    rendered.map_err(|error| Failure::Input(error.to_string()))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
