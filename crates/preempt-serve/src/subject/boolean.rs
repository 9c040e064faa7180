//! Boolean programs.

use super::{Choice, Mistake, Origin, Question, Subject};
use preempt_bool::{Diagnostic, Dialect, Machine, Program, Severity, Switches, parse};
use preempt_core::{Claim, System};
use preempt_report::Source;
use preempt_verify::boolean::{Settings, check};
use preempt_verify::{Control, Error, Preemptions};
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
        // Whether there is a machine does not change while it is walked through.
        Machine::new(&program, None, MOST_FRAMES).map_err(|found| vec![mistake(&found)])?;
        let warnings = warnings.iter().map(mistake).collect();
        Ok(Arc::new(BooleanProgram { program, sources: vec![Source { file, text }], warnings }))
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
    program: Program,
    sources: Vec<Source>,
    warnings: Vec<Mistake>,
}

impl Subject for BooleanProgram {
    fn kind(&self) -> &'static str {
        "Boolean program"
    }

    fn sources(&self) -> &[Source] {
        &self.sources
    }

    fn warnings(&self) -> &[Mistake] {
        &self.warnings
    }

    fn explore(&self, visit: &mut dyn FnMut(&dyn System)) {
        if let Ok(machine) = Machine::new(&self.program, None, MOST_FRAMES) {
            visit(&machine);
        }
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
        check(&self.program, &settings, &request, control).map(|answer| vec![answer.claim])
    }
}
