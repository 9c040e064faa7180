//! What several steps have changed together, where they share a cell.

use preempt_core::{Change, TraceStep};

/// What several steps change together.
pub(super) fn net_changes(steps: &[TraceStep]) -> Vec<Change> {
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
