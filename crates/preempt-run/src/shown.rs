//! Which steps of a failing execution are shown.
//!
//! Starting a thread, joining it and panicking take tens of atomic operations inside the standard
//! library that say nothing about the program. They are steps of the schedule, and left out of the report.
//! **Invariant:** what is shown has the same switches between threads, with the same preemptions: of the steps that
//! a thread takes in a row at least one is shown, and the first of them carries the switch.

use crate::symbols::Symbols;
use preempt_core::{Switch, TraceStep};
use preempt_exchange::Event;

/// Functions of the standard library that are about running threads, not about what they do.
const MACHINERY: [&str; 9] = [
    "spawn",
    "panicking::",
    "std::io::",
    "std::rt::",
    "std::env::",
    "thread::current",
    "JoinInner",
    "JoinHandle",
    "thread::scoped",
];

/// A step that makes no difference, as the library in programs calls it.
const DROPS_REFERENCE: &str = "drop a reference";

/// Whether a step is the standard library's own business.
fn is_machinery(event: &Event, symbols: &Symbols) -> bool {
    if event.action == DROPS_REFERENCE {
        return true;
    }
    if !event.number {
        return false;
    }
    let (libraries, own) = symbols.libraries(event.pc, &event.frames);
    let machinery = |function: &String| MACHINERY.iter().any(|part| function.contains(part));
    !libraries.is_empty() && (!own || libraries.iter().any(machinery))
}

/// Which steps are not worth showing.
pub(crate) fn hidden(events: &[Event], symbols: &Symbols) -> Vec<bool> {
    events.iter().map(|event| is_machinery(event, symbols)).collect()
}

/// Leaves out what is hidden. Something more is known of each step.
pub(crate) fn keep<T>(steps: Vec<(TraceStep, T)>, hidden: &[bool]) -> Vec<(TraceStep, T)> {
    let mut shown: Vec<(TraceStep, T)> = Vec::new();
    let mut steps = steps.into_iter().zip(hidden).peekable();
    while let Some((first, &is_hidden)) = steps.next() {
        let (pid, switch) = (first.0.pid, first.0.switch);
        let mut in_a_row = vec![(first, is_hidden)];
        while let Some((next, &is_hidden)) = steps.next_if(|(next, _)| next.0.pid == pid) {
            in_a_row.push((next, is_hidden));
        }
        let all_hidden = in_a_row.iter().all(|(_, is_hidden)| *is_hidden);
        let wanted = in_a_row.into_iter().enumerate();
        let wanted = wanted.filter(|(at, (_, is_hidden))| !is_hidden || all_hidden && *at == 0);
        for (at, (_, (mut step, _))) in wanted.enumerate() {
            step.0.switch = if at == 0 { switch } else { Switch::None };
            shown.push(step);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(pid: usize, switch: Switch, text: &str) -> TraceStep {
        TraceStep {
            process: String::new(),
            pid,
            partner: None,
            file: String::new(),
            line: 0,
            text: text.into(),
            switch,
            changes: Vec::new(),
            output: String::new(),
        }
    }

    #[test]
    fn switches_stay_where_steps_are_left_out() {
        let steps = vec![
            step(0, Switch::None, "a"),
            step(0, Switch::None, "b"),
            step(1, Switch::Preemption, "c"),
            step(1, Switch::None, "d"),
            step(0, Switch::Forced, "e"),
            step(0, Switch::None, "f"),
            step(1, Switch::Preemption, "g"),
        ];
        let steps = steps.into_iter().map(|step| (step, ())).collect();
        let shown = keep(steps, &[true, false, true, false, true, true, false]);
        let shown: Vec<(&str, Switch)> =
            shown.iter().map(|(step, ())| (step.text.as_str(), step.switch)).collect();
        let expected = [
            ("b", Switch::None),
            ("d", Switch::Preemption),
            ("e", Switch::Forced),
            ("g", Switch::Preemption),
        ];
        assert_eq!(shown, expected);
    }
}
