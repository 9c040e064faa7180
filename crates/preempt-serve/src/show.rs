//! States, steps and verdicts as JSON for the page.

use crate::path;
use crate::subject::{Evaluate, Mistake, Recording, Subject};
use crate::walk::{Moment, Preview, Row, Walk};
use preempt_core::{
    Change, Fault, ProcessId, Step, Switch, SwitchCount, System, TraceStep, Value as Shown, Verdict,
};
use preempt_report::{Wait, change_words};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Numbers beyond this are not exact in a script: they are shown as text.
const EXACT: i64 = 1 << 53;

pub(crate) fn value(value: &Shown) -> Value {
    match value {
        Shown::Int(number) if (-EXACT..=EXACT).contains(number) => json!(number),
        Shown::Int(number) => json!(number.to_string()),
        Shown::Name(name) => json!(name),
        Shown::Queue(messages) => json!(messages),
    }
}

pub(crate) fn changes(list: &[Change]) -> Value {
    let side = |side: &Option<Shown>| side.as_ref().map(value);
    let one = |c: &Change| json!({ "name": c.name, "from": side(&c.from), "to": side(&c.to) });
    list.iter().map(one).collect()
}

fn switch(switch: Switch) -> &'static str {
    match switch {
        Switch::None => "none",
        Switch::Forced => "forced",
        Switch::Preemption => "preemption",
    }
}

fn step(step: &TraceStep) -> Value {
    json!({
        "words": change_words(&step.changes, &step.process, "→"),
        "process": step.process, "pid": step.pid, "partner": step.partner, "file": step.file,
        "line": step.line, "text": step.text, "switch": switch(step.switch),
        "changes": changes(&step.changes), "output": step.output,
    })
}

fn fault_in_words(fault: Option<&Fault>, reasons: &[String]) -> Value {
    match fault {
        Some(fault) => json!({
            "message": fault.message, "file": fault.file, "line": fault.line, "reasons": reasons,
        }),
        None => Value::Null,
    }
}

/// What a state violates to which no step has led.
pub(crate) fn fault(system: &dyn System, number: Option<u32>) -> Value {
    fault_in_words(number.map(|number| system.fault(number)).as_ref(), &[])
}

/// What is known of a step besides its changes, and what it violates.
fn remark(
    shown: &mut Value,
    (subject, system): (&dyn Subject, &dyn System),
    state: &[u8],
    (taken, described): (Step, &TraceStep),
    number: Option<u32>,
) {
    let fault = number.map(|number| system.fault(number));
    let known = subject.remarks(state, taken, described, fault.as_ref());
    if !known.seen.is_empty() {
        shown["seen"] = json!(known.seen);
    }
    shown["fault"] = fault_in_words(fault.as_ref(), &known.reasons);
}

/// A row of the lanes; `at` is its number from 0.
pub(crate) fn row(
    (subject, system): (&dyn Subject, &dyn System),
    at: usize,
    row: &Row,
    watches: &[Option<Evaluate>],
) -> Value {
    let mut shown = step(&row.step);
    shown["at"] = json!(at);
    remark(&mut shown, (subject, system), &row.before, (row.taken, &row.step), row.fault);
    let watched = watches.iter().map(|watch| watch.as_ref().and_then(|watch| watch(&row.state)));
    shown["watches"] = watched.collect();
    shown
}

/// The enabled steps, with what they would do.
pub(crate) fn enabled(
    (subject, system): (&dyn Subject, &dyn System),
    state: &[u8],
    previews: &[(usize, Preview)],
) -> Value {
    let one = |(index, preview): &(usize, Preview)| {
        let mut shown = step(&preview.step);
        shown["index"] = json!(index);
        remark(&mut shown, (subject, system), state, (preview.taken, &preview.step), preview.fault);
        shown["broken"] = json!(preview.broken);
        shown
    };
    previews.iter().map(one).collect()
}

/// Some processes: their names, where they stand, whether they can move.
pub(crate) fn processes(
    system: &dyn System,
    moment: &Moment,
    is_shown: &impl Fn(usize) -> bool,
) -> Value {
    let state = &moment.state;
    let one = |pid: usize| {
        let id = ProcessId(u16::try_from(pid).unwrap_or(u16::MAX));
        let (file, line, text) = system.position(state, id).unwrap_or_default();
        json!({
            "pid": pid, "name": system.process_name(state, id), "file": file, "line": line,
            "text": text, "can_move": moment.enabled.can_move(id),
        })
    };
    (0..system.process_count(state)).filter(|pid| is_shown(*pid)).map(one).collect()
}

/// So many processes are named at one line.
const MOST_AT_A_LINE: usize = 6;

/// The lines where processes stand, with some of these; first those that just moved.
pub(crate) fn standing(system: &dyn System, moment: &Moment, movers: &[usize]) -> Value {
    let state = &moment.state;
    let count = system.process_count(state);
    let mut lines: Vec<(String, u32, usize, Vec<Value>)> = Vec::new();
    let mut found: HashMap<(String, u32), usize> = HashMap::new();
    let present = movers.iter().copied().filter(|pid| *pid < count);
    let others = (0..count).filter(|pid| !movers.contains(pid));
    for pid in present.collect::<BTreeSet<_>>().into_iter().chain(others) {
        let Ok(number) = u16::try_from(pid) else { continue };
        let id = ProcessId(number);
        let Some((file, line, _)) = system.position(state, id) else { continue };
        let at = *found.entry((file, line)).or_insert_with_key(|(file, line)| {
            lines.push((file.clone(), *line, 0, Vec::new()));
            lines.len() - 1
        });
        let (_, _, standing, named) = &mut lines[at];
        *standing += 1;
        if named.len() < MOST_AT_A_LINE {
            let name = system.process_name(state, id);
            named
                .push(json!({ "pid": pid, "name": name, "can_move": moment.enabled.can_move(id) }));
        }
    }
    let one = |(file, line, count, processes): (String, u32, usize, Vec<Value>)| json!({ "file": file, "line": line, "count": count, "processes": processes });
    lines.into_iter().map(one).collect()
}

/// Channels, the first variables, and those that just changed.
pub(crate) fn in_view(
    variables: &[(String, Shown)],
    most: usize,
    changed: &HashSet<&str>,
) -> Value {
    let mut plain = 0;
    let is_shown = |(name, value): &&(String, Shown)| {
        let is_channel = matches!(value, Shown::Queue(_));
        plain += usize::from(!is_channel);
        is_channel || plain <= most || changed.contains(name.as_str())
    };
    let one = |(name, shown): &(String, Shown)| json!({ "name": name, "value": value(shown) });
    variables.iter().filter(is_shown).map(one).collect()
}

/// What the first `length` steps of a path cost.
pub(crate) fn cost(walk: &Walk, length: usize) -> Value {
    count(walk.cost(length))
}

/// What an execution costs.
fn count(count: SwitchCount) -> Value {
    json!({ "steps": count.steps, "preemptions": count.preemptions, "switches": count.switches })
}

/// One execution that was saved: the path along it, and what it violates.
pub(crate) fn recording(recording: &Recording) -> Value {
    let path = path::write(&vec![0; recording.steps]);
    let failure = recording.failure.as_ref();
    json!({
        "path": path, "steps": recording.steps, "cycle": recording.cycle,
        "cost": count(recording.cost),
        "verdict": failure.map(|_| Verdict::Violated.name()),
        "message": failure.map(|failure| &failure.message),
        "file": failure.map(|failure| &failure.file), "line": failure.map(|failure| failure.line),
    })
}

/// The processes that wait.
pub(crate) fn waits(waits: &[Wait]) -> Value {
    let one = |wait: &Wait| {
        json!({
            "pid": wait.pid, "name": wait.name, "since": wait.since_words(),
            "reasons": wait.reasons, "who": wait.who,
        })
    };
    waits.iter().map(one).collect()
}

/// Why no step is possible: `finished`, `violated`, `deadlock` or `broken`; null where one is.
pub(crate) fn end(system: &dyn System, moment: &Moment) -> Value {
    match moment.enabled.is_empty() {
        _ if moment.broken => json!("broken"),
        false => Value::Null,
        true if moment.fault.is_some() => json!("violated"),
        true if system.is_valid_end(&moment.state) => json!("finished"),
        true => json!("deadlock"),
    }
}

pub(crate) fn mistake(mistake: &Mistake) -> Value {
    json!({
        "is_error": mistake.is_error, "code": mistake.code, "message": mistake.message,
        "file": mistake.file, "line": mistake.line, "notes": mistake.notes,
    })
}
