//! The command line: one table from which help, man page and completions come.

mod cargo;
mod check;
mod combination;
mod files;
mod given;
mod run;
mod values;

pub(crate) use cargo::CargoArguments;
pub(crate) use check::{CheckArguments, ModelArguments};
pub(crate) use combination::Subject;
#[cfg(test)]
pub(crate) use combination::Words;
#[cfg(test)]
pub(crate) use files::ModelFiles;
pub(crate) use given::Given;
pub(crate) use run::{ProgramArguments, RunArguments};
pub(crate) use values::{Method, ReportForm, StoreKind, Switch, Translation};

use crate::spin_text::Shown;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Finds concurrency bugs by searching executions in the order of the preemptions they need.
#[derive(Parser, Debug)]
#[command(name = "preempt", version, propagate_version = true, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  preempt check models/peterson.pml                 prove or refute a Promela model
  preempt check models/peterson.pml --bound 2       … with at most 2 preemptions
  preempt check models/wsq_bug1.pml --iterate       … with 0, 1, 2, … preemptions
  preempt check model.pml --ltl p1 --html bug.html  an LTL property, the trace as a page
  preempt check driver.bp --switches 4              a concurrent recursive Boolean program
  preempt cc a.c -o a && preempt run -- ./a         a C or C++ program, as it is
  preempt cargo test queue                          the tests of a Rust crate, as it is
  preempt simulate model.pml --interactive          step through a model
  preempt serve model.pml                           … in the browser

Exit codes: 0 holds, 1 violated, 2 bad input or usage, 3 inconclusive, 101 a bug in preempt.";

const CHECK_EXAMPLES: &str = "\
Examples:
  preempt check models/peterson.pml
  preempt check models/philosophers.pml -D N=5 --bound 1
  preempt check models/traffic_light.pml --ltl never_both --json
  preempt check models/philosophers.pml -D N=9 --store tree --memory 8G --time 10m
  preempt check models/boolean/bluetooth-2-1.bp --switches 4 --method lazy";

const RUN_EXAMPLES: &str = "\
Examples:
  preempt cc account.c -o account && preempt run -- ./account
  preempt run --bound 2 --json -- ./queue 3 2
  preempt run --races off --html bug.html -- ./legacy
  preempt run --replay p1.0x3.1.0x2 --output -- ./account
  CC='preempt cc' make && preempt run --time 60s -- ./tests/pool";

const CARGO_EXAMPLES: &str = "\
Examples:
  preempt cargo test                                every test of the crate, 10 s each
  preempt cargo test -p queue --release push        tests with `push` in their names
  preempt cargo test --lib -- --time 60s --json     one JSON object per test
  preempt cargo test -- --exact tests::push --replay p1.0x3.1.0x2
  preempt cargo run --example pool -- --bound 2 -- 4";

const RESUME_EXAMPLES: &str = "\
Examples:
  preempt check model.pml --por off --checkpoint saved --every 10m
  preempt resume saved                     after a kill, a full disk, a reboot
  preempt resume saved --memory 16G        … with more memory";

#[cfg(feature = "serve")]
const SERVE_EXAMPLES: &str = "\
Examples:
  preempt serve models/peterson.pml
  preempt serve models/*.pml --port 8080 --no-open
  preempt serve models/peterson_no_turn.pml --at 01";

/// Options whose value may be left out.
const OPTIONAL_VALUES: [&str; 2] = ["--json", "--iterate"];

/// `check --json model.pml` means the model, not a file for the report: an option whose value may be
/// left out moves behind a model that follows it.
pub(crate) fn with_model_first(
    words: impl Iterator<Item = OsString>,
    is_model: fn(&Path) -> bool,
) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    for at in (1..words.len().saturating_sub(1)).rev() {
        let optional = OPTIONAL_VALUES.iter().any(|option| words[at] == *option);
        if optional && is_model(Path::new(&words[at + 1])) {
            words.swap(at, at + 1);
        }
    }
    words
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Check a model or program and report the verdict
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Box<CheckArguments>),
    /// Run a Promela model at random or step by step
    Simulate(SimulateArguments),
    /// Step through a saved trace
    Replay(ReplayArguments),
    /// Explore models in the browser: possible steps, branches, watches, checks
    #[cfg(feature = "serve")]
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArguments),
    /// Print the sequential program that simulates a concurrent Boolean program
    Sequentialize(SequentializeArguments),
    /// Translate an LTL formula to an automaton, or test it for stutter invariance
    Ltl(LtlArguments),
    /// Run the language server for editors (standard input and output)
    #[cfg(feature = "lsp")]
    Lsp(LspArguments),
    /// Indent Promela models by their nesting
    #[cfg(feature = "lsp")]
    Fmt(FormatArguments),
    /// Check a certificate that `check --certificate` or `ltl --certificate` has written
    #[command(name = "check-certificate")]
    CheckCertificate {
        /// The certificate
        certificate: PathBuf,
        /// The model, Boolean program or pushdown system that it is about; of an automaton, the formula
        model: PathBuf,
    },
    /// Print the names of a Promela model with their types and values, as `spin -d` does
    #[command(hide = true)]
    Symbols(NamesArguments),
    /// Print what of a Promela model no assertion, claim or formula depends on
    Slice(NamesArguments),
    /// Print the kernels that `check --gpu` gives to a graphics card (PTX)
    Kernel(KernelArguments),
    /// Compile C programs for `preempt run`; takes the options of the C compiler
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Cc {
        /// The compiler's arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Compile C++ programs for `preempt run`; takes the options of the C++ compiler
    #[command(name = "c++", disable_help_flag = true, disable_version_flag = true)]
    CPlusPlus {
        /// The compiler's arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run a command, or a shell, in which `cc`, `gcc`, `clang`, `c++`, `g++` and `clang++` compile for `preempt run`
    #[cfg(unix)]
    Shell {
        /// The command, such as `make`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// Search the schedules of a C or C++ program
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArguments>),
    /// Search the schedules of a Rust crate's tests or programs: `cargo test` or `cargo run`, with
    /// their options, and after `--` those of preempt (`preempt cargo test -- --help`)
    #[command(after_help = CARGO_EXAMPLES, disable_help_flag = true)]
    Cargo {
        /// `test` or `run`, cargo's options, a filter, `--`, options of preempt
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
        arguments: Vec<OsString>,
    },
    /// Continue a search from a checkpoint that `check --checkpoint` has saved
    #[command(after_help = RESUME_EXAMPLES)]
    Resume {
        /// The folder of the checkpoint
        folder: PathBuf,
        /// Options of `check` that override those of the saved search
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<OsString>,
    },
    /// Merge the JSON reports of the parts of a swarm
    Merge {
        /// The reports, as `check --swarm --part I/N --json FILE` writes them
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Run a Spin command line and print the report in Spin's format
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Spin {
        /// Spin's arguments, e.g. `-run -a -ltl p1 model.pml`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Explain a diagnostic code (P0012) or a verdict (holds_within_bound)
    Explain {
        /// The code; without it, all codes are listed
        code: Option<String>,
    },
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page of preempt, or of one of its commands
    Man {
        /// The command
        command: Option<String>,
    },
}

#[cfg(feature = "lsp")]
#[derive(Args, Debug)]
pub(crate) struct FormatArguments {
    /// Models (.pml); `-` formats standard input and prints the result
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Change nothing; print the files that would change, with exit code 1 if there are any
    #[arg(long)]
    pub(crate) check: bool,
    /// Change nothing; print the formatted text
    #[arg(long, conflicts_with = "check")]
    pub(crate) print: bool,
}

#[cfg(feature = "serve")]
#[derive(Args, Debug)]
pub(crate) struct ServeArguments {
    /// Models (.pml, .bp), C and C++ programs, Rust files and packages, saved executions (.html, .json)
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Define a macro, as for a C preprocessor
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub(crate) define: Vec<String>,
    /// No statement merging: every statement is a step
    #[arg(long)]
    pub(crate) no_merge: bool,
    /// Compile and run the C in models: it can do whatever you can do
    #[arg(long)]
    pub(crate) trust: bool,
    /// Port of 127.0.0.1 to listen on; 0 chooses a free one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,
    /// Print the address without opening the browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Start at the end of this path, the part of the page's address after `path=`
    #[arg(long, value_name = "PATH", value_parser = path_through_states)]
    pub(crate) at: Option<String>,
}

/// How an editor's server works.
#[cfg(feature = "lsp")]
#[derive(Args, Debug)]
pub(crate) struct LspArguments {
    /// Compile and run the C in models that are checked: it can do whatever you can do
    #[arg(long)]
    pub(crate) trust: bool,
}

/// Letters, digits and brackets only: it becomes part of an address.
#[cfg(feature = "serve")]
fn path_through_states(text: &str) -> Result<String, String> {
    match text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "()".contains(c)) {
        true => Ok(text.to_string()),
        false => Err("a path consists of digits, small letters and brackets".into()),
    }
}

/// The options of `check`, each with its help.
#[cfg(feature = "serve")]
pub(crate) fn command_of_check() -> clap::Command {
    CheckArguments::augment_args(clap::Command::new("check"))
}

/// Reads a command line.
pub(crate) fn parse(words: Vec<OsString>) -> Result<Cli, clap::Error> {
    let start = Instant::now();
    let kept: Vec<OsString> = words.iter().skip(1).cloned().collect();
    let matches = Cli::command().try_get_matches_from(words)?;
    let mut cli = Cli::from_arg_matches(&matches)?;
    if let (Command::Check(arguments), Some((_, matches))) =
        (&mut cli.command, matches.subcommand())
    {
        let is_given = |id: &&clap::Id| {
            matches.value_source(id.as_str()) == Some(clap::parser::ValueSource::CommandLine)
        };
        // The groups that clap makes of flattened structs are no options.
        let options = matches.ids().filter(|id| id.as_str() != "file").filter(is_given);
        let options = options.map(|id| id.to_string()).filter(|id| !id.ends_with("Arguments"));
        arguments.given =
            Given { options: options.collect(), words: kept, start, translated: false };
    }
    Ok(cli)
}

#[derive(Args, Debug)]
pub(crate) struct KernelArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// Print those of a search by preemptions
    #[arg(long)]
    pub(crate) bound: bool,
    /// Print those of a card that is full, for folded states
    #[arg(long, conflicts_with = "bound")]
    pub(crate) folded: bool,
    /// Print those of a search with this LTL formula beside the model
    #[arg(long, value_name = "LTL", conflicts_with_all = ["ltl", "claim"])]
    pub(crate) formula: Option<String>,
    /// The same with the ltl block of this name
    #[arg(long, value_name = "NAME", conflicts_with = "claim")]
    pub(crate) ltl: Option<String>,
    /// The same with the never claim of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) claim: Option<String>,
    /// Have the driver of the card compile them, and print how long it takes
    #[arg(long, hide = true)]
    pub(crate) compile: bool,
}

impl KernelArguments {
    /// Whether nothing runs beside the model.
    pub(crate) fn is_plain(&self) -> bool {
        self.formula.is_none() && self.ltl.is_none() && self.claim.is_none()
    }
}

#[derive(Args, Debug)]
pub(crate) struct NamesArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// The never claim in this file takes the place of those of the model
    #[arg(long, value_name = "FILE")]
    pub(crate) claim_file: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct SimulateArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// Choose each step interactively
    #[arg(long, short, conflicts_with_all = ["steps", "json"])]
    pub(crate) interactive: bool,
    /// With --interactive: line by line, even on a terminal
    #[arg(long, requires = "interactive")]
    pub(crate) plain: bool,
    /// Seed of the random choices; by default a new one, which is printed first
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Stop after N steps
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) steps: usize,
    /// Print what Spin prints; the letters are those of its options: p, g, l, r, s, T, b, B, h
    #[arg(long, value_name = "LETTERS", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["json", "interactive"])]
    pub(crate) spin: Option<Shown>,
    /// With --spin: print no statement before step N
    #[arg(long, value_name = "N", requires = "spin", default_value_t = 0)]
    pub(crate) from: usize,
    /// Print the trace as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ReplayArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// A trace written by `check --trace`
    pub(crate) trace: PathBuf,
    /// Step through the trace interactively
    #[arg(long, short, conflicts_with_all = ["html", "json"])]
    pub(crate) interactive: bool,
    /// With --interactive: line by line, even on a terminal
    #[arg(long, requires = "interactive")]
    pub(crate) plain: bool,
    /// Write the trace as one self-contained page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print what Spin prints; the letters are those of its options: p, g, l, r, s, T, b, B, h
    #[arg(long, value_name = "LETTERS", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["json", "interactive", "html"])]
    pub(crate) spin: Option<Shown>,
    /// With --spin: stop before step N
    #[arg(long, value_name = "N", requires = "spin")]
    pub(crate) steps: Option<usize>,
    /// With --spin: print nothing before step N
    #[arg(long, value_name = "N", requires = "spin", default_value_t = 0)]
    pub(crate) from: usize,
    /// Print the trace as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct SequentializeArguments {
    /// The Boolean program
    pub(crate) file: PathBuf,
    /// The translation
    #[arg(long, value_enum, default_value = "lazy")]
    pub(crate) method: Translation,
    /// Number of context switches
    #[arg(long, value_name = "K", default_value_t = 2)]
    pub(crate) switches: u32,
    /// Dialect of Boolean programs
    #[arg(long, value_name = "slam|boppo|bopp")]
    pub(crate) dialect: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct LtlArguments {
    /// The formula, in Spin's syntax
    pub(crate) formula: String,
    /// Print a never claim for it
    #[arg(long, group = "form")]
    pub(crate) never: bool,
    /// Print the automaton in the Hanoi format
    #[arg(long, group = "form")]
    pub(crate) hoa: bool,
    /// Print the automaton as a graph
    #[arg(long, group = "form")]
    pub(crate) dot: bool,
    /// Write the automaton as a certificate for `preempt check-certificate`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stutter", "normal_form"])]
    pub(crate) certificate: Option<PathBuf>,
    /// Print the automaton in stutter-invariant normal form
    #[arg(long, conflicts_with = "stutter")]
    pub(crate) normal_form: bool,
    /// Say whether the formula is stutter invariant
    #[arg(long, group = "form")]
    pub(crate) stutter: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_options_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_model_is_never_the_value_of_an_option() {
        let ordered = |line: &str| {
            let words = with_model_first(line.split(' ').map(OsString::from), |path| {
                path.extension().is_some_and(|extension| extension == "pml")
            });
            words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            ordered("preempt check --json --iterate m.pml"),
            "preempt check m.pml --json --iterate"
        );
        let usual = "preempt check m.pml --json out.json --iterate 3";
        assert_eq!(ordered(usual), usual);
    }
}
