//! C programs and the tests of Rust packages: compiled and run when a check asks for it, and not before.
//!
//! A check starts the commands of `preempt-launch`. Each execution that fails is kept, and can be walked along like one that was
//! saved: from the start the first step of each leads into it. A state is the number of the execution, from 1, and the
//! number of steps taken.
//!
//! **Invariant:** executions are only added, so that a path stays what it is.

use super::recorded::Recorded;
use super::{Choice, Mistake, Origin, Question, Remarks, Subject, stamp_of};
use preempt_core::{
    Change, Claim, Describe, Enabled, Fault, FaultKind, Independence, Outcome, ProcessId, Step,
    Switch, System, TraceStep, Value, Waiting,
};
use preempt_launch::{Answer, Kind, Language, Launch, Limits, Package, tests};
use preempt_report::Source;
use preempt_verify::{Control, Error, Preemptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// More failing executions are not kept.
const MOST_EXECUTIONS: usize = 100;
/// Bits of a transition that say which step it is; the others say of which execution.
const STEP_BITS: u32 = 24;

/// A C or C++ program, a Rust file with tests, or a folder with a Rust package.
pub struct ProgramFile {
    path: PathBuf,
    preempt: PathBuf,
}

impl ProgramFile {
    /// A program or package, and the command `preempt` that searches it.
    pub fn new(path: PathBuf, preempt: PathBuf) -> Self {
        ProgramFile { path, preempt }
    }

    /// Whether a path is one.
    pub fn is_one(path: &Path) -> bool {
        Language::of(path).is_some() || path.is_dir() || path.ends_with("Cargo.toml")
    }

    /// The files with their texts, and what can be searched in each.
    fn files(&self) -> Result<Vec<(PathBuf, String, Vec<preempt_launch::Test>)>, Mistake> {
        if let Some(language) = Language::of(&self.path) {
            let bytes =
                std::fs::read(&self.path).map_err(|error| super::unreadable(&self.path, &error))?;
            let path = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let found = tests(language, &text);
            return Ok(vec![(path, text, found)]);
        }
        let none = || format!("{}: there is no package here (no Cargo.toml)", self.path.display());
        let package = Package::of(&self.path).ok_or_else(|| Mistake::plain(none()))?;
        Ok(package.files())
    }
}

impl Origin for ProgramFile {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn load(&self) -> Result<Arc<dyn Subject>, Vec<Mistake>> {
        let files = self.files().map_err(|mistake| vec![mistake])?;
        let language = Language::of(&self.path).unwrap_or(Language::Rust);
        let (mut sources, mut launches) = (Vec::new(), Vec::new());
        for (path, text, found) in files {
            for test in found {
                let launch = Launch { preempt: self.preempt.clone(), file: path.clone(), test };
                launches.push((id(&path, &launch), launch));
            }
            sources.push(Source { file: path.display().to_string(), text });
        }
        if launches.is_empty() {
            let what = match language {
                Language::Rust => "no test is found here: neither #[test] nor #[preempt::test]",
                _ => "there is no function `main` here",
            };
            return Err(vec![Mistake::plain(format!("{}: {what}", self.path.display()))]);
        }
        let kind = match language {
            Language::C => "C program",
            Language::CPlusPlus => "C++ program",
            Language::Rust => "Rust tests",
        };
        Ok(Arc::new(Launched { kind, sources, launches, executions: RwLock::default() }))
    }

    fn stamp(&self) -> u64 {
        stamp_of(&match Language::of(&self.path) {
            Some(_) => vec![self.path.clone()],
            None => self.files().into_iter().flatten().map(|(path, ..)| path).collect(),
        })
    }
}

/// What a request names a test by.
fn id(path: &Path, launch: &Launch) -> String {
    format!("{}:{}", path.display(), launch.test.name)
}

/// See the module's text.
struct Launched {
    kind: &'static str,
    sources: Vec<Source>,
    launches: Vec<(String, Launch)>,
    executions: RwLock<Vec<Arc<Failing>>>,
}

/// An execution that fails.
struct Failing {
    /// The test.
    name: String,
    recorded: Recorded,
}

impl Launched {
    fn executions(&self) -> Executions {
        let list = self.executions.read().unwrap_or_else(PoisonError::into_inner).clone();
        Executions { list }
    }

    /// Keeps an execution, and names its steps by it.
    fn keep(&self, name: &str, answer: Answer) -> Result<Claim, String> {
        let Answer { mut claim, execution } = answer;
        let (Some(violation), Some(execution)) = (&mut claim.violation, execution) else {
            return Ok(claim);
        };
        let recorded = Recorded::new(execution)?;
        let mut list = self.executions.write().unwrap_or_else(PoisonError::into_inner);
        if list.len() >= MOST_EXECUTIONS || recorded.len() >= 1 << STEP_BITS {
            let why = "the execution is not kept: there are too many, or it is too long";
            claim.notes.push(why.into());
            return Ok(claim);
        }
        let number = list.len() as u32;
        list.push(Arc::new(Failing { name: name.to_string(), recorded }));
        drop(list);
        let executions = self.executions();
        let of = &executions.list[number as usize].recorded;
        let (mut state, mut steps) = (Vec::new(), Vec::new());
        of.initial(&mut state);
        while steps.len() < of.len() {
            let mut enabled = Enabled::new();
            of.enabled(&mut state, &mut enabled);
            let Some(step) = enabled.steps().first().copied() else { break };
            of.apply(&mut state, step);
            steps.push(outer(number, step));
        }
        violation.trace.raw = steps;
        Ok(claim)
    }
}

impl Subject for Launched {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn sources(&self) -> Vec<Source> {
        let mut sources = self.sources.clone();
        for failing in self.executions().list {
            for source in failing.recorded.texts() {
                if !sources.iter().any(|known| known.file == source.file) {
                    sources.push(source.clone());
                }
            }
        }
        sources
    }

    fn explore(&self, visit: &mut dyn FnMut(&dyn System)) {
        visit(&self.executions());
    }

    fn remarks(
        &self,
        state: &[u8],
        step: Step,
        described: &TraceStep,
        fault: Option<&Fault>,
    ) -> Remarks {
        let executions = self.executions();
        let Some((failing, state, step)) = executions.of_step(state, step) else {
            return Remarks::default();
        };
        failing.recorded.remarks(&state, step, described, fault)
    }

    fn waiting(&self, state: &[u8], processes: &[ProcessId]) -> Vec<Waiting> {
        let executions = self.executions();
        let found = executions.of_state(state);
        found.map_or(Vec::new(), |(failing, state)| failing.recorded.waiting(state, processes))
    }

    fn properties(&self) -> Vec<Choice> {
        let label = |launch: &Launch| match launch.test.kind {
            Kind::Program => {
                "no execution fails: no data race, deadlock or failed assertion".into()
            }
            Kind::Facade | Kind::Plain => launch.test.name.clone(),
        };
        let choice =
            |(id, launch): &(String, Launch)| Choice { id: id.clone(), label: label(launch) };
        self.launches.iter().map(choice).collect()
    }

    fn command(&self, property: &str) -> Option<String> {
        let (_, launch) = self.launches.iter().find(|(id, _)| id == property)?;
        Some(launch.in_words())
    }

    fn check(&self, question: &Question, control: &Control<'_>) -> Result<Vec<Claim>, Error> {
        let found = self.launches.iter().find(|(id, _)| *id == question.property);
        let Some((_, launch)) = found else {
            return Err(Error::Request(format!("there is no test `{}`", question.property)));
        };
        let of_models = question.formula.is_some() || question.fair;
        if of_models || question.memory.is_some() || question.request.is_some() {
            let message =
                "formulas, fairness, a limit of memory and options of a search are for models";
            return Err(Error::Request(message.into()));
        }
        let bound = match question.request().preemptions {
            Preemptions::AtMost(bound) => Some(bound),
            // Fewest preemptions first is how programs are searched anyway.
            Preemptions::Any | Preemptions::Iterate { .. } => None,
        };
        let limits = Limits { time: control.time_left(), bound };
        let answer = launch.run(&limits, control.flag()).map_err(Error::Request)?;
        let claim = self.keep(&launch.test.name, answer).map_err(Error::Request)?;
        Ok(vec![claim])
    }
}

/// The executions that are known, as one system.
struct Executions {
    list: Vec<Arc<Failing>>,
}

/// A step of an execution with this number, as a step of the whole.
fn outer(number: u32, step: Step) -> Step {
    Step { transition: number << STEP_BITS | step.transition, ..step }
}

impl Executions {
    /// The execution that a state belongs to, and the state there; `None` at the start.
    fn of_state<'a, 's>(&'a self, state: &'s [u8]) -> Option<(&'a Failing, &'s [u8])> {
        let (number, inner) = state.split_first_chunk::<4>()?;
        let number = u32::from_le_bytes(*number).checked_sub(1)?;
        Some((self.list.get(number as usize)?, inner))
    }

    /// The execution that a step belongs to, the state in front of it, and the step there.
    fn of_step(&self, state: &[u8], step: Step) -> Option<(&Failing, Vec<u8>, Step)> {
        let inner = Step { transition: step.transition & ((1 << STEP_BITS) - 1), ..step };
        if let Some((failing, state)) = self.of_state(state) {
            return Some((failing, state.to_vec(), inner));
        }
        let failing = self.list.get((step.transition >> STEP_BITS) as usize)?;
        let mut start = Vec::new();
        failing.recorded.initial(&mut start);
        Some((failing, start, inner))
    }

    /// At the start that of the first execution, which is the only one of a program.
    fn shown(&self, state: &[u8]) -> Option<(&Failing, Vec<u8>)> {
        if let Some((failing, state)) = self.of_state(state) {
            return Some((failing, state.to_vec()));
        }
        let failing = self.list.first().filter(|_| self.list.len() == 1)?;
        let mut start = Vec::new();
        failing.recorded.initial(&mut start);
        Some((failing, start))
    }
}

impl System for Executions {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        state.clear();
        state.extend(0_u32.to_le_bytes());
        Outcome::Done
    }

    fn process_count(&self, state: &[u8]) -> usize {
        match self.of_state(state) {
            Some((failing, inner)) => failing.recorded.process_count(inner),
            None => self.list.iter().map(|f| f.recorded.process_count(&[])).max().unwrap_or(0),
        }
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        let mut inner = Enabled::new();
        if let Some((failing, state)) = self.of_state(state) {
            let number = self.list.iter().position(|other| std::ptr::eq(&**other, failing));
            failing.recorded.enabled(&mut state.to_vec(), &mut inner);
            let number = number.unwrap_or(0) as u32;
            inner.steps().iter().for_each(|step| enabled.push(outer(number, *step)));
            return;
        }
        // Steps are listed by process.
        let mut first: Vec<Step> = Vec::new();
        for (number, failing) in self.list.iter().enumerate() {
            let mut start = Vec::new();
            failing.recorded.initial(&mut start);
            inner.clear();
            failing.recorded.enabled(&mut start, &mut inner);
            first.extend(inner.steps().iter().map(|step| outer(number as u32, *step)));
        }
        first.sort_by_key(|step| (step.process, step.transition));
        first.into_iter().for_each(|step| enabled.push(step));
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        let Some((failing, mut inner, own)) = self.of_step(state, step) else {
            return Outcome::Done;
        };
        let outcome = failing.recorded.apply(&mut inner, own);
        let number = (step.transition >> STEP_BITS) + 1;
        state.clear();
        state.extend(number.to_le_bytes());
        state.extend(inner);
        match outcome {
            Outcome::Violated(_) => Outcome::Violated(number - 1),
            other => other,
        }
    }

    fn is_valid_end(&self, state: &[u8]) -> bool {
        self.of_state(state).is_none_or(|(failing, inner)| failing.recorded.is_valid_end(inner))
    }
}

impl Independence for Executions {}

impl Describe for Executions {
    fn fault(&self, number: u32) -> Fault {
        let none = Fault {
            kind: FaultKind::Limit,
            message: "this execution is not known".into(),
            file: String::new(),
            line: 0,
        };
        self.list.get(number as usize).map_or(none, |failing| failing.recorded.fault(0))
    }

    fn process_name(&self, state: &[u8], process: ProcessId) -> String {
        let shown = self.shown(state);
        match shown.as_ref().and_then(|(failing, _)| failing.recorded.name(process)) {
            Some(name) => name.to_string(),
            None if process.index() == 0 => "main".into(),
            None => format!("thread {process}"),
        }
    }

    fn describe(&self, state: &[u8], step: Step) -> (String, u32, String) {
        let is_start = self.of_state(state).is_none() && self.list.len() > 1;
        let Some((failing, inner, step)) = self.of_step(state, step) else {
            return Default::default();
        };
        let (file, line, text) = failing.recorded.describe(&inner, step);
        match is_start {
            // Which execution it is that begins with this step.
            true => (file, line, format!("{}: {text}", failing.name)),
            false => (file, line, text),
        }
    }

    fn switch(&self, last: Option<ProcessId>, enabled: &Enabled, step: &Step) -> Switch {
        let failing = self.list.get((step.transition >> STEP_BITS) as usize);
        let inner = Step { transition: step.transition & ((1 << STEP_BITS) - 1), ..*step };
        failing.map_or(Switch::None, |failing| failing.recorded.switch(last, enabled, &inner))
    }

    fn output(&self, state: &[u8], step: Step) -> String {
        let found = self.of_step(state, step);
        found.map_or_else(String::new, |(failing, inner, step)| {
            failing.recorded.output(&inner, step)
        })
    }

    fn position(&self, state: &[u8], process: ProcessId) -> Option<(String, u32, String)> {
        let (failing, inner) = self.shown(state)?;
        failing.recorded.position(&inner, process)
    }

    fn variables(&self, state: &[u8]) -> Vec<(String, Value)> {
        let found = self.shown(state);
        found.map_or_else(Vec::new, |(failing, inner)| failing.recorded.variables(&inner))
    }

    fn changed_variables(&self, before: &[u8], after: &[u8]) -> Option<Vec<Change>> {
        let (failing, after) = self.of_state(after)?;
        let before = match self.of_state(before) {
            Some((_, before)) => before.to_vec(),
            None => {
                let mut start = Vec::new();
                failing.recorded.initial(&mut start);
                start
            }
        };
        failing.recorded.changed_variables(&before, after)
    }
}
