//! shuttle's configuration.

use preempt::Check;
use std::path::PathBuf;
use std::time::Duration;

/// How to run a test.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Bytes of stack per thread, if more than preempt's 256 KiB.
    pub stack_size: usize,
    /// What to do with the schedule of a failure.
    pub failure_persistence: FailurePersistence,
    /// Steps per execution.
    pub max_steps: MaxSteps,
    /// Time to go on for.
    pub max_time: Option<Duration>,
    /// Nothing to do: preempt prints no warnings.
    pub silence_warnings: bool,
    /// Nothing to do: a failure shows every step.
    pub record_steps_in_span: bool,
    /// Nothing to do: an execution that failed runs no more code of the test.
    pub ungraceful_shutdown_config: UngracefulShutdownConfig,
}

impl Config {
    /// shuttle's defaults.
    pub fn new() -> Self {
        Config {
            stack_size: 0xf000,
            failure_persistence: FailurePersistence::Print,
            max_steps: MaxSteps::FailAfter(1_000_000),
            max_time: None,
            silence_warnings: false,
            record_steps_in_span: false,
            ungraceful_shutdown_config: UngracefulShutdownConfig::new(),
        }
    }

    /// The same for preempt. shuttle has no limit of time unless one is set.
    pub(crate) fn to_check(&self) -> Check {
        const SMALLEST_STACK: usize = 256 << 10;
        const LONG: Duration = Duration::from_secs(3600);
        preempt::facade::belongs_to_library(file!());
        // As in shuttle, every ordering is SeqCst.
        let check = Check::new()
            .memory(preempt::Memory::Sc)
            .stack(self.stack_size.max(SMALLEST_STACK))
            // As in shuttle waits never time out.
            .timeouts(0)
            .time(self.max_time.unwrap_or(LONG));
        match self.max_steps {
            MaxSteps::FailAfter(steps) | MaxSteps::ContinueAfter(steps) => check.steps(steps),
            MaxSteps::None => check.steps(usize::MAX),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::new()
    }
}

/// What to do with the schedule of a failure.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FailurePersistence {
    /// Nothing.
    None,
    /// Print it.
    Print,
    /// Write it to a file in this folder, or the current one.
    File(Option<PathBuf>),
}

/// What to do about executions of many steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MaxSteps {
    /// No limit.
    None,
    /// A longer execution fails.
    FailAfter(usize),
    /// A longer execution is given up.
    ContinueAfter(usize),
}

/// Nothing to choose here: see [`Config::ungraceful_shutdown_config`].
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct UngracefulShutdownConfig {
    /// As in shuttle.
    pub immediately_return_on_panic: bool,
    /// As in shuttle.
    pub continuation_function_behavior: ContinuationFunctionBehavior,
}

impl UngracefulShutdownConfig {
    /// shuttle's defaults.
    pub const fn new() -> Self {
        UngracefulShutdownConfig {
            immediately_return_on_panic: false,
            continuation_function_behavior: ContinuationFunctionBehavior::Leak,
        }
    }
}

/// Nothing to choose here: see [`Config::ungraceful_shutdown_config`].
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum ContinuationFunctionBehavior {
    /// As in shuttle.
    Drop,
    /// As in shuttle.
    #[default]
    Leak,
}
