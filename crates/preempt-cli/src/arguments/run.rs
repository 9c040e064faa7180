//! The options of `preempt run`, most of which `preempt cargo` has, too. Those of the search itself are described once, for this
//! command line and for the library in the program: `preempt-exchange/src/options.rs`.

use super::files::ProgramFiles;
use clap::Args;
use preempt_run::SearchOptions;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct RunArguments {
    /// The program, compiled and linked by `preempt cc` or `preempt c++`, and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) search: ProgramArguments,
}

/// How programs are searched and what is reported.
#[derive(Args, Debug, Clone)]
pub(crate) struct ProgramArguments {
    #[command(flatten)]
    pub(crate) options: SearchOptions,

    /// Save the failing execution for `preempt replay`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) files: ProgramFiles,
    /// Print the report as JSON, or write it to FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, help_heading = "Output")]
    pub(crate) json: Option<Option<PathBuf>>,
    /// Print only the verdict
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}
