//! Machine-readable reports, schema version 1.
//!
//! The keys are a contract: scripts rely on them, `docs/src/reference/json.md` explains them and
//! `docs/src/reference/report.schema.json` lets a program check them. New keys may be added within
//! a version; none is renamed or removed.

use crate::{Wait, remarks, waits};
use preempt_core::{
    BoundRow, Change, Claim, Contention, Position, Stop, Switch, Trace, TraceStep, Unreached,
    Value, Verdict, Violation,
};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;

/// The version of everything this module writes.
pub const SCHEMA: u32 = 1;

/// What a report cannot read off a claim.
#[derive(Clone, Copy, Debug, Default)]
pub struct Subject<'a> {
    /// The file that was checked.
    pub file: &'a str,
    /// The preemption bound that was asked for.
    pub bound: Option<u32>,
    /// The test, where a file has several.
    pub test: Option<&'a str>,
}

/// The report as one line of JSON: the claim's object, or for several claims one object that holds
/// them in `results`.
pub fn report(subject: Subject<'_>, claims: &[Claim]) -> String {
    let value = match claims {
        [claim] => serde_json::to_string(&ReportJson::new(subject, claim)),
        _ => serde_json::to_string(&ReportsJson {
            schema: SCHEMA,
            file: subject.file,
            verdict: worst(claims).name(),
            results: claims.iter().map(|claim| ReportJson::new(subject, claim)).collect(),
        }),
    };
    // Plain structs of strings and finite numbers always serialise.
    value.unwrap_or_default()
}

/// The verdict that decides the exit code of several.
pub fn worst(claims: &[Claim]) -> Verdict {
    let rank = |verdict: Verdict| match verdict {
        Verdict::Holds => 0,
        Verdict::HoldsWithinBound(_) => 1,
        Verdict::Nothing => 2,
        Verdict::Inconclusive(_) => 3,
        Verdict::Violated => 4,
    };
    let mut worst = Verdict::Holds;
    for claim in claims {
        match (worst, claim.verdict) {
            (Verdict::HoldsWithinBound(a), Verdict::HoldsWithinBound(b)) => {
                worst = Verdict::HoldsWithinBound(a.min(b));
            }
            (a, b) if rank(b) > rank(a) => worst = b,
            _ => {}
        }
    }
    worst
}

#[derive(Serialize)]
struct ReportsJson<'a> {
    schema: u32,
    file: &'a str,
    verdict: &'static str,
    results: Vec<ReportJson<'a>>,
}

#[derive(Serialize)]
struct ReportJson<'a> {
    schema: u32,
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<&'a str>,
    property: &'a str,
    verdict: &'static str,
    bound: Option<u32>,
    bound_unit: &'static str,
    claim: &'a str,
    complete: bool,
    stop: Option<&'static str>,
    errors: u64,
    states: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    executions: Option<u64>,
    matched: u64,
    transitions: u64,
    atomic_steps: u64,
    depth: u64,
    revisits: u64,
    state_bytes: u64,
    bytes_per_state: f64,
    memory_bytes: u64,
    seconds: f64,
    search_seconds: f64,
    compile_seconds: f64,
    per_bound: Vec<BoundJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contention: Option<ContentionJson>,
    unreached: Vec<UnreachedJson<'a>>,
    notes: &'a [String],
    violation: Option<ViolationJson<'a>>,
}

impl<'a> ReportJson<'a> {
    fn new(subject: Subject<'a>, claim: &'a Claim) -> Self {
        let s = &claim.statistics;
        let (bound, complete, stop) = match claim.verdict {
            Verdict::Holds => (subject.bound, true, None),
            Verdict::HoldsWithinBound(bound) => (Some(bound), true, None),
            Verdict::Violated => (subject.bound, s.complete, None),
            Verdict::Inconclusive(stop) => (subject.bound, false, Some(stop_name(stop))),
            Verdict::Nothing => (subject.bound, false, None),
        };
        ReportJson {
            schema: SCHEMA,
            file: subject.file,
            test: subject.test,
            property: &claim.property,
            verdict: claim.verdict.name(),
            bound,
            bound_unit: s.bound_unit.name(),
            claim: &claim.sentence,
            complete,
            stop,
            errors: s.errors,
            states: s.states,
            nodes: s.nodes,
            executions: s.executions,
            matched: s.matched,
            transitions: s.transitions,
            atomic_steps: s.atomic_steps,
            depth: s.depth,
            revisits: s.revisits,
            state_bytes: s.state_bytes,
            bytes_per_state: finite(s.bytes_per_state),
            memory_bytes: s.memory_bytes,
            seconds: finite(s.seconds),
            search_seconds: finite(s.search_seconds),
            compile_seconds: finite(s.compile_seconds),
            per_bound: s.per_bound.iter().map(BoundJson::new).collect(),
            contention: s.contention.map(ContentionJson::new),
            unreached: claim.unreached.iter().map(UnreachedJson::new).collect(),
            notes: &claim.notes,
            violation: claim.violation.as_ref().map(ViolationJson::new),
        }
    }
}

#[derive(Serialize)]
struct ContentionJson {
    locks: u64,
    failed_swaps: u64,
    shared_bytes: u64,
}

impl ContentionJson {
    fn new(counted: Contention) -> Self {
        let Contention { locks, failed_swaps, shared_bytes } = counted;
        ContentionJson { locks, failed_swaps, shared_bytes }
    }
}

fn finite(number: f64) -> f64 {
    if number.is_finite() { number } else { 0.0 }
}

fn stop_name(stop: Stop) -> &'static str {
    match stop {
        Stop::Memory => "memory",
        Stop::Time => "time",
        Stop::Depth => "depth",
        Stop::Interrupted => "interrupted",
        Stop::LossyStore => "lossy_store",
        Stop::Sampling => "sampling",
        Stop::Fault => "fault",
        Stop::Unsupported => "unsupported",
        Stop::Bound => "bound",
        Stop::PeerLost => "peer_lost",
        Stop::Disk => "disk",
        Stop::Bug => "bug",
    }
}

#[derive(Serialize)]
struct BoundJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<u32>,
    bound: u32,
    states: u64,
    transitions: u64,
    errors: u64,
}

impl BoundJson {
    fn new(row: &BoundRow) -> Self {
        let BoundRow { stale, bound, states, transitions, errors } = *row;
        BoundJson { stale, bound, states, transitions, errors }
    }
}

#[derive(Serialize)]
struct UnreachedJson<'a> {
    process: &'a str,
    file: &'a str,
    line: u32,
    text: &'a str,
}

impl<'a> UnreachedJson<'a> {
    fn new(u: &'a Unreached) -> Self {
        UnreachedJson { process: &u.process, file: &u.file, line: u.line, text: &u.text }
    }
}

#[derive(Serialize)]
struct ViolationJson<'a> {
    kind: &'static str,
    message: &'a str,
    file: &'a str,
    line: u32,
    simplest: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<u32>,
    preemptions: u32,
    switches: u32,
    blocks: usize,
    steps: u32,
    trace: Steps<'a>,
    cycle_start: Option<usize>,
    /// Why it fails, with values.
    reasons: &'a [String],
    bad_prefix: Option<usize>,
    propositions: Vec<PropositionJson<'a>>,
    waiting: Vec<WaitingJson>,
}

#[derive(Serialize)]
struct PropositionJson<'a> {
    name: &'a str,
    holds: &'a [Option<bool>],
}

#[derive(Serialize)]
struct WaitingJson {
    pid: usize,
    reasons: Vec<String>,
    waits_for: Vec<usize>,
    since: Option<usize>,
    text: String,
}

impl<'a> ViolationJson<'a> {
    fn new(violation: &'a Violation) -> Self {
        let cost = violation.trace.cost();
        let observations = &violation.trace.observations;
        ViolationJson {
            kind: violation.kind.name(),
            message: &violation.message,
            file: &violation.file,
            line: violation.line,
            simplest: violation.simplest,
            stale: violation.stale,
            preemptions: cost.preemptions,
            switches: cost.switches,
            blocks: violation.trace.blocks(),
            steps: cost.steps,
            trace: Steps(&violation.trace),
            cycle_start: violation.trace.cycle_start,
            reasons: &observations.reasons,
            bad_prefix: observations.bad_prefix,
            propositions: (observations.propositions.iter())
                .map(|row| PropositionJson { name: &row.name, holds: &row.holds })
                .collect(),
            waiting: waiting(&violation.trace),
        }
    }
}

fn waiting(trace: &Trace) -> Vec<WaitingJson> {
    let one = |wait: Wait| WaitingJson {
        text: wait.text(),
        pid: wait.pid,
        reasons: wait.reasons,
        waits_for: wait.waits_for,
        since: wait.since,
    };
    waits(trace).into_iter().map(one).collect()
}

/// The steps of a trace, which may be very long: written one after the other, without a copy.
struct Steps<'a>(&'a Trace);

impl Serialize for Steps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(steps(self.0))
    }
}

pub(crate) fn steps(trace: &Trace) -> impl Iterator<Item = StepJson<'_>> {
    let seen = |at: usize| trace.observations.seen.get(at).into_iter().flatten();
    let seen = move |at: usize| seen(at).map(SeenJson::from);
    let steps = trace.steps.iter().enumerate();
    steps.map(move |(at, step)| StepJson {
        seen: seen(at).collect(),
        remarks: remarks(trace, at),
        ..StepJson::from(step)
    })
}

#[derive(Serialize, Deserialize)]
pub(crate) struct StepJson<'a> {
    process: Cow<'a, str>,
    pid: usize,
    #[serde(default)]
    partner: Option<usize>,
    file: Cow<'a, str>,
    line: u32,
    text: Cow<'a, str>,
    preemption: bool,
    #[serde(default)]
    switch: SwitchJson,
    changes: Vec<ChangeJson<'a>>,
    /// What it looked at without changing it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    seen: Vec<SeenJson<'a>>,
    /// The same in words, and what became true or false of the property.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<String>,
    #[serde(default)]
    output: Cow<'a, str>,
}

#[derive(Serialize, Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum SwitchJson {
    #[default]
    None,
    Forced,
    Preemption,
}

#[derive(Serialize, Deserialize)]
struct SeenJson<'a> {
    name: Cow<'a, str>,
    value: ValueJson<'a>,
}

impl<'a> From<&'a (String, Value)> for SeenJson<'a> {
    fn from((name, value): &'a (String, Value)) -> Self {
        SeenJson { name: name.into(), value: ValueJson::from(value) }
    }
}

#[derive(Serialize, Deserialize)]
struct ChangeJson<'a> {
    name: Cow<'a, str>,
    from: Option<ValueJson<'a>>,
    to: Option<ValueJson<'a>>,
}

/// A number, a string for anything that is shown as it is, a list of strings for a channel.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum ValueJson<'a> {
    Int(i64),
    Name(Cow<'a, str>),
    Queue(Cow<'a, [String]>),
}

#[derive(Serialize, Deserialize)]
pub(crate) struct PositionJson {
    process: String,
    pid: usize,
    file: String,
    line: u32,
    text: String,
}

impl<'a> From<&'a TraceStep> for StepJson<'a> {
    fn from(step: &'a TraceStep) -> Self {
        StepJson {
            process: (&step.process).into(),
            pid: step.pid,
            partner: step.partner,
            file: (&step.file).into(),
            line: step.line,
            text: (&step.text).into(),
            preemption: step.switch == Switch::Preemption,
            switch: match step.switch {
                Switch::None => SwitchJson::None,
                Switch::Forced => SwitchJson::Forced,
                Switch::Preemption => SwitchJson::Preemption,
            },
            changes: step.changes.iter().map(ChangeJson::from).collect(),
            seen: Vec::new(),
            remarks: Vec::new(),
            output: (&step.output).into(),
        }
    }
}

impl From<StepJson<'_>> for TraceStep {
    fn from(step: StepJson<'_>) -> Self {
        TraceStep {
            process: step.process.into_owned(),
            pid: step.pid,
            partner: step.partner,
            file: step.file.into_owned(),
            line: step.line,
            text: step.text.into_owned(),
            switch: match (step.switch, step.preemption) {
                (_, true) => Switch::Preemption,
                (SwitchJson::Forced, _) => Switch::Forced,
                _ => Switch::None,
            },
            changes: step.changes.into_iter().map(Change::from).collect(),
            output: step.output.into_owned(),
        }
    }
}

impl<'a> From<&'a Change> for ChangeJson<'a> {
    fn from(change: &'a Change) -> Self {
        ChangeJson {
            name: (&change.name).into(),
            from: change.from.as_ref().map(ValueJson::from),
            to: change.to.as_ref().map(ValueJson::from),
        }
    }
}

impl From<ChangeJson<'_>> for Change {
    fn from(change: ChangeJson<'_>) -> Self {
        Change {
            name: change.name.into_owned(),
            from: change.from.map(Value::from),
            to: change.to.map(Value::from),
        }
    }
}

impl<'a> From<&'a Value> for ValueJson<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Int(n) => ValueJson::Int(*n),
            Value::Name(s) => ValueJson::Name(s.into()),
            Value::Queue(q) => ValueJson::Queue(q.into()),
        }
    }
}

impl From<ValueJson<'_>> for Value {
    fn from(value: ValueJson<'_>) -> Self {
        match value {
            ValueJson::Int(n) => Value::Int(n),
            ValueJson::Name(s) => Value::Name(s.into_owned()),
            ValueJson::Queue(q) => Value::Queue(q.into_owned()),
        }
    }
}

impl From<&Position> for PositionJson {
    fn from(p: &Position) -> Self {
        PositionJson {
            process: p.process.clone(),
            pid: p.pid,
            file: p.file.clone(),
            line: p.line,
            text: p.text.clone(),
        }
    }
}

impl From<PositionJson> for Position {
    fn from(p: PositionJson) -> Self {
        Position { process: p.process, pid: p.pid, file: p.file, line: p.line, text: p.text }
    }
}
