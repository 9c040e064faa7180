//! What an exploration found, as data and as text.

use crate::explore::Evidence;
use crate::lanes;
use crate::rt::Trouble;
use preempt_core::{Trace, grouped};
use preempt_explore::{Action, Ending, Finding, Terminal};
use rustc_hash::FxHashMap;
use std::fmt;
use std::time::Duration;

/// What an exploration concluded.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one per check")]
pub enum Outcome {
    /// No execution fails.
    Holds,
    /// No execution with at most this many preemptions fails; any failure needs at least one more.
    HoldsWithinBound(u32),
    /// Some execution fails.
    Failed(Failure),
    /// None was found, but not everything that was asked for was explored.
    Inconclusive(Reason),
}

/// Why an exploration is inconclusive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// Time was up.
    Time,
    /// The limit on executions was reached.
    Executions,
    /// The limit on states was reached.
    States,
    /// Executions were sampled.
    Sampling,
    /// A single schedule was run, and it did not fail.
    Replay,
    /// Threads share something that preempt does not see.
    Unseen,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Time => "time was up",
            Reason::Executions => "the limit on executions was reached",
            Reason::States => "the limit on states was reached",
            Reason::Sampling => "executions were sampled",
            Reason::Replay => "one schedule was replayed and did not fail",
            Reason::Unseen => "threads share something that preempt does not see",
        })
    }
}

/// What kind of failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// A thread panicked.
    Panic,
    /// Threads wait for each other.
    Deadlock,
    /// Threads wait in loops that yield, for changes that never come.
    Livelock,
    /// Two unordered accesses to a plain cell.
    DataRace,
    /// Something was never dropped, or a thread never joined.
    Leak,
    /// The test does different things after the same observations.
    Nondeterminism,
    /// An execution has too many steps.
    StepLimit,
    /// A thread is blocked by something that preempt does not control.
    Blocked,
    /// Nothing failed, but what was asked for was not explored, and the check is strict.
    Inconclusive,
    /// The input to preempt cannot be used.
    Input,
}

/// What was covered up to one bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bound {
    /// Most stale choices: reads of older values and the like, see [`Memory`](crate::Memory).
    pub stale: u32,
    /// Most preemptions.
    pub preemptions: u32,
    /// Whether that is for executions with exactly so many stale choices only: all with fewer were explored,
    /// whatever their preemptions.
    pub all_fewer: bool,
    /// Partial orders with at most that many of each, or with fewer stale choices.
    pub partial_orders: u64,
    /// Executions so far.
    pub executions: u64,
    /// States so far.
    pub states: u64,
}

/// A failing execution.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What kind.
    pub kind: FailureKind,
    /// What happened, in one or a few lines.
    pub message: String,
    /// Where; empty when unknown.
    pub file: String,
    /// Line there; 0 when unknown.
    pub line: u32,
    /// Preemptions of this execution.
    pub preemptions: u32,
    /// Stale choices of this execution, see [`Memory`](crate::Memory).
    pub stale: u32,
    /// The schedule: give it to [`Check::replay`](crate::Check::replay) or `PREEMPT_REPLAY`.
    pub schedule: String,
    /// The execution, step by step.
    pub trace: Trace,
    /// The objects in it: their names, and the places where they were made.
    pub objects: Vec<(String, String)>,
}

/// What an exploration found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The verdict.
    pub outcome: Outcome,
    /// Executions of the test body.
    pub executions: u64,
    /// Distinct complete happens-before graphs: under weak memory, consistent graphs of what is read from
    /// where, and of the order of stores to each atomic.
    pub partial_orders: u64,
    /// States visited, most of them without running the test.
    pub states: u64,
    /// What was covered, bound by bound.
    pub per_bound: Vec<Bound>,
    /// If there were too many threads for any bound on preemptions: all executions were explored in which
    /// at most this many times a thread is passed over whose turn it is.
    pub delays: Option<u32>,
    /// Executions made by sampling.
    pub samples: u64,
    /// After sampling: an estimate of the share of behaviour not seen yet.
    pub unseen: Option<f64>,
    /// How long it took.
    pub time: Duration,
    /// Lines worth knowing.
    pub notes: Vec<String>,
    pub(crate) graphs: FxHashMap<u128, (u32, Terminal)>,
}

impl Report {
    pub(crate) fn failed(failure: Failure, time: Duration) -> Self {
        Report {
            outcome: Outcome::Failed(failure),
            executions: 0,
            partial_orders: 0,
            states: 0,
            per_bound: Vec::new(),
            delays: None,
            samples: 0,
            unseen: None,
            time,
            notes: Vec::new(),
            graphs: FxHashMap::default(),
        }
    }

    /// The failure, if there is one.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.outcome {
            Outcome::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    /// Whether no failure was found.
    pub fn passed(&self) -> bool {
        self.failure().is_none()
    }

    /// Every complete graph, as (hash, fewest preemptions seen, how it ends); for comparing
    /// strategies.
    #[doc(hidden)]
    pub fn graphs(&self) -> Vec<(u128, u32, &'static str)> {
        let mut list: Vec<_> = self
            .graphs
            .iter()
            .map(|(&hash, &(preemptions, terminal))| {
                let end = match terminal {
                    Terminal::Complete => "complete",
                    Terminal::Deadlock => "deadlock",
                    Terminal::Livelock => "livelock",
                    Terminal::Panic => "panic",
                };
                (hash, preemptions, end)
            })
            .collect();
        list.sort_unstable();
        list
    }

    /// What was covered, in words: for each number of stale choices the largest number of preemptions,
    /// unless a larger number of stale choices covers it.
    fn boxes(&self) -> Option<String> {
        if let Some(row) = self.per_bound.iter().rfind(|row| row.all_fewer) {
            return Some(self.lexicographic(row));
        }
        let mut boxes: Vec<&Bound> = Vec::new();
        for row in &self.per_bound {
            boxes.retain(|b| !(b.stale <= row.stale && b.preemptions <= row.preemptions));
            if !boxes.iter().any(|b| row.stale <= b.stale && row.preemptions <= b.preemptions) {
                boxes.push(row);
            }
        }
        boxes.sort_by_key(|row| row.stale);
        let weak = self.per_bound.iter().any(|row| row.stale > 0);
        let words = |(index, row): (usize, &&Bound)| {
            let orders = if index == 0 { " partial orders" } else { "" };
            let bound = match (row.stale, weak) {
                (0, false) => preemptions(row.preemptions),
                (0, true) => format!("{} and no stale choice", preemptions(row.preemptions)),
                (stale, _) => {
                    format!("{} and {}", stale_choices(stale), preemptions(row.preemptions))
                }
            };
            format!("all {}{orders} with at most {bound}", grouped(row.partial_orders))
        };
        let list: Vec<String> = boxes.iter().enumerate().map(words).collect();
        (!list.is_empty()).then(|| list.join(", and "))
    }

    /// The same where everything with fewer stale choices than in this row was explored.
    fn lexicographic(&self, row: &Bound) -> String {
        let fewer = self.per_bound.iter().filter(|other| other.stale < row.stale);
        let fewer = fewer.map(|other| other.partial_orders).max().unwrap_or(0);
        let most = match row.stale {
            1 => "without a stale choice".to_string(),
            stale => format!("with at most {}", stale_choices(stale - 1)),
        };
        format!(
            "all {} partial orders {most}, and all {} with {} and at most {}",
            grouped(fewer),
            grouped(row.partial_orders - fewer.min(row.partial_orders)),
            stale_choices(row.stale),
            preemptions(row.preemptions)
        )
    }

    pub(crate) fn covered(&self) -> String {
        let weak = self.per_bound.iter().any(|row| row.stale > 0);
        match (&self.outcome, self.boxes()) {
            (Outcome::Holds, _) => {
                format!("all {} partial orders; no execution fails", grouped(self.partial_orders))
            }
            (Outcome::HoldsWithinBound(_), Some(boxes)) if weak => {
                format!("{boxes}; any failure needs more")
            }
            (Outcome::HoldsWithinBound(bound), Some(boxes)) => {
                format!("{boxes}; any failure needs at least {}", bound + 1)
            }
            (Outcome::Inconclusive(reason), Some(boxes)) => {
                format!("inconclusive, {reason}; {boxes} were explored")
            }
            (Outcome::Inconclusive(reason), None) if self.delays.is_some() => format!(
                "inconclusive, {reason}; all executions with at most {} were explored",
                plural(self.delays.unwrap_or(0).into(), "delay", "delays")
            ),
            (Outcome::Inconclusive(reason), None) => {
                format!(
                    "inconclusive, {reason}; {} partial orders seen",
                    grouped(self.partial_orders)
                )
            }
            (Outcome::Failed(failure), _) => format!("failed: {}", failure.message),
            (Outcome::HoldsWithinBound(bound), None) => {
                format!("any failure needs at least {}", preemptions(bound + 1))
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.time.as_secs_f64();
        let rate = if seconds > 0.0 { self.executions as f64 / seconds } else { 0.0 };
        write!(
            f,
            "{} ({} executions, {} states, {}/s, {:.2} s)",
            self.covered(),
            grouped(self.executions),
            grouped(self.states),
            grouped(rate as u64),
            seconds
        )?;
        if self.samples > 0 {
            write!(f, "\n  {} executions were samples", grouped(self.samples))?;
            if let Some(unseen) = self.unseen {
                write!(f, "; the next one would show something new with probability {unseen:.3}")?;
            }
        }
        for note in &self.notes {
            write!(f, "\n  note: {note}")?;
        }
        Ok(())
    }
}

impl Failure {
    pub(crate) fn of_input(message: String) -> Self {
        Failure::of(FailureKind::Input, message)
    }

    /// A failure without an execution.
    pub(crate) fn of(kind: FailureKind, message: String) -> Self {
        Failure {
            kind,
            message,
            file: String::new(),
            line: 0,
            preemptions: 0,
            stale: 0,
            schedule: String::new(),
            trace: Trace::default(),
            objects: Vec::new(),
        }
    }

    /// The failure a strategy found, with what repeating it showed.
    pub(crate) fn from_finding(finding: Finding, mut evidence: Evidence) -> Self {
        let same =
            std::mem::discriminant(&finding.ending) == std::mem::discriminant(&evidence.ending);
        if !same {
            // The repetition is for the story only; what was found stands.
            evidence.ending = finding.ending;
            evidence.schedule = finding.schedule;
        }
        evidence.preemptions = finding.preemptions;
        evidence.stale = finding.stale;
        Failure::from_evidence(evidence)
    }

    pub(crate) fn from_evidence(evidence: Evidence) -> Self {
        let (kind, message, file, line) = describe(&evidence);
        let (trace, objects) =
            lanes::trace(&evidence.events, &evidence.racy, &evidence.threads, &evidence.origins);
        Failure {
            kind,
            message,
            file,
            line,
            preemptions: evidence.preemptions,
            stale: evidence.stale,
            schedule: evidence.schedule.to_string(),
            trace,
            objects,
        }
    }

    /// The whole report: what, where, lanes, how to repeat.
    pub(crate) fn full(&self, report: &Report, name: Option<&str>) -> String {
        let mut text = self.to_string();
        let seconds = report.time.as_secs_f64();
        text.push_str(&format!(
            "\nfound after {} in {seconds:.2} s",
            plural(report.executions, "execution", "executions")
        ));
        let last = report.per_bound.last();
        let simpler = |row: &&Bound| (row.stale, row.preemptions) < (self.stale, self.preemptions);
        if let Some(row) = last.filter(simpler) {
            let stale = match (self.stale, row.stale) {
                (0, _) => String::new(),
                (_, 0) => " and no stale choice".into(),
                (_, stale) => format!(" and {}", stale_choices(stale)),
            };
            let fewer = if row.all_fewer { ", or with fewer stale choices," } else { "" };
            text.push_str(&format!(
                "; of the {} with at most {}{stale}{fewer} none fails",
                plural(row.partial_orders, "partial order", "partial orders"),
                preemptions(row.preemptions)
            ));
        }
        if !self.schedule.is_empty() {
            let test = name.and_then(|n| n.rsplit("::").next()).unwrap_or("");
            text.push_str(&format!(
                "\nrepeat with: PREEMPT_REPLAY='{}' cargo test {test}\n",
                self.schedule
            ));
        }
        for note in &report.notes {
            text.push_str(&format!("note: {note}\n"));
        }
        if !self.trace.steps.is_empty() {
            text.push_str(
                "note: only what goes through preempt::sync, preempt::thread and preempt::cell is seen; \
                 std::sync and std::thread are not\n",
            );
        }
        text
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        if !self.trace.steps.is_empty() {
            if self.stale > 0 {
                write!(f, "with {} and ", stale_choices(self.stale))?;
                write!(f, "{}: ", preemptions(self.preemptions))?;
            } else {
                write!(f, "with {}: ", preemptions(self.preemptions))?;
            }
            f.write_str(&lanes::draw(&self.trace))?;
            if !self.objects.is_empty() {
                let made = |(name, place): &(String, String)| format!("{name} at {place}");
                let made: Vec<String> = self.objects.iter().map(made).collect();
                writeln!(f, "made: {}", made.join(", "))?;
            }
        }
        Ok(())
    }
}

type Description = (FailureKind, String, String, u32);

fn describe(evidence: &Evidence) -> Description {
    let thread = |index: usize| {
        evidence.threads.get(index).cloned().unwrap_or_else(|| format!("thread {index}"))
    };
    match &evidence.ending {
        Ending::Panic => match evidence.panics.last() {
            Some((index, note)) => {
                let message = format!(
                    "{} panicked at {}:{}:{}:\n{}",
                    thread(*index),
                    note.file,
                    note.line,
                    note.column,
                    note.message
                );
                (FailureKind::Panic, message, note.file.clone(), note.line)
            }
            None => plain(FailureKind::Panic, "a thread panicked".into()),
        },
        Ending::Deadlock => waits(evidence, FailureKind::Deadlock, "deadlock"),
        Ending::Livelock => waits(
            evidence,
            FailureKind::Livelock,
            "livelock: some threads wait in loops that yield, and nothing they read changes any more",
        ),
        Ending::Race(race) => {
            let verb = |write| if write { "writes" } else { "reads" };
            // Both may be at the same place, by different threads.
            let last = evidence.racy.last().map(|racy| racy.access.thread);
            let who = |access: &preempt_explore::Access, is_later: bool, other: &str| {
                let same = |racy: &&lanes::RacyAccess| {
                    racy.access.site == access.site
                        && (Some(racy.access.thread) == last) == is_later
                };
                let index = evidence.racy.iter().rev().find(same).map(|r| r.access.thread.index());
                index.map_or_else(|| other.to_string(), &thread)
            };
            let message = format!(
                "data race on a plain cell: {} {} at {}, {} {} at {}, and neither happens before \
                 the other",
                who(&race.earlier, false, "one thread"),
                verb(race.earlier.write),
                race.earlier.site,
                who(&race.later, true, "another"),
                verb(race.later.write),
                race.later.site
            );
            let site = race.later.site;
            (FailureKind::DataRace, message, site.file().into(), site.line())
        }
        Ending::StepLimit => {
            let message = format!(
                "more than {} steps: a loop without end? Loops that wait for others must call \
                 preempt::thread::yield_now or preempt::hint::spin_loop; a longer test can raise \
                 Check::steps",
                evidence.steps
            );
            let site = evidence.events.last().map(|e| e.operation.site);
            let (file, line) = site.map_or((String::new(), 0), |s| (s.file().into(), s.line()));
            (FailureKind::StepLimit, message, file, line)
        }
        Ending::Nondeterminism(mismatch) => plain(
            FailureKind::Nondeterminism,
            format!(
                "the test is not deterministic: after the same observations a thread first came to \
                 {}, and later to {}. Randomness, real time, addresses, std::sync primitives or \
                 state kept between executions can cause this; use preempt::choose, preempt::time, \
                 preempt::sync and preempt::statics! instead",
                mismatch.expected, mismatch.found
            ),
        ),
        Ending::Reported => trouble(evidence),
        Ending::Complete | Ending::Abandoned | Ending::Restart => {
            plain(FailureKind::Nondeterminism, "the failure did not happen again".into())
        }
    }
}

fn plain(kind: FailureKind, message: String) -> Description {
    (kind, message, String::new(), 0)
}

fn trouble(evidence: &Evidence) -> Description {
    match &evidence.trouble {
        Some(Trouble::Leak(sites)) => {
            let places: Vec<String> = sites.iter().take(5).map(ToString::to_string).collect();
            let message = format!(
                "leak: {} never dropped, made at {}",
                plural(sites.len() as u64, "Arc was", "Arcs were"),
                places.join(", ")
            );
            let (file, line) =
                sites.first().map_or((String::new(), 0), |s| (s.file().into(), s.line()));
            (FailureKind::Leak, message, file, line)
        }
        Some(Trouble::Unjoined(threads)) => plain(
            FailureKind::Leak,
            format!(
                "{} still running when the test body returned",
                plural(*threads as u64, "thread was", "threads were")
            ),
        ),
        Some(Trouble::StackOverflow) => plain(
            FailureKind::Panic,
            format!(
                "stack overflow: a thread of the test needs more than {} KiB; raise Check::stack",
                evidence.stack >> 10
            ),
        ),
        Some(Trouble::Blocked(thread, last)) => {
            let name = evidence.threads.get(thread.index()).cloned();
            let name = name.unwrap_or_else(|| "a thread".into());
            let after = match last {
                Some((action, site)) => format!("after {} at {site}", action.name()),
                None => "before its first operation".into(),
            };
            let message = format!(
                "{name} is blocked outside preempt's control, {after}. Does the test use \
                 std::sync::Mutex, std::thread::JoinHandle::join, a channel of std or a system call \
                 that waits? Use preempt::sync and preempt::thread inside the test"
            );
            let (file, line) =
                last.map_or((String::new(), 0), |(_, s)| (s.file().into(), s.line()));
            (FailureKind::Blocked, message, file, line)
        }
        Some(Trouble::DoublePanic(note)) => (
            FailureKind::Panic,
            format!(
                "a destructor panicked during unwinding at {}:{}:\n{}",
                note.file, note.line, note.message
            ),
            note.file.clone(),
            note.line,
        ),
        None => plain(FailureKind::Panic, "an unknown failure".into()),
    }
}

/// Who waits for whom.
fn waits(evidence: &Evidence, kind: FailureKind, title: &str) -> Description {
    let mut message = String::from(title);
    let name = |index: usize| {
        evidence.threads.get(index).cloned().unwrap_or_else(|| format!("thread {index}"))
    };
    for waiting in &evidence.waiting {
        let operation = &waiting.operation;
        let what = match (operation.action, waiting.holder) {
            (Action::Join, Some(target)) => format!("for {} to end", name(target)),
            (Action::Lock | Action::Reacquire, Some(holder)) if holder == waiting.thread => {
                "for a Mutex that it already holds (double lock)".into()
            }
            (_, Some(holder)) if holder == waiting.thread => {
                "for an RwLock that it already holds (double lock)".into()
            }
            (_, Some(holder)) => format!("for a lock held by {}", name(holder)),
            (Action::Reacquire, None) => "to be notified".into(),
            (Action::TakeToken, None) => "to be unparked".into(),
            (Action::Yield, None) => "in a loop that yields".into(),
            (Action::ReadLock, None) => {
                "for an RwLock that it already holds for reading, behind a writer that waits".into()
            }
            (action, None) => format!("at {}", action.name()),
        };
        message.push_str(&format!(
            "\n  {} waits {what}, at {}",
            name(waiting.thread),
            operation.site
        ));
    }
    if let Some(cycle) = cycle(evidence) {
        let names: Vec<String> = cycle.into_iter().map(name).collect();
        message.push_str(&format!("\n  cycle: {}", names.join(" -> ")));
    }
    let site = evidence.waiting.iter().find(|w| w.operation.action != Action::Join);
    let site = site.or(evidence.waiting.first()).map(|w| w.operation.site);
    let (file, line) = site.map_or((String::new(), 0), |s| (s.file().into(), s.line()));
    (kind, message, file, line)
}

fn cycle(evidence: &Evidence) -> Option<Vec<usize>> {
    let next =
        |thread: usize| evidence.waiting.iter().find(|w| w.thread == thread).and_then(|w| w.holder);
    for waiting in &evidence.waiting {
        let mut path = vec![waiting.thread];
        while let Some(holder) = next(path[path.len() - 1]) {
            if holder == waiting.thread {
                path.push(holder);
                return Some(path);
            }
            if path.contains(&holder) {
                break;
            }
            path.push(holder);
        }
    }
    None
}

fn preemptions(number: u32) -> String {
    plural(number.into(), "preemption", "preemptions")
}

fn stale_choices(number: u32) -> String {
    plural(number.into(), "stale choice", "stale choices")
}

fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}
