//! The files that a claim is written to: an option for every row of [`FORMATS`].

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use preempt_report::{FORMATS, Format};
use std::path::PathBuf;

/// The forms that were asked for, each with its file. `PROGRAMS`: those that suit programs only.
#[derive(Clone, Default)]
pub(crate) struct FileArguments<const PROGRAMS: bool>(pub(crate) Vec<(&'static Format, PathBuf)>);

/// The files of `preempt check`.
pub(crate) type ModelFiles = FileArguments<false>;
/// The files of `preempt run` and `preempt cargo`.
pub(crate) type ProgramFiles = FileArguments<true>;

impl<const PROGRAMS: bool> FileArguments<PROGRAMS> {
    /// The forms that are offered.
    pub(crate) fn offered() -> impl Iterator<Item = &'static Format> {
        FORMATS.iter().filter(|format| format.suits_programs || !PROGRAMS)
    }
}

impl<const PROGRAMS: bool> std::fmt::Debug for FileArguments<PROGRAMS> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.0.iter().map(|(format, path)| (format.name, path))).finish()
    }
}

impl<const PROGRAMS: bool> Args for FileArguments<PROGRAMS> {
    fn augment_args(command: Command) -> Command {
        command.args(Self::offered().map(|format| {
            Arg::new(format.name)
                .long(format.name)
                .value_name("FILE")
                .help(format.about)
                .help_heading("Output")
                .value_parser(clap::value_parser!(PathBuf))
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const PROGRAMS: bool> FromArgMatches for FileArguments<PROGRAMS> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |format: &'static Format| {
            matches.get_one::<PathBuf>(format.name).map(|path| (format, path.clone()))
        };
        Ok(FileArguments(Self::offered().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
