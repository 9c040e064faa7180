//! An execution that was saved: from the page that preempt writes about a failure, or from a trace file.
//!
//! A page (such as `target/preempt/<test>.html`) holds the execution with its sources as data; nothing else of it is read.
//!
//! **Invariant:** whatever the file says, no index leaves its list, and no text is taken for anything else.

use preempt_core::{
    Change, Fault, FaultKind, Observations, Position, ProcessId, Switch, SwitchCount, Trace,
    TraceStep, Value, Waiting,
};
use preempt_report::{SavedTrace, Source};
use serde::Deserialize;
use std::collections::HashMap;

/// One execution with what is known of it.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    /// Its steps.
    pub trace: Trace,
    /// What the whole execution costs, of which a page may show the decisive part only.
    pub cost: SwitchCount,
    /// The texts that its steps point into.
    pub sources: Vec<Source>,
    /// What it violates.
    pub failure: Option<Fault>,
    /// No process can move at the end, and that is the failure.
    pub is_stuck: bool,
    /// Per step, what it looked at, in words.
    pub seen: Vec<Vec<String>>,
    /// Why the last step fails.
    pub reasons: Vec<String>,
    /// The processes that wait at the end.
    pub waiting: Vec<Waiting>,
    /// The processes by id, also those without a step.
    pub names: HashMap<usize, String>,
}

impl Execution {
    /// The same with other names of files.
    pub(crate) fn with_files(mut self, named: &dyn Fn(&str) -> String) -> Self {
        let steps = self.trace.steps.iter_mut().map(|step| &mut step.file);
        let rest = self.trace.rest.iter_mut().map(|position| &mut position.file);
        let sources = self.sources.iter_mut().map(|source| &mut source.file);
        let failure = self.failure.iter_mut().map(|failure| &mut failure.file);
        let mut known: HashMap<String, String> = HashMap::new();
        for file in steps.chain(rest).chain(sources).chain(failure) {
            *file = known.entry(file.clone()).or_insert_with_key(|file| named(file)).clone();
        }
        self
    }

    /// The trace with what is known of it besides its steps, as reports have it.
    pub fn observed(&self) -> Trace {
        let one = |words: &String| {
            let (name, value) = words.split_once(": ").or(words.split_once(" = "))?;
            Some((name.to_string(), Value::Name(value.to_string())))
        };
        let seen = self.seen.iter().map(|step| step.iter().filter_map(one).collect());
        let observations = Observations {
            seen: seen.collect(),
            reasons: self.reasons.clone(),
            waiting: self.waiting.clone(),
            ..Observations::default()
        };
        Trace { observations, ..self.trace.clone() }
    }
}

/// The execution in a trace file.
pub fn from_trace(text: &str) -> Result<Execution, String> {
    let saved = SavedTrace::from_json(text).map_err(|error| error.to_string())?;
    let failure = (!saved.kind.is_empty()).then(|| Fault {
        kind: FaultKind::Assertion,
        message: saved.message.clone(),
        file: String::new(),
        line: 0,
    });
    let (cost, is_stuck) = (saved.trace.cost(), saved.kind == "invalid_end_state");
    Ok(whole(Execution { trace: saved.trace, cost, failure, is_stuck, ..Execution::default() }))
}

/// Moves of a property belong to no process: what they repeat is the last state.
fn whole(mut execution: Execution) -> Execution {
    let trace = &mut execution.trace;
    let own = trace.steps.iter().take_while(|s| s.pid != ProcessId::PROPERTY.index()).count();
    trace.steps.truncate(own);
    trace.cycle_start = trace.cycle_start.filter(|start| *start < own);
    execution
}

/// The data of a page, as far as it is needed here.
#[derive(Deserialize)]
struct Island {
    sources: Vec<(String, String)>,
    failure: Option<IslandFailure>,
    cycle: Option<usize>,
    /// Steps, preemptions, switches, blocks of the whole execution.
    cost: [u32; 4],
    strings: Vec<String>,
    variables: Vec<usize>,
    initial: Vec<i64>,
    values: Vec<IslandValue>,
    pid: Vec<usize>,
    names: Vec<usize>,
    partner: Vec<i64>,
    file: Vec<usize>,
    line: Vec<u32>,
    text: Vec<usize>,
    switch: Vec<u8>,
    changes: Vec<Vec<i64>>,
    output: Vec<(usize, String)>,
    rest: Vec<(usize, usize, u32, usize)>,
    /// Those that take part, with their names as over the lanes.
    #[serde(default)]
    processes: Vec<(usize, String)>,
    #[serde(default)]
    seen: Vec<Vec<usize>>,
    #[serde(default)]
    reasons: Vec<String>,
    /// Pages of earlier versions have another form of it.
    #[serde(default)]
    waiting: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct IslandWait {
    pid: usize,
    reasons: Vec<String>,
    waits_for: Vec<usize>,
}

#[derive(Deserialize)]
struct IslandFailure {
    kind: String,
    message: String,
    file: String,
    line: u32,
}

#[derive(Deserialize, Clone)]
#[serde(untagged)]
enum IslandValue {
    Int(i64),
    Name(String),
    Queue(Vec<String>),
}

const DAMAGED: &str = "the data of the page is damaged";

impl Island {
    fn string(&self, at: usize) -> Result<String, String> {
        Ok(self.strings.get(at).ok_or(DAMAGED)?.clone())
    }

    fn value(&self, at: i64) -> Result<Option<Value>, String> {
        let Ok(at) = usize::try_from(at) else { return Ok(None) };
        Ok(Some(match self.values.get(at).ok_or(DAMAGED)?.clone() {
            IslandValue::Int(number) => Value::Int(number),
            IslandValue::Name(name) => Value::Name(name),
            IslandValue::Queue(messages) => Value::Queue(messages),
        }))
    }

    fn name(&self, variable: usize) -> Result<String, String> {
        self.string(*self.variables.get(variable).ok_or(DAMAGED)?)
    }

    /// The changes of a step; `now` is what variables hold.
    fn changes(&self, at: usize, now: &mut HashMap<usize, Value>) -> Result<Vec<Change>, String> {
        let mut changes = Vec::new();
        for pair in self.changes.get(at).ok_or(DAMAGED)?.chunks(2) {
            let variable = usize::try_from(pair[0]).map_err(|_| DAMAGED)?;
            let to = self.value(*pair.get(1).ok_or(DAMAGED)?)?;
            let from = match &to {
                Some(to) => now.insert(variable, to.clone()),
                None => now.remove(&variable),
            };
            changes.push(Change { name: self.name(variable)?, from, to });
        }
        Ok(changes)
    }
}

/// The execution in a page that preempt wrote.
pub fn from_page(text: &str) -> Result<Execution, String> {
    const BEGIN: &str = "<script type=\"application/json\" id=\"data\">";
    let none = "this is not a page with an execution that preempt wrote";
    let (_, rest) = text.split_once(BEGIN).ok_or(none)?;
    let (data, _) = rest.split_once("</script>").ok_or(none)?;
    let mut island: Island =
        serde_json::from_str(data).map_err(|error| format!("{none}: {error}"))?;
    let mut now: HashMap<usize, Value> = HashMap::new();
    let mut trace = Trace { cycle_start: island.cycle, ..Trace::default() };
    for (variable, at) in island.initial.iter().enumerate() {
        if let Some(found) = island.value(*at)? {
            trace.initial.push((island.name(variable)?, found.clone()));
            now.insert(variable, found);
        }
    }
    let mut outputs: HashMap<usize, String> =
        std::mem::take(&mut island.output).into_iter().collect();
    for at in 0..island.pid.len() {
        let column = |list: &[usize]| list.get(at).copied().ok_or(DAMAGED);
        let partner = island.partner.get(at).copied().ok_or(DAMAGED)?;
        trace.steps.push(TraceStep {
            process: island.string(column(&island.names)?)?,
            pid: column(&island.pid)?,
            partner: usize::try_from(partner).ok(),
            file: island.string(column(&island.file)?)?,
            line: island.line.get(at).copied().ok_or(DAMAGED)?,
            text: island.string(column(&island.text)?)?,
            switch: match island.switch.get(at) {
                Some(2) => Switch::Preemption,
                Some(1) => Switch::Forced,
                _ => Switch::None,
            },
            changes: island.changes(at, &mut now)?,
            output: outputs.remove(&at).unwrap_or_default(),
        });
    }
    for (pid, file, line, text) in &island.rest {
        let (file, text) = (island.string(*file)?, island.string(*text)?);
        trace.rest.push(Position { process: String::new(), pid: *pid, file, line: *line, text });
    }
    let in_words = |texts: &Vec<usize>| texts.iter().map(|at| island.string(*at)).collect();
    let seen = island.seen.iter().map(in_words).collect::<Result<_, _>>()?;
    let wait = |known: &serde_json::Value| {
        let IslandWait { pid, reasons, waits_for } = serde_json::from_value(known.clone()).ok()?;
        Some(Waiting { pid, reasons, waits_for })
    };
    let sources = island.sources.into_iter().map(|(file, text)| Source { file, text }).collect();
    let is_stuck =
        island.failure.as_ref().is_some_and(|failure| failure.kind == "invalid_end_state");
    let failure = island.failure.map(|failure| Fault {
        kind: FaultKind::Assertion,
        message: failure.message,
        file: failure.file,
        line: failure.line,
    });
    let [steps, preemptions, switches, _] = island.cost;
    let cost = SwitchCount { preemptions, switches, steps };
    let waiting = island.waiting.iter().filter_map(wait).collect();
    let (reasons, names) = (island.reasons, island.processes.into_iter().collect());
    let execution =
        Execution { trace, cost, sources, failure, is_stuck, seen, reasons, waiting, names };
    Ok(whole(execution))
}
