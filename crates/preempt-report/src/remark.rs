//! Observations in words: what a step saw, which parts of the property it changed, why a process waits.

use crate::{Cast, fit};
use preempt_core::{Trace, Value, Waiting};

/// What is worth knowing of a step besides its changes: values that it looked at, as `x: 0`, and what became true
/// or false of the property. In the lane of the mover its own variables need no owner.
pub(crate) fn remarks(trace: &Trace, at: usize) -> Vec<String> {
    let observations = &trace.observations;
    let Some(step) = trace.steps.get(at) else { return Vec::new() };
    let own = |name: &str| {
        let rest = name.strip_prefix(step.process.as_str());
        let rest = rest.and_then(|rest| rest.strip_prefix([':', '.']));
        fit::clean(rest.unwrap_or(name))
    };
    let seen = observations.seen.get(at).into_iter().flatten();
    let mut texts: Vec<String> = seen.map(|(name, value)| seen_text(&own(name), value)).collect();
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

fn seen_text(name: &str, value: &Value) -> String {
    match value {
        Value::Queue(_) => format!("{name} = {value}"),
        _ => format!("{name}: {value}"),
    }
}

/// Why a process waits, and for whom.
pub(crate) fn why(waiting: &Waiting, cast: &Cast) -> String {
    let names: Vec<String> = waiting.waits_for.iter().map(|pid| cast.label(*pid)).collect();
    let who = match names.len() {
        0 => "no other process can change that".to_string(),
        1..=4 => format!("only {} could change that", names.join(", ")),
        many => format!("{} and {} others could change that", names[0], many - 1),
    };
    format!("{}; {who}", waiting.reasons.join("; "))
}
