//! The options of `preempt run`, most of which `preempt cargo` has, too.

use super::values::{Pauses, StdLocks, Switch, parse_threads, parse_time};
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

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
    /// At most N preemptions
    #[arg(long, value_name = "N", conflicts_with = "iterate", help_heading = "Bounds")]
    pub(crate) bound: Option<u32>,
    /// 0, 1, 2, … preemptions until violated, exhausted or MAX (the default, without MAX)
    #[arg(long, value_name = "MAX", num_args = 0..=1, help_heading = "Bounds")]
    pub(crate) iterate: Option<Option<u32>>,
    /// At most N stale choices: effects of weak memory orders that no interleaving has, such as
    /// reading an older value. By default: none first, then one, and so on
    #[arg(long, value_name = "N", help_heading = "Bounds")]
    pub(crate) stale: Option<u32>,
    /// Time limit, e.g. 90s, 10m or 1h
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Bounds")]
    pub(crate) time: Option<Duration>,
    /// At most N executions
    #[arg(long, value_name = "N", help_heading = "Bounds")]
    pub(crate) executions: Option<u64>,
    /// Cut executions after N steps
    #[arg(long, value_name = "N", help_heading = "Bounds")]
    pub(crate) depth: Option<u64>,

    /// Whether data races are violations; if off, racing accesses are scheduling points
    #[arg(
        long,
        value_enum,
        value_name = "on|off",
        default_value = "on",
        help_heading = "Properties"
    )]
    pub(crate) races: Switch,
    /// Report memory that is never freed
    #[arg(long, help_heading = "Properties")]
    pub(crate) leaks: bool,
    /// Report exit codes other than 0
    #[arg(long, help_heading = "Properties")]
    pub(crate) exit_code: bool,
    /// Report threads that still run when the program ends
    #[arg(long, help_heading = "Properties")]
    pub(crate) unjoined: bool,

    /// The standard input of each execution; without it, what a shell's `<` gives, or nothing
    #[arg(long, value_name = "FILE", help_heading = "Search")]
    pub(crate) input: Option<PathBuf>,
    /// What __VERIFIER_nondet_int and its relatives return: each value of this range
    #[arg(
        long,
        value_name = "LOW..HIGH",
        default_value = "0..3",
        value_parser = values,
        allow_hyphen_values = true,
        help_heading = "Search"
    )]
    pub(crate) values: (i64, i64),
    /// Whether a search that takes long has a companion that samples executions
    #[arg(long, value_enum, value_name = "on|off", default_value = "on", help_heading = "Search")]
    pub(crate) sample: Switch,
    /// Whether pauses and timeouts end at any time, or, those of 10 ms and more, in the order of their times, when no other
    /// thread can go on
    #[arg(long, value_enum, default_value = "any", help_heading = "Search")]
    pub(crate) pauses: Pauses,
    /// Whether a program of Rust takes a Mutex of std by one step, which waits until it is free, or by all the steps of std
    #[arg(long, value_enum, default_value = "whole", help_heading = "Search")]
    pub(crate) std_locks: StdLocks,
    /// How many waits per execution may end because time is up while other threads could still move; those that end where
    /// nothing else can move are not limited, but count
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Search")]
    pub(crate) timeouts: u32,
    /// Memory model of atomic operations: RC11, a model of C11 and C++20, or sequential consistency
    // `--memory` is a size everywhere else; here it was the model once.
    #[arg(
        long = "memory-model",
        alias = "memory",
        value_enum,
        default_value = "rc11",
        help_heading = "Search"
    )]
    pub(crate) memory: RunMemory,
    /// What to execute: each partial order once, every schedule, or random schedules
    #[arg(long, value_enum, default_value = "orders", help_heading = "Search")]
    pub(crate) search: RunSearch,
    /// With --search random: seed of the random choices
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) seed: Option<u64>,
    /// How executions are repeated: in one process where possible, in a forked process each, or in a
    /// forked process on threads of the operating system
    #[arg(long, value_enum, default_value = "auto", help_heading = "Search")]
    pub(crate) backend: RunBackend,
    /// With --search orders: number of processes that search together; `auto`: one per processor
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_threads, help_heading = "Search")]
    pub(crate) threads: usize,
    /// Seconds without a scheduling point after which a thread counts as an endless computation
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Search")]
    pub(crate) patience: u64,

    /// Execute only this schedule, as printed in a report
    #[arg(
        long,
        value_name = "SCHEDULE",
        conflicts_with_all = ["bound", "iterate", "stale", "executions", "search", "seed", "threads"],
        help_heading = "Replay"
    )]
    pub(crate) replay: Option<String>,
    /// With --replay: run the program in this debugger
    #[arg(long, value_name = "COMMAND", requires = "replay", help_heading = "Replay")]
    pub(crate) debugger: Option<String>,
    /// Show what the program prints
    #[arg(long, help_heading = "Replay")]
    pub(crate) output: bool,

    /// Save the failing execution for `preempt replay`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) trace: Option<PathBuf>,
    /// Write the failing execution as a self-contained HTML page
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Print the report as JSON, or write it to FILE
    #[arg(long, value_name = "FILE", num_args = 0..=1, help_heading = "Output")]
    pub(crate) json: Option<Option<PathBuf>>,
    /// Print only the verdict
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
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

/// A range of values, both ends of which belong to it.
fn values(text: &str) -> Result<(i64, i64), String> {
    const MOST: i64 = 1 << 16;
    let (low, high) = text.split_once("..").ok_or("a range is written LOW..HIGH")?;
    let number =
        |word: &str| word.trim().parse::<i64>().map_err(|error| format!("{word}: {error}"));
    let (low, high) = (number(low)?, number(high)?);
    match high.checked_sub(low) {
        Some(0..MOST) => Ok((low, high)),
        Some(MOST..) => Err(format!("a range has at most {MOST} values")),
        _ => Err(format!("{high} is less than {low}")),
    }
}
