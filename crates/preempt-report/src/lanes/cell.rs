//! What stands in one cell: changes in the form `x: 0 -> 1`, without what a reader knows already.

use crate::fit;
use preempt_core::{Change, TraceStep, Value};

/// The changes of a step, in short. A channel that goes by several names shows once, variables that
/// end with their process are only counted, and in the lane of `mover` its own variables need no
/// owner: `worker(1):n` is `n` there.
pub(super) fn change_texts(changes: &[Change], mover: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut gone: Vec<&Change> = Vec::new();
    for (at, change) in changes.iter().enumerate() {
        let alias =
            matches!((&change.from, &change.to), (Some(Value::Queue(_)), Some(Value::Queue(_))))
                && changes[..at].iter().any(|c| c.from == change.from && c.to == change.to);
        match &change.to {
            _ if alias => {}
            None => gone.push(change),
            Some(_) => out.push(change_text(change, mover)),
        }
    }
    match gone[..] {
        [] => {}
        [change] => out.push(change_text(change, mover)),
        _ => out.push(format!("{} variables no longer exist", gone.len())),
    }
    out
}

/// One change. A channel shows its new content, for the old one stands above.
fn change_text(change: &Change, mover: &str) -> String {
    let own = change.name.strip_prefix(mover).and_then(|rest| rest.strip_prefix(':'));
    let name = own.unwrap_or(&change.name);
    fit::clean(&match (&change.from, &change.to) {
        (_, Some(queue @ Value::Queue(_))) => format!("{name} = {queue}"),
        (Some(from), Some(to)) => format!("{name}: {from} -> {to}"),
        (None, Some(to)) => format!("{name} = {to}"),
        (_, None) => format!("{name} is gone"),
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_is_told_everything_once() {
        let queue = |m: &[&str]| Some(Value::Queue(m.iter().map(|m| m.to_string()).collect()));
        let change = |name: &str, from, to| Change { name: name.into(), from, to };
        let int = |n| Some(Value::Int(n));
        let changes = [
            change("ring[0]", queue(&[]), queue(&["a"])),
            change("node(1):outgoing", queue(&[]), queue(&["a"])),
            change("node(1):n", int(0), int(1)),
            change("node(2):n", int(0), int(1)),
            change("node(3):m", int(0), None),
            change("node(3):n", int(0), None),
        ];
        assert_eq!(
            change_texts(&changes, "node(1)"),
            ["ring[0] = [a]", "n: 0 -> 1", "node(2):n: 0 -> 1", "2 variables no longer exist"]
        );
        assert_eq!(change_texts(&changes[4..5], "node(3)"), ["m is gone"]);
    }
}
