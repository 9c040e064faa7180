//! Boolean programs.

use super::{Choice, Evaluate, Mistake, Origin, Question, Remarks, Subject, stamp_of};
use preempt_bool::{Diagnostic, Dialect, Machine, Severity, Switches, Watch, parse};
use preempt_core::{Claim, Describe, Fault, ProcessId, Step, System, TraceStep, Verdict, Waiting};
use preempt_report::{Source, seen_words};
use preempt_verify::boolean::{Settings, check, unreached};
use preempt_verify::{Control, Error, Preemptions};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Calls in progress that a walk follows per thread.
const MOST_FRAMES: usize = 64;

/// How many switches are tried when no bound is given.
const MOST_SWITCHES: u32 = 8;

/// A Boolean program on disk.
pub struct BooleanFile {
    path: PathBuf,
}

impl BooleanFile {
    /// A program.
    pub fn new(path: PathBuf) -> Self {
        BooleanFile { path }
    }
}

impl Origin for BooleanFile {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn load(&self) -> Result<Arc<dyn Subject>, Vec<Mistake>> {
        let bytes = std::fs::read(&self.path)
            .map_err(|error| vec![super::unreadable(&self.path, &error)])?;
        self.load_text(&String::from_utf8_lossy(&bytes))
    }

    fn file(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn load_text(&self, text: &str) -> Result<Arc<dyn Subject>, Vec<Mistake>> {
        let (file, text) = (self.name(), text.to_string());
        let (program, warnings) = parse(&text, &file, Dialect::Slam)
            .map_err(|found| found.iter().map(mistake).collect::<Vec<_>>())?;
        let machine =
            Machine::to_walk(program, MOST_FRAMES).map_err(|found| vec![mistake(&found)])?;
        let warnings = warnings.iter().map(mistake).collect();
        Ok(Arc::new(BooleanProgram { machine, sources: vec![Source { file, text }], warnings }))
    }

    fn stamp(&self) -> u64 {
        stamp_of([&self.path])
    }
}

fn mistake(found: &Diagnostic) -> Mistake {
    Mistake {
        is_error: found.severity == Severity::Error,
        code: found.code.into(),
        message: found.message.clone(),
        file: found.file.clone(),
        line: found.line,
        notes: found.notes.clone(),
    }
}

struct BooleanProgram {
    machine: Machine<'static>,
    sources: Vec<Source>,
    warnings: Vec<Mistake>,
}

impl Subject for BooleanProgram {
    fn kind(&self) -> &'static str {
        "Boolean program"
    }

    fn sources(&self) -> Vec<Source> {
        self.sources.clone()
    }

    fn warnings(&self) -> &[Mistake] {
        &self.warnings
    }

    fn explore(&self, visit: &mut dyn FnMut(&dyn System)) {
        visit(&self.machine);
    }

    fn statements(&self) -> Vec<(String, u32)> {
        self.machine.unreached(&[]).into_iter().map(|code| (code.file, code.line)).collect()
    }

    fn remarks(
        &self,
        state: &[u8],
        step: Step,
        described: &TraceStep,
        fault: Option<&Fault>,
    ) -> Remarks {
        let mut values = self.machine.seen(state, step);
        values.retain(|(name, _)| !described.changes.iter().any(|change| change.name == *name));
        let reasons = fault.map_or(Vec::new(), |_| self.machine.reasons(state, step));
        Remarks { seen: seen_words(&values, &described.process), values, reasons }
    }

    fn waiting(&self, state: &[u8], processes: &[ProcessId]) -> Vec<Waiting> {
        processes.iter().filter_map(|process| self.machine.waiting(state, *process)).collect()
    }

    fn properties(&self) -> Vec<Choice> {
        let label = "no target reached, no assertion violated".into();
        vec![Choice { id: "reach".into(), label }]
    }

    fn check(&self, question: &Question, control: &Control<'_>) -> Result<Vec<Claim>, Error> {
        let settings =
            Settings { switches: Switches::Iterate(MOST_SWITCHES), ..Settings::default() };
        let mut request = question.request();
        if question.iterate {
            // Bounds one after the other are context switches here.
            request.preemptions = Preemptions::Any;
        }
        let program = self.machine.program();
        check(program, &settings, &request, control).map(|answer| vec![answer.claim])
    }

    /// The check may not have looked at states one by one, so this does, as far as it gets in a second.
    fn unreached(
        &self,
        _question: &Question,
        claim: &Claim,
        control: &Control<'_>,
    ) -> Option<BTreeSet<(String, u32)>> {
        let none = || unreached(self.machine.program(), control);
        let found = (claim.verdict == Verdict::Holds).then(none).flatten()?;
        Some(super::lines(&found))
    }

    fn expressions(&self) -> Option<&'static str> {
        Some("flag & t.x, or t@Label")
    }

    fn compile(&self, expression: &str) -> Result<Evaluate, String> {
        let watch = Watch::new(self.machine.program(), expression)?;
        Ok(Arc::new(move |state| watch.value(state)))
    }
}
