//! States, steps and verdicts as JSON for the page.

use crate::subject::{Evaluate, Mistake};
use crate::walk::{Moment, Preview, Row, Walk};
use preempt_core::{Change, ProcessId, Switch, SwitchCount, System, TraceStep, Value as Shown};
use serde_json::{Value, json};

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
        "process": step.process, "pid": step.pid, "partner": step.partner, "file": step.file,
        "line": step.line, "text": step.text, "switch": switch(step.switch),
        "changes": changes(&step.changes), "output": step.output,
    })
}

pub(crate) fn fault(system: &dyn System, number: Option<u32>) -> Value {
    match number.map(|number| system.fault(number)) {
        Some(fault) => json!({ "message": fault.message, "file": fault.file, "line": fault.line }),
        None => Value::Null,
    }
}

/// A row of the lanes; `at` is its number from 0.
pub(crate) fn row(
    system: &dyn System,
    at: usize,
    row: &Row,
    watches: &[Option<Evaluate>],
) -> Value {
    let mut shown = step(&row.step);
    shown["at"] = json!(at);
    shown["fault"] = fault(system, row.fault);
    let watched = watches.iter().map(|watch| watch.as_ref().and_then(|watch| watch(&row.state)));
    shown["watches"] = watched.collect();
    shown
}

/// The enabled steps, with what they would do.
pub(crate) fn enabled(system: &dyn System, previews: &[Preview]) -> Value {
    let one = |(index, preview): (usize, &Preview)| {
        let mut shown = step(&preview.step);
        shown["index"] = json!(index);
        shown["fault"] = fault(system, preview.fault);
        shown["broken"] = json!(preview.broken);
        shown
    };
    previews.iter().enumerate().map(one).collect()
}

/// The processes: who they are, where they stand, whether they can move.
pub(crate) fn processes(system: &dyn System, moment: &Moment) -> Value {
    let state = &moment.state;
    let one = |pid: usize| {
        let id = ProcessId(u16::try_from(pid).unwrap_or(u16::MAX));
        let (file, line, text) = system.position(state, id).unwrap_or_default();
        json!({
            "pid": pid, "name": system.process_name(state, id), "file": file, "line": line,
            "text": text, "can_move": moment.enabled.can_move(id),
        })
    };
    (0..system.process_count(state)).map(one).collect()
}

pub(crate) fn variables(system: &dyn System, state: &[u8]) -> Value {
    let one = |(name, shown): &(String, Shown)| json!({ "name": name, "value": value(shown) });
    system.variables(state).iter().map(one).collect()
}

/// What the first `length` steps of a path cost.
pub(crate) fn cost(walk: &Walk, length: usize) -> Value {
    let mut count = SwitchCount::default();
    walk.switches().iter().take(length).for_each(|switch| count.add(*switch));
    json!({ "steps": count.steps, "preemptions": count.preemptions, "switches": count.switches })
}

/// Why no step is possible: `finished`, `deadlock` or `broken`; null where one is.
pub(crate) fn end(system: &dyn System, moment: &Moment) -> Value {
    match moment.enabled.is_empty() {
        _ if moment.broken => json!("broken"),
        false => Value::Null,
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
