//! Promela models. The only file here that knows their intermediate form is [`super::automata`].

use super::{Choice, Evaluate, Mistake, Origin, Question, Remarks, Subject, automata, stamp_of};
use preempt_core::{
    Claim, Describe, Fault, FaultKind, ProcessId, Step, System, TraceStep, Verdict, Waiting,
};
use preempt_promela::interpret::Interpreter;
use preempt_promela::interpret::trail::Trail;
use preempt_promela::model::Attach;
use preempt_promela::model::Model;
use preempt_promela::syntax::diagnostic::Diagnostic;
use preempt_promela::syntax::span::SourceMap;
use preempt_promela::syntax::{ParseOptions, parse};
use preempt_report::{Source, seen_words};
use preempt_verify::promela::{
    Checker, Property, Seen, Selection, Settings, Watch, observed, seen, select, waiting,
};
use preempt_verify::{Control, Error};
use std::collections::{BTreeSet, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A step that takes longer is given up.
const LONGEST_STEP: Duration = Duration::from_secs(3);

/// Larger files are no models.
const LARGEST_FILE: u64 = 16 << 20;

/// A model on disk.
pub struct PromelaFile {
    path: PathBuf,
    defines: Vec<(String, String)>,
    settings: Settings,
    /// How its C is compiled, if it is trusted.
    attach: Option<Attach>,
    /// The files it included when it was last read.
    included: Mutex<Vec<PathBuf>>,
}

impl PromelaFile {
    /// A model, its `-D` options, and how it is made runnable.
    pub fn new(path: PathBuf, defines: Vec<(String, String)>, settings: Settings) -> Self {
        PromelaFile { path, defines, settings, attach: None, included: Mutex::default() }
    }

    /// Lets the C of the model be compiled and run, where there is any.
    pub fn trust(self, attach: Option<Attach>) -> Self {
        PromelaFile { attach, ..self }
    }
}

impl Origin for PromelaFile {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn load(&self) -> Result<Arc<dyn Subject>, Vec<Mistake>> {
        let text = read(&self.path).map_err(|error| vec![super::unreadable(&self.path, &error)])?;
        self.parse(text)
    }

    fn file(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn load_text(&self, text: &str) -> Result<Arc<dyn Subject>, Vec<Mistake>> {
        self.parse(text.as_bytes().to_vec())
    }

    fn stamp(&self) -> u64 {
        let included = self.included.lock().unwrap_or_else(PoisonError::into_inner).clone();
        stamp_of(std::iter::once(&self.path).chain(&included))
    }
}

impl PromelaFile {
    fn parse(&self, text: Vec<u8>) -> Result<Arc<dyn Subject>, Vec<Mistake>> {
        let included = Mutex::new(Vec::new());
        let folder =
            self.path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_path_buf));
        // Which files are shown is decided by where they are read from, links followed.
        let near = Mutex::new(HashSet::new());
        let loader = |including: &str, name: &str| {
            let path = Path::new(including).parent().unwrap_or(Path::new("")).join(name);
            included.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
            let real = path.canonicalize()?;
            let mut near = near.lock().unwrap_or_else(PoisonError::into_inner);
            if folder.as_ref().is_some_and(|folder| real.starts_with(folder)) {
                near.insert(path);
            } else {
                near.remove(&path);
            }
            read(&real)
        };
        let options = ParseOptions { defines: self.defines.clone(), loader: &loader };
        let parsed = parse(&self.path.to_string_lossy(), text, &options);
        *self.included.lock().unwrap_or_else(PoisonError::into_inner) =
            included.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mistakes = mistakes(&parsed.diagnostics, &parsed.sources);
        let mut model = parsed.model.ok_or(mistakes.clone())?;
        if let Some(attach) = &self.attach {
            attach(&mut model, &self.path).map_err(|trouble| vec![Mistake::plain(trouble)])?;
        }
        let near = near.into_inner().unwrap_or_else(PoisonError::into_inner);
        let sources = shown_sources(&model.sources, &near);
        let subject = PromelaModel::new(model, self.settings, sources, mistakes)?;
        Ok(Arc::new(subject))
    }
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(LARGEST_FILE + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST_FILE {
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, "it is too large"));
    }
    Ok(text)
}

/// The text of the model, and of what it includes from its own folder or below: those are `near`. Steps may point into
/// other files, too, but those are not shown.
fn shown_sources(sources: &SourceMap, near: &HashSet<PathBuf>) -> Vec<Source> {
    let is_near = |name: &str| near.contains(Path::new(name));
    let shown = sources
        .files
        .iter()
        .enumerate()
        .filter(|(at, file)| *at == 0 || file.included_at.is_some() && is_near(&file.name));
    shown.map(|(_, file)| Source { file: file.name.clone(), text: file.text.clone() }).collect()
}

/// Diagnostics, as a page shows them.
fn mistakes(diagnostics: &[Diagnostic], sources: &SourceMap) -> Vec<Mistake> {
    let place = |found: &Diagnostic| {
        let span = sources.use_site(found.primary);
        match sources.files.get(span.file.0 as usize) {
            Some(file) => (file.name.clone(), sources.line_column(span).0),
            None => (String::new(), 0),
        }
    };
    let mistake = |found: &Diagnostic| {
        let (file, line) = place(found);
        let suggestion = found.suggestion.iter().cloned();
        Mistake {
            is_error: found.is_error(),
            code: found.code.into(),
            message: found.message.clone(),
            file,
            line,
            notes: found.notes.iter().cloned().chain(suggestion).collect(),
        }
    };
    diagnostics.iter().map(mistake).collect()
}

/// A refusal as mistakes.
fn refused(error: Error) -> Vec<Mistake> {
    match error {
        Error::Promela(refusal) => mistakes(&refusal.diagnostics, &refusal.sources),
        other => vec![Mistake::plain(other.to_string())],
    }
}

/// A model, ready to be walked through.
struct PromelaModel {
    model: Model,
    settings: Settings,
    interpreter: Arc<Interpreter>,
    sources: Vec<Source>,
    warnings: Vec<Mistake>,
}

impl PromelaModel {
    fn new(
        model: Model,
        settings: Settings,
        sources: Vec<Source>,
        warnings: Vec<Mistake>,
    ) -> Result<Self, Vec<Mistake>> {
        let interpreter = observed(&model, &settings, &Control::new()).map_err(refused)?;
        Ok(PromelaModel { model, settings, interpreter: Arc::new(interpreter), sources, warnings })
    }
}

impl Subject for PromelaModel {
    fn kind(&self) -> &'static str {
        "Promela model"
    }

    fn sources(&self) -> Vec<Source> {
        self.sources.clone()
    }

    fn warnings(&self) -> &[Mistake] {
        &self.warnings
    }

    fn explore(&self, visit: &mut dyn FnMut(&dyn System)) {
        if !self.interpreter.program().has_loops_in_steps() {
            return visit(&*self.interpreter);
        }
        // Once a step was given up, all others are: each request gets an interpreter of its own.
        let control = Control::new().time(LONGEST_STEP);
        match observed(&self.model, &self.settings, &control) {
            Ok(interpreter) => visit(&interpreter),
            Err(_) => visit(&*self.interpreter),
        }
    }

    fn remarks(
        &self,
        state: &[u8],
        step: Step,
        described: &TraceStep,
        fault: Option<&Fault>,
    ) -> Remarks {
        let failed = fault.filter(|fault| fault.kind == FaultKind::Assertion);
        let message = failed.map(|fault| fault.message.as_str());
        let Seen { values, reasons } = seen(&self.interpreter, state, step, described, message);
        Remarks { seen: seen_words(&values, &described.process), values, reasons }
    }

    fn waiting(&self, state: &[u8], processes: &[ProcessId]) -> Vec<Waiting> {
        waiting(&self.interpreter, state, processes)
    }

    fn statements(&self) -> Vec<(String, u32)> {
        let none = vec![false; self.interpreter.transition_count()];
        let all = self.interpreter.unreached(&none).into_iter();
        all.map(|statement| (statement.file, statement.line)).collect()
    }

    fn trail(&self, steps: &[Step]) -> Option<String> {
        let trail = Trail { steps: steps.to_vec(), ..Trail::default() };
        Some(self.interpreter.write_trail(&trail))
    }

    fn properties(&self) -> Vec<Choice> {
        let choice = |id: String, label: String| Choice { id, label };
        let mut list = Vec::new();
        for index in 0..self.model.formulas.len() {
            let name = Property::formula_name(&self.model, index);
            let text = self.model.formulas[index].text.split_whitespace().collect::<Vec<_>>();
            list.push(choice(format!("ltl:{name}"), format!("ltl {name}: {}", text.join(" "))));
        }
        for claim in &self.model.claims {
            let name = claim.name.clone().unwrap_or_default();
            let label = format!("never claim {name} is not completed").replace("  ", " ");
            list.push(choice(format!("claim:{name}"), label));
            let label = format!("never claim {name} accepts no execution").replace("  ", " ");
            list.push(choice(format!("accepting:{name}"), label));
        }
        list.push(choice("safety".into(), "assertions and invalid ends".into()));
        list.push(choice("acceptance".into(), "no cycle through accept labels".into()));
        list.push(choice("non_progress".into(), "no cycle without progress".into()));
        list
    }

    fn check(&self, question: &Question, control: &Control<'_>) -> Result<Vec<Claim>, Error> {
        let mut model = self.model.clone();
        let selected = match selection(question) {
            Some(selection) => select(&mut model, &selection)?,
            None => {
                let message = format!("there is no property `{}`", question.property);
                return Err(Error::Request(message));
            }
        };
        let request = question.request();
        let checker =
            Checker { model: &model, settings: &self.settings, request: &request, control };
        selected.into_iter().map(|property| Ok(checker.check(property)?.claim)).collect()
    }

    fn unreached(
        &self,
        question: &Question,
        claim: &Claim,
        _control: &Control<'_>,
    ) -> Option<BTreeSet<(String, u32)>> {
        // The search of a formula follows an execution only as long as the formula is open.
        let is_of_all = question.property == "safety" && question.formula.is_none();
        let is_known = is_of_all && !question.fair && claim.verdict == Verdict::Holds;
        is_known.then(|| super::lines(&claim.unreached))
    }

    fn expressions(&self) -> Option<&'static str> {
        Some("len(q) > 3")
    }

    fn has_formulas(&self) -> bool {
        true
    }

    fn compile(&self, expression: &str) -> Result<Evaluate, String> {
        let watch = Watch::new(&self.model, &self.settings, &self.interpreter, expression)?;
        Ok(Arc::new(move |state| watch.value(state)))
    }

    fn automata(&self, states: &[Vec<u8>]) -> Vec<automata::Automaton> {
        automata::of(&self.model, &self.interpreter, states)
    }
}

/// What the command line would call the question; `None` if there is no such property.
fn selection(question: &Question) -> Option<Selection> {
    let selection = Selection::default();
    if let Some(formula) = &question.formula {
        return Some(Selection { formula: Some(formula.clone()), ..selection });
    }
    let named = |name: &str| (!name.is_empty()).then(|| name.to_string());
    Some(match question.property.split_once(':') {
        None => match question.property.as_str() {
            "safety" => Selection { no_claim: true, ..selection },
            "acceptance" => Selection { no_claim: true, acceptance: true, ..selection },
            "non_progress" => Selection { non_progress: true, ..selection },
            _ => return None,
        },
        Some(("ltl", name)) => Selection { ltl: named(name), ..selection },
        Some(("claim", name)) => Selection { claim: named(name), no_acceptance: true, ..selection },
        Some(("accepting", name)) => {
            Selection { claim: named(name), acceptance: true, ..selection }
        }
        Some(_) => return None,
    })
}
