//! Checks that an editor starts: on a thread of their own, of the text as it stands in the editor, with the answer
//! kept for lenses, hovers and diagnostics.

use crate::programs;
use preempt_bool::Dialect;
use preempt_core::{Claim, Trace, TraceStep, Verdict, counted};
use preempt_promela::model::Attach;
use preempt_promela::syntax::{ParseOptions, parse};
use preempt_report::{Page, Source, change_words, page, remarks};
use preempt_verify::promela::{Checker, Selection, Settings, select};
use preempt_verify::{Control, Request, boolean};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A check takes no longer than this; an editor is no place for long ones.
const TIME: Duration = Duration::from_secs(60);
/// What has to be compiled first has longer.
const PROGRAM_TIME: Duration = Duration::from_secs(300);
/// Nor more memory.
const MEMORY: u64 = 2 << 30;
/// Parsers and translations follow nested input by recursion.
const STACK: usize = 64 << 20;

/// What to check.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) uri: String,
    pub(crate) path: String,
    pub(crate) text: String,
    /// The `ltl` block or never claim; `None` for all, or for assertions and ends.
    pub(crate) property: Option<String>,
}

/// A finished check.
pub(crate) struct Answer {
    pub(crate) task: Task,
    /// One for each property, or why there is none.
    pub(crate) claims: Result<Vec<Claim>, String>,
    /// Why properties may hold for a reason that was not intended.
    pub(crate) vacuous: Vec<String>,
    /// The texts that executions point into.
    pub(crate) sources: Vec<Source>,
}

/// What a check works with, besides its task.
#[derive(Clone)]
pub(crate) struct Tools {
    /// How the C of models is compiled, if they are trusted.
    pub(crate) attach: Option<Attach>,
    /// The command `preempt`.
    pub(crate) preempt: PathBuf,
}

/// The language of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    Promela,
    Boolean,
    /// A program in another language, which has a server of its own.
    Program(preempt_launch::Language),
}

/// The language of a file; one that is none of the others' is a Promela model.
pub(crate) fn language_of(path: &str) -> Language {
    let path = Path::new(path);
    match preempt_launch::Language::of(path) {
        Some(language) => Language::Program(language),
        None if path.extension().is_some_and(|extension| extension == "bp") => Language::Boolean,
        None => Language::Promela,
    }
}

/// Starts a check; `done` is called with the answer, on the thread of the check.
pub(crate) fn start(
    task: Task,
    tools: Tools,
    interrupt: Arc<AtomicBool>,
    done: impl FnOnce(Answer) + Send + 'static,
) -> std::io::Result<()> {
    let work = move || {
        let run = std::panic::AssertUnwindSafe(|| match language_of(&task.path) {
            Language::Program(_) => {
                let (claim, sources) = programs::check(
                    &task.path,
                    &task.text,
                    task.property.as_deref(),
                    &tools.preempt,
                    PROGRAM_TIME,
                    &interrupt,
                )?;
                Ok((vec![claim], Vec::new(), sources))
            }
            _ => {
                let control = Control::new().time(TIME).interrupt(interrupt.clone());
                let (claims, vacuous) = check(&task, tools.attach.as_ref(), &control)?;
                Ok((claims, vacuous, vec![task.source()]))
            }
        });
        let answer =
            std::panic::catch_unwind(run).unwrap_or_else(|_| Err("a bug in preempt".into()));
        done(match answer {
            Ok((claims, vacuous, sources)) => Answer { task, claims: Ok(claims), vacuous, sources },
            Err(problem) => Answer::without(task, problem),
        });
    };
    std::thread::Builder::new().name("check".into()).stack_size(STACK).spawn(work).map(|_| ())
}

/// The claims, and why they may hold for a reason that was not intended.
fn check(
    task: &Task,
    attach: Option<&Attach>,
    control: &Control<'_>,
) -> Result<(Vec<Claim>, Vec<String>), String> {
    let request = Request { memory: Some(MEMORY), ..Request::default() };
    if language_of(&task.path) == Language::Boolean {
        let (program, _) = preempt_bool::parse(&task.text, &task.path, Dialect::Slam)
            .map_err(|_| "the program does not compile".to_string())?;
        let answer = boolean::check(&program, &boolean::Settings::default(), &request, control);
        let answer = answer.map_err(|error| error.to_string())?;
        return Ok((vec![answer.claim], Vec::new()));
    }
    let options = ParseOptions { defines: Vec::new(), loader: &beside };
    let parsed = parse(&task.path, task.text.clone().into_bytes(), &options);
    let mut model = parsed.model.ok_or("the model does not compile")?;
    if let Some(attach) = attach {
        attach(&mut model, Path::new(&task.path))?;
    }
    let selection = Selection { ltl: task.property.clone(), ..Selection::default() };
    let selected = select(&mut model, &selection).map_err(|error| error.to_string())?;
    let settings = Settings::default();
    let checker = Checker { model: &model, settings: &settings, request: &request, control };
    let (mut claims, mut vacuous) = (Vec::new(), Vec::new());
    for property in selected {
        let checked = checker.check(property).map_err(|error| error.to_string())?;
        claims.push(checked.claim);
        vacuous.extend(checked.vacuous);
    }
    Ok((claims, vacuous))
}

/// Included files are read from beside the file that includes them.
pub(crate) fn beside(including: &str, name: &str) -> std::io::Result<Vec<u8>> {
    let folder = Path::new(including).parent().unwrap_or(Path::new(""));
    std::fs::read(folder.join(name))
}

impl Task {
    fn source(&self) -> Source {
        Source { file: self.path.clone(), text: self.text.clone() }
    }
}

impl Answer {
    /// No check came about.
    pub(crate) fn without(task: Task, problem: String) -> Self {
        Answer { task, claims: Err(problem), vacuous: Vec::new(), sources: Vec::new() }
    }

    /// For the program that asked.
    pub(crate) fn to_json(&self) -> Value {
        match &self.claims {
            Err(problem) => json!({ "problem": problem }),
            Ok(claims) => json!({ "claims": claims.iter().map(claim).collect::<Value>() }),
        }
    }

    /// In a few words, behind the title of a lens.
    pub(crate) fn in_brief(&self) -> String {
        let claims = match &self.claims {
            Ok(claims) => claims,
            Err(problem) => return format!("? {problem}"),
        };
        let violated = claims.iter().find_map(|claim| claim.violation.as_ref());
        if let Some(violation) = violated {
            let cost = violation.trace.cost();
            let preemptions = counted(cost.preemptions, "preemption");
            return format!("✗ violated: {preemptions}, {}", counted(cost.steps, "step"));
        }
        let open = claims
            .iter()
            .find(|claim| matches!(claim.verdict, Verdict::Inconclusive(_) | Verdict::Nothing));
        match (open, self.vacuous.first()) {
            (Some(claim), _) => format!("? {}", claim.sentence),
            (None, Some(note)) => format!("✓ holds, but {note}"),
            (None, None) => "✓ holds".into(),
        }
    }

    /// The counterexample.
    pub(crate) fn trace(&self) -> Option<&Trace> {
        let claims = self.claims.as_ref().ok()?;
        claims.iter().find_map(|claim| claim.violation.as_ref()).map(|found| &found.trace)
    }

    /// What the last counterexample does at a line, from 1: the number of each step there, its process, and what it changes
    /// and looks at.
    pub(crate) fn steps_at(&self, line: u32) -> Vec<String> {
        let Some(trace) = self.trace() else { return Vec::new() };
        let trace = trace.decisive();
        let is_here = |step: &TraceStep| step.line == line && step.file == self.task.path;
        let here = trace.steps.iter().enumerate().filter(|(_, step)| is_here(step));
        here.map(|(at, step)| {
            let mut words = change_words(&step.changes, &step.process, "→");
            words.extend(remarks(&trace, at));
            let words = if words.is_empty() { "changes nothing".into() } else { words.join(", ") };
            format!("step {}, {}: {words}", at + 1, step.process)
        })
        .collect()
    }

    /// The page of the first violated property, or of the first.
    pub(crate) fn page(&self) -> Option<String> {
        let claims = self.claims.as_ref().ok()?;
        let claim = claims.iter().find(|claim| claim.violation.is_some()).or(claims.first())?;
        let title = self.task.path.rsplit('/').next().unwrap_or_default();
        Some(page(&Page { title, claim, trace: None, sources: &self.sources, drawing: None }))
    }

    /// The values that a variable has along the counterexample, in order, without repetitions. `owner` is the process type
    /// that declares it.
    pub(crate) fn values(&self, name: &str, owner: Option<&str>) -> Vec<(String, Vec<String>)> {
        let Some(trace) = self.trace() else { return Vec::new() };
        let trace = trace.decisive();
        let is_it = |known: &str| {
            let (process, variable) = match known.split_once(':') {
                Some((process, variable)) => (Some(process), variable),
                None => (None, known),
            };
            let base = variable.split(['[', '.']).next().unwrap_or(variable);
            let kind = process.map(|process| process.split('(').next().unwrap_or(process));
            base == name && kind == owner
        };
        let mut found: Vec<(String, Vec<String>)> = Vec::new();
        let mut note = |name: &str, value: String| match found.iter_mut().find(|(n, _)| n == name) {
            Some((_, values)) => values.push(value),
            None => found.push((name.to_string(), vec![value])),
        };
        for (known, value) in trace.initial.iter().filter(|(known, _)| is_it(known)) {
            note(known, value.to_string());
        }
        for change in trace.steps.iter().flat_map(|step| &step.changes) {
            if let Some(value) = change.to.as_ref().filter(|_| is_it(&change.name)) {
                note(&change.name, value.to_string());
            }
        }
        found
    }
}

fn claim(claim: &Claim) -> Value {
    let violation = claim.violation.as_ref().map(|violation| {
        let cost = violation.trace.cost();
        json!({
            "kind": violation.kind.name(), "message": violation.message, "line": violation.line,
            "preemptions": cost.preemptions, "steps": cost.steps,
            "reasons": preempt_report::reasons(&violation.trace),
        })
    });
    json!({
        "property": claim.property, "verdict": claim.verdict.name(), "claim": claim.sentence,
        "notes": claim.notes, "violation": violation,
    })
}
