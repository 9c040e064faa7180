//! One failing execution as a picture: a lane per thread, time from top to bottom.

use preempt_core::{Switch, Trace, TraceStep};
use preempt_explore::{Action, Event, Move, ObjectId};
use rustc_hash::FxHashMap;
use std::fmt;

/// Longest part of a lane between two switches that is shown in full.
const SHOWN: usize = 8;
/// More lanes than this do not fit on a line; then threads are named instead.
const LANES: usize = 5;

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
                changes: Vec::new(),
                output: String::new(),
            }
        })
        .collect();
    Trace { steps, ..Trace::default() }
}

/// Draws the lanes.
pub(crate) fn write(f: &mut fmt::Formatter<'_>, trace: &Trace) -> fmt::Result {
    let mut threads: Vec<(usize, &str)> = Vec::new();
    for step in &trace.steps {
        if !threads.iter().any(|(pid, _)| *pid == step.pid) {
            threads.push((step.pid, &step.process));
        }
    }
    threads.sort_unstable();
    let lanes = threads.len() <= LANES;
    let width = 24;
    if lanes {
        write!(f, "      ")?;
        for (_, name) in &threads {
            write!(f, "{name:<width$}")?;
        }
        writeln!(f)?;
    }
    let mut index = 0;
    for block in trace.steps.chunk_by(|a, b| a.pid == b.pid) {
        if block[0].switch == Switch::Preemption {
            writeln!(f, "      -- preemption --")?;
        }
        for (position, step) in block.iter().enumerate() {
            index += 1;
            let hidden =
                block.len() > SHOWN && position >= SHOWN / 2 && position < block.len() - SHOWN / 2;
            if hidden {
                if position == SHOWN / 2 {
                    writeln!(
                        f,
                        "      ... {} more steps of {} ...",
                        block.len() - SHOWN,
                        step.process
                    )?;
                }
                continue;
            }
            write!(f, "{index:>4}  ")?;
            if lanes {
                let lane = threads.iter().position(|(pid, _)| *pid == step.pid).unwrap_or(0);
                for _ in 0..lane {
                    write!(f, "{:<width$}", "|")?;
                }
                let rest = (threads.len() - lane) * width;
                write!(f, "{:<rest$}", step.text)?;
            } else {
                write!(f, "{:<14}{:<44}", step.process, step.text)?;
            }
            writeln!(f, "{}:{}", step.file, step.line)?;
        }
    }
    Ok(())
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
            Action::Update(..) => {
                format!("{object}.{}: {} -> {}", action.name(), event.before, event.after)
            }
            Action::CompareExchange | Action::ComparePointer if event.before == operation.first => {
                format!("{object}.compare_exchange: {} -> {}", event.before, event.after)
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
