//! What is wrong with a program, as data: the command line draws it, tests compare it.
//!
//! Every kind of mistake has a stable code, so that it can be looked up and searched for.

use std::ops::Range;

/// Whether the program can still be checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The program has no meaning.
    Error,
    /// The program has a meaning that its author may not have had in mind.
    Warning,
}

/// One thing to say about one place of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A stable code such as `B0012`.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// The source file.
    pub file: String,
    /// The bytes of the source it is about.
    pub span: Range<usize>,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// More to know: how to repair it, where the other definition is.
    pub notes: Vec<String>,
}

/// The codes, with what they mean. `preempt explain` reads this table.
pub const CODES: &[(&str, &str)] = &[
    ("B0001", "a character that starts no token"),
    ("B0002", "the text does not follow the grammar at this place"),
    ("B0003", "an expression or a block is nested too deeply"),
    ("B0004", "a number or a width is out of range"),
    ("B0005", "a name is declared twice"),
    ("B0006", "a variable that is not declared"),
    ("B0007", "a function that is not defined"),
    ("B0008", "the number of values on both sides differs"),
    ("B0009", "an expression has another type than its place needs"),
    ("B0010", "a label that does not exist"),
    ("B0011", "a jump to a label that stands at several places of the function"),
    ("B0012", "a concurrent program without a function `init`"),
    ("B0013", "nothing to run: no thread and no function `main`"),
    ("B0014", "`start_thread` may run more than once, so the number of threads is not fixed"),
    ("B0015", "`*` of an integer type inside an expression"),
    ("B0016", "a next value ('x) outside `constrain`"),
    ("B0017", "one assignment gives a variable two values"),
    ("B0018", "a thread function, `init` or `main` with a signature it cannot have"),
    ("B0019", "the target label does not exist"),
    ("B0020", "`init`, which is no thread, uses a variable of which every thread has its own"),
    ("B0021", "a pushdown system does not follow its format at this place"),
    ("B0022", "an initial configuration or target is not written `state|stack,stack`"),
    ("B0101", "`=` beside `&`, `|` or `^` without parentheses: dialects group it differently"),
    ("B0102", "`int` without a width"),
];

/// Turns byte offsets into lines and columns.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    file: String,
    source: String,
    starts: Vec<usize>,
}

impl Lines {
    pub(crate) fn new(file: &str, source: &str) -> Self {
        let starts =
            std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Lines { file: file.into(), source: source.into(), starts }
    }

    pub(crate) fn line(&self, offset: usize) -> u32 {
        self.starts.partition_point(|&start| start <= offset) as u32
    }

    /// The first byte of a line.
    pub(crate) fn start_of(&self, line: u32) -> Range<usize> {
        let start = self.starts.get((line as usize).saturating_sub(1)).copied().unwrap_or(0);
        start..(start + 1).min(self.source.len())
    }

    pub(crate) fn error(
        &self,
        code: &'static str,
        span: &Range<usize>,
        message: impl Into<String>,
    ) -> Diagnostic {
        let line = self.line(span.start);
        let start = self.starts[line as usize - 1];
        let column = self.source.get(start..span.start).map_or(0, |text| text.chars().count());
        Diagnostic {
            severity: Severity::Error,
            code,
            message: message.into(),
            file: self.file.clone(),
            span: span.clone(),
            line,
            column: column as u32 + 1,
            notes: Vec::new(),
        }
    }
}

impl Diagnostic {
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub(crate) fn warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = if self.severity == Severity::Error { "error" } else { "warning" };
        write!(
            f,
            "{}:{}:{}: {word}[{}]: {}",
            self.file, self.line, self.column, self.code, self.message
        )
    }
}
