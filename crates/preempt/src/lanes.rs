//! One failing execution as a picture: a lane per thread, time from top to bottom.

use crate::evidence::{Evidence, RacyAccess, line_of, writer};
use crate::naming::{binding, name_of_static};
use crate::rt::Shown;
use preempt_core::{Change, Observations, ReadsFrom, Switch, Trace, TraceStep, Value, Waiting};
use preempt_explore::{Access, Action, Ending, Event, Move, ObjectId, Operation, Site};
use preempt_report::{Look, lanes};
use rustc_hash::FxHashMap;

/// Longest part of a lane between two switches that is shown in full.
const SHOWN: usize = 8;
/// Columns of a terminal.
const WIDTH: usize = 100;

/// The steps of an execution in the vocabulary of reports, and where their objects were made. The main
/// thread runs first: a thread that moves before it has taken the processor from it.
pub(crate) fn trace(evidence: &Evidence) -> (Trace, Vec<(String, String)>) {
    let Evidence { events, racy, threads, .. } = evidence;
    let mut names = ObjectNames::of(evidence);
    let is_weak = events.iter().any(|e| e.source.is_some_and(|source| source.stale));
    let mut last = 0;
    let mut steps = Vec::with_capacity(events.len() + racy.len());
    // Where each event stands among the steps.
    let mut rows = Vec::with_capacity(events.len());
    for position in 0..=events.len() {
        for racy in racy.iter().filter(|racy| racy.position == position) {
            let Access { thread, write, site } = racy.access;
            let used = events.iter().find(|event| event.operation.object == racy.cell);
            let cell = names.name(racy.cell, used.map_or("cell", |e| kind(e.operation.action)));
            let verb = match (racy.creation, write) {
                (true, _) => "made",
                (false, true) => "write",
                (false, false) => "read",
            };
            let switch = if last == thread.index() { Switch::None } else { Switch::Forced };
            last = thread.index();
            let text = format!("{cell}: {verb}, races");
            steps.push(step(last, threads, site, text, switch));
        }
        let Some(event) = events.get(position) else { break };
        let thread = event.step.thread.index();
        let switch = match last == thread {
            true => Switch::None,
            false if event.preemption => Switch::Preemption,
            false => Switch::Forced,
        };
        last = thread;
        let mut text = names.describe(event, threads);
        if is_weak {
            text.push_str(&origin(evidence, event));
        }
        let uses = |racy: &RacyAccess| racy.creation && racy.cell == event.operation.object;
        if position + 1 == events.len() && racy.iter().any(uses) {
            text.push_str(", races");
        }
        let mut step = step(thread, threads, event.operation.site, text, switch);
        step.changes = names.changes(event);
        rows.push(steps.len());
        steps.push(step);
    }
    let reads = if is_weak { reads(events, &rows) } else { Vec::new() };
    let reasons = comparison(evidence).into_iter().collect();
    let waiting = names.waiting(evidence);
    let observations = Observations { reasons, waiting, ..Observations::default() };
    (Trace { steps, reads, observations, ..Trace::default() }, names.places)
}

/// What `assert_eq!` and `assert_ne!` compared: `left == right is false: left is 1, right is 2`.
fn comparison(evidence: &Evidence) -> Option<String> {
    let (_, note) = evidence.panic.as_ref().filter(|_| matches!(evidence.ending, Ending::Panic))?;
    let (_, rest) = note.message.split_once("assertion `")?;
    let (condition, rest) = rest.split_once("` failed")?;
    let (_, values) = rest.split_once("\n  left: ")?;
    let (left, right) = values.split_once("\n right: ")?;
    Some(format!("{condition} is false: left is {left}, right is {right}"))
}

/// Which step wrote what each step reads; `rows` are the steps of the events.
fn reads(events: &[Event], rows: &[usize]) -> Vec<ReadsFrom> {
    let row = |number| {
        let writer = writer(events, number)?;
        events.iter().position(|event| std::ptr::eq(event, writer)).map(|at| rows[at])
    };
    let read = |(event, &step): (&Event, &usize)| {
        let source = event.source.filter(|_| event.operation.action != Action::Store)?;
        let missed = row(source.newest).filter(|_| source.stale && !source.fails);
        Some(ReadsFrom { step, from: row(source.read), missed })
    };
    events.iter().zip(rows).filter_map(read).collect()
}

/// In an execution that is no interleaving: where a value comes from, and what was missed.
fn origin(evidence: &Evidence, event: &Event) -> String {
    let Some(source) = event.source else { return String::new() };
    let (events, site) = (&evidence.events, event.operation.site);
    let newest = evidence.number(event.operation.object, source.newest_value);
    let line = |number| writer(events, number).map(|e| line_of(e.operation.site, site));
    let missed = line(source.newest).filter(|_| source.stale);
    match (event.operation.action, missed) {
        _ if source.fails => " for no reason".into(),
        (Action::Store, Some(other)) => format!(", before {newest} of {other}"),
        (Action::Store, None) => String::new(),
        (_, Some(other)) => format!(", though {newest} was stored at {other}"),
        (_, None) => line(source.read).map(|line| format!(" of {line}")).unwrap_or_default(),
    }
}

fn step(thread: usize, threads: &[String], site: Site, text: String, switch: Switch) -> TraceStep {
    TraceStep {
        process: threads.get(thread).cloned().unwrap_or_default(),
        pid: thread,
        partner: None,
        file: site.file().into(),
        line: site.line(),
        text,
        switch,
        changes: Vec::new(),
        output: String::new(),
    }
}

/// Draws the lanes, their header on a line of its own. Steps show the line; the file is the same for all or named with each.
pub(crate) fn draw(trace: &Trace) -> String {
    let look = Look::plain(WIDTH).with_collapse(SHOWN);
    let file = trace.steps.first().map(|step| step.file.as_str()).unwrap_or_default();
    if trace.steps.iter().all(|step| step.file == file) {
        return format!("(lines of {file})\n{}", lanes::render(trace, None, &look));
    }
    let mut trace = trace.clone();
    for step in &mut trace.steps {
        let name = step.file.rsplit(['/', '\\']).next().unwrap_or_default();
        step.text = format!("{} ({name}:{})", step.text, step.line);
    }
    format!("\n{}", lanes::render(&trace, None, &look))
}

/// Short names for objects: the binding in whose line they were made, or their kind and a number.
struct ObjectNames<'a> {
    evidence: &'a Evidence,
    names: FxHashMap<ObjectId, String>,
    counts: FxHashMap<String, usize>,
    /// Names and places, in the order of first use.
    places: Vec<(String, String)>,
}

impl<'a> ObjectNames<'a> {
    fn of(evidence: &'a Evidence) -> Self {
        let (names, counts) = (FxHashMap::default(), FxHashMap::default());
        ObjectNames { evidence, names, counts, places: Vec::new() }
    }

    fn name(&mut self, object: ObjectId, kind: &'static str) -> String {
        if let Some(name) = self.names.get(&object) {
            return name.clone();
        }
        let origin = self.evidence.origins.get(&object).copied();
        let counts = self.evidence.shown.get(&object) == Some(&Shown::Count);
        let bound = match origin {
            Some(site) => binding(site),
            // Made by the compiler, or outside: the name that it is used by.
            None => {
                let uses = self.evidence.events.iter().filter(|e| e.operation.object == object);
                uses.take(4).find_map(|event| name_of_static(event.operation.site))
            }
        };
        let (binding, kind) = match (bound, counts) {
            (Some(binding), true) => (Some(format!("{binding}.count")), kind),
            (None, true) => (None, "count"),
            (binding, false) => (binding, kind),
        };
        let is_bound = binding.is_some();
        let base = binding.unwrap_or_else(|| kind.to_string());
        let count = self.counts.entry(base.clone()).or_default();
        *count += 1;
        let name = match *count {
            1 if is_bound => base,
            count => format!("{base}{count}"),
        };
        if let Some(site) = origin {
            self.places.push((name.clone(), format!("{}:{}", site.file(), site.line())));
        }
        self.names.insert(object, name.clone());
        name
    }

    /// Which thread waits for which at a deadlock, and which thread took what they wait for, and where.
    fn waiting(&mut self, evidence: &Evidence) -> Vec<Waiting> {
        if !matches!(evidence.ending, Ending::Deadlock) {
            return Vec::new();
        }
        let waiting = |waits: &crate::evidence::Waiting| {
            let operation = &waits.operation;
            let action = operation.action;
            let name = |at: usize| evidence.threads.get(at).map_or("a thread", |n| n.as_str());
            let what = match operation.object {
                ObjectId::NONE => action.name().to_string(),
                object => phrase(&self.name(object, kind(action)), action),
            };
            let taken = |holder: usize| {
                let takes = |event: &&Event| {
                    event.step.thread.index() == holder
                        && event.operation.object == operation.object
                        && takes(event)
                };
                let site = evidence.events.iter().rev().find(takes).map(|e| e.operation.site);
                site.map_or(String::new(), |site| format!(", taken at {site}"))
            };
            let why = match (action, waits.holder) {
                (Action::Join, Some(target)) => format!("{} has not ended", name(target)),
                (_, Some(holder)) if holder == waits.thread => {
                    format!("held by {} itself{}", name(holder), taken(holder))
                }
                (_, Some(holder)) => format!("held by {}{}", name(holder), taken(holder)),
                (Action::Reacquire, None) => "not notified".into(),
                (Action::TakeToken, None) => "not unparked".into(),
                (_, None) => "nothing lets it go on".into(),
            };
            // Where no particular thread has it, any other thread that is left could do something.
            let others = evidence.waiting.iter().map(|w| w.thread).filter(|t| *t != waits.thread);
            Waiting {
                pid: waits.thread,
                reasons: vec![format!("{what} at {}: {why}", operation.site)],
                waits_for: waits.holder.map_or_else(|| others.collect(), |holder| vec![holder]),
            }
        };
        evidence.waiting.iter().map(waiting).collect()
    }

    /// What a step did to a number.
    fn changes(&mut self, event: &Event) -> Vec<Change> {
        let action = event.operation.action;
        if !action.is_number() || event.before == event.after {
            return Vec::new();
        }
        let object = event.operation.object;
        let value = |number: u64| {
            let number = self.evidence.number(object, number);
            Some(i64::try_from(number).map_or_else(|_| Value::Name(number.to_string()), Value::Int))
        };
        let name = self.name(object, kind(action));
        vec![Change { name, from: value(event.before), to: value(event.after) }]
    }

    fn describe(&mut self, event: &Event, threads: &[String]) -> String {
        let operation = &event.operation;
        let action = operation.action;
        if operation.object == ObjectId::NONE {
            return match action {
                Action::Join => {
                    let target = operation.first as usize;
                    format!("join {}", threads.get(target).map_or("a thread", |n| n.as_str()))
                }
                Action::Choose => format!("choose -> {}", event.result),
                _ => action.name().into(),
            };
        }
        let object = self.name(operation.object, kind(action));
        let timeout = event.step.choice == Move::TIMEOUT;
        let number = |number| self.evidence.number(operation.object, number);
        let result = number(event.result);
        match action {
            Action::Load => format!("{object}.load -> {result}"),
            Action::Store => format!("{object}.store({})", number(operation.first)),
            Action::Update(..) => format!("{object}.{} -> {result}", action.name()),
            Action::CompareExchange | Action::ComparePointer
                if event.result == operation.first && !event.source.is_some_and(|s| s.fails) =>
            {
                format!("{object}.compare_exchange succeeds")
            }
            Action::CompareExchange | Action::ComparePointer => {
                format!("{object}.compare_exchange fails: {result}")
            }
            Action::TryLock | Action::TryReadLock | Action::TryWriteLock => {
                let outcome = if event.result == 1 { "got it" } else { "busy" };
                format!("{object}.{} -> {outcome}", action.name())
            }
            Action::OnceCompleted if operation.first != 0 => format!("{object}.wait"),
            Action::WriteUnlock if operation.second == Operation::DOWNGRADES => {
                format!("{object}.downgrade")
            }
            Action::OnceCompleted => {
                format!("{object}.{} -> {}", action.name(), event.result == 2)
            }
            Action::OnceEnter if event.result == INITIALISED => format!("{object} is initialised"),
            Action::OnceEnter if event.result == POISONED && operation.first == 0 => {
                format!("{object} is poisoned")
            }
            Action::Reacquire if timeout => format!("{object}: wait ends without notification"),
            _ if timeout => format!("{} times out", phrase(&object, action)),
            _ => phrase(&object, action),
        }
    }
}

/// What a thread sees that comes to an initialisation which it need not begin.
const INITIALISED: u64 = 2;
const POISONED: u64 = 3;

/// What is done to an object: `lock.read`, `arrive at barrier`, `condition: wake and lock again`.
fn phrase(object: &str, action: Action) -> String {
    let name = action.name();
    match name.rsplit_once(' ') {
        Some((_, "of" | "at" | "from")) => format!("{name} {object}"),
        Some((_, last)) if !last.starts_with('(') => format!("{object}: {name}"),
        _ => format!("{object}.{name}"),
    }
}

/// Whether the step took a lock.
fn takes(event: &Event) -> bool {
    match event.operation.action {
        Action::Lock | Action::Reacquire | Action::ReadLock | Action::WriteLock => {
            event.step.choice != Move::TIMEOUT
        }
        Action::TryLock | Action::TryReadLock | Action::TryWriteLock => event.result == 1,
        _ => false,
    }
}

fn kind(action: Action) -> &'static str {
    match action {
        Action::Upgrade => "count",
        Action::Load
        | Action::Store
        | Action::Update(..)
        | Action::CompareExchange
        | Action::ComparePointer => "atomic",
        Action::Lock | Action::TryLock | Action::Unlock | Action::Wait | Action::Reacquire => {
            "mutex"
        }
        Action::ReadLock
        | Action::TryReadLock
        | Action::ReadUnlock
        | Action::WriteLock
        | Action::TryWriteLock
        | Action::WriteUnlock
        | Action::RequestWrite => "rwlock",
        Action::NotifyOne | Action::NotifyAll => "condvar",
        Action::TakeToken | Action::GiveToken => "token",
        Action::Arrive | Action::Leave => "barrier",
        Action::OnceEnter | Action::OnceExit | Action::OnceCompleted => "once",
        _ => "channel",
    }
}
