//! The options of `preempt check`, and those about a model that other commands share.

use super::given::Given;
use super::values::{
    Backend, Compat, Method, Part, ReportForm, SearchOrder, StoreKind, Switch, parse_part,
    parse_size, parse_threads, parse_time,
};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(Args, Debug, Clone)]
pub(crate) struct ModelArguments {
    /// The model (.pml), Boolean program (.bp) or pushdown system (.pds)
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

    /// Partial-order reduction
    #[arg(long, value_enum, value_name = "on|off", help_heading = "Search")]
    pub(crate) por: Option<Switch>,
    /// Behave like this tool where it is wrong or different, for study
    #[arg(long, value_enum, value_name = "spin", help_heading = "Search")]
    pub(crate) compat: Option<Compat>,
    /// Order of exploration
    #[arg(long, value_enum, default_value = "auto", help_heading = "Search")]
    pub(crate) search: SearchOrder,
    /// Seed of the random choices
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Search")]
    pub(crate) seed: u64,
    /// Different bounds, orders and seeds in parallel; the first violation wins
    #[arg(long, help_heading = "Search")]
    pub(crate) swarm: bool,
    /// With --swarm: the I-th of N jobs, each with its own searches; see `preempt merge`
    #[arg(long, value_name = "I/N", value_parser = parse_part, help_heading = "Search")]
    pub(crate) part: Option<Part>,
    /// Stop at the first violation found, without looking for the simplest counterexample
    #[arg(long, help_heading = "Search")]
    pub(crate) first: bool,
    /// Stop after N violations (0 = count all)
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Search")]
    pub(crate) max_errors: u64,
    /// Cut executions after N steps
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) depth: Option<u64>,
    /// Number of threads, or `auto` for as many as the machine runs at once [default: `auto` where the answer is the same
    /// with one, else 1]
    #[arg(long, value_name = "N", value_parser = parse_threads, help_heading = "Search")]
    pub(crate) threads: Option<usize>,
    /// Start N processes on this machine, which share the states
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), help_heading = "Many machines")]
    pub(crate) processes: Option<u16>,
    /// Share the states with the processes at these addresses, one host:port per line
    #[arg(long, value_name = "FILE", help_heading = "Many machines")]
    pub(crate) hosts: Option<PathBuf>,
    /// With --hosts: the number of this process, from 0; process 0 reports
    #[arg(long, value_name = "I", help_heading = "Many machines")]
    pub(crate) process: Option<usize>,
    /// With --hosts: a file with the secret that all processes share (or set PREEMPT_SECRET)
    #[arg(long, value_name = "FILE", help_heading = "Many machines")]
    pub(crate) secret: Option<PathBuf>,
    /// Before each search, print one line on how it is made: store, frontier, executor, reduction, and why
    #[arg(long, help_heading = "Search")]
    pub(crate) explain_plan: bool,
    /// Explore wide levels on the graphics card, every interleaving of them
    #[arg(long, help_heading = "Search")]
    pub(crate) gpu: bool,
    /// With --gpu: memory limit on the card, e.g. 16G
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Memory and time")]
    pub(crate) gpu_memory: Option<u64>,
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
    /// Keep the states in files in this folder, for more states than memory can hold
    #[arg(long, value_name = "DIR", help_heading = "Memory and time")]
    pub(crate) disk: Option<PathBuf>,
    /// Save the search in this folder from time to time, for `preempt resume`
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
    /// Check the never claim in this file, and no other
    #[arg(long, value_name = "FILE", help_heading = "Properties")]
    pub(crate) claim_file: Option<PathBuf>,
    /// Ignore never claims and ltl blocks
    #[arg(long, help_heading = "Properties")]
    pub(crate) no_claim: bool,
    /// Look for acceptance cycles (those of a never claim are looked for anyway)
    #[arg(long, help_heading = "Properties")]
    pub(crate) acceptance: bool,
    /// Do not look for executions that a never claim accepts by its accept labels, only for those that complete it
    #[arg(long, help_heading = "Properties")]
    pub(crate) no_acceptance: bool,
    /// Look for non-progress cycles
    #[arg(long, help_heading = "Properties")]
    pub(crate) non_progress: bool,
    /// Weak fairness: only executions in which no process that can always move is ignored for ever
    #[arg(long, help_heading = "Properties")]
    pub(crate) fair: bool,
    /// Ignore invalid end states
    #[arg(long, help_heading = "Properties")]
    pub(crate) no_deadlock: bool,
    /// An end state is valid only if all channels are empty (Spin's -q)
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
    /// Method that solves it
    #[arg(long, value_enum, help_heading = "Boolean programs")]
    pub(crate) method: Option<Method>,
    /// The label that must not be reached
    #[arg(long, value_name = "LABEL", help_heading = "Boolean programs")]
    pub(crate) target: Option<String>,
    /// Dialect of Boolean programs
    #[arg(long, value_name = "slam|boppo|bopp", help_heading = "Boolean programs")]
    pub(crate) dialect: Option<String>,

    /// Save the counterexample for `preempt replay`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) trace: Option<PathBuf>,
    /// Write down why the answer is right, for `preempt check-certificate`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) certificate: Option<PathBuf>,
    /// Save every violating execution that a depth-first search meets, as trails of Spin: PREFIX1.trail, PREFIX2.trail, …
    #[arg(long, value_name = "PREFIX", help_heading = "Output")]
    pub(crate) trails: Option<PathBuf>,
    /// Write the counterexample as a self-contained HTML page
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Write the message sequence chart of the counterexample (.svg)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) msc: Option<PathBuf>,
    /// Write the state graph, at most 300 states (.dot or .svg)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) graph: Option<PathBuf>,
    /// Print the report as JSON, or write it to FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, help_heading = "Output")]
    pub(crate) json: Option<Option<PathBuf>>,
    /// Format of the report on standard output
    #[arg(
        long,
        value_enum,
        value_name = "plain|spin",
        default_value = "plain",
        help_heading = "Output"
    )]
    pub(crate) report: ReportForm,
    /// Print only the verdict
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

impl CheckArguments {
    /// When the whole command has to be over.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.time.and_then(|limit| self.given.start.checked_add(limit))
    }
}
