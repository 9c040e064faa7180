//! Running a test under a scheduler.

use crate::scheduler::{Native, Scheduler, Task, TaskId};
use crate::{Config, FailurePersistence, MaxSteps};
use preempt::facade::{self, Chooser};
use preempt::{Check, FailureKind, Outcome, Reason, Report, Strategy};
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// How long schedules are explored when all partial orders were.
const SCHEDULES: Duration = Duration::from_secs(5);

/// Runs tests under one scheduler.
#[derive(Debug)]
pub struct Runner<S> {
    scheduler: S,
    config: Config,
}

impl<S: Scheduler + 'static> Runner<S> {
    /// With this scheduler.
    pub fn new(scheduler: S, config: Config) -> Self {
        Runner { scheduler, config }
    }

    /// Runs a test; returns the number of executions.
    ///
    /// # Panics
    /// With a report and the schedule, if an execution fails.
    #[track_caller]
    pub fn run<F>(mut self, test: F) -> usize
    where
        F: Fn() + Send + Sync + 'static,
    {
        let check = facade::with_environment(&self.config.to_check());
        let native = self.scheduler.native();
        let test = with_random_data(native.as_ref(), test);
        let (report, executions) = match native {
            Some(Native::Replay(schedule)) => (check.replay(&schedule).run(test), 1),
            Some(Native::Exhaustive(iterations, _)) => self.exhaust(&check, iterations, &test),
            Some(Native::Strategy(strategy, iterations)) => {
                self.sample(&check, strategy, iterations as u64, &test)
            }
            None => {
                let report = facade::drive(&check, &mut Asked(&mut self.scheduler), test);
                let executions = report.executions;
                (report, executions)
            }
        };
        let failed = report.failure().is_some_and(|failure| !self.is_given_up(failure.kind));
        assert!(!failed, "{}", self.failure_text(&report));
        if let Some(complaint) = self.scheduler.complaint() {
            panic!("{complaint}");
        }
        usize::try_from(executions).unwrap_or(usize::MAX)
    }

    /// Every partial order. Tests written for shuttle often share state through std, which it need not see
    /// because it runs every schedule; so schedules follow, for as long as seems reasonable.
    fn exhaust<F>(&self, check: &Check, iterations: Option<usize>, test: &F) -> (Report, u64)
    where
        F: Fn() + Send + Sync + 'static,
    {
        let orders = match iterations {
            Some(iterations) => check.clone().executions(iterations as u64),
            None => check.clone().unbounded(),
        };
        let report = orders.run(test);
        let done = report.executions;
        let left = iterations.map_or(u64::MAX, |most| (most as u64).saturating_sub(done));
        let by_schedules = matches!(report.outcome, Outcome::Inconclusive(Reason::Unseen));
        if report.failure().is_some() || by_schedules || left == 0 {
            return (report, done);
        }
        let time = self.config.max_time.map_or(SCHEDULES, |time| time.min(SCHEDULES));
        let schedules = check.clone().strategy(Strategy::ContextBoundedDfs);
        let further = schedules.executions(left).time(time).run(test);
        let done = done + further.executions;
        (if further.failure().is_some() { further } else { report }, done)
    }

    /// Whether a failure only means that an execution was given up.
    fn is_given_up(&self, kind: FailureKind) -> bool {
        // An execution that goes round in a circle comes to the limit, too.
        matches!(kind, FailureKind::StepLimit | FailureKind::Livelock)
            && matches!(self.config.max_steps, MaxSteps::ContinueAfter(_))
    }

    /// So many executions. One that is given up counts, and the others follow from another seed.
    fn sample<F>(
        &self,
        check: &Check,
        strategy: Strategy,
        iterations: u64,
        test: &F,
    ) -> (Report, u64)
    where
        F: Fn() + Send + Sync + 'static,
    {
        let mut strategy = strategy;
        let mut done = 0;
        loop {
            let left = iterations.saturating_sub(done);
            let report = check.clone().strategy(strategy).executions(left.max(1)).run(test);
            done += report.executions.max(1);
            let given_up = report.failure().is_some_and(|failure| self.is_given_up(failure.kind));
            if !given_up || done >= iterations {
                return (report, done);
            }
            strategy = reseeded(strategy, done);
        }
    }

    fn failure_text(&self, report: &Report) -> String {
        let Some(failure) = report.failure() else { return String::new() };
        let schedule = &failure.schedule;
        let mut text = failure.to_string();
        text.push_str(&in_shuttles_words(failure.kind, &failure.message, self.config.max_steps));
        let how = match &self.config.failure_persistence {
            FailurePersistence::None => return text,
            FailurePersistence::Print => print_text(schedule),
            FailurePersistence::File(folder) => {
                let folder = folder.as_deref().unwrap_or(Path::new("."));
                write_file(folder, schedule).unwrap_or_else(|| print_text(schedule))
            }
        };
        format!("{text}\n{how}")
    }
}

/// What tests that expect a failure look for.
fn in_shuttles_words(kind: FailureKind, message: &str, steps: MaxSteps) -> String {
    match (kind, steps) {
        (FailureKind::StepLimit | FailureKind::Livelock, MaxSteps::FailAfter(steps)) => {
            format!("\nexceeded max_steps bound {steps}")
        }
        (FailureKind::Deadlock, _) => ["Mutex", "RwLock"]
            .into_iter()
            .filter(|lock| message.contains(&format!("{lock} that it already holds")))
            .map(|lock| format!("\ntried to acquire a {lock} it already holds"))
            .collect(),
        _ => String::new(),
    }
}

/// The test, knowing where random numbers come from.
#[cfg(feature = "rand")]
fn with_random_data<F>(native: Option<&Native>, test: F) -> impl Fn() + Send + Sync + 'static
where
    F: Fn() + Send + Sync + 'static,
{
    use crate::rand::rngs::{Data, begin};
    let data = match native {
        Some(Native::Exhaustive(_, true)) => Data::Fixed,
        Some(Native::Exhaustive(_, false)) => Data::Refused,
        _ => Data::Drawn,
    };
    move || {
        begin(data);
        test();
    }
}

#[cfg(not(feature = "rand"))]
fn with_random_data<F>(_: Option<&Native>, test: F) -> F {
    test
}

fn print_text(schedule: &str) -> String {
    format!(
        "failing schedule:\n\"\n{schedule}\n\"\npass that string to `shuttle::replay` to replay the failure"
    )
}

/// Writes the schedule to a file of its own; `None` if that is not possible.
fn write_file(folder: &Path, schedule: &str) -> Option<String> {
    use std::io::Write;
    for number in 0..10_000 {
        let path = folder.join(format!("schedule{number:03}.txt"));
        let file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
        match file {
            Ok(mut file) => {
                file.write_all(schedule.as_bytes()).ok()?;
                let path = path.canonicalize().unwrap_or(path);
                return Some(format!(
                    "failing schedule persisted to file: {}\npass that path to \
                     `shuttle::replay_from_file` to replay the failure",
                    path.display()
                ));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(_) => return None,
        }
    }
    None
}

fn reseeded(strategy: Strategy, by: u64) -> Strategy {
    match strategy {
        Strategy::Random { seed } => Strategy::Random { seed: seed.wrapping_add(by) },
        Strategy::Sampling { seed } => Strategy::Sampling { seed: seed.wrapping_add(by) },
        Strategy::Pct { depth, seed } => Strategy::Pct { depth, seed: seed.wrapping_add(by) },
        other => other,
    }
}

/// A scheduler of the user's, asked at every step.
struct Asked<'a, S>(&'a mut S);

impl<S: Scheduler> Chooser for Asked<'_, S> {
    fn begin(&mut self) -> bool {
        self.0.new_execution().is_some()
    }

    fn choose(
        &mut self,
        runnable: &[usize],
        current: Option<usize>,
        yields: bool,
    ) -> Option<usize> {
        let tasks: Vec<Task> = runnable.iter().map(|&id| Task { id: TaskId::from(id) }).collect();
        let tasks: Vec<&Task> = tasks.iter().collect();
        self.0.next_task(&tasks, current.map(TaskId::from), yields).map(usize::from)
    }

    fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn begin_again(&mut self) {
        self.0.begin_again();
    }
}

/// Runs a test under several schedulers at once.
pub struct PortfolioRunner {
    schedulers: Vec<Box<dyn Scheduler + Send + 'static>>,
    stop_on_first_failure: bool,
    config: Config,
}

impl PortfolioRunner {
    /// With no scheduler yet.
    pub fn new(stop_on_first_failure: bool, config: Config) -> Self {
        PortfolioRunner { schedulers: Vec::new(), stop_on_first_failure, config }
    }

    /// Adds a scheduler.
    pub fn add(&mut self, scheduler: impl Scheduler + Send + 'static) {
        self.schedulers.push(Box::new(scheduler));
    }

    /// Runs a test under each scheduler, on a thread of its own.
    ///
    /// # Panics
    /// With the report of the last scheduler that found a failure.
    #[track_caller]
    pub fn run<F>(self, test: F)
    where
        F: Fn() + Send + Sync + 'static,
    {
        let test = std::sync::Arc::new(test);
        let threads: Vec<_> = self
            .schedulers
            .into_iter()
            .map(|scheduler| {
                let (test, config) = (test.clone(), self.config.clone());
                std::thread::spawn(move || Runner::new(scheduler, config).run(move || test()))
            })
            .collect();
        let mut failure = None;
        for thread in threads {
            if let Err(payload) = thread.join() {
                failure = Some(payload);
                if self.stop_on_first_failure {
                    break;
                }
            }
        }
        if let Some(payload) = failure {
            std::panic::resume_unwind(payload);
        }
    }
}

impl fmt::Debug for PortfolioRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortfolioRunner").field("schedulers", &self.schedulers.len()).finish()
    }
}
