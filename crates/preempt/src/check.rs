//! `Check`: what to explore, for how long, by which strategy.

use crate::chooser::{self, Chooser};
use crate::environment::Environment;
use crate::explore::replay;
use crate::failure::{Failure, FailureKind};
use crate::html;
use crate::job::{Found, Job};
use crate::parallel::explore;
use crate::report::{Bound, Outcome, Reason, Report};
use crate::rt::Runtime;
use crate::saved;
use crate::strategy::{Memory, Strategy};
use preempt_explore::{Limits, Schedule, Session};
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A check to be run. See the crate's first page for an example.
#[derive(Clone, Debug)]
pub struct Check {
    name: Option<String>,
    bound: Option<u32>,
    stale: Option<u32>,
    memory: Memory,
    unbounded: bool,
    strict: bool,
    min_preemptions: Option<u32>,
    time: Duration,
    threads: usize,
    strategy: Strategy,
    limits: Limits,
    stack: usize,
    timeouts: Option<u32>,
    require_join: bool,
    spurious: u32,
    daemons: bool,
    reuse_addresses: bool,
    patience: Duration,
    replay: Option<String>,
}

impl Default for Check {
    fn default() -> Self {
        Check::new()
    }
}

impl Check {
    /// Bounds 0, 1, 2, … within ten seconds.
    pub fn new() -> Self {
        Check {
            name: None,
            bound: None,
            stale: None,
            memory: Memory::Rc11,
            unbounded: false,
            strict: false,
            min_preemptions: None,
            time: Duration::from_secs(10),
            threads: 1,
            strategy: Strategy::Portfolio,
            limits: Limits::default(),
            stack: 256 << 10,
            timeouts: None,
            require_join: false,
            spurious: 0,
            daemons: false,
            reuse_addresses: false,
            patience: Duration::from_secs(5),
            replay: None,
        }
    }

    /// At most this many preemptions.
    pub fn preemptions(mut self, bound: u32) -> Self {
        self.bound = Some(bound);
        self
    }

    /// At most this many stale choices per execution: loads of older values, stores before others that
    /// are already there, spurious failures of `compare_exchange_weak`. By default: none first,
    /// then one, and so on, within the time.
    pub fn stale(mut self, most: u32) -> Self {
        self.stale = Some(most);
        self
    }

    /// The memory model of atomics. The default is [`Memory::Rc11`].
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// All executions, however many preemptions and stale choices they need, and every round of loops that give up
    /// after many.
    pub fn unbounded(mut self) -> Self {
        self.unbounded = true;
        self
    }

    /// Fail if what was requested cannot be explored within the limits: an inconclusive check is a
    /// failure, and so is one that leaves anything out, such as rounds of loops that give up.
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Fail unless all executions with at most this many preemptions were explored.
    pub fn min_preemptions(mut self, bound: u32) -> Self {
        self.min_preemptions = Some(bound);
        self
    }

    /// Explore for at most this long.
    pub fn time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Explore with this strategy.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Explore on this many operating system threads.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// At most this many executions.
    pub fn executions(mut self, executions: u64) -> Self {
        self.limits.executions = executions;
        self
    }

    /// Executions of at most this many steps; a longer one is a failure.
    pub fn steps(mut self, steps: usize) -> Self {
        self.limits.steps = steps.max(1);
        self
    }

    /// Store at most this many states; then the search ends with the last completed bound.
    pub fn states(mut self, states: usize) -> Self {
        self.limits.states = states.clamp(1, u32::MAX as usize - 1);
        self
    }

    /// Bytes of stack per thread of the test. The default is 256 KiB.
    pub fn stack(mut self, bytes: usize) -> Self {
        self.stack = bytes;
        self
    }

    /// How many timeouts may fire per execution while other threads could still move: one, or eight if the check is
    /// unbounded or strict.
    pub fn timeouts(mut self, timeouts: u32) -> Self {
        self.timeouts = Some(timeouts);
        self
    }

    /// How many waits per execution may end for no reason: of condition variables, `park`, and polls
    /// of futures. The default is none.
    pub fn spurious(mut self, wakes: u32) -> Self {
        self.spurious = wakes;
        self
    }

    /// Executions end when the body has returned, as a process ends with its main thread: threads
    /// that still run or wait then are not a failure.
    pub fn daemons(mut self) -> Self {
        self.daemons = true;
        self
    }

    /// How long the test may go without coming to an operation. If it sleeps that long, blocked by
    /// something that is not preempt's, it fails. The default is five seconds.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience.max(Duration::from_millis(1));
        self
    }

    /// Fail if a thread is still running when the body has returned.
    pub fn require_join(mut self) -> Self {
        self.require_join = true;
        self
    }

    /// Explore what happens if memory that a thread has freed is used again for its next allocation
    /// of the same layout, as an allocator may do: the cause of ABA. Without this no address is used
    /// twice in an execution. Every execution is then really made, so that objects used in freed memory and memory
    /// freed twice are found. Needs the feature `allocator`.
    pub fn reuse_addresses(mut self) -> Self {
        self.reuse_addresses = true;
        self
    }

    /// Go on after failures, to count every failing partial order.
    pub fn keep_going(mut self) -> Self {
        self.limits.keep_going = true;
        self
    }

    /// Run only this schedule.
    pub fn replay(mut self, schedule: &str) -> Self {
        self.replay = Some(schedule.to_string());
        self
    }

    /// The name under which a failing schedule is saved and tried first next time.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_string());
        self
    }

    /// Explores and returns a report. Never panics, and does not read the environment.
    pub fn run(&self, body: impl Fn() + Sync) -> Report {
        let begin = Instant::now();
        if let Some(message) = self.contradiction() {
            return Report::failed(Failure::of_input(message), begin.elapsed());
        }
        let job = self.job(&body, begin);
        if let Some(text) = &self.replay {
            return match text.parse::<Schedule>() {
                Ok(schedule) => self.report_replay(replay(&job, schedule), begin),
                Err(error) => {
                    let message = format!("the schedule cannot be replayed: {error}");
                    Report::failed(Failure::of_input(message), begin.elapsed())
                }
            };
        }
        let found = explore(&job);
        self.report(found, begin)
    }

    /// Options that cannot be met together, in words.
    fn contradiction(&self) -> Option<String> {
        let strategy = format!("{:?}", self.strategy);
        let samples = matches!(
            self.strategy,
            Strategy::Random { .. } | Strategy::Pct { .. } | Strategy::Sampling { .. }
        );
        let unbounded = matches!(self.strategy, Strategy::Optimal | Strategy::SleepSets);
        if self.unbounded && self.bound.is_some() {
            return Some("a check cannot be unbounded and have a bound on preemptions".into());
        }
        if self.bound.is_some() && (samples || unbounded) {
            return Some(format!(
                "the strategy {strategy} does not support a bound on preemptions"
            ));
        }
        let stale = self.stale.is_some_and(|most| most > 0);
        if stale && self.memory == Memory::Sc {
            return Some("there are no stale choices if memory is sequentially consistent".into());
        }
        if stale && !self.strategy.knows_weak_memory() {
            return Some(format!("the strategy {strategy} makes no stale choices"));
        }
        if self.min_preemptions.is_some() && samples {
            return Some(format!(
                "the strategy {strategy} does not complete bounds on preemptions"
            ));
        }
        if self.strict && samples {
            return Some(format!(
                "the strategy {strategy} samples, so a strict check always fails"
            ));
        }
        match (self.min_preemptions, self.bound) {
            (Some(least), Some(most)) if least > most => {
                return Some(format!(
                    "at least {least} and at most {most} preemptions cannot both be met"
                ));
            }
            _ => {}
        }
        if self.daemons && self.require_join {
            return Some("threads must be joined, or may outlive the body, but not both".into());
        }
        (self.reuse_addresses && !crate::rt::follows_addresses()).then(|| {
            "addresses can be used again only if preempt::Allocator is the global allocator".into()
        })
    }

    /// Explores the executions that a chooser wants.
    pub(crate) fn run_by(
        &self,
        chooser: &mut (dyn Chooser + Send),
        body: &(dyn Fn() + Sync),
    ) -> Report {
        let begin = Instant::now();
        let chooser = Mutex::new(chooser);
        let search = |session: &mut Session<'_, Runtime>| {
            let mut chooser = chooser.lock().unwrap_or_else(PoisonError::into_inner);
            chooser::explore(session, &mut **chooser)
        };
        let job = Job { search: Some(&search), threads: 1, ..self.job(body, begin) };
        let found = explore(&job);
        self.report(found, begin)
    }

    /// Explores as a test does: reads the environment, tries a saved schedule first, prints what
    /// was covered, panics on failure.
    #[track_caller]
    pub fn test(&self, body: impl Fn() + Sync) {
        let environment = Environment::read();
        let check = self.with_environment(&environment);
        let report = check.run_saved(&body);
        let page = report.failure().zip(check.name.as_deref()).and_then(|(failure, name)| {
            saved::save_page(name, &html::render(name, failure, &report))
        });
        if let Some(path) = &environment.report {
            let line = report.to_json_line(check.name.as_deref(), check.bound, page.as_deref());
            saved::append(path, &line);
        }
        if let Outcome::Failed(failure) = &report.outcome {
            let mut text = failure.full(&report, check.name.as_deref());
            if let Some(name) = check.name.as_ref().filter(|_| !failure.schedule.is_empty()) {
                saved::save(name, &failure.schedule);
            }
            if let Some(path) = &page {
                text.push_str(&preempt_report::links(path, std::io::stdout().is_terminal()));
            }
            panic!("{text}");
        }
        let weaker = matches!(report.outcome, Outcome::Inconclusive(_)) || !report.notes.is_empty();
        if environment.log || weaker {
            // Not by a macro, whose output the test harness captures.
            let _ = writeln!(std::io::stderr(), "{}{report}", check.prefix());
        } else {
            println!("{}{report}", check.prefix());
        }
    }

    fn prefix(&self) -> String {
        self.name.as_ref().map(|name| format!("preempt: {name}: ")).unwrap_or_default()
    }

    pub(crate) fn with_environment(&self, environment: &Environment) -> Self {
        let mut check = self.clone();
        if let Some(bound) = environment.preemptions {
            check.bound = Some(bound);
            check.unbounded = false;
            // The environment has the last word.
            check.min_preemptions = check.min_preemptions.filter(|&least| least <= bound);
        }
        check.stale = environment.stale.or(check.stale);
        if let Some(memory) = environment.memory {
            check.memory = memory;
            check.stale = check.stale.filter(|_| memory != Memory::Sc);
        }
        check.time = environment.time.unwrap_or(check.time);
        check.threads = environment.threads.unwrap_or(check.threads);
        check.replay = environment.replay.clone().or(check.replay);
        check
    }

    fn run_saved(&self, body: &(impl Fn() + Sync)) -> Report {
        let name = self.name.as_deref().filter(|_| self.replay.is_none());
        if let Some((name, schedule)) = name.and_then(|name| Some((name, saved::load(name)?))) {
            // One that cannot be read, of another version perhaps, is of no use.
            if schedule.parse::<Schedule>().is_ok() {
                let report = self.clone().replay(&schedule).run(body);
                match &report.outcome {
                    // The test has changed since the schedule was saved.
                    Outcome::Failed(failure) if failure.kind == FailureKind::Input => {}
                    Outcome::Failed(_) => return report,
                    _ => {}
                }
            }
            saved::forget(name);
        }
        self.run(body)
    }

    fn job<'a>(&self, body: &'a (dyn Fn() + Sync), begin: Instant) -> Job<'a> {
        let mut limits = self.limits.clone();
        limits.bound = self.bound;
        limits.stale = self.stale;
        limits.deadline = begin.checked_add(self.time);
        let thorough = self.unbounded || self.strict;
        Job {
            body,
            limits,
            memory: self.memory,
            strategy: self.strategy,
            threads: self.threads,
            stack: self.stack,
            timeouts: self.timeouts.unwrap_or(if thorough { 8 } else { 1 }),
            failures: if thorough { 3 } else { 1 },
            require_join: self.require_join,
            spurious: self.spurious,
            daemons: self.daemons,
            all_rounds: self.unbounded,
            reuse_addresses: self.reuse_addresses,
            begin,
            name: self.name.clone(),
            pulse: Arc::default(),
            patience: self.patience,
            search: None,
        }
    }

    fn report_replay(&self, found: Found, begin: Instant) -> Report {
        let mut report = self.report(found, begin);
        if !matches!(report.outcome, Outcome::Failed(_)) {
            report.outcome = Outcome::Inconclusive(Reason::Replay);
        }
        report
    }

    fn report(&self, found: Found, begin: Instant) -> Report {
        let mut statistics = found.statistics;
        statistics.rows.sort_by_key(|row| (row.stale, row.preemptions));
        // Without a limit of its own, the number of stale choices grows as time allows.
        let level = self.stale.unwrap_or(0);
        let rows = statistics.rows.iter().filter(|row| row.stale == level);
        let mut finished = rows.map(|row| row.preemptions).max();
        if found.reason.is_none() {
            // All that was asked for, though it may take fewer stale choices.
            finished = statistics.rows.iter().map(|row| row.preemptions).max();
        }
        let everything = self.unbounded && (self.stale.is_none() || found.reason.is_some());
        let outcome = match (found.failure, statistics.exhausted, finished) {
            (Some(failure), _, _) => Outcome::Failed(failure),
            _ if found.reason.is_some_and(Reason::is_final) => {
                Outcome::Inconclusive(found.reason.unwrap_or(Reason::Unseen))
            }
            (None, true, _) => Outcome::Holds,
            (None, false, Some(bound)) if !everything && self.bound.is_none_or(|b| b <= bound) => {
                Outcome::HoldsWithinBound(bound)
            }
            _ => Outcome::Inconclusive(found.reason.unwrap_or(Reason::Sampling)),
        };
        let mut report = Report {
            outcome,
            executions: statistics.executions,
            partial_orders: statistics.graphs.len() as u64,
            states: statistics.states,
            per_bound: statistics
                .rows
                .iter()
                .map(|row| Bound {
                    stale: row.stale,
                    preemptions: row.preemptions,
                    all_fewer: row.all_fewer,
                    partial_orders: row.graphs,
                    executions: row.executions,
                    states: row.states,
                })
                .collect(),
            delays: statistics.delays,
            samples: statistics.samples,
            fewer_stale: statistics.fewer_stale,
            first_failure: statistics.first_failure,
            unseen: (statistics.samples > 0)
                .then(|| statistics.singletons as f64 / statistics.samples as f64),
            time: begin.elapsed(),
            notes: found.notes,
            unexplored: found.unexplored,
            graphs: statistics.graphs,
        };
        if let Some(message) = self.unmet(&report, finished) {
            report.outcome = Outcome::Failed(Failure::of(FailureKind::Inconclusive, message));
        }
        report
    }

    /// What the check insists on and was not achieved, in words.
    fn unmet(&self, report: &Report, finished: Option<u32>) -> Option<String> {
        let is_weaker = match &report.outcome {
            Outcome::Failed(_) => return None,
            _ if self.replay.is_some() => return None,
            Outcome::Holds if !self.strict || report.unexplored.is_empty() => return None,
            Outcome::Holds | Outcome::HoldsWithinBound(_) => !report.unexplored.is_empty(),
            Outcome::Inconclusive(_) => true,
        };
        if self.strict && is_weaker {
            return Some(format!("strict, and {}", report.covered()));
        }
        let least = self.min_preemptions.filter(|&least| finished.is_none_or(|b| b < least))?;
        Some(format!(
            "all executions with at most {least} preemptions were asked for; {}",
            report.covered()
        ))
    }
}

/// What the body of a `#[preempt::test]` may return.
#[doc(hidden)]
pub trait Returned {
    /// Panics if it is an error.
    fn check(self);
}

impl Returned for () {
    fn check(self) {}
}

impl<E: std::fmt::Debug> Returned for Result<(), E> {
    #[track_caller]
    fn check(self) {
        if let Err(error) = self {
            panic!("the test returned an error: {error:?}");
        }
    }
}

/// Explores a body as `#[preempt::test]` does, without the attribute.
#[track_caller]
pub fn check(body: impl Fn() + Sync) {
    Check::new().test(body);
}

/// The same under the name that loom gives it.
#[track_caller]
pub fn model(body: impl Fn() + Sync) {
    Check::new().test(body);
}
