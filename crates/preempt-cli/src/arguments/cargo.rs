//! The options of `preempt cargo`, which come after `--`.

use super::run::ProgramArguments;
use clap::{CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;

#[derive(Parser, Debug)]
#[command(
    name = "preempt cargo",
    about = "Options of preempt, after cargo's own and --",
    override_usage = "preempt cargo test [CARGO OPTIONS] [FILTER] [-- OPTIONS]\n       \
                      preempt cargo nextest run [NEXTEST OPTIONS] [-- OPTIONS]\n       \
                      preempt cargo run [CARGO OPTIONS] [-- OPTIONS [-- ARGUMENTS OF THE PROGRAM]]"
)]
pub(crate) struct CargoArguments {
    /// Parts of the names of tests: those with one of them are run
    pub(crate) filters: Vec<String>,
    /// Names must be as a whole
    #[arg(long, help_heading = "Tests")]
    pub(crate) exact: bool,
    /// Only tests that are marked #[ignore]
    #[arg(long, help_heading = "Tests", conflicts_with = "include_ignored")]
    pub(crate) ignored: bool,
    /// Also tests that are marked #[ignore]
    #[arg(long, help_heading = "Tests")]
    pub(crate) include_ignored: bool,
    /// Leave out tests with this in their names
    #[arg(long, value_name = "FILTER", help_heading = "Tests")]
    pub(crate) skip: Vec<String>,
    /// Keep the failing schedule of a test in a file beside the crate; it is executed first from then on
    #[arg(long, help_heading = "Replay", conflicts_with = "replay")]
    pub(crate) export: bool,
    #[command(flatten)]
    pub(crate) search: ProgramArguments,
    /// Arguments of the program, with `preempt cargo run`
    #[arg(last = true, value_name = "ARGUMENT")]
    pub(crate) program: Vec<OsString>,
}

impl CargoArguments {
    /// Reads what comes after `--`.
    pub(crate) fn read(words: &[OsString]) -> Result<Self, clap::Error> {
        let named = std::iter::once(OsString::from("preempt cargo")).chain(words.iter().cloned());
        // The time is for each test, and files are folders with one file per test.
        let command = CargoArguments::command()
            .mut_arg("time", |arg| arg.help("Time limit for each test [default: 10s]"))
            .mut_arg("html", |arg| {
                arg.value_name("FOLDER").help("Write a page for each failing test")
            })
            .mut_arg("trace", |arg| {
                arg.value_name("FOLDER").help("Save the failing execution of each failing test")
            })
            .mut_arg("json", |arg| arg.help("Print a JSON object per test, or write them to FILE"));
        CargoArguments::from_arg_matches(&command.try_get_matches_from(named)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_options_is_consistent() {
        CargoArguments::command().debug_assert();
    }
}
