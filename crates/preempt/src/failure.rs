//! A failing execution, as data and as text.

use crate::evidence::Evidence;
use crate::lanes;
use crate::quantities::{plural, preemptions, stale_choices};
use crate::rt::{MemoryError, PanicNote, Trouble};
use preempt_core::Trace;
use preempt_explore::{Action, Ending, Finding, Race, Site, ThreadId};
use std::fmt;

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
    /// Memory was used after it was freed, freed twice, or is not there.
    Memory,
    /// A thread is blocked by something that preempt does not control.
    Blocked,
    /// The test spawns a thread that preempt does not control, or uses an object of which it does not know where it was made.
    Uncontrolled,
    /// Nothing failed, but the check is strict and not everything that it requires was explored.
    Inconclusive,
    /// The input to preempt cannot be used.
    Input,
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
        let (trace, objects) = lanes::trace(&evidence);
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

/// What, in words, and where.
type Description = (FailureKind, String, String, u32);

fn describe(evidence: &Evidence) -> Description {
    match &evidence.ending {
        Ending::Panic => match &evidence.panic {
            Some((index, note)) => {
                let PanicNote { file, line, column, message } = note;
                let name = thread(evidence, *index);
                let message = format!("{name} panicked at {file}:{line}:{column}:\n{message}");
                (FailureKind::Panic, message, file.clone(), *line)
            }
            None => plain(FailureKind::Panic, "a thread panicked"),
        },
        Ending::Deadlock => waits(evidence, FailureKind::Deadlock, "deadlock"),
        Ending::Livelock => waits(
            evidence,
            FailureKind::Livelock,
            "livelock: some threads wait in loops that yield, and nothing they read changes any more",
        ),
        Ending::Cycle(period) => waits(
            evidence,
            FailureKind::Livelock,
            &format!(
                "livelock: the last {period} steps are repeated for ever, although every thread that can move does"
            ),
        ),
        Ending::Race(race) => data_race(evidence, race),
        Ending::StepLimit => too_many_steps(evidence),
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
            plain(FailureKind::Nondeterminism, "the failure did not happen again")
        }
    }
}

fn plain(kind: FailureKind, message: impl Into<String>) -> Description {
    at(kind, message, None)
}

fn at(kind: FailureKind, message: impl Into<String>, site: Option<Site>) -> Description {
    let (file, line) = site.map_or((String::new(), 0), |s| (s.file().into(), s.line()));
    (kind, message.into(), file, line)
}

/// Where the last step was taken.
fn last_site(evidence: &Evidence) -> Option<Site> {
    evidence.events.last().map(|event| event.operation.site)
}

/// The name of a thread.
fn thread(evidence: &Evidence, index: usize) -> String {
    evidence.threads.get(index).cloned().unwrap_or_else(|| format!("thread {index}"))
}

fn data_race(evidence: &Evidence, race: &Race) -> Description {
    let [earlier, later] =
        [race.earlier, race.later].map(|access| thread(evidence, access.thread.index()));
    let [made, site] = [race.earlier.site, race.later.site];
    let verb = |write| if write { "writes" } else { "reads" };
    let message = match race.creation {
        true => format!(
            "data race with a creation: {earlier} makes an object at {made}, {later} uses it at {site}, and the \
             one does not happen before the other: its memory may not be initialised yet"
        ),
        false => format!(
            "data race on a plain cell: {earlier} {} at {made}, {later} {} at {site}, and neither happens \
             before the other",
            verb(race.earlier.write),
            verb(race.later.write),
        ),
    };
    at(FailureKind::DataRace, message, Some(site))
}

fn too_many_steps(evidence: &Evidence) -> Description {
    let mut last = evidence.events.iter().rev().take(1000);
    // A loop that yields lets others run, and its rounds would have been recognised.
    let advice = match last.any(|e| e.operation.action == Action::Yield) {
        true => "It yields, but does something else in every round;",
        false => {
            "Loops that wait for others must call preempt::thread::yield_now or preempt::hint::spin_loop;"
        }
    };
    let steps = evidence.steps;
    let message = format!(
        "more than {steps} steps: a loop without end? {advice} a longer test can raise Check::steps"
    );
    at(FailureKind::StepLimit, message, last_site(evidence))
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
            at(FailureKind::Leak, message, sites.first().copied())
        }
        Some(Trouble::Unjoined(threads)) => {
            let threads = plural(*threads as u64, "thread was", "threads were");
            let message = format!("{threads} still running when the test body returned");
            plain(FailureKind::Leak, message)
        }
        Some(Trouble::StackOverflow) => plain(
            FailureKind::Panic,
            format!(
                "stack overflow: a thread of the test needs more than {} KiB; raise Check::stack",
                evidence.stack >> 10
            ),
        ),
        Some(Trouble::Blocked(id, last)) => {
            let name = thread(evidence, id.index());
            let after = match last {
                Some((action, site)) => format!("after {} at {site}", action.name()),
                None => "before its first operation".into(),
            };
            let message = format!(
                "{name} is blocked outside preempt's control, {after}. Does the test use \
                 std::sync::Mutex, std::thread::JoinHandle::join, a channel of std or a system call \
                 that waits? Use preempt::sync and preempt::thread inside the test"
            );
            at(FailureKind::Blocked, message, last.map(|(_, site)| site))
        }
        Some(Trouble::Memory(id, error)) => {
            let message = memory_error(evidence, *id, error);
            let message = format!("{message}, after the last step shown");
            at(FailureKind::Memory, message, last_site(evidence))
        }
        Some(Trouble::Uncontrolled) => plain(
            FailureKind::Uncontrolled,
            "the test spawns a thread that preempt does not control: import preempt::thread in place of std::thread, and \
             preempt::sync in place of std::sync",
        ),
        Some(Trouble::Constant(site)) => {
            let message = format!(
                "the object that is used at {site} is a copy of a constant, and preempt did not see where it was copied: \
                 call its `new` when the test runs, for an array by std::array::from_fn"
            );
            at(FailureKind::Uncontrolled, message, Some(*site))
        }
        Some(Trouble::Abort) => plain(FailureKind::Memory, "the test called abort"),
        Some(Trouble::DoublePanic(note)) => {
            let PanicNote { file, line, message, .. } = note;
            let message =
                format!("a destructor panicked during unwinding at {file}:{line}:\n{message}");
            (FailureKind::Panic, message, file.clone(), *line)
        }
        None => plain(FailureKind::Panic, "an unknown failure"),
    }
}

fn memory_error(evidence: &Evidence, id: ThreadId, error: &MemoryError) -> String {
    let name = |id: &ThreadId| thread(evidence, id.index());
    let user = name(&id);
    match error {
        MemoryError::Fault(address) if *address < 4096 => {
            format!("memory error: {user} follows a null pointer (address {address:#x})")
        }
        MemoryError::Fault(address) => {
            format!("memory error: {user} accesses {address:#x}, where there is no memory")
        }
        MemoryError::DoubleFree(before) => {
            format!("double free: {user} frees memory that {} has freed", name(before))
        }
        MemoryError::UseAfterFree(before) => {
            let before = name(before);
            format!("use after free: {user} uses an object in memory that {before} has freed")
        }
    }
}

/// What each thread waits for, and the thread that holds it.
fn waits(evidence: &Evidence, kind: FailureKind, title: &str) -> Description {
    let mut message = String::from(title);
    let name = |index: usize| thread(evidence, index);
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
    at(kind, message, site)
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
