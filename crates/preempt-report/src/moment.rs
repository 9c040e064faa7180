//! The moments that explain a trace: its preemptions, the start of its cycle, its failure.

use crate::{Cast, fit};
use preempt_core::{Switch, Trace, Violation};
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
        let mut detail = sentence(&violation.message);
        if violation.line > 0 {
            detail = format!("{detail} ({}:{})", violation.file, violation.line);
        }
        out.push(Moment {
            step: trace.steps.len().saturating_sub(1),
            kind: MomentKind::Failure,
            title: violation.kind.name().replace('_', " "),
            detail,
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
        if step.switch == Switch::Preemption && index > 0 {
            let before = &trace.steps[index - 1];
            let stopped = before.partner.unwrap_or(before.pid);
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
        next.insert(step.pid, (step.line, &step.text));
        if let Some(partner) = step.partner {
            next.insert(partner, (0, &step.text));
        }
    }
    out.reverse();
    out
}

/// The message without a final full stop, on one line.
fn sentence(message: &str) -> String {
    fit::clean(message.trim()).trim_end_matches('.').to_string()
}
