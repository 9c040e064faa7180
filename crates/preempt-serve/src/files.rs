//! What goes from the page into files: an execution in all its forms, and a text that was changed.
//!
//! **Invariant:** the only files that are written are those that were given to the server, on request, whole or not at all.

use crate::explorer::{Explorer, Refusal, Route};
use crate::subject::Subject;
use crate::walk::Walk;
use preempt_core::{
    Claim, FaultKind, Position, ProcessId, Statistics, System, Trace, Verdict, Violation,
    ViolationKind,
};
use preempt_report::{Drawn, Page, SavedTrace, chart, page};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Longer executions are not written.
const MOST_STEPS: usize = 200_000;
/// Larger texts are no models.
const LARGEST_TEXT: usize = 4 << 20;

#[derive(Deserialize)]
pub(crate) struct Export {
    model: usize,
    #[serde(flatten)]
    route: Route,
    /// `page`, `trace`, `report`, `chart` or `trail`.
    form: String,
}

/// The execution so far, as the text of a file.
pub(crate) fn export(explorer: &Explorer, asked: &Export) -> Result<Value, Refusal> {
    let mut loaded = explorer.model(asked.model)?;
    let subject = loaded.subject()?;
    let picture = loaded.picture.clone();
    let whole = explorer.names().swap_remove(asked.model);
    let name = Path::new(&whole).file_name().map_or_else(
        || whole.clone(),
        |name| Path::new(name).with_extension("").to_string_lossy().into_owned(),
    );
    loaded.at(&asked.route, |system, walk, _| {
        if walk.len() > MOST_STEPS {
            return Err(Refusal::bad("the execution is too long to be written"));
        }
        let execution = Execution::of(&*subject, system, walk);
        let missing = |what: &str| Refusal::bad(format!("a {} has no {what}", subject.kind()));
        let (ending, text) = match asked.form.as_str() {
            "page" => {
                let drawn = picture.and_then(|picture| {
                    let mut states = Vec::new();
                    walk.states(system, 0..walk.len(), &mut |_, state| states.push(state.to_vec()));
                    states.push(walk.state().to_vec());
                    picture.along(&*subject, system, states.iter().map(Vec::as_slice))
                });
                ("html", execution.page(&whole, &*subject, drawn.as_ref()))
            }
            "trace" => ("trace.json", execution.saved(&whole).to_json()),
            "report" => ("report.json", execution.report(&whole)),
            "chart" => ("svg", chart::svg(execution.trace())),
            "trail" => {
                let trail = subject.trail(walk.steps());
                ("trail", trail.ok_or_else(|| missing("trail of Spin's"))?)
            }
            _ => return Err(Refusal::bad("unknown form")),
        };
        Ok(json!({ "name": format!("{name}.{ending}"), "text": text }))
    })
}

/// An execution as reports have it: with a violation where it ends in one.
struct Execution {
    claim: Claim,
    /// Where there is no violation.
    plain: Option<Trace>,
}

impl Execution {
    fn of(subject: &dyn Subject, system: &dyn System, walk: &Walk) -> Self {
        let (mut trace, reasons) = described(subject, system, walk);
        let end = walk.moment(system, walk.len());
        let is_stuck = end.enabled.is_empty()
            && !end.broken
            && end.fault.is_none()
            && !system.is_valid_end(&end.state);
        let found = end.fault.map(|number| system.fault(number));
        let violated = match &found {
            Some(fault) => kind(fault.kind)
                .map(|kind| (kind, fault.message.clone(), fault.file.clone(), fault.line)),
            None if is_stuck => {
                let count = u16::try_from(system.process_count(&end.state)).unwrap_or(u16::MAX);
                let all: Vec<ProcessId> = (0..count).map(ProcessId).collect();
                trace.observations.waiting = subject.waiting(&end.state, &all);
                let message = "invalid end state".to_string();
                Some((ViolationKind::InvalidEnd, message, String::new(), 0))
            }
            None => None,
        };
        trace.observations.reasons = reasons;
        let mut claim = Claim {
            property: "an execution that was walked through".into(),
            verdict: Verdict::Nothing,
            sentence: "An execution that was walked through: nothing is claimed.".into(),
            violation: None,
            statistics: Statistics::default(),
            unreached: Vec::new(),
            notes: Vec::new(),
        };
        let Some((kind, message, file, line)) = violated else {
            return Execution { claim, plain: Some(trace) };
        };
        claim.verdict = Verdict::Violated;
        claim.sentence = format!("violated: {message}, by an execution that was walked through");
        claim.violation =
            Some(Violation { kind, message, file, line, trace, simplest: false, stale: None });
        Execution { claim, plain: None }
    }

    fn trace(&self) -> &Trace {
        static NONE: std::sync::LazyLock<Trace> = std::sync::LazyLock::new(Trace::default);
        let violation = self.claim.violation.as_ref().map(|violation| &violation.trace);
        violation.or(self.plain.as_ref()).unwrap_or(&NONE)
    }

    fn page(&self, title: &str, subject: &dyn Subject, drawing: Option<&Drawn>) -> String {
        let (claim, trace) = (&self.claim, self.plain.as_ref());
        page(&Page { title, claim, trace, sources: &subject.sources(), drawing })
    }

    fn saved(&self, file: &str) -> SavedTrace {
        SavedTrace::of(file, &[], &self.claim).unwrap_or_else(|| SavedTrace {
            file: file.into(),
            property: self.claim.property.clone(),
            trace: self.trace().clone(),
            ..SavedTrace::default()
        })
    }

    fn report(&self, file: &str) -> String {
        let subject = preempt_report::json::Subject { file, ..Default::default() };
        preempt_report::json::report(subject, std::slice::from_ref(&self.claim))
    }
}

/// What a fault violates; limits violate nothing.
fn kind(fault: FaultKind) -> Option<ViolationKind> {
    match fault {
        FaultKind::Assertion => Some(ViolationKind::Assertion),
        FaultKind::Runtime => Some(ViolationKind::Runtime),
        FaultKind::Claim => Some(ViolationKind::Claim),
        FaultKind::Exclusivity => Some(ViolationKind::Exclusivity),
        FaultKind::Limit | FaultKind::Cut(_) | FaultKind::Stopped(_) => None,
    }
}

/// The steps of a walk in words, and why the last one fails.
fn described(subject: &dyn Subject, system: &dyn System, walk: &Walk) -> (Trace, Vec<String>) {
    let rows = walk.rows(system, 0..walk.len());
    let mut initial = Vec::new();
    match rows.first() {
        Some(first) => initial = system.variables(&first.before),
        None => initial.extend(system.variables(walk.state())),
    }
    let (mut steps, mut seen, mut reasons) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let fault = row.fault.map(|number| system.fault(number));
        let known = subject.remarks(&row.before, row.taken, &row.step, fault.as_ref());
        seen.push(known.values);
        reasons = known.reasons;
        steps.push(row.step);
    }
    let count = u16::try_from(system.process_count(walk.state())).unwrap_or(u16::MAX);
    let rest = (0..count).filter_map(|pid| {
        let (file, line, text) = system.position(walk.state(), ProcessId(pid))?;
        let process = system.process_name(walk.state(), ProcessId(pid));
        Some(Position { process, pid: usize::from(pid), file, line, text })
    });
    let mut trace = Trace { initial, rest: rest.collect(), steps, ..Trace::default() };
    trace.raw = walk.steps().to_vec();
    trace.observations.seen = seen;
    (trace, reasons)
}

#[derive(Deserialize)]
pub(crate) struct Edit {
    model: usize,
    /// The text that counts from now on; the file's when it is not given.
    text: Option<String>,
}

/// Takes a text that was changed on the page in place of the file's. Nothing is written.
pub(crate) fn edit(explorer: &Explorer, asked: Edit) -> Result<Value, Refusal> {
    if asked.text.as_ref().is_some_and(|text| text.len() > LARGEST_TEXT) {
        return Err(Refusal::bad("the text is too long"));
    }
    explorer.edit(asked.model, asked.text)?;
    Ok(json!({}))
}

#[derive(Deserialize)]
pub(crate) struct Save {
    model: usize,
    text: String,
    /// What the file held when the text was taken from it; another content is not written over.
    before: Option<String>,
}

/// Writes the text to its file.
pub(crate) fn save(explorer: &Explorer, asked: &Save) -> Result<Value, Refusal> {
    let path = explorer.file(asked.model);
    let path = path.ok_or_else(|| Refusal::bad("the text cannot be changed here"))?;
    if asked.text.len() > LARGEST_TEXT {
        return Err(Refusal::bad("the text is too long"));
    }
    // A file that is gone is written again; what cannot be read as text is not what the page has shown.
    let is_as_before = match std::fs::read_to_string(path) {
        Ok(now) => asked.before.as_ref() == Some(&now),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    if !is_as_before {
        let message = "the file has changed meanwhile, and is left as it is".into();
        return Err(Refusal { status: 409, message });
    }
    write(path, &asked.text).map_err(|error| Refusal {
        status: 500,
        message: format!("cannot write {}: {error}", path.display()),
    })?;
    explorer.edit(asked.model, None)?;
    Ok(json!({}))
}

/// Writes a file whole or not at all; a link stays a link.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = target.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(known) = std::fs::metadata(&target) {
        file.as_file().set_permissions(known.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

/// What the page has to know of the text of a model: whether it can be changed, what it is, and whether it is saved.
pub(crate) fn text(explorer: &Explorer, number: usize, draft: Option<&str>) -> Value {
    let Some(path) = explorer.file(number) else { return json!({ "editable": false }) };
    let saved = std::fs::read_to_string(path).ok();
    let is_editable = draft.is_some() || saved.is_some();
    json!({
        "editable": is_editable, "is_gone": !path.exists(), "file": path.display().to_string(),
        "text": draft.map(str::to_string).or_else(|| saved.clone()), "is_draft": draft.is_some(),
        "saved": saved,
    })
}
