//! An execution in words: what a step changed, what it looked at, which parts of the property it changed, why the
//! last one fails, which processes wait, since when and for which.
//!
//! Everything that shows executions takes its words from here: the terminal, the page, the browser, the editor, JSON.

use crate::{Cast, fit};
use preempt_core::{Change, Trace, Value, Waiting};

/// The changes of a step, in short. A channel that goes by several names shows once, variables that
/// end with their process are only counted, and in the lane of `mover` its own variables need no
/// owner: `worker(1):n` is `n` there. Where values change there is an `arrow`.
pub fn change_words(changes: &[Change], mover: &str, arrow: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut gone: Vec<&Change> = Vec::new();
    for (at, change) in changes.iter().enumerate() {
        let alias =
            matches!((&change.from, &change.to), (Some(Value::Queue(_)), Some(Value::Queue(_))))
                && changes[..at].iter().any(|c| c.from == change.from && c.to == change.to);
        match &change.to {
            _ if alias => {}
            None => gone.push(change),
            Some(_) => out.push(change_text(change, mover, arrow)),
        }
    }
    match gone[..] {
        [] => {}
        [change] => out.push(change_text(change, mover, arrow)),
        _ => out.push(format!("{} variables no longer exist", gone.len())),
    }
    out
}

/// One change. A channel shows its new content, for the old one stands above.
fn change_text(change: &Change, mover: &str, arrow: &str) -> String {
    let own = change.name.strip_prefix(mover).and_then(|rest| rest.strip_prefix(':'));
    let name = own.unwrap_or(&change.name);
    fit::clean(&match (&change.from, &change.to) {
        (_, Some(queue @ Value::Queue(_))) => format!("{name} = {queue}"),
        (Some(from), Some(to)) => format!("{name}: {from} {arrow} {to}"),
        (None, Some(to)) => format!("{name} = {to}"),
        (_, None) => format!("{name} is gone"),
    })
}

/// What is worth knowing of a step besides its changes: values that it looked at, as `x: 0`, and what became true
/// or false of the property.
pub fn remarks(trace: &Trace, at: usize) -> Vec<String> {
    let observations = &trace.observations;
    let Some(step) = trace.steps.get(at) else { return Vec::new() };
    let seen = observations.seen.get(at).map_or(&[][..], Vec::as_slice);
    let mut texts = seen_words(seen, &step.process);
    // What stands there as a change needs no second mention.
    let is_changed = |name: &str| step.changes.iter().any(|change| change.name == name);
    for row in &observations.propositions {
        let now = row.holds.get(at + 1).copied().flatten();
        let before = row.holds.iter().take(at + 1).rev().flatten().next();
        match (now, before) {
            (Some(now), Some(before)) if now != *before && !is_changed(&row.name) => {
                texts.push(fit::clean(&format!("{} becomes {now}", row.name)));
            }
            _ => {}
        }
    }
    texts
}

/// Values that a step looked at. In the lane of `mover` its own variables need no owner.
pub fn seen_words(seen: &[(String, Value)], mover: &str) -> Vec<String> {
    let own = |name: &str| {
        let rest = name.strip_prefix(mover).and_then(|rest| rest.strip_prefix([':', '.']));
        fit::clean(rest.unwrap_or(name))
    };
    let one = |(name, value): &(String, Value)| match value {
        Value::Queue(_) => format!("{} = {value}", own(name)),
        _ => format!("{}: {value}", own(name)),
    };
    seen.iter().map(one).collect()
}

/// A process that cannot move, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Its id.
    pub pid: usize,
    /// Its name, as over its lane.
    pub name: String,
    /// The last step that it took part in, counted from 0.
    pub since: Option<usize>,
    /// What keeps it.
    pub reasons: Vec<String>,
    /// Whose remaining code could change that.
    pub waits_for: Vec<usize>,
    /// The same in words.
    pub who: String,
}

impl Wait {
    /// `waits since step 3`.
    pub fn since_words(&self) -> String {
        match self.since {
            Some(step) => format!("waits since step {}", step + 1),
            None => "waits since the start".into(),
        }
    }

    /// All but its name.
    pub fn text(&self) -> String {
        format!("{}; {}; {}", self.since_words(), self.reasons.join("; "), self.who)
    }
}

/// The processes that cannot move at the end of an execution, and why.
pub fn waits(trace: &Trace) -> Vec<Wait> {
    let cast = Cast::of(trace);
    let since = |pid: usize| {
        trace.steps.iter().rposition(|step| step.pid == pid || step.partner == Some(pid))
    };
    let waiting = trace.observations.waiting.iter();
    waiting.filter_map(|one| wait(one, since(one.pid), &|pid| cast.label(pid))).collect()
}

/// A process that cannot move since a step, counted from 0, or since the start; `None` where nothing is known of it.
pub fn wait(
    waiting: &Waiting,
    since: Option<usize>,
    name: &dyn Fn(usize) -> String,
) -> Option<Wait> {
    let names: Vec<String> = waiting.waits_for.iter().map(|pid| name(*pid)).collect();
    let who = match names.len() {
        0 => "no other process can change that".to_string(),
        1..=4 => format!("only {} could change that", names.join(", ")),
        many => format!("{} and {} others could change that", names[0], many - 1),
    };
    let wait = Wait {
        pid: waiting.pid,
        name: name(waiting.pid),
        since,
        reasons: waiting.reasons.iter().map(|reason| fit::clean(reason)).collect(),
        waits_for: waiting.waits_for.clone(),
        who,
    };
    (!wait.reasons.is_empty()).then_some(wait)
}

/// Why an execution fails, a sentence each: conditions with their values, and the processes that wait.
pub fn reasons(trace: &Trace) -> Vec<String> {
    let waits = waits(trace).into_iter().map(|wait| format!("{} {}", wait.name, wait.text()));
    trace.observations.reasons.iter().cloned().chain(waits).collect()
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
            change_words(&changes, "node(1)", "->"),
            ["ring[0] = [a]", "n: 0 -> 1", "node(2):n: 0 -> 1", "2 variables no longer exist"]
        );
        assert_eq!(change_words(&changes[4..5], "node(3)", "->"), ["m is gone"]);
    }
}
