//! A saved execution: that of a failing Rust test, of a C program, of any model, from its page or from its trace file.
//!
//! The program itself is not there, so there is one way: forward and back along what was recorded. What else was possible on the
//! way was not recorded, so nothing else is offered; an execution that violates something opens at its end.
//!
//! **Invariant:** a state is the number of steps taken; whatever the file says, no index leaves its list.

use super::{Choice, Mistake, Origin, Question, Recording, Remarks, Subject, stamp_of};
use preempt_core::{
    Change, Claim, Describe, Enabled, Fault, FaultKind, Independence, Outcome, ProcessId, Step,
    Switch, System, TraceStep, Value, Waiting, classify,
};
use preempt_launch::{Execution, from_page, from_trace};
use preempt_report::Source;
use preempt_verify::{Control, Error};
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
        Recorded::new(match self.path.extension().is_some_and(|extension| extension == "json") {
            true => from_trace(&text)?,
            false => from_page(&text)?,
        })
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
        stamp_of([&self.path])
    }
}

/// See the module's text.
pub(super) struct Recorded {
    execution: Execution,
    /// Names of the processes, by id.
    names: HashMap<usize, String>,
    count: usize,
    /// The variables in front of steps 0, [`STRIDE`], 2·[`STRIDE`], …
    kept: Vec<Vec<(String, Value)>>,
}

impl Recorded {
    pub(super) fn new(execution: Execution) -> Result<Self, String> {
        let trace = &execution.trace;
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
        Ok(Recorded { execution, names, count, kept })
    }

    /// Its steps.
    pub(super) fn len(&self) -> usize {
        self.execution.trace.steps.len()
    }

    /// The name of a process, if it is known.
    pub(super) fn name(&self, process: ProcessId) -> Option<&str> {
        let name = self.names.get(&process.index()).filter(|name| !name.is_empty());
        name.or_else(|| self.execution.names.get(&process.index())).map(String::as_str)
    }

    /// The texts that its steps point into.
    pub(super) fn texts(&self) -> &[Source] {
        &self.execution.sources
    }

    fn at(state: &[u8]) -> usize {
        state.try_into().map_or(0, |bytes| u32::from_le_bytes(bytes) as usize)
    }

    /// How the first `at` steps end.
    fn outcome(&self, at: usize) -> Outcome {
        let fails = self.execution.failure.is_some()
            && !self.execution.is_stuck
            && self.execution.trace.cycle_start.is_none();
        match fails && at == self.execution.trace.steps.len() {
            true => Outcome::Violated(FAILURE),
            false => Outcome::Done,
        }
    }

    /// The number of the recorded step that comes next.
    fn next(&self, at: usize) -> Option<usize> {
        match at < self.execution.trace.steps.len() {
            true => Some(at),
            false => self.execution.trace.cycle_start,
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
        let step = &self.execution.trace.steps[next];
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
        !self.execution.is_stuck
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
        self.execution.failure.clone().unwrap_or_else(none)
    }

    fn process_name(&self, _state: &[u8], process: ProcessId) -> String {
        self.name(process).map_or_else(|| format!("process {process}"), str::to_string)
    }

    fn describe(&self, _state: &[u8], step: Step) -> (String, u32, String) {
        let found = self.execution.trace.steps.get(step.transition as usize);
        found.map_or_else(Default::default, |s| (s.file.clone(), s.line, s.text.clone()))
    }

    fn switch(&self, last: Option<ProcessId>, enabled: &Enabled, step: &Step) -> Switch {
        let found = self.execution.trace.steps.get(step.transition as usize);
        found.map_or_else(|| classify(last, enabled, step), |step| step.switch)
    }

    fn output(&self, _state: &[u8], step: Step) -> String {
        let found = self.execution.trace.steps.get(step.transition as usize);
        found.map_or_else(String::new, |step| step.output.clone())
    }

    fn position(&self, state: &[u8], process: ProcessId) -> Option<(String, u32, String)> {
        let mut later = self.execution.trace.steps
            [Self::at(state).min(self.execution.trace.steps.len())..]
            .iter();
        if let Some(step) = later.find(|step| step.pid == process.index()) {
            return Some((step.file.clone(), step.line, step.text.clone()));
        }
        let place = self.execution.trace.rest.iter().find(|place| place.pid == process.index())?;
        Some((place.file.clone(), place.line, place.text.clone()))
    }

    fn variables(&self, state: &[u8]) -> Vec<(String, Value)> {
        let at = Self::at(state).min(self.execution.trace.steps.len());
        let mut now = self.kept.get(at / STRIDE).cloned().unwrap_or_default();
        for step in &self.execution.trace.steps[at / STRIDE * STRIDE..at] {
            step.changes.iter().for_each(|change| follow(&mut now, change));
        }
        now
    }

    fn changed_variables(&self, before: &[u8], after: &[u8]) -> Option<Vec<Change>> {
        let (before, after) = (Self::at(before), Self::at(after));
        // Back at the start of a cycle only what its first step changes is known.
        let step = self.execution.trace.steps.get(after.checked_sub(1)?)?;
        (after == before + 1).then(|| step.changes.clone())
    }
}

impl Subject for Recorded {
    fn kind(&self) -> &'static str {
        "saved execution"
    }

    fn sources(&self) -> Vec<Source> {
        self.execution.sources.clone()
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
        let seen = self.execution.seen.get(step.transition as usize).cloned().unwrap_or_default();
        let reasons = fault.map_or(Vec::new(), |_| self.execution.reasons.clone());
        Remarks { seen, reasons, ..Remarks::default() }
    }

    fn waiting(&self, state: &[u8], processes: &[ProcessId]) -> Vec<Waiting> {
        if Self::at(state) < self.execution.trace.steps.len() {
            return Vec::new();
        }
        let is_asked = |one: &&Waiting| processes.iter().any(|process| process.index() == one.pid);
        self.execution.waiting.iter().filter(is_asked).cloned().collect()
    }

    fn recording(&self) -> Option<Recording> {
        Some(Recording {
            steps: self.execution.trace.steps.len(),
            cycle: self.execution.trace.cycle_start,
            cost: self.execution.cost,
            failure: self.execution.failure.clone(),
        })
    }

    fn properties(&self) -> Vec<Choice> {
        Vec::new()
    }

    fn check(&self, _question: &Question, _control: &Control<'_>) -> Result<Vec<Claim>, Error> {
        Err(Error::Request("a saved execution can be stepped through, but not checked".into()))
    }
}
