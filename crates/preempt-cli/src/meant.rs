//! What a command was probably meant to be: where it gets a file that another command takes, or has the words of another tool.

mod kind;
mod words;

use crate::failure::Failure;
use crate::spin_flags;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use kind::{Kind, as_command};
use std::ffi::OsString;
use std::path::Path;

/// Refuses what is no model, and names the command that takes it.
pub(crate) fn a_model(path: &Path) -> Result<(), Failure> {
    match Kind::of(path).advice(path) {
        Some(advice) => Err(Failure::Input(advice)),
        None => Ok(()),
    }
}

/// What to say about a command line that cannot be read, if its words or the files in it tell what was meant.
pub(crate) fn command(
    given: &[OsString],
    error: &clap::Error,
    is_model: fn(&Path) -> bool,
) -> Option<String> {
    let first = given.get(1)?.to_str()?;
    let rest = &given[2..];
    let known = |name: ContextKind| match error.get(name) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        // `preempt FILE`, `preempt verify`
        ErrorKind::InvalidSubcommand if Path::new(first).exists() => {
            let file = Path::new(first);
            Kind::of(file).advice(file).or_else(|| {
                Some(format!(
                    "a command is missing: `preempt check {first}` checks it, `preempt serve {first}` shows it in the browser"
                ))
            })
        }
        ErrorKind::InvalidSubcommand if let Some(why) = words::left_out(first) => Some(why),
        ErrorKind::InvalidSubcommand => {
            Some(format!("there is no command `{first}`: {}", words::command(first)?))
        }
        // `preempt run program` without `--`
        _ if first == "run" => a_program(rest, is_model),
        // `preempt replay TRACE`
        ErrorKind::MissingRequiredArgument if first == "replay" => a_trace(rest),
        // `preempt -run -a MODEL`
        ErrorKind::UnknownArgument if spin_flags::is_flag(first) => Some(format!(
            "Spin's options come after `preempt spin`: `preempt spin {}`",
            spaced(&given[1..])
        )),
        ErrorKind::UnknownArgument => {
            let wrong = known(ContextKind::InvalidArg)?;
            // Of `-bfs` only `-b` is reported.
            let wrong = rest
                .iter()
                .filter_map(|word| word.to_str())
                .find(|word| word.starts_with(wrong))?;
            if first == "check" && !wrong.starts_with('-') && is_model(Path::new(wrong)) {
                return Some(format!("`preempt check` takes one model; {wrong} is a second one"));
            }
            if let Some(ours) = words::option(wrong) {
                return Some(format!("there is no option `{wrong}`: {ours}"));
            }
            spin_flags::is_flag(wrong).then(|| {
                format!(
                    "`{wrong}` is an option of Spin: `preempt spin {wrong} …` takes it, and `preempt explain spin` says \
                     what it is called here"
                )
            })
        }
        _ => None,
    }
}

/// The program, or what should become one, that `preempt run` was given without `--` in front of it.
fn a_program(rest: &[OsString], is_model: fn(&Path) -> bool) -> Option<String> {
    if rest.iter().any(|word| word == "--") {
        return None;
    }
    let at = rest.iter().position(|word| Path::new(word).is_file())?;
    let file = Path::new(&rest[at]);
    match Kind::of(file) {
        Kind::Program => Some(format!(
            "the program comes after `--`: `preempt run {}-- {}{}`",
            rest[..at].iter().map(|word| format!("{} ", word.display())).collect::<String>(),
            as_command(file),
            rest[at + 1..].iter().map(|word| format!(" {}", word.display())).collect::<String>(),
        )),
        Kind::Model if is_model(file) => Some(format!(
            "{0} is a model: `preempt check {0}` checks it, `preempt simulate {0}` executes it",
            file.display()
        )),
        other => other.advice(file),
    }
}

fn a_trace(rest: &[OsString]) -> Option<String> {
    let [file] = rest else { return None };
    match Kind::of(Path::new(file)) {
        other @ (Kind::Trace | Kind::Trail | Kind::Page) => other.advice(Path::new(file)),
        _ => None,
    }
}

fn spaced(given: &[OsString]) -> String {
    given.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
