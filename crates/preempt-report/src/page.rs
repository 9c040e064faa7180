//! One self-contained HTML page: the claim, the moment it went wrong, and everything around it.
//!
//! The page is a few assets and one island of JSON; it loads nothing, so it works from disk and in
//! a continuous-integration artefact. Names, statements and values come from the user's program and
//! are never markup: the island escapes `<`, the script writes text nodes only, the few strings in
//! the skeleton are escaped here.
//!
//! Long traces repeat themselves, so the island interns its strings and keeps the steps as columns:
//! a trace of 100,000 steps is a few megabytes.

use crate::plain_json::{PlainJson, plain_object, to_text};
use crate::{Cast, MomentKind, Wait, change_words, keys, messages, moments, remarks, waits, xml};
use preempt_core::{Claim, Switch, Trace, Value, Violation};
use std::collections::HashMap;

/// A source file to show beside the trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// The name that steps refer to.
    pub file: String,
    /// Its content.
    pub text: String,
}

/// What a page shows.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The file or test that was checked.
    pub title: &'a str,
    /// The verdict, with its counterexample if it has one.
    pub claim: &'a Claim,
    /// An execution to show when the claim has no counterexample (a simulation).
    pub trace: Option<&'a Trace>,
    /// The sources.
    pub sources: &'a [Source],
    /// The user's drawing of a state, if there is one.
    pub drawing: Option<&'a Drawn>,
}

/// A drawing, with what it shows in each state of an execution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Drawn {
    /// The tree of its elements, as a drawing that was read has it.
    pub scene: String,
    /// The values of its expressions, in their order: at the start and after each step.
    pub values: Vec<Vec<Option<Value>>>,
}

/// Writes the page.
pub fn page(page: &Page<'_>) -> String {
    let island = island(page);
    let mut out = String::with_capacity(SKELETON.len() + STYLE.len() + SCRIPT.len() + island.len());
    let mut rest = SKELETON;
    // One pass over the skeleton, so that nothing inserted is looked at again.
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, after)) = after.split_once("}}") else {
            break;
        };
        match name {
            "title" => out.push_str(&xml::escape(page.title)),
            "verdict" => out.push_str(page.claim.verdict.name()),
            "claim" => out.push_str(&xml::escape(&page.claim.sentence)),
            "style" => out.push_str(STYLE),
            "script" => out.push_str(SCRIPT),
            "keys" => out.push_str(&keys::html(keys::Place::Page)),
            "data" => out.push_str(&island),
            _ => {}
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

const SKELETON: &str = include_str!("../assets/page.html");
const STYLE: &str = include_str!("../assets/page.css");
const SCRIPT: &str = concat!(
    include_str!("../assets/model.js"),
    include_str!("../assets/colours.js"),
    include_str!("../assets/panes.js"),
    include_str!("../assets/chart.js"),
    include_str!("../assets/reads.js"),
    include_str!("../assets/lanes.js"),
    include_str!("../assets/overview.js"),
    include_str!("../assets/search.js"),
    include_str!("../assets/sources.js"),
    include_str!("../assets/state.js"),
    include_str!("../assets/drawing.js"),
    include_str!("../assets/page.js")
);

/// The data of the page, safe inside a `script` element.
fn island(page: &Page<'_>) -> String {
    let empty = Trace::default();
    let violation = page.claim.violation.as_ref();
    let trace = violation.map(|v| &v.trace).or(page.trace).unwrap_or(&empty);
    // The counts are those of the whole execution, as everywhere else.
    let cost = trace.cost();
    let cost =
        [cost.steps as usize, cost.preemptions as usize, cost.switches as usize, trace.blocks()];
    let trace = &*trace.decisive();
    let seen: Vec<Vec<String>> = match trace.observations.seen.is_empty() {
        true => Vec::new(),
        false => (0..trace.steps.len()).map(|at| remarks(trace, at)).collect(),
    };
    let words: Vec<Vec<String>> =
        trace.steps.iter().map(|step| change_words(&step.changes, &step.process, "→")).collect();
    let text = to_text(&Island { cost, ..Island::new(page, trace, violation, &words, &seen) });
    text.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

struct Island<'a> {
    title: &'a str,
    verdict: &'static str,
    claim: &'a str,
    property: &'a str,
    notes: &'a [String],
    numbers: Numbers<'a>,
    cost: [usize; 4],
    processes: Vec<(usize, String)>,
    sources: Vec<(&'a str, &'a str)>,
    moments: Vec<MomentData>,
    failure: Option<Failure<'a>>,
    cycle: Option<usize>,
    strings: Vec<&'a str>,
    /// Names of variables, as strings.
    variables: Vec<usize>,
    /// Whether each variable is a channel.
    channels: Vec<bool>,
    /// Value at the start of each variable, -1 when it does not exist yet.
    initial: Vec<i64>,
    /// Values: text, or for a channel its messages.
    values: Vec<ValueData>,
    /// Columns of the steps.
    pid: Vec<usize>,
    /// Name of the process, as a string.
    names: Vec<usize>,
    partner: Vec<i64>,
    file: Vec<usize>,
    line: Vec<u32>,
    text: Vec<usize>,
    /// 0 goes on, 1 forced switch, 2 preemption.
    switch: Vec<u8>,
    /// Per step: variable, value, variable, value, …; value -1 when it is gone.
    changes: Vec<Vec<i64>>,
    /// Step and text of everything printed.
    output: Vec<(usize, &'a str)>,
    /// Label, sent at, sent by, received at, received by; -1 when not.
    messages: Vec<(String, i64, i64, i64, i64)>,
    rest: Vec<(usize, usize, u32, usize)>,
    /// Step that reads, step that wrote (-1 for the initial value), newest write that was missed (-1 if none).
    reads: Vec<(usize, i64, i64)>,
    /// Per step, its changes in words, as strings.
    words: Vec<Vec<usize>>,
    /// Per step, what it looked at and what became of the property, as strings; empty when unknown.
    seen: Vec<Vec<usize>>,
    /// Why the last step fails.
    reasons: &'a [String],
    /// State expressions of the property, and whether they hold at the start and after each step: 1, 0, or -1 where
    /// the property does not look.
    propositions: Vec<(&'a str, Vec<i8>)>,
    /// The processes that cannot move at the end: since when, why, and which processes could change that.
    waiting: Vec<WaitData>,
    /// After the last step shown the property is violated whatever follows.
    decided: bool,
    drawing: Option<DrawnData<'a>>,
}

struct DrawnData<'a> {
    scene: Written<'a>,
    /// Per expression, where its value changes: the number of steps before, and the value.
    values: Vec<Vec<(usize, Option<ValueData>)>>,
}

/// JSON already.
struct Written<'a>(&'a str);

impl PlainJson for Written<'_> {
    fn write(&self, out: &mut String) {
        out.push_str(self.0);
    }
}

struct Numbers<'a> {
    states: u64,
    matched: u64,
    revisits: u64,
    transitions: u64,
    atomic: u64,
    depth: u64,
    errors: u64,
    vector: u64,
    /// Of decision diagrams, where states are not listed.
    nodes: Option<u64>,
    /// Of a real program, where states are not computed.
    executions: Option<u64>,
    /// What the bounds count.
    unit: &'static str,
    memory: u64,
    seconds: f64,
    /// Bound, states, transitions, errors.
    bounds: Vec<(u32, u64, u64, u64)>,
    /// Process, file, line, statement.
    unreached: Vec<(&'a str, &'a str, u32, &'a str)>,
    /// Process type, number of its statements.
    statements: Vec<(&'a str, u64)>,
}

impl<'a> Numbers<'a> {
    fn new(claim: &'a Claim) -> Self {
        let s = &claim.statistics;
        Numbers {
            states: s.states,
            matched: s.matched,
            revisits: s.revisits,
            transitions: s.transitions,
            atomic: s.atomic_steps,
            depth: s.depth,
            errors: s.errors,
            vector: s.state_bytes,
            nodes: s.nodes,
            executions: s.executions,
            unit: s.bound_unit.name(),
            memory: s.memory_bytes,
            seconds: s.seconds,
            bounds: s
                .per_bound
                .iter()
                .filter(|row| row.stale.unwrap_or(0) == 0)
                .map(|row| (row.bound, row.states, row.transitions, row.errors))
                .collect(),
            unreached: claim
                .unreached
                .iter()
                .map(|u| (u.process.as_str(), u.file.as_str(), u.line, u.text.as_str()))
                .collect(),
            statements: s.statements.iter().map(|(name, count)| (name.as_str(), *count)).collect(),
        }
    }
}

struct MomentData {
    step: usize,
    kind: &'static str,
    title: String,
    detail: String,
}

struct WaitData {
    pid: usize,
    name: String,
    since: String,
    reasons: Vec<String>,
    who: String,
    waits_for: Vec<usize>,
}

struct Failure<'a> {
    kind: &'static str,
    message: &'a str,
    file: &'a str,
    line: u32,
    simplest: bool,
}

impl From<Wait> for WaitData {
    fn from(wait: Wait) -> Self {
        let since = wait.since_words();
        let Wait { pid, name, reasons, who, waits_for, .. } = wait;
        WaitData { pid, name, since, reasons, who, waits_for }
    }
}

impl<'a> From<&'a Violation> for Failure<'a> {
    fn from(violation: &'a Violation) -> Self {
        let Violation { message, file, line, simplest, .. } = violation;
        let kind = violation.kind.name();
        Failure { kind, message, file, line: *line, simplest: *simplest }
    }
}

/// The page's number for a switch.
fn switch_number(switch: Switch) -> u8 {
    match switch {
        Switch::None => 0,
        Switch::Forced => 1,
        Switch::Preemption => 2,
    }
}

enum ValueData {
    Int(i64),
    Name(String),
    Queue(Vec<String>),
}

plain_object!(Island<'a> {
    title, verdict, claim, property, notes, numbers, cost, processes, sources, moments, failure,
    cycle, strings, variables, channels, initial, values, pid, names, partner, file, line, text,
    switch, changes, output, messages, rest, reads, words, seen, reasons, propositions, waiting, decided, drawing,
});
plain_object!(DrawnData<'a> { scene, values });
plain_object!(Numbers<'a> {
    states, matched, revisits, transitions, atomic, depth, errors, vector, nodes, executions, unit, memory, seconds,
    bounds,
    unreached, statements,
});
plain_object!(WaitData { pid, name, since, reasons, who, waits_for });
plain_object!(MomentData { step, kind, title, detail });
plain_object!(Failure<'a> { kind, message, file, line, simplest });

impl PlainJson for ValueData {
    fn write(&self, out: &mut String) {
        match self {
            ValueData::Int(number) => number.write(out),
            ValueData::Name(text) => text.write(out),
            ValueData::Queue(messages) => messages.write(out),
        }
    }
}

/// Gives equal things equal numbers.
struct Interner<'a, T: ?Sized> {
    known: HashMap<&'a T, usize>,
    list: Vec<&'a T>,
}

impl<'a, T: ?Sized + std::hash::Hash + Eq> Interner<'a, T> {
    fn new() -> Self {
        Interner { known: HashMap::new(), list: Vec::new() }
    }

    fn number(&mut self, item: &'a T) -> usize {
        *self.known.entry(item).or_insert_with(|| {
            self.list.push(item);
            self.list.len() - 1
        })
    }
}

/// What variables and channels hold in the course of a trace.
struct History<'a> {
    variables: Interner<'a, str>,
    /// Whether each of them is a channel.
    channels: Vec<bool>,
    /// The number of each initial value, or -1.
    initial: Vec<i64>,
    /// The changes of each step: variable and value, by turns.
    changes: Vec<Vec<i64>>,
    values: Interner<'a, Value>,
}

impl<'a> History<'a> {
    fn of(trace: &'a Trace) -> Self {
        let mut this = History {
            variables: Interner::new(),
            channels: Vec::new(),
            initial: Vec::new(),
            changes: Vec::with_capacity(trace.steps.len()),
            values: Interner::new(),
        };
        for (name, value) in &trace.initial {
            let number = this.variable(name, [value]);
            this.initial[number] = this.values.number(value) as i64;
        }
        for step in &trace.steps {
            let mut list = Vec::with_capacity(2 * step.changes.len());
            for change in &step.changes {
                let seen = [&change.from, &change.to].into_iter().flatten();
                list.push(this.variable(&change.name, seen) as i64);
                list.push(change.to.as_ref().map_or(-1, |v| this.values.number(v) as i64));
            }
            this.changes.push(list);
        }
        this
    }

    /// The number of a variable, which was seen to hold these values.
    fn variable(&mut self, name: &'a str, seen: impl IntoIterator<Item = &'a Value>) -> usize {
        let number = self.variables.number(name);
        let count = self.variables.list.len();
        self.initial.resize(count, -1);
        self.channels.resize(count, false);
        self.channels[number] |= seen.into_iter().any(|v| matches!(v, Value::Queue(_)));
        number
    }
}

impl<'a> Island<'a> {
    fn new(
        page: &Page<'a>,
        trace: &'a Trace,
        violation: Option<&'a Violation>,
        words: &'a [Vec<String>],
        seen: &'a [Vec<String>],
    ) -> Self {
        let mut strings = Interner::<str>::new();
        let History { variables, channels, initial, changes, values } = History::of(trace);
        let variables = variables.list.iter().map(|name| strings.number(name)).collect();
        let steps = || trace.steps.iter();
        Island {
            title: page.title,
            verdict: page.claim.verdict.name(),
            claim: &page.claim.sentence,
            property: &page.claim.property,
            notes: &page.claim.notes,
            numbers: Numbers::new(page.claim),
            cost: [0; 4],
            processes: Cast::of(trace).members().into_iter().map(|m| (m.pid, m.label)).collect(),
            sources: page.sources.iter().map(|s| (s.file.as_str(), s.text.as_str())).collect(),
            moments: moment_data(trace, violation),
            failure: violation.map(Failure::from),
            cycle: trace.cycle_start,
            variables,
            channels,
            initial,
            values: values.list.iter().map(|value| value_data(value)).collect(),
            pid: steps().map(|s| s.pid).collect(),
            names: steps().map(|s| strings.number(&s.process)).collect(),
            partner: steps().map(|s| s.partner.map_or(-1, |p| p as i64)).collect(),
            file: steps().map(|s| strings.number(&s.file)).collect(),
            line: steps().map(|s| s.line).collect(),
            text: steps().map(|s| strings.number(&s.text)).collect(),
            switch: steps().map(|s| switch_number(s.switch)).collect(),
            changes,
            output: steps()
                .enumerate()
                .filter(|(_, s)| !s.output.is_empty())
                .map(|(index, s)| (index, s.output.as_str()))
                .collect(),
            messages: message_data(trace),
            rest: trace
                .rest
                .iter()
                .map(|p| (p.pid, strings.number(&p.file), p.line, strings.number(&p.text)))
                .collect(),
            reads: trace
                .reads
                .iter()
                .map(|read| (read.step, number(read.from), number(read.missed)))
                .collect(),
            words: numbered(&mut strings, words),
            seen: numbered(&mut strings, seen),
            reasons: &trace.observations.reasons,
            propositions: trace
                .observations
                .propositions
                .iter()
                .map(|row| (row.name.as_str(), row.holds.iter().map(|h| truth(*h)).collect()))
                .collect(),
            waiting: waits(trace).into_iter().map(WaitData::from).collect(),
            decided: trace.observations.bad_prefix.is_some(),
            drawing: page.drawing.map(drawn_data),
            strings: strings.list,
        }
    }
}

fn numbered<'a>(strings: &mut Interner<'a, str>, lists: &'a [Vec<String>]) -> Vec<Vec<usize>> {
    let one = |texts: &'a Vec<String>| texts.iter().map(|text| strings.number(text)).collect();
    lists.iter().map(one).collect()
}

fn truth(holds: Option<bool>) -> i8 {
    match holds {
        Some(true) => 1,
        Some(false) => 0,
        None => -1,
    }
}

fn number(step: Option<usize>) -> i64 {
    step.map_or(-1, |step| step as i64)
}

fn value_data(value: &Value) -> ValueData {
    // Numbers beyond what a script can hold exactly are shown as text.
    const EXACT: i64 = 1 << 53;
    match value {
        Value::Int(n) if (-EXACT..=EXACT).contains(n) => ValueData::Int(*n),
        Value::Int(n) => ValueData::Name(n.to_string()),
        Value::Name(text) => ValueData::Name(text.clone()),
        Value::Queue(messages) => ValueData::Queue(messages.clone()),
    }
}

fn drawn_data(drawn: &Drawn) -> DrawnData<'_> {
    let count = drawn.values.first().map_or(0, Vec::len);
    let changes = |expression: usize| {
        let value = |at: usize| drawn.values[at].get(expression).and_then(Option::as_ref);
        let changes = (0..drawn.values.len()).filter(|at| *at == 0 || value(*at) != value(at - 1));
        changes.map(|at| (at, value(at).map(value_data))).collect()
    };
    DrawnData { scene: Written(&drawn.scene), values: (0..count).map(changes).collect() }
}

fn moment_data(trace: &Trace, violation: Option<&Violation>) -> Vec<MomentData> {
    moments(trace, violation)
        .into_iter()
        .map(|m| MomentData {
            step: m.step,
            kind: match m.kind {
                MomentKind::Preemption(_) => "preemption",
                MomentKind::CycleStart => "cycle",
                MomentKind::Failure => "failure",
            },
            title: m.title,
            detail: m.detail,
        })
        .collect()
}

fn message_data(trace: &Trace) -> Vec<(String, i64, i64, i64, i64)> {
    messages(trace)
        .into_iter()
        .map(|m| {
            (
                m.label(),
                number(m.sent.map(|e| e.step)),
                number(m.sent.map(|e| e.pid)),
                number(m.received.map(|e| e.step)),
                number(m.received.map(|e| e.pid)),
            )
        })
        .collect()
}
