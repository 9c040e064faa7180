//! The command line: one table from which help, man page and completions come.

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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
  preempt simulate model.pml --interactive          walk through a model by hand
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
pub(crate) fn with_model_first(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    let is_model = |word: &OsString| {
        let extension = Path::new(word).extension();
        extension.is_some_and(|e| e == "pml" || e == "bp" || e == "pds")
    };
    for at in (1..words.len().saturating_sub(1)).rev() {
        let optional = OPTIONAL_VALUES.iter().any(|option| words[at] == *option);
        if optional && is_model(&words[at + 1]) {
            words.swap(at, at + 1);
        }
    }
    words
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Check a model or program and say what holds
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Box<CheckArguments>),
    /// Run a Promela model at random or step by step
    Simulate(SimulateArguments),
    /// Step through a saved trace
    Replay(ReplayArguments),
    /// Walk through models in the browser: every possible step, branches, watches, checks
    #[cfg(feature = "serve")]
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArguments),
    /// Print the sequential program that simulates a concurrent Boolean program
    Sequentialize(SequentializeArguments),
    /// Translate an LTL formula to an automaton, or examine it
    Ltl(LtlArguments),
    /// Serve an editor: diagnostics, names, colours, formatting (standard input and output)
    #[cfg(feature = "lsp")]
    Lsp,
    /// Indent Promela models by their nesting
    #[cfg(feature = "lsp")]
    Fmt(FormatArguments),
    /// Compile C as the system's compiler does, for `preempt run`
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Cc {
        /// The compiler's arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Compile C++ as the system's compiler does, for `preempt run`
    #[command(name = "c++", disable_help_flag = true, disable_version_flag = true)]
    CPlusPlus {
        /// The compiler's arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Search the schedules of a C or C++ program
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArguments>),
    /// Go on with a search that `check --checkpoint` has written down
    #[command(after_help = RESUME_EXAMPLES)]
    Resume {
        /// The folder of the checkpoint
        folder: PathBuf,
        /// Options of `check` that take the place of those the search was begun with
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<OsString>,
    },
    /// Put the JSON reports of the parts of a swarm together
    Merge {
        /// The reports, as `check --swarm --part I/N --json FILE` writes them
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Accept a Spin command line, run the equivalent, print Spin's report
    #[command(disable_help_flag = true)]
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
    /// Print the man page
    Man,
}

#[derive(Args, Debug, Clone)]
pub(crate) struct ModelArguments {
    /// The model (.pml) or program (.bp)
    pub(crate) file: PathBuf,
    /// Define a macro, as for a C preprocessor
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub(crate) define: Vec<String>,
    /// No statement merging (Spin's -o3)
    #[arg(long, help_heading = "Promela")]
    pub(crate) no_merge: bool,
    /// No dead-variable resets (Spin's -o1)
    #[arg(long, help_heading = "Promela")]
    pub(crate) no_reset: bool,
    /// Keep global variables that are never read in the state (Spin's -o2)
    #[arg(long, help_heading = "Promela")]
    pub(crate) no_hide: bool,
}

#[cfg(feature = "lsp")]
#[derive(Args, Debug)]
pub(crate) struct FormatArguments {
    /// Models (.pml); `-` is the standard input, whose formatted text is printed
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
    /// Models (.pml) and programs (.bp)
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Define a macro, as for a C preprocessor
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub(crate) define: Vec<String>,
    /// No statement merging: every statement is a step
    #[arg(long)]
    pub(crate) no_merge: bool,
    /// Listen on this port of 127.0.0.1; 0 takes any
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,
    /// Do not open the browser, only print the address
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Begin at the end of this path, as the page's address shows it behind `path=`
    #[arg(long, value_name = "PATH", value_parser = path_through_states)]
    pub(crate) at: Option<String>,
}

/// Letters, digits and brackets only: it becomes part of an address.
#[cfg(feature = "serve")]
fn path_through_states(text: &str) -> Result<String, String> {
    match text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "()".contains(c)) {
        true => Ok(text.to_string()),
        false => Err("a path consists of digits, small letters and brackets".into()),
    }
}

#[derive(Args, Debug, Clone)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,

    /// At most N preemptions
    #[arg(long, value_name = "N", help_heading = "Bounds")]
    pub(crate) bound: Option<u32>,
    /// 0, 1, 2, … preemptions until violated, exhausted or MAX
    #[arg(long, value_name = "MAX", num_args = 0..=1, help_heading = "Bounds")]
    pub(crate) iterate: Option<Option<u32>>,
    /// With --iterate: raise the bound by this much more at a time
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Bounds")]
    pub(crate) csb: u32,
    /// Do not count a switch away from a process whose every step leads back into the path
    #[arg(long, help_heading = "Bounds")]
    pub(crate) free_cycles: bool,
    /// Explore a state again when it is met at a smaller depth
    #[arg(long, help_heading = "Bounds")]
    pub(crate) shorten: bool,

    /// Partial-order reduction
    #[arg(long, value_enum, value_name = "on|off", help_heading = "Search")]
    pub(crate) por: Option<Switch>,
    /// Do as this tool does where it is wrong or different, for study
    #[arg(long, value_enum, value_name = "spin", help_heading = "Search")]
    pub(crate) compat: Option<Compat>,
    /// Order of exploration
    #[arg(long, value_enum, default_value = "auto", help_heading = "Search")]
    pub(crate) search: SearchOrder,
    /// Seed of random choices
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Search")]
    pub(crate) seed: u64,
    /// Different bounds, orders and seeds in parallel; the first violation wins
    #[arg(long, help_heading = "Search")]
    pub(crate) swarm: bool,
    /// With --swarm: the I-th of N jobs, which look at different searches; see `preempt merge`
    #[arg(long, value_name = "I/N", value_parser = parse_part, help_heading = "Search")]
    pub(crate) part: Option<Part>,
    /// Stop at the first violation as found, do not look for the simplest
    #[arg(long, help_heading = "Search")]
    pub(crate) first: bool,
    /// Stop after N violations (0 = count all)
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Search")]
    pub(crate) max_errors: u64,
    /// Cut executions after N steps
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) depth: Option<u64>,
    /// Threads to use, or `auto` for as many as the machine runs at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_threads, help_heading = "Search")]
    pub(crate) threads: usize,
    /// Start so many processes here, which share the states among them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Many machines")]
    pub(crate) processes: Option<u16>,
    /// Share the states with the processes that listen at these addresses, one host:port per line
    #[arg(long, value_name = "FILE", help_heading = "Many machines")]
    pub(crate) hosts: Option<PathBuf>,
    /// With --hosts: which of them this process is, counted from 0, which reports
    #[arg(long, value_name = "I", help_heading = "Many machines")]
    pub(crate) process: Option<usize>,
    /// With --hosts: a file with what all processes know and nobody else (or PREEMPT_SECRET)
    #[arg(long, value_name = "FILE", help_heading = "Many machines")]
    pub(crate) secret: Option<PathBuf>,
    /// How steps are executed
    #[arg(long, value_enum, default_value = "native", help_heading = "Search")]
    pub(crate) backend: Backend,

    /// How states are stored
    #[arg(long, value_enum, help_heading = "Memory and time")]
    pub(crate) store: Option<StoreKind>,
    /// With --store bitstate: the table has 2^N bits
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=43), help_heading = "Memory and time")]
    pub(crate) bits: Option<u32>,
    /// With --store bitstate: number of hash functions
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=16), help_heading = "Memory and time")]
    pub(crate) hashes: u32,
    /// Memory limit, e.g. 512M or 8G
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Memory and time")]
    pub(crate) memory: Option<u64>,
    /// Time limit, e.g. 90s, 10m or 1h
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Memory and time")]
    pub(crate) time: Option<Duration>,
    /// Keep the states in files in this folder, for more of them than memory can hold
    #[arg(long, value_name = "DIR", help_heading = "Memory and time")]
    pub(crate) disk: Option<PathBuf>,
    /// Write the search down in this folder from time to time, for `preempt resume`
    #[arg(long, value_name = "DIR", help_heading = "Memory and time")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// With --checkpoint: how often
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "10m", help_heading = "Memory and time")]
    pub(crate) every: Duration,

    /// Check the ltl block of this name
    #[arg(long, value_name = "NAME", help_heading = "Properties")]
    pub(crate) ltl: Option<String>,
    /// Check this LTL formula
    #[arg(long, value_name = "FORMULA", help_heading = "Properties")]
    pub(crate) formula: Option<String>,
    /// Check the never claim of this name
    #[arg(long, value_name = "NAME", help_heading = "Properties")]
    pub(crate) claim: Option<String>,
    /// Ignore never claims and ltl blocks
    #[arg(long, help_heading = "Properties")]
    pub(crate) no_claim: bool,
    /// Look for acceptance cycles
    #[arg(long, help_heading = "Properties")]
    pub(crate) acceptance: bool,
    /// Look for cycles without progress
    #[arg(long, help_heading = "Properties")]
    pub(crate) non_progress: bool,
    /// Only executions in which no process that can always move is ignored for ever
    #[arg(long, help_heading = "Properties")]
    pub(crate) fair: bool,
    /// Ignore invalid end states
    #[arg(long, help_heading = "Properties")]
    pub(crate) no_deadlock: bool,
    /// Count an end as valid only if all channels are empty (Spin's -q)
    #[arg(long, help_heading = "Properties")]
    pub(crate) empty_channels: bool,
    /// Ignore assertions
    #[arg(long, help_heading = "Properties")]
    pub(crate) no_assert: bool,

    /// At most K context switches of any kind
    #[arg(long, value_name = "K", help_heading = "Boolean programs")]
    pub(crate) switches: Option<u32>,
    /// At most R rounds: in each, every thread may run once, in order
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Boolean programs")]
    pub(crate) rounds: Option<u32>,
    /// How to solve it
    #[arg(long, value_enum, help_heading = "Boolean programs")]
    pub(crate) method: Option<Method>,
    /// The label that must not be reached
    #[arg(long, value_name = "LABEL", help_heading = "Boolean programs")]
    pub(crate) target: Option<String>,
    /// Which dialect of Boolean programs
    #[arg(long, value_name = "slam|boppo|bopp", help_heading = "Boolean programs")]
    pub(crate) dialect: Option<String>,

    /// Save the counterexample for `preempt replay`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) trace: Option<PathBuf>,
    /// Write the counterexample as one self-contained page
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Write a picture of the counterexample's messages (.svg)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) msc: Option<PathBuf>,
    /// Write the state graph, at most 300 states (.dot or .svg)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) graph: Option<PathBuf>,
    /// Print the report as JSON, or write it to FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, help_heading = "Output")]
    pub(crate) json: Option<Option<PathBuf>>,
    /// The form of the report on standard output
    #[arg(
        long,
        value_enum,
        value_name = "plain|spin",
        default_value = "plain",
        help_heading = "Output"
    )]
    pub(crate) report: ReportForm,
    /// Only the verdict
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,

    /// What was given, and when the command began.
    #[arg(skip)]
    pub(crate) given: Given,
    /// The search goes on from the checkpoint in this folder.
    #[arg(skip)]
    pub(crate) resumed: Option<PathBuf>,
    /// With the options that were given then.
    #[arg(skip)]
    pub(crate) resume_options: Vec<OsString>,
}

/// One of several jobs, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub(crate) number: u32,
    pub(crate) of: u32,
}

fn parse_part(text: &str) -> Result<Part, String> {
    let numbers = text
        .split_once('/')
        .and_then(|(number, of)| Some(Part { number: number.parse().ok()?, of: of.parse().ok()? }));
    match numbers {
        Some(part) if (1..=part.of).contains(&part.number) => Ok(part),
        _ => Err("a part is I/N, with I between 1 and N".into()),
    }
}

impl CheckArguments {
    /// When the whole command has to be over.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.time.and_then(|limit| self.given.start.checked_add(limit))
    }
}

/// Which options stand on the command line, as opposed to those that have their default value, and
/// when the command began: a time limit is for all of it.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    options: BTreeSet<String>,
    /// The command line, without the program's name.
    pub(crate) words: Vec<OsString>,
    start: Instant,
}

impl Default for Given {
    fn default() -> Self {
        Given { options: BTreeSet::new(), words: Vec::new(), start: Instant::now() }
    }
}

impl Given {
    /// Whether the option of this field was given.
    pub(crate) fn has(&self, field: &str) -> bool {
        self.options.contains(field)
    }

    /// The fields of all options that were given.
    pub(crate) fn options(&self) -> impl Iterator<Item = &str> {
        self.options.iter().map(String::as_str)
    }

    /// How long the command has been running.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
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
        arguments.given = Given { options: options.collect(), words: kept, start };
    }
    Ok(cli)
}

#[derive(Args, Debug)]
pub(crate) struct SimulateArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// Choose each step by hand
    #[arg(long, short, conflicts_with_all = ["steps", "json"])]
    pub(crate) interactive: bool,
    /// Seed of the random choices; without it a fresh one, printed first
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Stop after N steps
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) steps: usize,
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
    /// Step through by hand
    #[arg(long, short, conflicts_with_all = ["html", "json"])]
    pub(crate) interactive: bool,
    /// Write the trace as one self-contained page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
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
    /// Which dialect of Boolean programs
    #[arg(long, value_name = "slam|boppo|bopp")]
    pub(crate) dialect: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct RunArguments {
    /// The program, compiled and linked by `preempt cc` or `preempt c++`, and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub(crate) command: Vec<OsString>,

    /// At most N preemptions
    #[arg(long, value_name = "N", conflicts_with = "iterate", help_heading = "Bounds")]
    pub(crate) bound: Option<u32>,
    /// 0, 1, 2, … preemptions until violated, exhausted or MAX (the default, without MAX)
    #[arg(long, value_name = "MAX", num_args = 0..=1, help_heading = "Bounds")]
    pub(crate) iterate: Option<Option<u32>>,
    /// At most N stale choices: reads of older values and the like, which memory orders allow and no
    /// interleaving has. Without this: none first, then one, and so on
    #[arg(long, value_name = "N", help_heading = "Bounds")]
    pub(crate) stale: Option<u32>,
    /// Time limit, e.g. 90s, 10m or 1h
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Bounds")]
    pub(crate) time: Option<Duration>,
    /// At most N executions
    #[arg(long, value_name = "N", help_heading = "Bounds")]
    pub(crate) executions: Option<u64>,
    /// Give up on executions of more than N steps
    #[arg(long, value_name = "N", help_heading = "Bounds")]
    pub(crate) depth: Option<u64>,

    /// Whether data races are violations; otherwise accesses that race are scheduling points
    #[arg(
        long,
        value_enum,
        value_name = "on|off",
        default_value = "on",
        help_heading = "Properties"
    )]
    pub(crate) races: Switch,
    /// Memory that is never freed is a violation
    #[arg(long, help_heading = "Properties")]
    pub(crate) leaks: bool,
    /// An exit code other than 0 is a violation
    #[arg(long, help_heading = "Properties")]
    pub(crate) exit_code: bool,
    /// Threads that still run when the program ends are a violation
    #[arg(long, help_heading = "Properties")]
    pub(crate) unjoined: bool,

    /// What atomic operations do that are not sequentially consistent: what C11 and C++20 allow, as the
    /// model RC11 has it, or the same as if they were
    #[arg(long, value_enum, default_value = "rc11", help_heading = "Search")]
    pub(crate) memory: RunMemory,
    /// Which executions: one per partial order, every schedule, or schedules at random
    #[arg(long, value_enum, default_value = "orders", help_heading = "Search")]
    pub(crate) search: RunSearch,
    /// With --search random: the seed
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) seed: Option<u64>,
    /// How executions are repeated: in the process where possible, in a forked process each, or there
    /// on real threads
    #[arg(long, value_enum, default_value = "auto", help_heading = "Search")]
    pub(crate) backend: RunBackend,
    /// Processes that search together, with --search orders; `auto`: one per processor
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_threads, help_heading = "Search")]
    pub(crate) threads: usize,
    /// Seconds without a scheduling point after which a thread is taken to compute without end
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Search")]
    pub(crate) patience: u64,

    /// Execute one schedule, as a report names it
    #[arg(
        long,
        value_name = "SCHEDULE",
        conflicts_with_all = ["bound", "iterate", "stale", "executions", "search", "seed", "threads"],
        help_heading = "Replay"
    )]
    pub(crate) replay: Option<String>,
    /// With --replay: in this debugger
    #[arg(long, value_name = "COMMAND", requires = "replay", help_heading = "Replay")]
    pub(crate) debugger: Option<String>,
    /// Show what the program prints
    #[arg(long, help_heading = "Replay")]
    pub(crate) output: bool,

    /// Save the failing execution for `preempt replay`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) trace: Option<PathBuf>,
    /// Write the failing execution as one self-contained page
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Print the report as JSON, or write it to FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, help_heading = "Output")]
    pub(crate) json: Option<Option<PathBuf>>,
    /// Only the verdict
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
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
    /// Print the automaton in stutter-invariant normal form
    #[arg(long, conflicts_with = "stutter")]
    pub(crate) normal_form: bool,
    /// Say whether the formula is stutter invariant
    #[arg(long, group = "form")]
    pub(crate) stutter: bool,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switch {
    On,
    Off,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunMemory {
    Rc11,
    Sc,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunSearch {
    Orders,
    Schedules,
    Random,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunBackend {
    Auto,
    Restart,
    Fork,
    Threads,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportForm {
    /// The counterexample in lanes, the verdict, the numbers
    Plain,
    /// As Spin's verifier prints it
    Spin,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compat {
    Spin,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchOrder {
    Auto,
    Dfs,
    Bfs,
    Idfs,
    Random,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Native,
    Interp,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreKind {
    Exact,
    Tree,
    Compact,
    Bitstate,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Lazy,
    Eager,
    Direct,
    Explicit,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Translation {
    Lazy,
    Eager,
}

/// `4`, or `auto` for as many as the machine runs at once.
fn parse_threads(text: &str) -> Result<usize, String> {
    if text == "auto" {
        return Ok(std::thread::available_parallelism().map_or(1, usize::from));
    }
    match text.parse::<usize>() {
        Ok(0) | Err(_) => Err("a number of threads from 1 on, or `auto`".into()),
        Ok(threads) => Ok(threads),
    }
}

/// `512M`, `8G`, `1000000`.
fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim().trim_end_matches(['B', 'b']).trim_end_matches('i');
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        Some((at, 't' | 'T')) => (&text[..at], 1_u64 << 40),
        _ => (text, 1),
    };
    let number: f64 = digits.parse().map_err(|_| format!("`{text}` is not a size such as 512M"))?;
    if !number.is_finite() || number <= 0.0 {
        return Err("a size must be larger than 0".into());
    }
    Ok((number * factor as f64) as u64)
}

/// `90s`, `1.5m`, `1h`, `250ms`; a bare number counts seconds.
fn parse_time(text: &str) -> Result<Duration, String> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let seconds = match &text[at..] {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        unit => return Err(format!("`{unit}` is not a unit of time (ms, s, m, h)")),
    };
    let number: f64 =
        text[..at].parse().map_err(|_| format!("`{text}` is not a time such as 90s"))?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| format!("`{text}` is out of range"))
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
            let words = with_model_first(line.split(' ').map(OsString::from));
            words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            ordered("preempt check --json --iterate m.pml"),
            "preempt check m.pml --json --iterate"
        );
        let usual = "preempt check m.pml --json out.json --iterate 3";
        assert_eq!(ordered(usual), usual);
    }

    #[test]
    fn sizes_and_times() {
        assert_eq!(parse_size("512M"), Ok(512 << 20));
        assert_eq!(parse_size("1.5GiB"), Ok(3 << 29));
        assert!(parse_size("many").is_err());
        assert!(parse_size("-1").is_err());
        assert_eq!(parse_time("90"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_time("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(parse_time("250ms"), Ok(Duration::from_millis(250)));
        assert!(parse_time("3 fortnights").is_err());
        assert!(parse_time("-3s").is_err());
    }
}
