//! Steps that a thread takes in a row within one call, shown as one.
//!
//! A call of Rust's std is shown by the name of the function and the number of its steps. A call of the kernel or the C library is
//! one thing that the program does; it is shown with what it returned.

use crate::std_calls;
use crate::symbols::Symbols;
use crate::words::ARC_COUNT;
use preempt_core::{Change, TraceStep};
use preempt_exchange::{Call, Evidence};

/// The call that a step is part of.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Within {
    /// One of std, by its name.
    Std(String),
    /// One of the kernel or the C library, among those of the execution.
    Served(usize),
}

/// Which call each step belongs to.
pub(crate) fn calls(evidence: &Evidence, symbols: &Symbols) -> Vec<Option<Within>> {
    let std = std_calls::calls(&evidence.events, symbols);
    let served = evidence.events.iter().map(|event| event.call.map(Within::Served));
    served.zip(std).map(|(served, std)| served.or(std.map(Within::Std))).collect()
}

/// Steps that belong together, so far.
struct Group {
    step: TraceStep,
    within: Option<Within>,
    size: usize,
}

impl Group {
    fn takes(&self, step: &TraceStep, within: Option<&Within>) -> bool {
        let same = within.is_some() && self.within.as_ref() == within;
        let is_there = (self.step.line, &self.step.file) == (step.line, &step.file);
        same && self.step.pid == step.pid && (is_there || matches!(within, Some(Within::Served(_))))
    }
}

/// Makes one step of those that a thread takes in a row within one call.
pub(crate) fn fold(steps: Vec<(TraceStep, Option<Within>)>, calls: &[Call]) -> Vec<TraceStep> {
    let mut groups: Vec<Group> = Vec::new();
    for (mut step, within) in steps {
        let internal = |name: &str| name.starts_with("0x") || name.starts_with(ARC_COUNT);
        step.changes.retain(|change| within.is_none() || !internal(&change.name));
        match groups.last_mut().filter(|group| group.takes(&step, within.as_ref())) {
            Some(group) => {
                group.size += 1;
                step.changes.into_iter().for_each(|change| add(&mut group.step.changes, change));
            }
            None => groups.push(Group { step, within, size: 1 }),
        }
    }
    // From the last to the first: before the last group of a call its thread waits.
    let mut ended = vec![false; calls.len()];
    for Group { step, within, size } in groups.iter_mut().rev() {
        match within {
            Some(Within::Served(number)) if std::mem::replace(&mut ended[*number], true) => {
                step.text = format!("{}: waits", calls[*number].text);
            }
            Some(Within::Served(number)) => step.text = returned(&calls[*number]),
            // It ends a wait or makes others wait: the name of the function says more.
            Some(Within::Std(call)) if *size > 1 => step.text = format!("{call} ({size} steps)"),
            Some(Within::Std(call)) if step.text != "sleep" && step.text != "yield" => {
                step.text.clone_from(call);
            }
            _ => {}
        }
    }
    groups.into_iter().map(|group| group.step).collect()
}

/// What is changed once more than before.
fn add(changes: &mut Vec<Change>, change: Change) {
    match changes.iter_mut().find(|known| known.name == change.name) {
        Some(known) => known.to = change.to,
        None => changes.push(change),
    }
}

/// A call and what it returned.
fn returned(Call { text, result }: &Call) -> String {
    match *result {
        None => text.clone(),
        Some(result) => match error(result) {
            Some(name) => format!("{text} -> {name}"),
            None => format!("{text} -> {result}"),
        },
    }
}

/// The name of an error that a system call returns, if it is one that programs count on.
fn error(result: i64) -> Option<&'static str> {
    let errors = [
        (libc::EAGAIN, "EAGAIN"),
        (libc::EBADF, "EBADF"),
        (libc::EEXIST, "EEXIST"),
        (libc::EINTR, "EINTR"),
        (libc::EINVAL, "EINVAL"),
        (libc::ENOENT, "ENOENT"),
        (libc::ENOSYS, "ENOSYS"),
        (libc::EPIPE, "EPIPE"),
    ];
    errors.iter().find(|(number, _)| i64::from(-number) == result).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use preempt_core::Switch;

    fn step(pid: usize, text: &str) -> TraceStep {
        TraceStep {
            process: String::new(),
            pid,
            partner: None,
            file: "a.c".into(),
            line: 1,
            text: text.into(),
            switch: Switch::None,
            changes: Vec::new(),
            output: String::new(),
        }
    }

    #[test]
    fn calls_are_one_step_on_each_side_of_a_wait() {
        let calls = [("read pipe 3", Some(-11)), ("poll", Some(1)), ("write pipe 4", Some(2))];
        let calls = calls.map(|(text, result)| Call { text: text.into(), result });
        let within = |number: usize| Some(Within::Served(number));
        let steps = vec![
            (step(0, "lock"), within(0)),
            (step(0, "unlock"), within(0)),
            (step(0, "lock"), within(1)),
            (step(0, "wait"), within(1)),
            (step(1, "lock"), within(2)),
            (step(1, "unlock"), within(2)),
            (step(0, "unlock"), within(1)),
            (step(0, "load x -> 1"), None),
            (step(0, "load"), Some(Within::Std("Mutex::lock".into()))),
            (step(0, "store"), Some(Within::Std("Mutex::lock".into()))),
        ];
        let folded: Vec<String> = fold(steps, &calls).into_iter().map(|step| step.text).collect();
        let expected = [
            "read pipe 3 -> EAGAIN",
            "poll: waits",
            "write pipe 4 -> 2",
            "poll -> 1",
            "load x -> 1",
            "Mutex::lock (2 steps)",
        ];
        assert_eq!(folded, expected);
    }
}
