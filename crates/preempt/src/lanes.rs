//! One failing execution as a picture: a lane per thread, time from top to bottom.

use preempt_core::{Change, Switch, Trace, TraceStep, Value};
use preempt_explore::{Action, Event, Move, ObjectId};
use preempt_report::{Look, lanes};
use rustc_hash::FxHashMap;

/// Longest part of a lane between two switches that is shown in full.
const SHOWN: usize = 8;
/// Columns of a terminal.
const WIDTH: usize = 100;

/// The steps of an execution in the vocabulary of reports.
pub(crate) fn trace(events: &[Event], threads: &[String]) -> Trace {
    let mut names = ObjectNames::default();
    let mut last = None;
    let steps = events
        .iter()
        .map(|event| {
            let thread = event.step.thread.index();
            let switch = match last {
                Some(before) if before != thread && event.preemption => Switch::Preemption,
                Some(before) if before != thread => Switch::Forced,
                _ => Switch::None,
            };
            last = Some(thread);
            TraceStep {
                process: threads.get(thread).cloned().unwrap_or_default(),
                pid: thread,
                partner: None,
                file: event.operation.site.file().into(),
                line: event.operation.site.line(),
                text: names.describe(event, threads),
                switch,
                changes: names.changes(event),
                output: String::new(),
            }
        })
        .collect();
    Trace { steps, ..Trace::default() }
}

/// Draws the lanes. Steps show the line; the file is the same for all or named with each.
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
    lanes::render(&trace, None, &look)
}

/// Short names for objects, by kind and order of appearance.
#[derive(Default)]
struct ObjectNames {
    names: FxHashMap<ObjectId, String>,
    counts: FxHashMap<&'static str, usize>,
}

impl ObjectNames {
    fn name(&mut self, object: ObjectId, kind: &'static str) -> String {
        if let Some(name) = self.names.get(&object) {
            return name.clone();
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let name = format!("{kind}{count}");
        self.names.insert(object, name.clone());
        name
    }

    /// What a step did to a number.
    fn changes(&mut self, event: &Event) -> Vec<Change> {
        let action = event.operation.action;
        if !action.is_number() || event.before == event.after {
            return Vec::new();
        }
        let value = |number: u64| {
            Some(i64::try_from(number).map_or_else(|_| Value::Name(number.to_string()), Value::Int))
        };
        let name = self.name(event.operation.object, kind(action));
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
        match action {
            Action::Load => format!("{object}.load -> {}", event.result),
            Action::Store => format!("{object}.store({})", operation.first),
            Action::Update(..) => format!("{object}.{} -> {}", action.name(), event.before),
            Action::CompareExchange | Action::ComparePointer if event.before == operation.first => {
                format!("{object}.compare_exchange succeeds")
            }
            Action::CompareExchange | Action::ComparePointer => {
                format!("{object}.compare_exchange fails: {}", event.before)
            }
            Action::TryLock | Action::TryReadLock | Action::TryWriteLock => {
                let outcome = if event.result == 1 { "got it" } else { "busy" };
                format!("{object}.{} -> {outcome}", action.name())
            }
            Action::Reacquire if timeout => format!("{object}: wait timed out, lock again"),
            _ if timeout => format!("{object}.{} times out", action.name()),
            _ => format!("{object}.{}", action.name()),
        }
    }
}

fn kind(action: Action) -> &'static str {
    match action {
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
        | Action::WriteUnlock => "rwlock",
        Action::NotifyOne | Action::NotifyAll => "condvar",
        Action::TakeToken | Action::GiveToken => "token",
        Action::Arrive | Action::Leave => "barrier",
        Action::OnceEnter | Action::OnceExit => "once",
        _ => "channel",
    }
}
