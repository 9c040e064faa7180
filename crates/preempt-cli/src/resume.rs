//! `preempt resume DIR`: the command that was written down with a search, from where the search was.

use crate::arguments::{self, Command};
use crate::failure::Failure;
use crate::languages;
use crate::output;
use clap::CommandFactory;
use preempt_disk::{Broken, Manifest};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Options with a value that may be given anew; the old value is dropped.
const REPLACED: [&str; 10] = [
    "--memory",
    "--time",
    "--threads",
    "--every",
    "--json",
    "--checkpoint",
    "--processes",
    "--hosts",
    "--process",
    "--secret",
];

/// Where the processes are is one question: a new answer to it takes the place of all of the old one.
const PROCESSES: [&str; 4] = ["--processes", "--hosts", "--process", "--secret"];

/// Goes on with the search of a checkpoint; `options` take the place of those it was begun with.
pub(crate) fn run(folder: &Path, options: Vec<OsString>) -> Result<ExitCode, Failure> {
    let manifest = Manifest::read(folder).map_err(|Broken(why)| Failure::Input(why))?;
    let folder =
        std::path::absolute(folder).map_err(|error| Failure::io("find", folder, &error))?;
    let present = Path::new(&manifest.folder);
    std::env::set_current_dir(present).map_err(|error| Failure::io("enter", present, &error))?;
    let mut words = vec![OsString::from("preempt")];
    words.extend(merged(manifest.words, &options));
    words.push("--checkpoint".into());
    words.push(folder.clone().into());
    words.extend(options.iter().cloned());
    let parsed =
        arguments::parse(arguments::with_model_first(words.into_iter(), languages::is_model));
    let mut cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return Ok(output::show_usage(&error)),
    };
    match &mut cli.command {
        Command::Check(arguments) => {
            arguments.resumed = Some(folder);
            arguments.resume_options = options;
        }
        _ => {
            return Err(Failure::Input("the checkpoint was not written by `preempt check`".into()));
        }
    }
    crate::dispatch(cli.command)
}

/// What an option of `check` is called in full, and whether it has a value.
fn known(flag: &str) -> Option<(String, bool)> {
    let cli = arguments::Cli::command();
    let check = cli.find_subcommand("check")?;
    let is_it = |argument: &&clap::Arg| match flag.strip_prefix("--") {
        Some(long) => argument.get_long() == Some(long),
        None => flag.strip_prefix('-').is_some_and(|short| {
            argument.get_short().is_some_and(|known| short.chars().eq([known]))
        }),
    };
    let found = check.get_arguments().find(is_it)?;
    Some((format!("--{}", found.get_long()?), found.get_action().takes_values()))
}

/// Whether the new options say again, and no different, what a saved word says: with the same value, if it has one.
fn is_said_again(word: &str, value: Option<&String>, options: &[OsString]) -> bool {
    let split = |word: &str| match word.split_once('=') {
        Some((flag, value)) => (flag.to_owned(), Some(value.to_owned())),
        None => (word.to_owned(), None),
    };
    let (flag, inline) = split(word);
    let Some((name, has_value)) = known(&flag).filter(|_| flag.starts_with('-')) else {
        return false;
    };
    let saved = inline.or_else(|| value.cloned());
    options.iter().enumerate().any(|(at, option)| {
        let (flag, inline) = split(&option.to_string_lossy());
        let next = options.get(at + 1).map(|value| value.to_string_lossy().into_owned());
        let is_same = known(&flag).is_some_and(|(known, _)| known == name);
        is_same && (!has_value || inline.or(next) == saved)
    })
}

/// The words of the first command, less those that are given anew.
fn merged(words: Vec<String>, options: &[OsString]) -> Vec<OsString> {
    let is_given = |flag: &str| {
        options.iter().any(|option| {
            let option = option.to_string_lossy();
            option == flag || option.starts_with(&format!("{flag}="))
        })
    };
    let other_processes = is_given("--processes") || is_given("--hosts");
    let is_new = |flag: &str| {
        flag == "--checkpoint" || is_given(flag) || (other_processes && PROCESSES.contains(&flag))
    };
    let mut kept = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let flag = word.split('=').next().unwrap_or_default().to_owned();
        if is_said_again(&word, words.peek(), options) && !REPLACED.contains(&flag.as_str()) {
            if word == flag && known(&flag).is_some_and(|(_, has_value)| has_value) {
                words.next();
            }
            continue;
        }
        if !REPLACED.contains(&flag.as_str()) || !is_new(&flag) {
            kept.push(word.into());
        } else if word == flag && words.peek().is_some_and(|value| !value.starts_with('-')) {
            words.next();
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_options_take_the_place_of_old_ones() {
        let old = "check a.pml --memory 1G --por off --checkpoint d --every=1m".split(' ');
        let old: Vec<String> = old.map(Into::into).collect();
        let kept = |options: &[&str]| -> Vec<String> {
            let options: Vec<OsString> = options.iter().map(Into::into).collect();
            let kept = merged(old.clone(), &options).into_iter();
            kept.map(|word| word.to_string_lossy().into_owned()).collect()
        };
        assert_eq!(kept(&[]).join(" "), "check a.pml --memory 1G --por off --every=1m");
        assert_eq!(kept(&["--memory", "2G"]).join(" "), "check a.pml --por off --every=1m");
        let old = ["--hosts", "h", "--process", "0"].map(String::from).to_vec();
        assert_eq!(merged(old, &["--processes".into(), "2".into()]), Vec::<OsString>::new());
        assert_eq!(kept(&["--every=2m"]).join(" "), "check a.pml --memory 1G --por off");
        // What is said again, and no different, is no contradiction.
        assert_eq!(kept(&["--por", "off"]).join(" "), "check a.pml --memory 1G --every=1m");
        assert_eq!(kept(&["--por=on"]).len(), kept(&[]).len());
        let old = ["check", "a.pml", "-q", "--no-deadlock"].map(String::from).to_vec();
        let kept = merged(old, &["--quiet".into(), "--no-deadlock".into()]);
        assert_eq!(kept, ["check", "a.pml"].map(OsString::from));
    }
}
