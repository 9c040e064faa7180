//! What stands in one cell: changes in the form `x: 0 -> 1`.

use crate::fit;
use preempt_core::{Change, TraceStep, Value};

/// One change. A channel shows its new content, for the old one stands above.
pub(crate) fn change_text(change: &Change) -> String {
    let name = &change.name;
    fit::clean(&match (&change.from, &change.to) {
        (_, Some(Value::Queue(messages))) => format!("{name} = {}", Value::Queue(messages.clone())),
        (Some(from), Some(to)) => format!("{name}: {from} -> {to}"),
        (None, Some(to)) => format!("{name} = {to}"),
        (Some(_), None) => format!("{name} is gone"),
        (None, None) => name.clone(),
    })
}

/// What several steps change together.
pub(crate) fn net_changes(steps: &[TraceStep]) -> Vec<Change> {
    let mut out: Vec<Change> = Vec::new();
    for change in steps.iter().flat_map(|s| &s.changes) {
        match out.iter_mut().find(|c| c.name == change.name) {
            Some(known) => known.to = change.to.clone(),
            None => out.push(change.clone()),
        }
    }
    out.retain(|c| c.from != c.to);
    out
}
