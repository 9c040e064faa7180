//! Models: closures that are explored.

use preempt::Check;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

const DEFAULT_MAX_THREADS: usize = 5;
const DEFAULT_MAX_BRANCHES: usize = 1_000;

/// How to explore a model: loom's fields, with loom's variables as defaults.
#[derive(Debug)]
#[non_exhaustive]
pub struct Builder {
    /// Not needed: preempt has no limit on threads.
    pub max_threads: usize,
    /// Steps of one execution, if changed from loom's 1,000. Default: `LOOM_MAX_BRANCHES`.
    pub max_branches: usize,
    /// Executions to explore. Default: `LOOM_MAX_PERMUTATIONS`.
    pub max_permutations: Option<usize>,
    /// Time to explore for. Default: `LOOM_MAX_DURATION` in seconds, else ten seconds.
    pub max_duration: Option<Duration>,
    /// Preemptions to explore. Default: `LOOM_MAX_PREEMPTIONS`, else 0, 1, 2, … while time is left.
    pub preemption_bound: Option<usize>,
    /// Not supported: a failing schedule is printed, for `PREEMPT_REPLAY`.
    pub checkpoint_file: Option<PathBuf>,
    /// Not needed.
    pub checkpoint_interval: usize,
    /// Not needed: preempt explores from the start.
    pub expect_explicit_explore: bool,
    /// Not needed: places are always recorded.
    pub location: bool,
    /// Not needed: a failure shows every step.
    pub log: bool,
}

/// The value of one of loom's variables.
fn variable<T: FromStr>(name: &str) -> Option<T> {
    let value = std::env::var(name).ok()?;
    match value.trim().parse() {
        Ok(value) => Some(value),
        Err(_) => panic!("invalid value for `{name}`: {value}"),
    }
}

impl Builder {
    /// What the environment asks for.
    ///
    /// # Panics
    /// If a variable has a value that makes no sense, as in loom.
    pub fn new() -> Builder {
        Builder {
            max_threads: DEFAULT_MAX_THREADS,
            max_branches: variable("LOOM_MAX_BRANCHES").unwrap_or(DEFAULT_MAX_BRANCHES),
            max_permutations: variable("LOOM_MAX_PERMUTATIONS"),
            max_duration: variable("LOOM_MAX_DURATION").map(Duration::from_secs),
            preemption_bound: variable("LOOM_MAX_PREEMPTIONS"),
            checkpoint_file: variable("LOOM_CHECKPOINT_FILE"),
            checkpoint_interval: variable("LOOM_CHECKPOINT_INTERVAL").unwrap_or(20_000),
            expect_explicit_explore: false,
            location: std::env::var_os("LOOM_LOCATION").is_some(),
            log: std::env::var_os("LOOM_LOG").is_some(),
        }
    }

    /// Asks for checkpoints.
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Self {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Explores the model and prints what was covered.
    ///
    /// # Panics
    /// With a report, if an execution fails.
    #[track_caller]
    pub fn check<F>(&self, model: F)
    where
        F: Fn() + Sync + Send + 'static,
    {
        if let Some(file) = &self.checkpoint_file {
            eprintln!(
                "preempt: the checkpoint file {} is not used; a failure prints its schedule, which \
                 PREEMPT_REPLAY repeats",
                file.display()
            );
        }
        preempt::facade::belongs_to_library(file!());
        self.to_check().test(model);
    }

    fn to_check(&self) -> Check {
        let mut check = Check::new();
        if let Some(bound) = self.preemption_bound {
            check = check.preemptions(u32::try_from(bound).unwrap_or(u32::MAX));
        }
        if let Some(time) = self.max_duration {
            check = check.time(time);
        }
        if let Some(executions) = self.max_permutations {
            check = check.executions(executions as u64);
        }
        if self.max_branches != DEFAULT_MAX_BRANCHES {
            check = check.steps(self.max_branches);
        }
        check
    }
}

impl Default for Builder {
    fn default() -> Self {
        Builder::new()
    }
}

/// Explores a model with a default [`Builder`].
///
/// # Panics
/// With a report, if an execution fails.
#[track_caller]
pub fn model<F>(model: F)
where
    F: Fn() + Sync + Send + 'static,
{
    Builder::new().check(model);
}
