//! What `preempt run` asks for, read from one environment variable.
//!
//! The variable holds lines of `name=value`; the driver writes them and is the only one to do so.

use crate::backend::Backend;
use std::ffi::{CStr, CString, c_char};

/// The environment variable.
pub(crate) const VARIABLE: &str = "PREEMPT_NATIVE";

/// Which executions are explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Search {
    /// Every happens-before graph once.
    Orders,
    /// Every schedule, one by one.
    Schedules,
    /// Schedules at random, with this seed.
    Random(u64),
}

/// The options.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Where to write the report.
    pub(crate) report: String,
    pub(crate) bound: Option<u32>,
    /// Most stale choices.
    pub(crate) stale: Option<u32>,
    /// Explore what memory orders allow; otherwise all are executed as sequentially consistent.
    pub(crate) weak: bool,
    pub(crate) nanoseconds: Option<u64>,
    pub(crate) executions: u64,
    pub(crate) steps: usize,
    pub(crate) states: usize,
    pub(crate) backend: Option<Backend>,
    pub(crate) races: bool,
    pub(crate) leaks: bool,
    pub(crate) exit_code: bool,
    /// Threads that run when the program ends are an error.
    pub(crate) unjoined: bool,
    pub(crate) output: bool,
    pub(crate) search: Search,
    /// Execute this schedule instead of searching.
    pub(crate) replay: Option<String>,
    /// Whether executions are sampled beside a search that takes long.
    pub(crate) sample: bool,
    /// Processes that execute for the search, besides itself.
    pub(crate) workers: usize,
    /// The file that is the standard input of each execution.
    pub(crate) input: Option<CString>,
    /// The least and the greatest of the values that a program asks for.
    pub(crate) values: (i64, i64),
    /// Whether the driver wants to know how far the search is.
    pub(crate) progress: bool,
    /// Long pauses and timeouts end in the order of their times, when no other thread can go on.
    pub(crate) keeps_pauses: bool,
    /// How many waits per execution may end because time is up while other threads could still move.
    pub(crate) timeouts: u32,
    /// Return addresses of the calls that take a lock of Rust's std, relative to where the program is loaded: each is one
    /// step, and waits until the lock is free.
    pub(crate) locks: Vec<usize>,
    /// Seconds without an operation after which a thread is taken to compute without end.
    pub(crate) patience: u64,
}

impl Options {
    fn parse(text: &str) -> Option<Options> {
        let mut options = Options {
            report: String::new(),
            bound: None,
            stale: None,
            weak: true,
            nanoseconds: None,
            executions: u64::MAX,
            steps: 100_000,
            states: 4_000_000,
            backend: None,
            races: true,
            leaks: false,
            exit_code: false,
            unjoined: false,
            output: false,
            search: Search::Orders,
            replay: None,
            sample: true,
            workers: 0,
            input: None,
            values: (0, 0),
            progress: false,
            keeps_pauses: false,
            timeouts: 1,
            locks: Vec::new(),
            patience: 10,
        };
        for line in text.lines() {
            let (name, value) = line.split_once('=')?;
            let on = value == "on";
            match name {
                "report" => options.report = value.into(),
                "bound" => options.bound = Some(value.parse().ok()?),
                "stale" => options.stale = Some(value.parse().ok()?),
                "memory" => options.weak = value == "rc11",
                "nanoseconds" => options.nanoseconds = Some(value.parse().ok()?),
                "executions" => options.executions = value.parse().ok()?,
                "steps" => options.steps = value.parse().ok()?,
                "states" => options.states = value.parse().ok()?,
                "backend" => options.backend = Some(Backend::named(value)?),
                "workers" => options.workers = value.parse().ok()?,
                "races" => options.races = on,
                "leaks" => options.leaks = on,
                "exit_code" => options.exit_code = on,
                "unjoined" => options.unjoined = on,
                "output" => options.output = on,
                "sample" => options.sample = on,
                "progress" => options.progress = on,
                "keeps_pauses" => options.keeps_pauses = on,
                "input" => options.input = Some(CString::new(value).ok()?),
                "values" => {
                    let (low, high) = value.split_once(' ')?;
                    options.values = (low.parse().ok()?, high.parse().ok()?);
                }
                "timeouts" => options.timeouts = value.parse().ok()?,
                "locks" => {
                    let address = |text| usize::from_str_radix(text, 16).ok();
                    options.locks = value.split(' ').map(address).collect::<Option<_>>()?;
                }
                "patience" => options.patience = value.parse().ok()?,
                "replay" => options.replay = Some(value.into()),
                "search" => {
                    options.search = match value.split_once(':') {
                        Some(("random", seed)) => Search::Random(seed.parse().ok()?),
                        None if value == "orders" => Search::Orders,
                        None if value == "schedules" => Search::Schedules,
                        _ => return None,
                    }
                }
                _ => return None,
            }
        }
        Some(options)
    }

    /// The options in this environment, if the process was started by `preempt run`. `Err` if they
    /// were written by another version.
    pub(crate) fn from_environment(
        environment: *const *const c_char,
    ) -> Result<Option<Options>, ()> {
        let mut at = environment;
        // SAFETY: an environment is a list of terminated strings that ends with a null pointer.
        unsafe {
            while !at.is_null() && !(*at).is_null() {
                let entry = CStr::from_ptr(*at).to_bytes();
                let value = entry
                    .strip_prefix(VARIABLE.as_bytes())
                    .and_then(|rest| rest.strip_prefix(b"="));
                if let Some(value) = value {
                    let text = std::str::from_utf8(value).map_err(|_| ())?;
                    return Options::parse(text).map(Some).ok_or(());
                }
                at = at.add(1);
            }
        }
        Ok(None)
    }
}
