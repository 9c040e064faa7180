//! The moments that explain a trace: its preemptions, the start of its cycle, its failure.

use crate::message::halves;
use crate::{Cast, fit, waits};
use preempt_core::{Switch, Trace, Violation, ViolationKind};
use std::collections::HashMap;

/// What happens at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MomentKind {
    /// A process is stopped although it could go on; counted from 1.
    Preemption(u32),
    /// What follows repeats for ever.
    CycleStart,
    /// The violation.
    Failure,
}

/// One moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Index of the step: of a preemption, the first step of the process that runs instead.
    pub step: usize,
    /// What happens.
    pub kind: MomentKind,
    /// A few words.
    pub title: String,
    /// One sentence.
    pub detail: String,
}

/// The moments in the order of the steps.
pub fn moments(trace: &Trace, violation: Option<&Violation>) -> Vec<Moment> {
    let cast = Cast::of(trace);
    let mut out = preemptions(trace, &cast);
    if let Some(start) = trace.cycle_start.filter(|&s| s < trace.steps.len()) {
        let count = trace.steps.len() - start;
        out.push(Moment {
            step: start,
            kind: MomentKind::CycleStart,
            title: "repeats for ever".into(),
            detail: format!(
                "From step {} on, {} for ever.",
                start + 1,
                if count == 1 {
                    "this step repeats".to_string()
                } else {
                    format!("these {count} steps repeat")
                }
            ),
        });
    }
    if let Some(violation) = violation {
        out.push(Moment {
            step: trace.steps.len().saturating_sub(1),
            kind: MomentKind::Failure,
            title: match trace.observations.bad_prefix {
                Some(_) => "decided, whatever follows".into(),
                None => failure_title(violation.kind),
            },
            detail: failure_detail(trace, violation, &cast),
        });
    }
    out.sort_by_key(|m| (m.step, matches!(m.kind, MomentKind::Failure)));
    out
}

fn preemptions(trace: &Trace, cast: &Cast) -> Vec<Moment> {
    // Backwards, so that what a process does next is known when it is stopped.
    let mut next: HashMap<usize, (u32, &str)> =
        trace.rest.iter().map(|p| (p.pid, (p.line, p.text.as_str()))).collect();
    let mut left = trace.cost().preemptions;
    let mut out = Vec::new();
    for (index, step) in trace.steps.iter().enumerate().rev() {
        if step.switch == Switch::Preemption {
            // Before the first step only the first process can have run.
            let before = index.checked_sub(1).map(|before| &trace.steps[before]);
            let stopped = before.map_or(0, |before| before.partner.unwrap_or(before.pid));
            let next = match next.get(&stopped) {
                Some((0, text)) => format!(" before `{}`", fit::clean(text)),
                Some((line, text)) => format!(" before line {line} `{}`", fit::clean(text)),
                None => String::new(),
            };
            out.push(Moment {
                step: index,
                kind: MomentKind::Preemption(left),
                title: format!("preemption {left}"),
                detail: format!(
                    "{} could go on but is stopped{next}; {} runs instead.",
                    cast.label(stopped),
                    cast.label(step.pid)
                ),
            });
            left = left.saturating_sub(1);
        }
        let (send, receive) = match step.partner {
            Some(_) => halves(&step.text),
            None => (step.text.as_str(), None),
        };
        next.insert(step.pid, (step.line, send));
        if let Some(partner) = step.partner {
            next.insert(partner, (0, receive.unwrap_or(send)));
        }
    }
    out.reverse();
    out
}

fn failure_title(kind: ViolationKind) -> String {
    match kind {
        ViolationKind::Assertion => "assertion violated".into(),
        other => other.name().replace('_', " "),
    }
}

/// The message without what the title says already; of a deadlock also which process waits where.
fn failure_detail(trace: &Trace, violation: &Violation, cast: &Cast) -> String {
    let message = fit::clean(violation.message.trim());
    let title = failure_title(violation.kind);
    let message = match message.strip_prefix(&title) {
        Some(rest) if rest.starts_with(':') => rest[1..].trim(),
        _ => message.as_str(),
    };
    let waits = waits(trace).into_iter().map(|wait| format!("{} {}", wait.name, wait.text()));
    let waits: Vec<String> = waits.collect();
    if !waits.is_empty() {
        return format!("No process can move. {}.", waits.join(". "));
    }
    let waiting: Vec<String> = trace
        .rest
        .iter()
        .filter(|p| {
            let is_deadlock =
                matches!(violation.kind, ViolationKind::InvalidEnd | ViolationKind::Deadlock);
            is_deadlock && p.text != "-end-"
        })
        .map(|p| match p.line {
            0 => format!("{} at `{}`", cast.label(p.pid), fit::clean(&p.text)),
            line => format!("{} at line {line} `{}`", cast.label(p.pid), fit::clean(&p.text)),
        })
        .collect();
    if !waiting.is_empty() {
        return format!("No process can move: {}.", waiting.join(", "));
    }
    let reasons = trace.observations.reasons.join("; ");
    let message = if reasons.is_empty() { message } else { &reasons };
    with_place(message, violation)
}

/// A message about a violation with the place of it, unless the message says it itself.
pub(crate) fn with_place(message: &str, violation: &Violation) -> String {
    let message = message.trim();
    let place = format!("{}:{}", violation.file, violation.line);
    let mut behind = message.match_indices(&place).map(|(at, _)| &message[at + place.len()..]);
    match violation.line {
        0 => message.to_string(),
        _ if behind.any(|rest| !rest.starts_with(|c: char| c.is_ascii_digit())) => {
            message.to_string()
        }
        _ => format!("{} ({place})", message.trim_end_matches('.')),
    }
}
