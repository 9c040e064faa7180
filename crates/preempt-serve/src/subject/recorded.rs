//! A saved execution: that of a failing Rust test, of a C program, of any model, from its page or from its trace file.
//!
//! The program itself is not there, so there is one way: forward and back along what was recorded. What else was possible on the
//! way was not recorded, so nothing else is offered; an execution that violates something opens at its end. A page that preempt wrote (such as
//! `target/preempt/<test>.html`) holds the execution with its sources as data; nothing else of it is read.
//!
//! **Invariant:** a state is the number of steps taken; whatever the file says, no index leaves its list.

use super::{Choice, Mistake, Origin, Question, Recording, Remarks, Subject};
use preempt_core::{
    Change, Claim, Describe, Enabled, Fault, FaultKind, Independence, Outcome, Position, ProcessId,
    Step, Switch, SwitchCount, System, Trace, TraceStep, Value, Waiting, classify,
};
use preempt_report::{SavedTrace, Source};
use preempt_verify::{Control, Error};
use serde::Deserialize;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Larger files are refused.
const LARGEST_FILE: u64 = 256 << 20;

/// Larger numbers of steps are refused.
const MOST_STEPS: usize = u32::MAX as usize;
const FAILURE: u32 = 0;

/// So many steps lie between two lists of variables that are kept.
const STRIDE: usize = 256;

/// A page or trace file on disk.
pub struct RecordedFile {
    path: PathBuf,
}

impl RecordedFile {
    /// A page that preempt wrote, or a trace saved as JSON.
    pub fn new(path: PathBuf) -> Self {
        RecordedFile { path }
    }

    fn read(&self) -> Result<Recorded, String> {
        let size = std::fs::metadata(&self.path).map_err(|error| error.to_string())?.len();
        if size > LARGEST_FILE {
            return Err("the file is too large".into());
        }
        let text = std::fs::read_to_string(&self.path).map_err(|error| error.to_string())?;
        match self.path.extension().is_some_and(|extension| extension == "json") {
            true => from_trace(&text),
            false => from_page(&text),
        }
    }
}

impl Origin for RecordedFile {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn load(&self) -> Result<Arc<dyn Subject>, Vec<Mistake>> {
        let file = self.name();
        let refuse = |problem| vec![Mistake::plain(format!("{file}: {problem}"))];
        Ok(Arc::new(self.read().map_err(refuse)?))
    }

    fn stamp(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        let known = std::fs::metadata(&self.path).ok();
        known.as_ref().and_then(|data| data.modified().ok()).hash(&mut hasher);
        known.map(|data| data.len()).hash(&mut hasher);
        hasher.finish()
    }
}

/// See the module's text.
struct Recorded {
    trace: Trace,
    sources: Vec<Source>,
    failure: Option<Fault>,
    /// No process can move at the end, and that is the failure.
    is_stuck: bool,
    /// Names of the processes, by id.
    names: HashMap<usize, String>,
    count: usize,
    /// What the whole execution costs, of which a page may show the decisive part only.
    cost: SwitchCount,
    told: Told,
    /// The variables in front of steps 0, [`STRIDE`], 2·[`STRIDE`], …
    kept: Vec<Vec<(String, Value)>>,
}

/// What the file says in words.
#[derive(Default)]
struct Told {
    /// Per step, what it looked at.
    seen: Vec<Vec<String>>,
    /// Why the last step fails.
    reasons: Vec<String>,
    /// The processes that wait at the end.
    waiting: Vec<Waiting>,
    /// The processes by id, also those without a step.
    names: HashMap<usize, String>,
}

fn from_trace(text: &str) -> Result<Recorded, String> {
    let saved = SavedTrace::from_json(text).map_err(|error| error.to_string())?;
    let failure = (!saved.kind.is_empty()).then(|| Fault {
        kind: FaultKind::Assertion,
        message: saved.message.clone(),
        file: String::new(),
        line: 0,
    });
    let cost = saved.trace.cost();
    let is_stuck = saved.kind == "invalid_end_state";
    Recorded::new(saved.trace, cost, Vec::new(), (failure, is_stuck), Told::default())
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

fn from_page(text: &str) -> Result<Recorded, String> {
    const BEGIN: &str = "<script type=\"application/json\" id=\"data\">";
    let none = "this is not a page with an execution that preempt wrote";
    let (_, rest) = text.split_once(BEGIN).ok_or(none)?;
    let (data, _) = rest.split_once("</script>").ok_or(none)?;
    let island: Island = serde_json::from_str(data).map_err(|error| format!("{none}: {error}"))?;
    let damaged = || "the data of the page is damaged".to_string();
    let string = |at: usize| island.strings.get(at).cloned().ok_or_else(damaged);
    let value = |at: i64| -> Result<Option<Value>, String> {
        let Ok(at) = usize::try_from(at) else { return Ok(None) };
        Ok(Some(match island.values.get(at).cloned().ok_or_else(damaged)? {
            IslandValue::Int(number) => Value::Int(number),
            IslandValue::Name(name) => Value::Name(name),
            IslandValue::Queue(messages) => Value::Queue(messages),
        }))
    };
    let name = |variable: usize| {
        island.variables.get(variable).ok_or_else(damaged).and_then(|at| string(*at))
    };
    let mut now: HashMap<usize, Value> = HashMap::new();
    let mut trace = Trace { cycle_start: island.cycle, ..Trace::default() };
    for (variable, at) in island.initial.iter().enumerate() {
        if let Some(found) = value(*at)? {
            trace.initial.push((name(variable)?, found.clone()));
            now.insert(variable, found);
        }
    }
    let mut outputs: HashMap<usize, String> = island.output.into_iter().collect();
    for at in 0..island.pid.len() {
        let column = |list: &[usize]| list.get(at).copied().ok_or_else(damaged);
        let mut changes = Vec::new();
        for pair in island.changes.get(at).ok_or_else(damaged)?.chunks(2) {
            let variable = usize::try_from(pair[0]).map_err(|_| damaged())?;
            let to = value(*pair.get(1).ok_or_else(damaged)?)?;
            let from = match &to {
                Some(to) => now.insert(variable, to.clone()),
                None => now.remove(&variable),
            };
            changes.push(Change { name: name(variable)?, from, to });
        }
        let partner = island.partner.get(at).copied().ok_or_else(damaged)?;
        trace.steps.push(TraceStep {
            process: string(column(&island.names)?)?,
            pid: column(&island.pid)?,
            partner: usize::try_from(partner).ok(),
            file: string(column(&island.file)?)?,
            line: island.line.get(at).copied().ok_or_else(damaged)?,
            text: string(column(&island.text)?)?,
            switch: match island.switch.get(at) {
                Some(2) => Switch::Preemption,
                Some(1) => Switch::Forced,
                _ => Switch::None,
            },
            changes,
            output: outputs.remove(&at).unwrap_or_default(),
        });
    }
    for (pid, file, line, text) in &island.rest {
        let (file, text) = (string(*file)?, string(*text)?);
        trace.rest.push(Position { process: String::new(), pid: *pid, file, line: *line, text });
    }
    let in_words = |texts: &Vec<usize>| texts.iter().map(|at| string(*at)).collect();
    let wait = |known: &serde_json::Value| {
        let IslandWait { pid, reasons, waits_for } = serde_json::from_value(known.clone()).ok()?;
        Some(Waiting { pid, reasons, waits_for })
    };
    let told = Told {
        seen: island.seen.iter().map(in_words).collect::<Result<_, _>>()?,
        reasons: island.reasons.clone(),
        waiting: island.waiting.iter().filter_map(wait).collect(),
        names: island.processes.into_iter().collect(),
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
    Recorded::new(trace, cost, sources, (failure, is_stuck), told)
}

impl Recorded {
    fn new(
        mut trace: Trace,
        cost: SwitchCount,
        sources: Vec<Source>,
        (failure, is_stuck): (Option<Fault>, bool),
        told: Told,
    ) -> Result<Self, String> {
        // Moves of a property belong to no process: what they repeat is the last state.
        let own = trace.steps.iter().take_while(|s| s.pid != ProcessId::PROPERTY.index()).count();
        trace.steps.truncate(own);
        trace.cycle_start = trace.cycle_start.filter(|start| *start < own);
        let steps = trace.steps.iter().flat_map(|step| [Some(step.pid), step.partner]).flatten();
        let pids = steps.chain(trace.rest.iter().map(|place| place.pid));
        let count = pids.max().map_or(0, |most| most + 1);
        if count > usize::from(u16::MAX) || trace.steps.len() >= MOST_STEPS {
            return Err("there are too many processes or steps".into());
        }
        let mut names = HashMap::new();
        for step in &trace.steps {
            names.entry(step.pid).or_insert_with(|| step.process.clone());
        }
        let mut kept = Vec::new();
        let mut now = trace.initial.clone();
        for (at, step) in trace.steps.iter().enumerate() {
            if at.is_multiple_of(STRIDE) {
                kept.push(now.clone());
            }
            step.changes.iter().for_each(|change| follow(&mut now, change));
        }
        if trace.steps.len().is_multiple_of(STRIDE) {
            kept.push(now);
        }
        Ok(Recorded { trace, sources, failure, is_stuck, names, count, cost, told, kept })
    }

    fn at(state: &[u8]) -> usize {
        state.try_into().map_or(0, |bytes| u32::from_le_bytes(bytes) as usize)
    }

    /// How the first `at` steps end.
    fn outcome(&self, at: usize) -> Outcome {
        let fails = self.failure.is_some() && !self.is_stuck && self.trace.cycle_start.is_none();
        match fails && at == self.trace.steps.len() {
            true => Outcome::Violated(FAILURE),
            false => Outcome::Done,
        }
    }

    /// The number of the recorded step that comes next.
    fn next(&self, at: usize) -> Option<usize> {
        match at < self.trace.steps.len() {
            true => Some(at),
            false => self.trace.cycle_start,
        }
    }
}

/// Lets a change happen to a list of variables.
fn follow(variables: &mut Vec<(String, Value)>, change: &Change) {
    let place = variables.iter().position(|(name, _)| *name == change.name);
    match (place, &change.to) {
        (Some(at), Some(to)) => variables[at].1 = to.clone(),
        (Some(at), None) => _ = variables.remove(at),
        (None, Some(to)) => variables.push((change.name.clone(), to.clone())),
        (None, None) => {}
    }
}

fn process(pid: usize) -> ProcessId {
    // Larger ids were refused.
    ProcessId(u16::try_from(pid).unwrap_or(u16::MAX))
}

impl System for Recorded {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.clear();
        state.extend(0_u32.to_le_bytes());
        self.outcome(0)
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        self.count
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        let Some(next) = self.next(Self::at(state)) else { return };
        let step = &self.trace.steps[next];
        let partner = step.partner.map(process);
        enabled.push(Step { partner, ..Step::new(process(step.pid), next as u32) });
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        let at = step.transition as usize + 1;
        state.clear();
        state.extend((at as u32).to_le_bytes());
        self.outcome(at)
    }

    fn is_valid_end(&self, _state: &[u8]) -> bool {
        !self.is_stuck
    }
}

impl Independence for Recorded {}

impl Describe for Recorded {
    fn fault(&self, _number: u32) -> Fault {
        let none = || Fault {
            kind: FaultKind::Limit,
            message: "nothing was recorded here".into(),
            file: String::new(),
            line: 0,
        };
        self.failure.clone().unwrap_or_else(none)
    }

    fn process_name(&self, _state: &[u8], process: ProcessId) -> String {
        let name = self.names.get(&process.index()).filter(|name| !name.is_empty());
        name.or_else(|| self.told.names.get(&process.index()))
            .cloned()
            .unwrap_or_else(|| format!("process {process}"))
    }

    fn describe(&self, _state: &[u8], step: Step) -> (String, u32, String) {
        let found = self.trace.steps.get(step.transition as usize);
        found.map_or_else(Default::default, |s| (s.file.clone(), s.line, s.text.clone()))
    }

    fn switch(&self, last: Option<ProcessId>, enabled: &Enabled, step: &Step) -> Switch {
        let found = self.trace.steps.get(step.transition as usize);
        found.map_or_else(|| classify(last, enabled, step), |step| step.switch)
    }

    fn output(&self, _state: &[u8], step: Step) -> String {
        let found = self.trace.steps.get(step.transition as usize);
        found.map_or_else(String::new, |step| step.output.clone())
    }

    fn position(&self, state: &[u8], process: ProcessId) -> Option<(String, u32, String)> {
        let mut later = self.trace.steps[Self::at(state).min(self.trace.steps.len())..].iter();
        if let Some(step) = later.find(|step| step.pid == process.index()) {
            return Some((step.file.clone(), step.line, step.text.clone()));
        }
        let place = self.trace.rest.iter().find(|place| place.pid == process.index())?;
        Some((place.file.clone(), place.line, place.text.clone()))
    }

    fn variables(&self, state: &[u8]) -> Vec<(String, Value)> {
        let at = Self::at(state).min(self.trace.steps.len());
        let mut now = self.kept.get(at / STRIDE).cloned().unwrap_or_default();
        for step in &self.trace.steps[at / STRIDE * STRIDE..at] {
            step.changes.iter().for_each(|change| follow(&mut now, change));
        }
        now
    }

    fn changed_variables(&self, before: &[u8], after: &[u8]) -> Option<Vec<Change>> {
        let (before, after) = (Self::at(before), Self::at(after));
        // Back at the start of a cycle nothing is told but what its first step changes.
        let step = self.trace.steps.get(after.checked_sub(1)?)?;
        (after == before + 1).then(|| step.changes.clone())
    }
}

impl Subject for Recorded {
    fn kind(&self) -> &'static str {
        "saved execution"
    }

    fn sources(&self) -> &[Source] {
        &self.sources
    }

    fn explore(&self, visit: &mut dyn FnMut(&dyn System)) {
        visit(self);
    }

    fn remarks(
        &self,
        _state: &[u8],
        step: Step,
        _described: &TraceStep,
        fault: Option<&Fault>,
    ) -> Remarks {
        let seen = self.told.seen.get(step.transition as usize).cloned().unwrap_or_default();
        let reasons = fault.map_or(Vec::new(), |_| self.told.reasons.clone());
        Remarks { seen, reasons, ..Remarks::default() }
    }

    fn waiting(&self, state: &[u8], processes: &[ProcessId]) -> Vec<Waiting> {
        if Self::at(state) < self.trace.steps.len() {
            return Vec::new();
        }
        let is_asked = |one: &&Waiting| processes.iter().any(|process| process.index() == one.pid);
        self.told.waiting.iter().filter(is_asked).cloned().collect()
    }

    fn recording(&self) -> Option<Recording> {
        Some(Recording {
            steps: self.trace.steps.len(),
            cycle: self.trace.cycle_start,
            cost: self.cost,
            failure: self.failure.clone(),
        })
    }

    fn properties(&self) -> Vec<Choice> {
        Vec::new()
    }

    fn check(&self, _question: &Question, _control: &Control<'_>) -> Result<Vec<Claim>, Error> {
        Err(Error::Request("a saved execution can be stepped through, but not checked".into()))
    }
}
