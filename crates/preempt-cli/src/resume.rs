//! `preempt resume DIR`: the command that was written down with a search, from where the search was.

use crate::arguments::{self, Command};
use crate::failure::Failure;
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
    let parsed = arguments::parse(arguments::with_model_first(words.into_iter()));
    let mut cli = parsed.unwrap_or_else(|error| error.exit());
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
    }
}
