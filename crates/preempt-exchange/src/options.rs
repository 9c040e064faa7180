//! The options of a search of a program: what `preempt run` and `preempt cargo` take, and what the library in the program
//! does by them.
//!
//! An option is one field here. With the feature `command-line` its attributes make it an option of the command with its help,
//! and without it (in programs under test) nothing but the field is left.
//!
//! **Invariant:** both sides read an option from this struct, so that no default and no name is written twice.

use crate::records::{choice, record};
use std::path::PathBuf;
use std::time::Duration;

/// The environment variable that holds a [`Request`].
pub const VARIABLE: &str = "PREEMPT_NATIVE";

/// The most steps of an execution where nothing is asked for.
const STEPS: usize = 1_500_000;

record! {
    /// What a program is asked when it is started.
    #[derive(Clone, Debug)]
    pub struct Request {
        /// The file that the report is written to.
        pub report: String,
        /// Whether the search says from time to time how far it is, in a file beside the report.
        pub progress: bool,
        /// Return addresses of the calls that take a lock of Rust's std as one step, relative to where the program is loaded, in
        /// order.
        pub locks: Vec<usize>,
        /// Calls that change counts of references of Rust's std, likewise.
        pub references: References,
        /// Addresses of the program's `pause` instructions, likewise.
        pub pauses: Vec<usize>,
        /// Where functions are that are indivisible as a whole, likewise: first addresses, and those behind the last.
        pub sections: Vec<(usize, usize)>,
        /// How it searches.
        pub options: SearchOptions,
    }
}

record! {
    /// Return addresses of the calls by which Rust's `Arc` and `Weak` change their counts, relative to where the program is
    /// loaded, in order.
    #[derive(Clone, Debug, Default)]
    pub struct References {
        /// A reference of either kind is cloned.
        pub clones: Vec<usize>,
        /// One that keeps the value is dropped.
        pub drops: Vec<usize>,
        /// A weak one is dropped.
        pub weak_drops: Vec<usize>,
    }
}

/// Makes fields with their options; outside of commands, `#[arg(…)]` is left out.
macro_rules! options {
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident {
            $($(#[doc = $help:literal])* #[arg($($arg:tt)*)] pub $field:ident: $type:ty,)*
        }
    ) => {
        record! {
            $(#[doc = $about])*
            #[derive(Clone, Debug)]
            #[cfg_attr(feature = "command-line", derive(clap::Args))]
            pub struct $name {
                $(
                    $(#[doc = $help])*
                    #[cfg_attr(feature = "command-line", arg($($arg)*))]
                    pub $field: $type,
                )*
            }
        }
    };
}

options! {
    /// How the executions of a program are searched.
    pub struct SearchOptions {
        /// At most N preemptions
        #[arg(long, value_name = "N", conflicts_with = "iterate", help_heading = "Bounds")]
        pub bound: Option<u32>,
        /// 0, 1, 2, … preemptions until violated, exhausted or MAX (the default, without MAX)
        #[arg(long, value_name = "MAX", num_args = 0..=1, help_heading = "Bounds")]
        pub iterate: Option<Option<u32>>,
        /// At most N stale choices: effects of weak memory orders that no interleaving has, such as
        /// reading an older value. By default: none first, then one, and so on
        #[arg(long, value_name = "N", help_heading = "Bounds")]
        pub stale: Option<u32>,
        /// Time limit, e.g. 90s, 10m or 1h
        #[arg(long, value_name = "TIME", value_parser = crate::parse_time, help_heading = "Bounds")]
        pub time: Option<Duration>,
        /// At most N executions
        #[arg(long, value_name = "N", help_heading = "Bounds")]
        pub executions: Option<u64>,
        /// Cut executions after N steps
        #[arg(long, value_name = "N", help_heading = "Bounds")]
        pub depth: Option<usize>,

        /// Whether data races are violations; if off, racing accesses are scheduling points
        #[arg(
            long,
            value_name = "on|off",
            default_value = "on",
            value_parser = switch(),
            action = clap::ArgAction::Set,
            help_heading = "Properties"
        )]
        pub races: bool,
        /// Report memory that is never freed
        #[arg(long, help_heading = "Properties")]
        pub leaks: bool,
        /// Report exit codes other than 0
        #[arg(long, help_heading = "Properties")]
        pub exit_code: bool,
        /// Report threads that still run when the program ends
        #[arg(long, help_heading = "Properties")]
        pub unjoined: bool,

        /// The standard input of each execution; without it, what a shell's `<` gives, or nothing
        #[arg(long, value_name = "FILE", help_heading = "Search")]
        pub input: Option<PathBuf>,
        /// What __VERIFIER_nondet_int and its relatives return: each value of this range
        #[arg(
            long,
            value_name = "LOW..HIGH",
            default_value = "0..3",
            value_parser = values,
            allow_hyphen_values = true,
            help_heading = "Search"
        )]
        pub values: (i64, i64),
        /// Whether a search that takes long has a companion that samples executions
        #[arg(
            long,
            value_name = "on|off",
            default_value = "on",
            value_parser = switch(),
            action = clap::ArgAction::Set,
            help_heading = "Search"
        )]
        pub sample: bool,
        /// Whether pauses and timeouts end at any time, or, those of 10 ms and more, in the order of their times, when no other
        /// thread can go on
        #[arg(long, value_enum, default_value = "any", help_heading = "Search")]
        pub pauses: Pauses,
        /// Whether std, in a program of Rust, takes a Mutex and counts references as far as threads can tell, or by all of its
        /// steps
        #[arg(long, alias = "std-locks", value_enum, default_value = "whole", help_heading = "Search")]
        pub std: Std,
        /// How many waits per execution may end because time is up while other threads could still move; those that end where
        /// nothing else can move are not limited, but count
        #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Search")]
        pub timeouts: u32,
        /// Memory model of atomic operations: RC11, a model of C11 and C++20, or sequential consistency
        // `--memory` is a size everywhere else; here it was the model once.
        #[arg(
            long = "memory-model",
            alias = "memory",
            value_enum,
            default_value = "rc11",
            help_heading = "Search"
        )]
        pub memory: Memory,
        /// What to execute: each partial order once, every schedule, or random schedules
        #[arg(long, value_enum, default_value = "orders", help_heading = "Search")]
        pub search: Search,
        /// With --search random: seed of the random choices
        #[arg(long, value_name = "N", help_heading = "Search")]
        pub seed: Option<u64>,
        /// How executions are repeated: in one process where possible, in a forked process each, or in a
        /// forked process on threads of the operating system
        #[arg(long, value_enum, default_value = "auto", help_heading = "Search")]
        pub backend: Backend,
        /// With --search orders: number of processes that search together; `auto`: one per processor
        #[arg(
            long,
            value_name = "N",
            default_value_t = 1,
            value_parser = crate::parse_threads,
            help_heading = "Search"
        )]
        pub threads: usize,
        /// Seconds without a scheduling point after which a thread counts as an endless computation
        #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Search")]
        pub patience: u64,

        /// Execute only this schedule, as printed in a report
        #[arg(
            long,
            value_name = "SCHEDULE",
            conflicts_with_all = ["bound", "iterate", "stale", "executions", "search", "seed", "threads"],
            help_heading = "Replay"
        )]
        pub replay: Option<String>,
        /// With --replay: run the program in this debugger
        #[arg(long, value_name = "COMMAND", requires = "replay", help_heading = "Replay")]
        pub debugger: Option<String>,
        /// Show what the program prints
        #[arg(long, help_heading = "Replay")]
        pub output: bool,
    }
}

impl SearchOptions {
    /// The most preemptions, if there is a limit.
    #[inline]
    pub fn most_preemptions(&self) -> Option<u32> {
        self.bound.or(self.iterate.flatten())
    }

    /// The most steps of an execution.
    #[inline]
    pub fn most_steps(&self) -> usize {
        self.depth.unwrap_or(STEPS)
    }

    /// Processes that search, besides the first one.
    #[inline]
    pub fn workers(&self) -> usize {
        match self.search {
            Search::Orders => self.threads.saturating_sub(1),
            Search::Schedules | Search::Random => 0,
        }
    }

    /// Whether stale choices are made: a search of every schedule makes none.
    #[inline]
    pub fn is_weak(&self) -> bool {
        self.memory == Memory::Rc11 && self.search != Search::Schedules
    }

    /// The seed of random schedules.
    #[inline]
    pub fn random_seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// Seconds without an operation after which a thread is taken to compute without end; 0: never, because the program
    /// is stopped in a debugger.
    #[inline]
    pub fn seconds_of_patience(&self) -> u64 {
        if self.debugger.is_some() { 0 } else { self.patience }
    }

    /// Whether the output of the program is shown.
    #[inline]
    pub fn shows_output(&self) -> bool {
        self.output || self.debugger.is_some()
    }

    /// Whether long pauses and timeouts end in the order of their times.
    #[inline]
    pub fn keeps_pauses(&self) -> bool {
        self.pauses == Pauses::Kept
    }
}

choice! {
    /// How executions are repeated.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    #[cfg_attr(feature = "command-line", derive(clap::ValueEnum))]
    pub enum Backend {
        // A comment of clap's would be shown in a list of its own; what each is for stands at the option.
        #[allow(missing_docs)]
        Auto,
        #[allow(missing_docs)]
        Restart,
        #[allow(missing_docs)]
        Fork,
        #[allow(missing_docs)]
        Threads,
    }
}

choice! {
    /// Which executions are searched: one per happens-before graph, every schedule, or schedules drawn at random.
    #[allow(missing_docs)]
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    #[cfg_attr(feature = "command-line", derive(clap::ValueEnum))]
    pub enum Search {
        Orders,
        Schedules,
        Random,
    }
}

choice! {
    /// What atomic operations do whose memory order is not `memory_order_seq_cst`: what C11 and C++20 allow, as the model RC11
    /// has it, or the same as if it were.
    #[allow(missing_docs)]
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    #[cfg_attr(feature = "command-line", derive(clap::ValueEnum))]
    pub enum Memory {
        Rc11,
        Sc,
    }
}

choice! {
    /// Whether pauses and timeouts end at any time, or long ones in the order of their times.
    #[allow(missing_docs)]
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    #[cfg_attr(feature = "command-line", derive(clap::ValueEnum))]
    pub enum Pauses {
        Any,
        Kept,
    }
}

choice! {
    /// What is searched of std in a program of Rust: what threads can tell of taking a `Mutex` and of counting references, or all
    /// of its steps.
    #[allow(missing_docs)]
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    #[cfg_attr(feature = "command-line", derive(clap::ValueEnum))]
    pub enum Std {
        Whole,
        Steps,
    }
}

/// `on` or `off`.
#[cfg(feature = "command-line")]
fn switch() -> impl clap::builder::TypedValueParser<Value = bool> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(["on", "off"]).map(|word| word == "on")
}

/// A range of values, both ends of which belong to it.
#[cfg(feature = "command-line")]
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

#[cfg(all(test, feature = "command-line"))]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};

    fn parsed(words: &[&str]) -> SearchOptions {
        let command = SearchOptions::augment_args(Command::new("run").no_binary_name(true));
        SearchOptions::from_arg_matches(&command.get_matches_from(words)).expect("options")
    }

    #[test]
    fn what_the_command_line_says_reaches_the_library() {
        let words = ["--races", "off", "--time", "90s", "--values", "-1..5", "--iterate", "3"];
        let request = Request {
            report: "r.json".into(),
            progress: true,
            locks: vec![16],
            references: References { clones: vec![24], ..References::default() },
            pauses: vec![32],
            sections: vec![(64, 80)],
            options: parsed(&words),
        };
        let text = serde_json::to_string(&request).expect("it is written");
        let read: Request = serde_json::from_str(&text).expect("it is read");
        assert_eq!(format!("{read:?}"), format!("{request:?}"));
        assert_eq!(read.options.most_preemptions(), Some(3));
        assert!(!read.options.races && read.options.values == (-1, 5));
        // Another version has other options.
        for wrong in [text.replace("races", "racing"), text.replace("\"leaks\":false,", "")] {
            assert!(serde_json::from_str::<Request>(&wrong).is_err(), "{wrong}");
        }
    }
}
