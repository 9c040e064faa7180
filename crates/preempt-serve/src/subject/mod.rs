//! What can be walked through: a system, with its sources, its properties and its expressions.
//!
//! Everything that knows a language is behind [`Subject`]; the rest of the crate sees states and steps.

pub mod automata;
pub(crate) mod boolean;
pub(crate) mod launched;
pub(crate) mod promela;
pub(crate) mod recorded;
pub(crate) mod typed;

use preempt_core::{
    Claim, Fault, ProcessId, Step, SwitchCount, System, TraceStep, Unreached, Value, Waiting,
};
use preempt_report::Source;
use preempt_verify::{Control, Error, Request};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

/// The value of an expression in a state; `None` where it has none.
pub type Evaluate = Arc<dyn Fn(&[u8]) -> Option<i64> + Send + Sync>;

/// A model or program that can be walked through.
pub trait Subject: Send + Sync {
    /// What it is, such as `Promela model`.
    fn kind(&self) -> &'static str;

    /// The texts that steps point into.
    fn sources(&self) -> Vec<Source>;

    /// What its author should know, though it can be walked through.
    fn warnings(&self) -> &[Mistake] {
        &[]
    }

    /// Calls `visit` with the system. A step that takes very long is given up.
    fn explore(&self, visit: &mut dyn FnMut(&dyn System));

    /// The lines that have a statement: file, line.
    fn statements(&self) -> Vec<(String, u32)> {
        Vec::new()
    }

    /// Steps as a trail of Spin.
    fn trail(&self, _steps: &[Step]) -> Option<String> {
        None
    }

    /// What is known of a step besides its changes, taken in a state; `fault` is what it violates.
    fn remarks(
        &self,
        _state: &[u8],
        _step: Step,
        _described: &TraceStep,
        _fault: Option<&Fault>,
    ) -> Remarks {
        Remarks::default()
    }

    /// Why processes that cannot move in a state wait.
    fn waiting(&self, _state: &[u8], _processes: &[ProcessId]) -> Vec<Waiting> {
        Vec::new()
    }

    /// What was recorded, if this is no system but one execution of one.
    fn recording(&self) -> Option<Recording> {
        None
    }

    /// The properties that can be checked.
    fn properties(&self) -> Vec<Choice>;

    /// Checks a property.
    fn check(&self, question: &Question, control: &Control<'_>) -> Result<Vec<Claim>, Error>;

    /// The lines that no execution reaches, if the check has found out, or it can be found out in about a second.
    fn unreached(
        &self,
        _question: &Question,
        _claim: &Claim,
        _control: &Control<'_>,
    ) -> Option<BTreeSet<(String, u32)>> {
        None
    }

    /// An example of an expression that can be watched, if there are any.
    fn expressions(&self) -> Option<&'static str> {
        None
    }

    /// Prepares an expression; the error says what is wrong with it.
    fn compile(&self, _expression: &str) -> Result<Evaluate, String> {
        Err("there are no expressions here".into())
    }

    /// The commands that a check of a property compiles and runs programs by, if it does.
    fn command(&self, _property: &str) -> Option<String> {
        None
    }

    /// Whether formulas can be checked.
    fn has_formulas(&self) -> bool {
        false
    }

    /// Its automata, with the states marked that they are in. `states` are those of the path, all but the
    /// last in front of a step.
    fn automata(&self, _states: &[Vec<u8>]) -> Vec<automata::Automaton> {
        Vec::new()
    }
}

/// A step in words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Remarks {
    /// What it looked at, where that is known as values.
    pub values: Vec<(String, Value)>,
    /// The same in words.
    pub seen: Vec<String>,
    /// Why it fails, if it does.
    pub reasons: Vec<String>,
}

/// One execution that was saved.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its steps that can be walked along.
    pub steps: usize,
    /// The first step of the part that repeats for ever.
    pub cycle: Option<usize>,
    /// What the execution costs in all, as the report that it comes from counts it.
    pub cost: SwitchCount,
    /// What it violates.
    pub failure: Option<Fault>,
}

/// Something that differs after a change of one of these files.
fn stamp_of<P: AsRef<Path> + Hash>(paths: impl IntoIterator<Item = P>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for path in paths {
        let known = std::fs::metadata(&path).ok();
        known.map(|data| (data.modified().ok(), data.len())).hash(&mut hasher);
        path.hash(&mut hasher);
    }
    hasher.finish()
}

/// Where a subject comes from, so that it can be read again when it changes.
pub trait Origin: Send + Sync {
    /// The name to show.
    fn name(&self) -> String;

    /// Reads it.
    fn load(&self) -> Result<Arc<dyn Subject>, Vec<Mistake>>;

    /// Something that differs after a change on disk.
    fn stamp(&self) -> u64 {
        0
    }

    /// The file, if its text can be changed on the page.
    fn file(&self) -> Option<&Path> {
        None
    }

    /// Reads this text in place of the file's.
    fn load_text(&self, _text: &str) -> Result<Arc<dyn Subject>, Vec<Mistake>> {
        Err(vec![Mistake::plain("the text cannot be changed here")])
    }
}

/// Something wrong with a source, or worth knowing about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// Whether the model is refused for it.
    pub is_error: bool,
    /// A stable code such as `P0012`; empty if there is none.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// The source file.
    pub file: String,
    /// Line, from 1; 0 when unknown.
    pub line: u32,
    /// What else there is to say.
    pub notes: Vec<String>,
}

impl Mistake {
    /// A sentence without a place.
    pub fn plain(message: impl Into<String>) -> Self {
        Mistake {
            is_error: true,
            code: String::new(),
            message: message.into(),
            file: String::new(),
            line: 0,
            notes: Vec::new(),
        }
    }
}

/// The lines of statements.
fn lines(code: &[Unreached]) -> BTreeSet<(String, u32)> {
    code.iter().map(|statement| (statement.file.clone(), statement.line)).collect()
}

/// A file that cannot be read, and what that means for the page.
fn unreadable(path: &Path, error: &std::io::Error) -> Mistake {
    let file = path.display();
    Mistake::plain(match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("{file} is gone: it was deleted or renamed; it is read again when it is back")
        }
        _ => format!("cannot read {file}: {error}"),
    })
}

/// A property to choose from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// What a request names it by.
    pub id: String,
    /// What people read.
    pub label: String,
}

/// What is to be checked.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// One of [`Subject::properties`].
    pub property: String,
    /// A formula instead.
    pub formula: Option<String>,
    /// At most so many preemptions.
    pub bound: Option<u32>,
    /// Bounds 0, 1, 2, … one after the other.
    pub iterate: bool,
    /// Only executions in which no process that can always move is ignored for ever.
    pub fair: bool,
    /// Memory limit in bytes.
    pub memory: Option<u64>,
    /// How it is to be searched, beyond all that.
    pub request: Option<Request>,
    /// The same as words, for the page.
    pub options: Vec<String>,
}

impl Question {
    fn request(&self) -> Request {
        use preempt_verify::Preemptions;
        Request {
            preemptions: match (self.iterate, self.bound) {
                (true, last) => Preemptions::Iterate { last },
                (false, Some(bound)) => Preemptions::AtMost(bound),
                (false, None) => Preemptions::Any,
            },
            fair: self.fair,
            memory: self.memory,
            ..self.request.clone().unwrap_or_default()
        }
    }
}
